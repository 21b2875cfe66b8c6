/* Finds a literal in texts for `sinks/reading/literals.py`, which is the only caller. Letters count alike, small or capital, ASCII only.
 *
 * The bytes of all texts are searched as one. First for the literal's last three bytes, many places at a time; where they stand, all bytes
 * are compared. Texts can be made to make that slow ("aaa…" and the literal "baaa…a"), so it ends when it has compared `PATIENCE` bytes for
 * each byte that it passed, and the algorithm of Knuth, Morris and Pratt goes on from there, which never goes back. So the time is linear
 * in the bytes, whatever they are.
 *
 * Only the bytes and the arrays that the caller gives are read and written; `borders` has a place for each byte of the literal. There is no
 * state between calls.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

#define EXPORTED __attribute__((visibility("default")))

enum { LOWER = 0x20, PLACES = 32, PATIENCE = 4, FIRST_PATIENCE = 4096 };

/* How a text holds the literal. `PERHAPS_WHOLE`: whether it stands there whole depends on characters beyond ASCII. */
enum { NOT_HELD = 0, IN_A_WORD = 1, PERHAPS_WHOLE = 2, WHOLE = 3 };

/* Lower-cased, of at least one byte. */
typedef struct {
    const uint8_t *bytes;
    int64_t size;
} literal;

/* Where hits go: how each of n texts holds the literal. Text i is `data[ends[i]:ends[i + 1]]`, and `row` the one that was reached. Without
 * `held`, the first hit is all that is wanted. */
typedef struct {
    const uint8_t *data;
    const int32_t *ends;
    uint8_t *held;
    int64_t row;
    bool has_any;
} hits;

static uint8_t lowered(uint8_t byte)
{
    return byte >= 'A' && byte <= 'Z' ? byte | LOWER : byte;
}

/* Whether a byte is neither ASCII punctuation nor a space: beyond ASCII there may be letters. */
static bool may_be_of_word(uint8_t byte)
{
    uint8_t small = byte | LOWER;
    return (small >= 'a' && small <= 'z') || (byte >= '0' && byte <= '9') || byte == '_' || byte > 0x7f;
}

/* Notes that the literal stands at `at`, if it ends in the text in which it begins; returns whether more hits are wanted. */
static bool add_hit(hits *found, const uint8_t *at, int64_t size)
{
    found->has_any = true;
    if (!found->held)
        return false;
    int64_t start = at - found->data, end = start + size;
    while (found->ends[found->row + 1] <= start)
        found->row++;
    int64_t text_start = found->ends[found->row], text_end = found->ends[found->row + 1];
    if (end > text_end || found->held[found->row] == WHOLE)
        return true;
    bool is_whole = !(start > text_start && may_be_of_word(at[-1])) && !(end < text_end && may_be_of_word(at[size]));
    found->held[found->row] = is_whole ? WHOLE : IN_A_WORD;
    return true;
}

/* Returns the first place from `at` to before `end` where the last bytes of the literal may follow, `end` if there is none. All its bytes can
 * be read at every such place. */
static const uint8_t *next_candidate(const uint8_t *at, const uint8_t *end, literal wanted)
{
    ptrdiff_t last = wanted.size - 1, second = last > 0 ? last - 1 : 0, third = last > 1 ? last - 2 : 0;
    uint8_t last_byte = wanted.bytes[last] | LOWER, second_byte = wanted.bytes[second] | LOWER, third_byte = wanted.bytes[third] | LOWER;
    for (; end - at >= PLACES; at += PLACES) {
        uint8_t is_near[PLACES], is_any = 0;
        for (int i = 0; i < PLACES; i++) { /* compiled to a few instructions for all places at once */
            uint8_t others = (uint8_t)(((at[i + last] | LOWER) ^ last_byte) | ((at[i + second] | LOWER) ^ second_byte) |
                                       ((at[i + third] | LOWER) ^ third_byte));
            is_near[i] = others == 0;
            is_any |= is_near[i];
        }
        for (int i = 0; is_any && i < PLACES; i++)
            if (is_near[i])
                return at + i;
    }
    while (at < end && ((at[last] | LOWER) != last_byte || (at[second] | LOWER) != second_byte || (at[third] | LOWER) != third_byte))
        at++;
    return at;
}

/* Finds hits that begin from `at` to before `end`, and returns where it lost patience; `end` if all are found or no more are wanted. */
static const uint8_t *find_fast(hits *found, const uint8_t *at, const uint8_t *end, literal wanted)
{
    int64_t patience = FIRST_PATIENCE;
    while (true) {
        const uint8_t *candidate = next_candidate(at, end, wanted);
        if (candidate == end)
            return end;
        int64_t same = 0;
        while (same < wanted.size && lowered(candidate[same]) == wanted.bytes[same])
            same++;
        patience += PATIENCE * (candidate + 1 - at) - same;
        at = candidate + 1;
        if (same == wanted.size && !add_hit(found, candidate, wanted.size))
            return end;
        if (patience < 0)
            return at;
    }
}

/* Finds hits from `at` to before `end`, of which all bytes are read once (Knuth, Morris, Pratt 1977). */
static void find_steadily(hits *found, const uint8_t *at, const uint8_t *end, literal wanted, int32_t *borders)
{
    /* borders[i]: how many bytes at the start of the literal are also the last ones of its first i + 1 bytes, but not all of them */
    borders[0] = 0;
    for (int32_t i = 1, same = 0; i < wanted.size; i++) {
        while (same && wanted.bytes[i] != wanted.bytes[same])
            same = borders[same - 1];
        same += wanted.bytes[i] == wanted.bytes[same];
        borders[i] = same;
    }
    for (int32_t same = 0; at < end; at++) {
        uint8_t byte = lowered(*at);
        while (same && byte != wanted.bytes[same])
            same = borders[same - 1];
        same += byte == wanted.bytes[same];
        if (same == wanted.size) {
            if (!add_hit(found, at + 1 - wanted.size, wanted.size))
                return;
            same = borders[same - 1];
        }
    }
}

static void find(hits *found, int64_t size, literal wanted, int32_t *borders)
{
    if (wanted.size > size)
        return;
    const uint8_t *end = found->data + size, *last = end - wanted.size + 1;
    const uint8_t *left = find_fast(found, found->data, last, wanted);
    if (left < last)
        find_steadily(found, left, end, wanted, borders);
}

/* Says of each of n texts how it holds the literal; returns whether the texts and their bytes fit each other. */
EXPORTED bool hold_literal(const uint8_t *data, int64_t size, const int32_t *ends, int64_t texts, const uint8_t *bytes, int64_t bytes_size,
                           int32_t *borders, uint8_t *held)
{
    if (ends[0] != 0 || ends[texts] != size)
        return false;
    for (int64_t i = 0; i < texts; i++) {
        held[i] = NOT_HELD;
        if (ends[i] > ends[i + 1])
            return false;
    }
    hits found = {data, ends, held, 0, false};
    find(&found, size, (literal){bytes, bytes_size}, borders);
    if (!found.has_any)
        return true;
    for (int64_t i = 0; i < texts; i++)
        for (int32_t at = ends[i]; held[i] == IN_A_WORD && at < ends[i + 1]; at++)
            if (data[at] > 0x7f)
                held[i] = PERHAPS_WHOLE;
    return true;
}

/* Whether the literal stands anywhere in the bytes. */
EXPORTED bool has_literal(const uint8_t *data, int64_t size, const uint8_t *bytes, int64_t bytes_size, int32_t *borders)
{
    hits found = {data, NULL, NULL, 0, false};
    find(&found, size, (literal){bytes, bytes_size}, borders);
    return found.has_any;
}
