/* Finds codes in texts, for `consumers/text/codes.py`, which says what a code is.

   Each text is read from left to right, one number (run of digits) at a time. Whether a number is a code depends on at most fourteen bytes
   before it and four after it; `byte_at` reads them, and reads 0, which no rule asks for, outside of the text. So no code depends on
   another text, and time is linear in the bytes. Nothing is kept between calls. */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

enum { SIGNAL_DIGITS = 2, STATUS_DIGITS = 3, LEAST_DIGITS = 3, LONG_DIGITS = 4, MOST_DIGITS = 5, MOST_GAPS = 3 };

typedef struct {
    const uint8_t *bytes;
    int64_t size;
} Text;

/* A number in a text: `begin` to before `end`. */
typedef struct {
    int64_t begin;
    int64_t end;
} Number;

static inline uint8_t byte_at(Text text, int64_t place)
{
    return place >= 0 && place < text.size ? text.bytes[place] : 0;
}

static inline bool is_digit(uint8_t byte)
{
    return byte >= '0' && byte <= '9';
}

static inline bool is_upper(uint8_t byte)
{
    return byte >= 'A' && byte <= 'Z';
}

static inline bool is_word(uint8_t byte)
{
    return is_digit(byte) || is_upper(byte) || (byte >= 'a' && byte <= 'z') || byte == '_';
}

/* What may stand between a word and its code. */
static inline bool is_gap(uint8_t byte)
{
    return byte == ' ' || byte == '\t' || byte == '=' || byte == ':' || byte == '"' || byte == '\'' || byte == '[' || byte == '(';
}

/* Whether the four bytes that end at `last` are these letters, in either case. */
static bool ends_word(Text text, int64_t last, const char *lower)
{
    for (int i = 0; i < 4; i++)
        if ((byte_at(text, last - 3 + i) | 0x20) != lower[i])
            return false;
    return true;
}

/* `HTTP/1.1" 200`, `HTTP/2" 200`, `HTTP/1.1 200`, or `HTTP/" 200` once masked; `last` is the byte before quote or blank. */
static bool ends_version(Text text, int64_t last)
{
    uint8_t byte = byte_at(text, last), lower = byte | 0x20;
    if (byte_at(text, last + 1) != '"' && byte_at(text, last + 1) != ' ' && byte_at(text, last + 1) != '\t')
        return false;
    if (byte == '/' && ends_word(text, last - 1, "http"))
        return true;
    if (is_digit(byte) && byte_at(text, last - 1) == '/' && ends_word(text, last - 2, "http"))
        return true;
    bool ends = is_digit(byte) || byte == '/' || lower == 'o' || lower == 'p' || lower == 'r' || lower == 's' || lower == 'e';
    return ends && byte_at(text, last - 1) == '.' && ends_word(text, last - 4, "http");
}

/* Whether the word of some letters that ends at `last` stands behind `exit`, or behind `exited with`: `exit status`, `exitcode`. */
static bool is_of_exit(Text text, int64_t last, int letters)
{
    int64_t before = last - letters;
    uint8_t byte = byte_at(text, before);
    if (byte == ' ' || byte == '_' || byte == '-')
        before--;
    return ends_word(text, before, "exit") || ends_word(text, before, "with");
}

/* Whether a number stands one to three bytes after a word that announces a status, a signal or how something ended, or after errno. */
static bool is_after_word(Text text, Number number)
{
    int64_t digits = number.end - number.begin, last = number.begin - 1;
    while (number.begin - 1 - last < MOST_GAPS && is_gap(byte_at(text, last)))
        last--;
    if (last == number.begin - 1 || digits > STATUS_DIGITS)
        return false;
    if (ends_word(text, last, "rrno"))
        return true;
    if (digits != STATUS_DIGITS)
        return (digits <= SIGNAL_DIGITS && ends_word(text, last, "gnal")) || (ends_word(text, last, "code") && is_of_exit(text, last, 4)) ||
               (ends_word(text, last, "atus") && is_of_exit(text, last, 6));
    return ends_word(text, last, "http") || ends_word(text, last, "atus") || ends_word(text, last, "code") ||
           ends_word(text, last, "rror") || ends_word(text, last, "resp") || ends_version(text, last);
}

/* Whether a blank, two bytes of which the first is a digit, and a colon follow: the `22:06:37` of a glog line. */
static bool is_before_clock(Text text, Number number)
{
    return byte_at(text, number.end) == ' ' && is_digit(byte_at(text, number.end + 1)) && byte_at(text, number.end + 3) == ':';
}

