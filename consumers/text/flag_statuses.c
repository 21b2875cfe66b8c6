/* Finds the statuses of HTTP in the lines of access logs, for `consumers/text/codes.py`.

   A status is three digits that are told by their place:
   1. behind a method and a path: `GET /cart 503`, also with the host between;
   2. before a method: `503 GET /cart`, perhaps with a second status and sizes between (AWS);
   3. in a column of its own (`| 503 |`), before HAProxy's state (`503 2750 - - SC--`), in IIS before the last numbers of the line;
   4. before its own reason (`503 Service Unavailable`), or behind what says that a request is over (`Completed 503 in`).
   Each holds of the masked text too, whose other numbers are gone, so that masking it again changes nothing. No rule asks which digit
   stands where (`consumers/text/text_forms.py`).

   `byte_at` reads 0, which ends a line, outside of the text, so no status depends on another text. Time is linear: a number reads three
   words before it and five after it at most, so a word is read by a few numbers only. Nothing is kept between calls. */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

enum { STATUS_DIGITS = 3, STATE_LETTERS = 4, METHOD_BYTES = 512 };

/* How many words and columns behind a status are looked at, and how many dashes before it. */
enum { MOST_SIZES = 3, MOST_COOKIES = 3, MOST_LAST = 5, MOST_COLUMNS = 3, MOST_DASHES = 3 };

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

static inline bool is_blank(uint8_t byte)
{
    return byte == ' ' || byte == '\t';
}

/* Whether the four bytes that end at `last` are these letters, in either case. */
static bool ends_word(Text text, int64_t last, const char *lower)
{
    for (int i = 0; i < 4; i++)
        if ((byte_at(text, last - 3 + i) | 0x20) != lower[i])
            return false;
    return true;
}

/* A word: what stands between blanks or line ends. `end` is `begin` where there is none. */
typedef Number Word;

static inline bool ends_line(uint8_t byte)
{
    return byte == '\n' || byte == '\r' || byte == 0;
}

static inline bool is_between(uint8_t byte)
{
    return is_blank(byte) || ends_line(byte);
}

/* Return the word of this line that ends before `place`, or before the blanks there. */
static Word word_before(Text text, int64_t place)
{
    while (is_blank(byte_at(text, place - 1)))
        place--;
    Word word = {place, place};
    while (!is_between(byte_at(text, word.begin - 1)))
        word.begin--;
    return word;
}

/* Return the word of this line that begins at `place`, or behind the blanks there. */
static Word word_after(Text text, int64_t place)
{
    while (is_blank(byte_at(text, place)))
        place++;
    Word word = {place, place};
    while (!is_between(byte_at(text, word.end)))
        word.end++;
    return word;
}

static inline bool is_one(Text text, Word word, uint8_t byte)
{
    return word.end == word.begin + 1 && text.bytes[word.begin] == byte;
}

/* Whether a word is digits only. */
static bool is_whole_number(Text text, Word word)
{
    for (int64_t place = word.begin; place < word.end; place++)
        if (!is_digit(text.bytes[place]))
            return false;
    return word.end > word.begin;
}

static bool has_byte(Text text, Word word, uint8_t byte)
{
    return word.end > word.begin && memchr(text.bytes + word.begin, byte, (size_t)(word.end - word.begin));
}

static bool has_digit(Text text, Word word)
{
    for (int64_t place = word.begin; place < word.end; place++)
        if (is_digit(text.bytes[place]))
            return true;
    return false;
}

/* Return where a method that begins at `place` ends; `place` if none does. */
static int64_t behind_method(Text text, int64_t place)
{
    static const char *const METHODS[] = {"GET", "POST", "PUT", "DELETE", "HEAD", "PATCH", "OPTIONS", "CONNECT", "PROPFIND"};
    for (size_t i = 0; i < sizeof METHODS / sizeof *METHODS; i++) {
        int64_t letters = (int64_t)strlen(METHODS[i]);
        if (place + letters <= text.size && memcmp(text.bytes + place, METHODS[i], (size_t)letters) == 0)
            return is_word(byte_at(text, place + letters)) ? place : place + letters;
    }
    return place;
}

