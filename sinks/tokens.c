/* Finds the words of texts for `sinks/words.py`, which holds the rules and is the only caller.
 *
 * Only tokens with a digit have words. So each text is read from one digit to the next, and from a digit to both ends of its token: the
 * run of bytes around it that are no separators, trimmed. The token is hashed. If its line's template has it, or if the same token came a
 * moment ago, that is all; otherwise it is cut into segments and parts, and the words are the hashes of what the rules leave of it.
 *
 * Whatever is read lies between the start and the end of one text, and whatever is written in arrays of the size that the caller says. The
 * time is linear in the bytes; a template's tokens are sorted, and searched by halves. There is no state between calls.
 *
 * Texts are UTF-8. In others the words mean nothing, and all of the above holds.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

/* Kinds of bytes. Those above 0x7f count as letters, unless they belong to typographic punctuation, which begins with a `LEAD` byte. */
enum { SEPARATOR = 0, LETTER = 1, DIGIT = 2, INNER = 4, COLON = 8, SLASH = 16, LEAD = 32, NON_ASCII = 64 };
enum { PUNCTUATION = INNER | COLON | SLASH, LETTERS = LETTER | LEAD | NON_ASCII };
enum { LEAST_BYTES = 6, LONGEST_EXTENSION = 5, LOWER = 0x20, RECENT_BITS = 12 };

static const uint8_t KINDS[256] = {
    ['0' ... '9'] = DIGIT,
    ['A' ... 'Z'] = LETTER,
    ['a' ... 'z'] = LETTER,
    ['_'] = INNER,
    ['.'] = INNER,
    ['-'] = INNER,
    [':'] = COLON,
    ['/'] = SLASH,
    ['@'] = SLASH,
    [0x80 ... 0xc1] = NON_ASCII,
    [0xc2] = LEAD,
    [0xc3 ... 0xe1] = NON_ASCII,
    [0xe2 ... 0xe3] = LEAD,
    [0xe4 ... 0xee] = NON_ASCII,
    [0xef] = LEAD,
    [0xf0 ... 0xff] = NON_ASCII,
};

/* Bytes of a text, from `start` to before `end`. */
typedef struct {
    const uint8_t *start, *end;
} span;

/* Hashes, sorted. */
typedef struct {
    const uint64_t *start, *end;
} hash_set;

/* Where words go, and which tokens came a moment ago: slot i of `recent` holds the last one whose hash has the highest bits i, as its place
 * in `data` and its bytes, 32 bits each; 0 for none. */
typedef struct {
    const uint8_t *data;
    uint64_t *recent;
    int32_t *words;
    int64_t size, capacity;
} word_list;

/* Returns how many bytes the separator at `at` has, 0 if there is none. */
static int separator_bytes(const uint8_t *at, const uint8_t *end)
{
    if (KINDS[*at] != LEAD)
        return KINDS[*at] == SEPARATOR;
    uint8_t second = end - at > 1 ? at[1] : 0;
    if (*at == 0xc2) /* U+0080-00BF */
        return second >= 0x80 && second <= 0xbf ? 2 : 0;
    bool is_separator = (*at == 0xe2 && (second == 0x80 || second == 0x81)) || /* U+2000-207F */
                        (*at == 0xe3 && second == 0x80) ||                     /* U+3000-303F */
                        (*at == 0xef && (second == 0xbc || second == 0xbd));   /* U+FF00-FF7F */
    return !is_separator ? 0 : end - at > 2 ? 3 : 2;
}

/* Returns the eight bytes from `at` on, the first one lowest. */
static uint64_t eight_bytes(const uint8_t *at)
{
    return (uint64_t)at[0] | (uint64_t)at[1] << 8 | (uint64_t)at[2] << 16 | (uint64_t)at[3] << 24 | (uint64_t)at[4] << 32 |
           (uint64_t)at[5] << 40 | (uint64_t)at[6] << 48 | (uint64_t)at[7] << 56;
}

/* Returns the first digit from `at` on, `end` if there is none. Most bytes are looked at only here, so it is eight at a time. */
static const uint8_t *next_digit(const uint8_t *at, const uint8_t *end)
{
    const uint64_t each = 0x0101010101010101;
    for (; end - at >= 8; at += 8) {
        uint64_t value = eight_bytes(at) ^ each * '0'; /* digits become 0 to 9 */
        uint64_t others = ((value & each * 0x7f) + each * (0x80 - 10)) | value;
        uint64_t found = ~others & each * 0x80;
        if (found)
            return at + __builtin_ctzll(found) / 8;
    }
    while (at < end && KINDS[*at] != DIGIT)
        at++;
    return at;
}