/* Whether a number forms a code with the capitals before it; not the `E1110 22:06:37` that begins a glog line. */
static bool is_after_capitals(Text text, Number number)
{
    int64_t digits = number.end - number.begin;
    uint8_t one = byte_at(text, number.begin - 1), two = byte_at(text, number.begin - 2), three = byte_at(text, number.begin - 3);
    if (digits >= LEAST_DIGITS && (one == 'E' || one == 'W' || one == 'F') && !is_word(two) && two != '-')
        return !is_before_clock(text, number);
    if (digits >= LONG_DIGITS && one == '-')
        return is_upper(two) && is_upper(three);
    if (digits == LONG_DIGITS && is_upper(one) && is_upper(two))
        return !is_word(three) || (is_upper(three) && !is_word(byte_at(text, number.begin - 4)));
    return false;
}

/* Whether a number is neither part of a word nor goes on behind a mark, as in `404.5`. */
static bool ends_number(Text text, Number number)
{
    uint8_t after = byte_at(text, number.end);
    bool may_join = after == '-' || after == '.' || after == ':' || after == ',' || after == '/';
    return !is_word(after) && !(may_join && is_digit(byte_at(text, number.end + 1)));
}

/* Whether a digit stands for a class of statuses: 4xx. */
static bool is_class(Text text, Number number)
{
    return number.end == number.begin + 1 && byte_at(text, number.end) == 'x' && byte_at(text, number.end + 1) == 'x' &&
           !is_word(byte_at(text, number.begin - 1)) && !is_word(byte_at(text, number.end + 2));
}

/* Whether a digit stands in the version of a protocol: `TLSv1.3`, `TLS 1.2`, `tls1_2`, `SSLv3`. */
static bool is_of_protocol(Text text, Number number)
{
    int64_t last = number.begin - 1;
    uint8_t before = byte_at(text, last), after = byte_at(text, number.end);
    bool is_minor = (before == '.' || before == '_') && is_digit(byte_at(text, last - 1));
    bool has_minor = (after == '.' || after == '_') && is_digit(byte_at(text, number.end + 1));
    if (is_minor)
        last -= 2;
    if (byte_at(text, last) == ' ' && (is_minor || has_minor))
        last--;
    else if ((byte_at(text, last) | 0x20) == 'v')
        last--;
    uint8_t one = byte_at(text, last) | 0x20, two = byte_at(text, last - 1) | 0x20, three = byte_at(text, last - 2) | 0x20;
    bool is_named = (three == 't' && two == 'l' && one == 's') || (three == 's' && two == 's' && one == 'l');
    return is_named && (has_minor || !is_word(after));
}

/* Whether what a digit stands behind may be a protocol: most numbers do not, which is cheap to see. */
static bool may_be_of_protocol(Text text, Number number)
{
    uint8_t before = byte_at(text, number.begin - 1), lower = before | 0x20;
    return number.end == number.begin + 1 && (lower == 'v' || lower == 's' || lower == 'l' || before == ' ' || before == '.' || before == '_');
}

/* Most numbers follow neither a gap nor a capital nor a `-`, which is cheap to see. */
static bool is_code(Text text, Number number)
{
    uint8_t before = byte_at(text, number.begin - 1);
    if (may_be_of_protocol(text, number) && is_of_protocol(text, number))
        return true;
    return (is_gap(before) || is_upper(before) || before == '-') && number.end - number.begin <= MOST_DIGITS && ends_number(text, number) &&
           (is_after_word(text, number) || is_after_capitals(text, number));
}

static void flag_codes_of(Text text, uint8_t *flags)
{
    int64_t place = 0;
    while (place < text.size) {
        if (!is_digit(text.bytes[place])) {
            place++;
            continue;
        }
        Number number = {place, place};
        while (number.end < text.size && is_digit(text.bytes[number.end]))
            number.end++;
        if (is_code(text, number) || is_class(text, number))
            memset(flags + number.begin, 1, (size_t)(number.end - number.begin));
        place = number.end + 1;
    }
}

/* Set `flags`, one for each byte of the n texts and all 0 before, for the digits of codes. Text i is `data[ends[i]]` to before
   `data[ends[i + 1]]`. */
EXPORTED void flag_codes(const uint8_t *data, const int32_t *ends, int64_t texts, uint8_t *flags)
{
    for (int64_t i = 0; i < texts; i++)
        flag_codes_of((Text){data + ends[i], ends[i + 1] - ends[i]}, flags + ends[i]);
}