/* Whether a word is a method, perhaps behind a quote. */
static bool is_method(Text text, Word word)
{
    int64_t begin = word.begin + (byte_at(text, word.begin) == '"');
    return word.end > begin && behind_method(text, begin) == word.end;
}

/* Whether a word is the path or the address of a request, perhaps in quotes; of an address the masks leave `http:/cart`. */
static bool is_path(Text text, Word word)
{
    int64_t begin = word.begin + (byte_at(text, word.begin) == '"');
    return byte_at(text, begin) == '/' || (ends_word(text, begin + 3, "http") && word.end > begin + 5);
}

/* Whether a version of HTTP ends before the method: `HTTP/1.1 GET`. */
static bool is_behind_version(Text text, Word method)
{
    Word version = word_before(text, method.begin);
    return version.end - version.begin >= 5 && ends_word(text, version.begin + 3, "http") && byte_at(text, version.begin + 4) == '/';
}

/* Whether a word is an arrow: `->`, `=>`. */
static bool is_arrow(Text text, Word word)
{
    return word.end == word.begin + 2 && text.bytes[word.begin + 1] == '>';
}

/* Whether a method and a path stand before a number, as `GET /cart 503`, with the host between or not; ASP.NET writes `-` before it. */
static bool is_after_request(Text text, Number number)
{
    int64_t begin = number.begin;
    while (byte_at(text, begin - 1) == '[' || byte_at(text, begin - 1) == '(')
        begin--;
    Word path = word_before(text, begin);
    if (is_arrow(text, path))
        path = word_before(text, path.begin);
    bool is_after_dash = false;
    for (int i = 0; i < MOST_DASHES && is_one(text, path, '-'); i++, is_after_dash = true)
        path = word_before(text, path.begin);
    if (is_method(text, path))
        return !is_after_dash && is_one(text, word_after(text, number.end), '-');
    if (!is_path(text, path))
        return false;
    Word method = word_before(text, path.begin);
    if (is_method(text, method))
        return !is_after_dash || is_behind_version(text, method);
    return !is_after_dash && method.end > method.begin && !has_digit(text, method) && is_method(text, word_before(text, method.begin));
}

/* Whether a method and a path stand at `place`: behind `503 ` or `[503]: `. */
static bool is_request(Text text, int64_t place)
{
    Word word = word_after(text, place);
    if (!is_method(text, word))
        return false;
    uint8_t follows = byte_at(text, word_after(text, word.end).begin);
    return follows == '/' || follows == '"' || follows == '(' || follows == 'h';
}

/* Return the word before one or two statuses, perhaps behind a dash; an empty one if more numbers and dashes stand there. */
static Word word_before_statuses(Text text, Number number)
{
    Word word = word_before(text, number.begin);
    if (is_whole_number(text, word) && word.end - word.begin == STATUS_DIGITS)
        word = word_before(text, word.begin);
    if (is_one(text, word, '-'))
        word = word_before(text, word.begin);
    return is_whole_number(text, word) || is_one(text, word, '-') ? (Word){0, 0} : word;
}

/* Whether one to four numbers and a request in quotes stand behind the times of a load balancer: `0.001 503 502 34 366 "GET`. */
static bool is_before_sizes(Text text, Number number)
{
    Word before = word_before_statuses(text, number), after = word_after(text, number.end);
    int sizes = 0;
    for (; sizes < MOST_SIZES && (is_one(text, after, '-') || is_whole_number(text, after)); sizes++)
        after = word_after(text, after.end);
    if (byte_at(text, after.begin) != '"' || !is_method(text, after) || before.end == before.begin)
        return false;
    if (!has_digit(text, before))
        return byte_at(text, before.end - 1) != ']';
    bool is_time = byte_at(text, before.begin) == '-' || has_byte(text, before, '.');
    return sizes > 1 && is_time && is_digit(byte_at(text, before.end - 1));
}

/* Whether a number stands before a request, as `503 GET /cart` or `[503]: GET /cart`; not Squid's size, behind `TCP_MISS/503`. */
static bool is_before_request(Text text, Number number)
{
    int64_t end = number.end + (byte_at(text, number.end) == ']');
    end += byte_at(text, end) == ':';
    if (byte_at(text, word_after(text, end).begin) == '"')
        return is_before_sizes(text, number);
    Word before = word_before(text, number.begin);
    return is_request(text, end) ? !is_whole_number(text, before) && !has_byte(text, before, '/') : is_before_sizes(text, number);
}