/* Returns where the run begins in which a digit stands. `from` is the end of the run before, or the start of the text. */
static const uint8_t *run_start(const uint8_t *from, const uint8_t *digit, const uint8_t *end)
{
    const uint8_t *start = digit;
    while (start > from && KINDS[start[-1]] & (LETTER | DIGIT | PUNCTUATION))
        start--;
    if (start == from || KINDS[start[-1]] == SEPARATOR)
        return start;
    start = from; /* a byte above 0x7f: typographic punctuation is recognised from its first byte on */
    for (const uint8_t *at = from; at < digit;) {
        int skipped = separator_bytes(at, end);
        at += skipped ? skipped : 1;
        if (skipped)
            start = at;
    }
    return start;
}

/* Returns where the run ends in which `at` is. */
static const uint8_t *run_end(const uint8_t *at, const uint8_t *end)
{
    while (true) {
        while (at < end && KINDS[*at] & ~LEAD)
            at++;
        if (at == end || separator_bytes(at, end))
            return at;
        at++;
    }
}

/* Whether a text has a byte of one of these kinds. */
static bool has_kind(span text, int kinds)
{
    for (const uint8_t *at = text.start; at < text.end; at++)
        if (KINDS[*at] & kinds)
            return true;
    return false;
}

/* Returns a text without the punctuation at its ends. */
static span trimmed(span text)
{
    while (text.start < text.end && KINDS[*text.start] & PUNCTUATION)
        text.start++;
    while (text.start < text.end && KINDS[text.end[-1]] & PUNCTUATION)
        text.end--;
    return text;
}

/* Whether a trimmed text that has a digit is long enough, or has punctuation inside. */
static bool is_identifier(span text)
{
    return text.end - text.start >= LEAST_BYTES || has_kind(text, PUNCTUATION);
}

static const uint64_t MIX = 0x9e3779b97f4a7c15;

/* Returns a hash with eight more bytes in it. */
static uint64_t mixed(uint64_t hash, uint64_t eight)
{
    hash = (hash ^ eight) * MIX;
    return hash ^ hash >> 32;
}

/* Returns the hash of a text, lower-cased: the bit that is set in every byte keeps digits and our punctuation apart. */
static uint64_t hash_of(span text)
{
    const uint64_t lower = 0x2020202020202020;
    const uint8_t *at = text.start;
    uint64_t hash = (uint64_t)(text.end - at);
    while (text.end - at > 8) {
        hash = mixed(hash, eight_bytes(at) | lower);
        at += 8;
    }
    int left = (int)(text.end - at);
    uint64_t last = 0;
    if (at > text.start) /* the bytes before belong to the text, so eight can be read */
        last = (eight_bytes(text.end - 8) | lower) >> 8 * (8 - left);
    else
        for (int i = 0; i < left; i++)
            last |= (uint64_t)(at[i] | LOWER) << 8 * i;
    return mixed(hash, last);
}

/* Returns the word of a hash: 28 bits, never 0. */
static int32_t word_of(uint64_t hash)
{
    int32_t word = (int32_t)(hash * MIX >> 36);
    return word ? word : 1;
}

/* Returns how many digits stand at `at`, at most 10. */
static int digits(const uint8_t *at, const uint8_t *end)
{
    int count = 0;
    while (count < 10 && end - at > count && KINDS[at[count]] == DIGIT)
        count++;
    return count;
}

/* Whether the name of a month stands at `at`. */
static bool is_month(const uint8_t *at, const uint8_t *end)
{
    static const char MONTHS[] = "janfebmaraprmayjunjulaugsepoctnovdec";
    if (end - at < 3)
        return false;
    for (const char *month = MONTHS; *month; month += 3)
        if ((at[0] | LOWER) == month[0] && (at[1] | LOWER) == month[1] && (at[2] | LOWER) == month[2])
            return true;
    return false;
}

/* Returns what comes after the date at the start of a text, NULL if there is none: `2015-10-18`, `18/Oct/2015`, `8.1.2015`. */
static const uint8_t *after_date(span text)
{
    const uint8_t *at = text.start;
    int first = digits(at, text.end), second, third;
    at += first;
    if (at == text.end)
        return NULL;
    uint8_t mark = *at++;
    bool has_month = is_month(at, text.end);
    second = has_month ? 3 : digits(at, text.end);
    at += second;
    if (at == text.end || *at++ != mark)
        return NULL;
    third = digits(at, text.end);
    at += third;
    bool is_dash = mark == '-', is_point = mark == '.' || mark == '/';
    if (has_month)
        return first == 2 && (third == 2 || third == 4) && (is_dash || is_point) ? at : NULL;
    switch (100 * first + 10 * second + third) {
    case 422:
        return is_dash || is_point || mark == '_' ? at : NULL;
    case 222:
    case 224:
        return is_dash || is_point ? at : NULL;
    case 114:
    case 124:
    case 214:
        return is_point ? at : NULL;
    default:
        return NULL;
    }
}

/* Whether a text is a time of the day, with or without seconds, fraction and zone; one alone that looks like an IPv4 address is none. */
static bool is_clock(span text, bool is_alone)
{
    const uint8_t *at = text.start, *end = text.end;
    int hours = digits(at, end);
    at += hours;
    if (hours < 1 || hours > 2 || at == end)
        return false;
    uint8_t mark = *at++;
    if (digits(at, end) != 2)
        return false;
    at += 2;
    bool has_seconds = at < end && *at == mark && digits(at + 1, end) == 2;
    if (mark != ':' && !(has_seconds && hours == 2 && (mark == '.' || mark == '-')))
        return false;
    if (has_seconds)
        at += 3;
    if (at < end && (*at == '.' || *at == ':')) {
        int fraction = digits(at + 1, end);
        if (*at == ':' ? fraction != 3 : fraction < 1 || fraction == 8 || fraction > 9)
            return false;
        if (is_alone && mark == '.' && *at == '.' && fraction <= 3 && at + 1 + fraction == end)
            return false;
        at += 1 + fraction;
    }
    if (at == end)
        return true;
    if (end - at == 1)
        return (*at | LOWER) == 'z';
    if (*at++ != '-')
        return false;
    if (end - at == 4)
        return digits(at, end) == 4;
    return end - at == 5 && digits(at, end) == 2 && at[2] == ':' && digits(at + 3, end) == 2;
}

/* Whether a text has the shape of a time, a date, or a date and a time: they stand in most lines and name nothing. */
static bool is_time(span text)
{
    if (text.start == text.end || KINDS[*text.start] != DIGIT)
        return false;
    const uint8_t *after = after_date(text);
    if (after == text.end)
        return true;
    if (after) {
        uint8_t mark = *after;
        if ((mark | LOWER) == 't' || mark == '-' || mark == '_' || mark == ':' || mark == '.' || mark == '@' || mark == '/')
            if (is_clock((span){after + 1, text.end}, false))
                return true;
    }
    return is_clock(text, true);
}

/* Adds the word of a hash. There is room for as many words as a text can have; more than that are never written. */
static void add_hash(word_list *found, uint64_t hash)
{
    if (found->size < found->capacity)
        found->words[found->size++] = word_of(hash);
}

/* Adds the word of what is left of a text without its extension, if it has one and that is an identifier. */
static void add_stem(word_list *found, span text)
{
    const uint8_t *dot = text.end - 1;
    while (dot > text.start && text.end - dot <= LONGEST_EXTENSION && KINDS[*dot] & LETTERS)
        dot--;
    span stem = {text.start, dot};
    if (dot == text.start || dot == text.end - 1 || *dot != '.' || KINDS[dot[-1]] & PUNCTUATION)
        return;
    if (has_kind(stem, DIGIT) && is_identifier(stem) && !is_time(stem))
        add_hash(found, hash_of(stem));
}

/* Adds the words of a segment or a part that has bytes of these kinds, if it is an identifier; returns whether it is. */
static bool add_identifier(word_list *found, span text, unsigned kinds)
{
    if (!(kinds & DIGIT))
        return false;
    text = trimmed(text);
    if (!is_identifier(text))
        return false;
    if (!is_time(text)) {
        add_hash(found, hash_of(text));
        add_stem(found, text);
    }
    return true;
}

/* Adds the words of the parts and segments of a token; returns whether it has any, times included. */
static bool add_parts(word_list *found, span token)
{
    const uint8_t *at = token.start;
    bool has_any = false;
    while (at < token.end) {
        span segment = {at, at};
        unsigned kinds_of_segment = 0;
        bool has_parts = false;
        while (true) {
            span part = {at, at};
            unsigned kinds = 0;
            while (at < token.end && !(KINDS[*at] & (COLON | SLASH)))
                kinds |= KINDS[*at++];
            part.end = at;
            kinds_of_segment |= kinds;
            has_parts |= add_identifier(found, part, kinds);
            if (at == token.end || KINDS[*at] == SLASH)
                break;
            at++; /* a colon */
        }
        segment.end = at;
        has_any |= has_parts || add_identifier(found, segment, kinds_of_segment);
        at += at < token.end;
    }
    return has_any;
}

/* Whether a hash is in a set. */
static bool has_hash(hash_set set, uint64_t hash)
{
    while (set.start < set.end) {
        const uint64_t *middle = set.start + (set.end - set.start) / 2;
        if (*middle == hash)
            return true;
        if (*middle < hash)
            set.start = middle + 1;
        else
            set.end = middle;
    }
    return false;
}

/* Finds the next token that has a digit and is an identifier, trimmed; false if there is none. `*at` is then after it. */
static bool next_token(const uint8_t **at, const uint8_t *end, span *token)
{
    const uint8_t *digit;
    while ((digit = next_digit(*at, end)) < end) {
        span run = {run_start(*at, digit, end), run_end(digit, end)};
        *at = run.end;
        *token = trimmed(run);
        if (is_identifier(*token))
            return true;
    }
    return false;
}