/* Whether a word is the state of a session as HAProxy writes it: `SC--`, `----`. */
static bool is_state(Text text, Word word)
{
    static const char *const LETTERS[STATE_LETTERS] = {"CSPLRIDUKcs-", "RQCHDLT-", "NIDVEOU-", "NIURPD-"};
    if (word.end - word.begin != STATE_LETTERS)
        return false;
    for (int i = 0; i < STATE_LETTERS; i++)
        if (!strchr(LETTERS[i], text.bytes[word.begin + i]))
            return false;
    return true;
}

/* Whether a number stands where HAProxy has the status: behind timers or a server, before size, cookies and state. */
static bool is_before_state(Text text, Number number)
{
    Word before = word_before(text, number.begin), word = word_after(text, number.end);
    if (!has_byte(text, before, '/'))
        return false;
    for (int i = 0; i <= MOST_COOKIES && word.end > word.begin; i++, word = word_after(text, word.end))
        if (is_state(text, word))
            return true;
    return false;
}

/* Whether a method stands in the 512 bytes before `place` in its line, and its path is not followed by a number, which were the status. */
static bool has_open_request(Text text, int64_t place)
{
    int64_t last = place > METHOD_BYTES ? place - METHOD_BYTES : 0;
    while (place-- > last && !ends_line(text.bytes[place])) {
        int64_t end = place;
        if (is_upper(text.bytes[place]) && !is_word(byte_at(text, place - 1)))
            end = behind_method(text, place);
        if (end > place)
            return !is_digit(byte_at(text, word_after(text, word_after(text, end).end).begin));
    }
    return false;
}

/* Whether a number is a column between bars, in a line that goes on with a method in one: `| 503 | 1.2ms | 192.0.2.1 | GET`. */
static bool is_between_bars(Text text, Number number)
{
    int64_t begin = number.begin, place = number.end;
    while (is_blank(byte_at(text, begin - 1)))
        begin--;
    while (is_blank(byte_at(text, place)))
        place++;
    if (byte_at(text, begin - 1) != '|' || byte_at(text, place) != '|')
        return false;
    for (int columns = 0; columns < MOST_COLUMNS && !ends_line(byte_at(text, place)); place++) {
        if (byte_at(text, place) != '|')
            continue;
        columns++;
        if (is_method(text, word_after(text, place + 1)))
            return true;
    }
    return false;
}

/* Whether `in`, perhaps behind a size, follows a number: `503 19B in 1.2ms`. */
static bool is_before_in(Text text, Number number)
{
    Word word = word_after(text, number.end);
    if (has_digit(text, word) && text.bytes[word.end - 1] == 'B')
        word = word_after(text, word.end);
    return word.end == word.begin + 2 && memcmp(text.bytes + word.begin, "in", 2) == 0;
}

/* Whether a word is an address, a host, or what the masks leave of one; no path. */
static bool is_address(Text text, Word word)
{
    uint8_t last = byte_at(text, word.end - 1) | 0x20;
    bool is_named = has_byte(text, word, '.') && last >= 'a' && last <= 'z';
    bool is_masked = word.end == word.begin + 4 && ends_word(text, word.end - 1, "host");
    return is_named || is_masked || (text.bytes[word.begin] != '/' && has_byte(text, word, '/'));
}

/* Whether a number stands before the last numbers of a line that has a method, behind an address or `-`: a line of IIS. */
static bool is_before_last(Text text, Number number)
{
    Word before = word_before(text, number.begin), word = word_after(text, number.end);
    if (is_one(text, before, '-') && is_before_in(text, number))
        return has_open_request(text, before.begin);
    for (int i = 0; i < MOST_LAST && is_whole_number(text, word); i++)
        word = word_after(text, word.end);
    if (word.end > word.begin || before.end == before.begin)
        return false;
    return (is_one(text, before, '-') || is_address(text, before)) && has_open_request(text, before.begin);
}