/* Whether a token is byte for byte that of a slot of `recent`, which it then takes. Hashes alone would not do: one that somebody else made
 * to have the same hash would hide it. */
static bool came_before(word_list *found, span token, uint64_t hash)
{
    uint64_t *recent = &found->recent[hash >> (64 - RECENT_BITS)];
    uint64_t bytes = (uint64_t)(token.end - token.start), last = *recent;
    *recent = (uint64_t)(token.start - found->data) << 32 | bytes;
    return (last & UINT32_MAX) == bytes && memcmp(found->data + (last >> 32), token.start, bytes) == 0;
}

/* Adds the words of a text but those of the tokens that its template has. */
static void add_words(word_list *found, span text, hash_set of_template)
{
    const uint8_t *at = text.start;
    span token;
    while (next_token(&at, text.end, &token)) {
        uint64_t hash = hash_of(token);
        if (has_hash(of_template, hash) || came_before(found, token, hash))
            continue;
        if (!is_time(token) && !(has_kind(token, COLON | SLASH) && add_parts(found, token))) {
            add_hash(found, hash);
            add_stem(found, token);
        }
    }
}

/* Finds text `i` of several that are joined by line feeds; false if it does not lie within the bytes. */
static bool find_text(const uint8_t *data, int64_t size, const int32_t *ends, int64_t i, span *text)
{
    int64_t start = ends[i] + i, end = ends[i + 1] + i;
    if (start < 0 || start > end || end > size)
        return false;
    *text = (span){data + start, data + end};
    return true;
}

/* Writes the words of n texts, some of them several times; returns how many, -1 if the arrays do not fit each other.
 *
 * Text i is `data[ends[i] + i:ends[i + 1] + i]`, and its template number `codes[i]`; the sorted hashes of the tokens of template t are
 * `tokens[token_ends[t]:token_ends[t + 1]]`. `recent` has `1 << RECENT_BITS` places. Of a text with b bytes at most (b + 1) / 3 words are
 * written: `a.1.b` has two of them.
 */
EXPORTED int64_t words_of_texts(const uint8_t *data, int64_t size, const int32_t *ends, const int32_t *codes, int64_t texts,
                                const uint64_t *tokens, const int64_t *token_ends, int64_t templates, uint64_t *recent, int32_t *words,
                                int64_t capacity)
{
    word_list found = {data, recent, words, 0, capacity};
    memset(recent, 0, sizeof(*recent) << RECENT_BITS);
    for (int64_t i = 0; i < texts; i++) {
        span text;
        if (!find_text(data, size, ends, i, &text) || codes[i] < 0 || codes[i] >= templates)
            return -1;
        add_words(&found, text, (hash_set){tokens + token_ends[codes[i]], tokens + token_ends[codes[i] + 1]});
    }
    return found.size;
}

/* Writes the hashes of the tokens of n texts, joined as above, those of text i to `hashes[hash_ends[i]:hash_ends[i + 1]]`; returns whether
 * the arrays fit each other. A text with b bytes has at most (b + 1) / 4 such tokens. */
EXPORTED bool tokens_of_texts(const uint8_t *data, int64_t size, const int32_t *ends, int64_t texts, uint64_t *hashes, int64_t *hash_ends,
                              int64_t capacity)
{
    int64_t count = 0;
    hash_ends[0] = 0;
    for (int64_t i = 0; i < texts; i++) {
        span text, token;
        if (!find_text(data, size, ends, i, &text))
            return false;
        for (const uint8_t *at = text.start; count < capacity && next_token(&at, text.end, &token);)
            hashes[count++] = hash_of(token);
        hash_ends[i + 1] = count;
    }
    return true;
}

/* Writes the word of each of n stretches, whatever bytes they hold; returns whether all of them lie within the bytes. */
EXPORTED bool words_of_stretches(const uint8_t *data, int64_t size, const int64_t *starts, const int64_t *ends, int64_t stretches,
                                 int32_t *words)
{
    for (int64_t i = 0; i < stretches; i++) {
        if (starts[i] < 0 || starts[i] > ends[i] || ends[i] > size)
            return false;
        words[i] = word_of(hash_of((span){data + starts[i], data + ends[i]}));
    }
    return true;
}

/* Whether a text has one run of bytes that are no separators, and not several. */
EXPORTED bool is_one_run(const uint8_t *data, int64_t size)
{
    const uint8_t *at = data, *end = data + size;
    int runs = 0, skipped;
    while (at < end && runs < 2) {
        if ((skipped = separator_bytes(at, end)))
            at += skipped;
        else {
            at = run_end(at, end);
            runs++;
        }
    }
    return runs == 1;
}