/* Whether the letters at `place` are these: in capitals, or as they stand here; a mark may part words. */
static bool is_reason(Text text, int64_t place, const char *reason)
{
    for (; *reason; reason++, place++) {
        uint8_t byte = byte_at(text, place);
        bool is_mark = *reason == ' ' && (byte == '_' || byte == '-');
        if (byte != (uint8_t)*reason && !is_mark && !(is_upper(byte) && (byte | 0x20) == (uint8_t)*reason))
            return false;
    }
    return !is_word(byte_at(text, place));
}

/* Whether the word before a number says that a request is over. */
static bool is_after_answer(Text text, Number number)
{
    int64_t last = number.begin - 2;
    return is_blank(byte_at(text, number.begin - 1)) && (ends_word(text, last, "eted") || ends_word(text, last, "sent") ||
                                                         ends_word(text, last, "nded") || ends_word(text, last, "rned"));
}

/* Whether the reason of a status follows: `503 Service Unavailable`, `503 SERVICE_UNAVAILABLE`. */
static bool is_before_reason(Text text, Number number)
{
    static const char *const REASONS[] = {
        "Service Unavailable", "Not Found", "Internal Server Error", "Bad Gateway", "Gateway Timeout", "Gateway Time-out", "Bad Request",
        "Unauthorized", "Forbidden", "Method Not Allowed", "Too Many Requests", "Request Timeout", "Not Modified", "No Content",
        "Moved Permanently", "See Other", "Temporary Redirect", "Permanent Redirect", "Not Implemented", "Precondition Failed",
        "Payload Too Large", "Unprocessable Entity", "Unprocessable Content", "Partial Content", "Not Acceptable",
    };
    static const char *const SHORT[] = {"OK", "Found", "Created", "Accepted", "Gone", "Conflict", "in"};
    int64_t place = number.end + 1;
    uint8_t first = byte_at(text, place);
    if (!is_blank(byte_at(text, number.end)) || (!is_upper(first) && first != 'i'))
        return false;
    for (size_t i = 0; i < sizeof REASONS / sizeof *REASONS; i++)
        if (first == (uint8_t)*REASONS[i] && is_reason(text, place, REASONS[i]))
            return true;
    for (size_t i = 0; i < sizeof SHORT / sizeof *SHORT; i++)
        if (first == (uint8_t)*SHORT[i] && is_reason(text, place, SHORT[i]))
            return is_after_answer(text, number);
    return false;
}

/* Whether a slash and a word in capitals with an underscore stand before a number: Squid's `TCP_MISS/503`. */
static bool is_after_result(Text text, Number number)
{
    int64_t place = number.begin - 2;
    while (is_upper(byte_at(text, place)))
        place--;
    return place < number.begin - 2 && byte_at(text, place) == '_' && is_upper(byte_at(text, place - 1));
}

/* Whether a number is a status by its place in the line of an access log. */
static bool is_status(Text text, Number number)
{
    uint8_t before = byte_at(text, number.begin - 1), after = byte_at(text, number.end);
    if (before == '/')
        return is_between(after) && is_after_result(text, number);
    bool may_begin = is_between(before) || before == '|' || before == '[' || before == '(';
    bool may_end = is_between(after) || after == '|' || after == ']' || after == ')' ||
                   (after == ':' && !is_digit(byte_at(text, number.end + 1)));
    return may_begin && may_end &&
           (is_before_reason(text, number) || is_after_request(text, number) || is_before_request(text, number) ||
            is_before_state(text, number) || is_between_bars(text, number) || is_before_last(text, number));
}

static void flag_statuses_of(Text text, uint8_t *flags)
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
        if (number.end - number.begin == STATUS_DIGITS && is_status(text, number))
            memset(flags + number.begin, 1, STATUS_DIGITS);
        place = number.end + 1;
    }
}

/* Set `flags`, one for each byte of the n texts, for the digits of statuses; the others stay as they are. Text i is `data[ends[i]]` to
   before `data[ends[i + 1]]`. */
EXPORTED void flag_statuses(const uint8_t *data, const int32_t *ends, int64_t texts, uint8_t *flags)
{
    for (int64_t i = 0; i < texts; i++)
        flag_statuses_of((Text){data + ends[i], ends[i + 1] - ends[i]}, flags + ends[i]);
}
