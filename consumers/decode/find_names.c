/*
 * Finds who says a line, in the usual layouts of text; `consumers/decode/line_names.py` calls it.
 *
 * Theory of operation. From the end of the time, or from the beginning of a line without one, word after word, over at most ten:
 * 1. What stands in a head is gone over: the level, numbers, dashes, bars, brackets with a thread or anything else.
 * 2. A *logger* is a name with a dot or `::` or two humps (`shop.cart`, `shop::cart`, `CartService`), beside a level: before ` - `, ` -- `,
 *    ` : `, a colon or a bar, or in brackets.
 * 3. A *service* is a name in lower case with a colon, directly behind time and level: `10:00:00 INFO gateway: x`; or the first of two
 *    brackets behind `---`, as Spring Boot writes it.
 * 4. Anything else is prose: the search ends.
 *
 * What the words are is the caller's to judge: `error: x` and `note: x` are no services. Only the first 127 bytes of a line are looked at,
 * `byte_at` reads 0 past their end, and a word is read once, so a line takes bounded time.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))
#define OFTEN inline __attribute__((always_inline))

enum { HEAD_BYTES = 127, MOST_WORDS = 10, MOST_LETTERS = 8 };

/* What a word of the head is: a service, a logger, or a name in brackets that is a logger if no other one follows. */
typedef enum { NOTHING, SERVICE, LOGGER, IN_BRACKETS } Kind;

typedef struct {
    const uint8_t *text;
    uint32_t size;
} Head;

typedef struct {
    uint32_t begin, end;
} Word;

typedef struct {
    Head head;
    uint32_t at;
    bool has_time, has_level, is_behind_level, is_behind_rule; /* a rule is `---` */
    Word before;                                               /* a logger between dashes, before its level */
} Search;

/* Return a byte of the head, 0 past its end. */
static uint8_t byte_at(const Head *head, uint32_t at)
{
    return at < head->size ? head->text[at] : 0;
}

static bool is_letter(uint8_t byte)
{
    return (uint8_t)((byte | 0x20) - 'a') < 26;
}

static bool is_capital(uint8_t byte)
{
    return byte >= 'A' && byte <= 'Z';
}

static bool is_digit(uint8_t byte)
{
    return byte >= '0' && byte <= '9';
}

static bool is_blank(uint8_t byte)
{
    return byte == ' ' || byte == '\t';
}

static bool ends_word(uint8_t byte)
{
    return is_blank(byte) || byte == 0;
}

/* Bytes of names, but for `::`. */
static const bool IS_OF_NAME[256] = {
    ['a'] = 1, ['b'] = 1, ['c'] = 1, ['d'] = 1, ['e'] = 1, ['f'] = 1, ['g'] = 1, ['h'] = 1, ['i'] = 1, ['j'] = 1, ['k'] = 1, ['l'] = 1,
    ['m'] = 1, ['n'] = 1, ['o'] = 1, ['p'] = 1, ['q'] = 1, ['r'] = 1, ['s'] = 1, ['t'] = 1, ['u'] = 1, ['v'] = 1, ['w'] = 1, ['x'] = 1,
    ['y'] = 1, ['z'] = 1, ['A'] = 1, ['B'] = 1, ['C'] = 1, ['D'] = 1, ['E'] = 1, ['F'] = 1, ['G'] = 1, ['H'] = 1, ['I'] = 1, ['J'] = 1,
    ['K'] = 1, ['L'] = 1, ['M'] = 1, ['N'] = 1, ['O'] = 1, ['P'] = 1, ['Q'] = 1, ['R'] = 1, ['S'] = 1, ['T'] = 1, ['U'] = 1, ['V'] = 1,
    ['W'] = 1, ['X'] = 1, ['Y'] = 1, ['Z'] = 1, ['0'] = 1, ['1'] = 1, ['2'] = 1, ['3'] = 1, ['4'] = 1, ['5'] = 1, ['6'] = 1, ['7'] = 1,
    ['8'] = 1, ['9'] = 1, ['_'] = 1, ['-'] = 1, ['.'] = 1, ['$'] = 1,
};

static bool is_of_name(uint8_t byte)
{
    return IS_OF_NAME[byte];
}

/* Return where blanks from `at` on end. */
static OFTEN uint32_t blanks_end(const Head *head, uint32_t at)
{
    while (is_blank(byte_at(head, at)))
        at++;
    return at;
}

/* Return where a name from `at` on ends; a colon is part of it only in `::`. */
static OFTEN uint32_t name_end(const Head *head, uint32_t at)
{
    for (;; at += 2) {
        while (at < head->size && is_of_name(head->text[at]))
            at++;
        if (byte_at(head, at) != ':' || byte_at(head, at + 1) != ':' || !is_letter(byte_at(head, at + 2)))
            return at;
    }
}

/* Whether a word is the name of a level, in capitals or in lower case. */
static OFTEN bool is_level(const Head *head, Word word)
{
    if (word.end - word.begin < 3 || word.end - word.begin > MOST_LETTERS || !is_letter(head->text[word.begin]))
        return false;
    enum { MOST_NAMES = 5 };
    static const char NAMES[26][MOST_NAMES][MOST_LETTERS + 1] = {
        ['a' - 'a'] = {"alert"},
        ['c' - 'a'] = {"crit", "critical", "config"},
        ['d' - 'a'] = {"debug", "dbg", "dpanic", "dbug"},
        ['e' - 'a'] = {"error", "err", "emerg"},
        ['f' - 'a'] = {"fatal", "fine", "finer", "finest", "fail"},
        ['i' - 'a'] = {"info", "inf"},
        ['l' - 'a'] = {"log"},
        ['n' - 'a'] = {"notice"},
        ['p' - 'a'] = {"panic"},
        ['s' - 'a'] = {"severe"},
        ['t' - 'a'] = {"trace", "trc", "trce"},
        ['v' - 'a'] = {"verbose"},
        ['w' - 'a'] = {"warn", "warning", "wrn"},
    };
    const uint32_t size = word.end - word.begin;
    const char(*names)[MOST_LETTERS + 1] = NAMES[(head->text[word.begin] | 0x20) - 'a'];
    for (int i = 0; i < MOST_NAMES && names[i][0]; i++) {
        uint32_t letters = 1;
        while (letters < size && (head->text[word.begin + letters] | 0x20) == names[i][letters])
            letters++;
        if (letters == size && names[i][size] == 0)
            return true;
    }
    return false;
}

/* Whether a name is that of a logger: with `::`, a dot between letters, or two humps. */
static bool is_logger(const Head *head, Word name)
{
    if (!is_letter(byte_at(head, name.begin)) || name.end < name.begin + 3)
        return false;
    const bool may_have_humps = is_capital(head->text[name.begin]);
    bool has_dot = false, has_lower = false, is_behind_lower = false;
    for (uint32_t at = name.begin; at < name.end; at++) {
        const uint8_t byte = head->text[at];
        if (is_behind_lower && may_have_humps && is_capital(byte))
            return true;
        is_behind_lower = (uint8_t)(byte - 'a') < 26;
        has_lower |= is_behind_lower;
        has_dot |= (byte == '.' || byte == ':') && at + 1 < name.end && !is_digit(head->text[at + 1]);
        if (has_dot && has_lower)
            return true;
    }
    return false;
}

/* Whether a name is in lower case and no number: that of a service, perhaps. */
static bool is_lower(const Head *head, Word name)
{
    if (name.end < name.begin + 2 || !is_letter(head->text[name.begin]))
        return false;
    for (uint32_t at = name.begin; at < name.end; at++)
        if (is_capital(head->text[at]) || head->text[at] == '.' || head->text[at] == '$' || head->text[at] == ':')
            return false;
    return true;
}

/* Return where a bracket that opens at `at` closes; `at` if it does not. */
static uint32_t bracket_end(const Head *head, uint32_t at)
{
    const uint8_t closing = head->text[at] == '[' ? ']' : head->text[at] == '<' ? '>' : head->text[at] == '(' ? ')' : '}';
    uint32_t end = at + 1;
    while (end < head->size && head->text[end] != closing && head->text[end] != head->text[at])
        end++;
    return byte_at(head, end) == closing ? end : at;
}

/* Return what is in a bracket, without blanks around it. */
static Word within(const Head *head, uint32_t at, uint32_t closing)
{
    Word word = {blanks_end(head, at + 1), closing};
    while (word.end > word.begin && is_blank(head->text[word.end - 1]))
        word.end--;
    return word;
}

/* Read a bracket at the search's place. Return the kind of the name in it; the search goes behind it, or ends where it does not close. */
static Kind read_bracket(Search *search, Word *name)
{
    const Head *head = &search->head;
    const uint32_t opening = search->at, closing = bracket_end(head, opening);
    if (closing == opening) {
        search->at = head->size;
        return NOTHING;
    }
    const Word word = within(head, opening, closing);
    const bool was_behind_level = search->is_behind_level, was_behind_rule = search->is_behind_rule;
    const bool is_square = head->text[opening] == '[', is_whole = word.end > word.begin && name_end(head, word.begin) == word.end;
    search->at = closing + 1;
    search->is_behind_level = search->is_behind_rule = false;
    if (is_whole && is_level(head, word)) {
        search->has_level = search->is_behind_level = true;
        return NOTHING;
    }
    *name = word;
    if (!is_square || !is_whole)
        return NOTHING;
    if (was_behind_rule && byte_at(head, blanks_end(head, search->at)) == '[')
        return SERVICE;
    if (search->has_level && is_logger(head, word))
        return LOGGER;
    return was_behind_level && is_lower(head, word) && is_blank(byte_at(head, search->at)) ? IN_BRACKETS : NOTHING;
}

/* Whether ` - `, ` -- `, ` : `, ` [` or a bar stands behind a name, perhaps behind blanks. */
static bool is_before_dash(const Head *head, uint32_t end)
{
    const uint32_t at = blanks_end(head, end);
    const uint8_t mark = byte_at(head, at);
    if (mark == '|' || (mark == '[' && at > end))
        return true;
    if (at == end || (mark != '-' && mark != ':'))
        return false;
    return is_blank(byte_at(head, at + 1)) || (mark == '-' && byte_at(head, at + 1) == '-' && is_blank(byte_at(head, at + 2)));
}

/* Whether what follows a word leaves it open that it is a name; most words of prose are refused here. */
static OFTEN bool may_be_name(const Head *head, uint32_t end)
{
    uint8_t byte = byte_at(head, end);
    if (byte == ' ')
        byte = byte_at(head, blanks_end(head, end));
    return byte == ':' || byte == '-' || byte == '|' || byte == '[' || byte == ']';
}

/* Return what a name in the head is; the search goes behind it, or ends. */
static OFTEN Kind read_name(Search *search, Word *name)
{
    const Head *head = &search->head;
    Word word = {search->at, name_end(head, search->at)};
    uint32_t end = word.end;
    const bool was_behind_level = search->is_behind_level;
    const uint8_t follows = byte_at(head, end);
    *name = word;
    search->at = head->size;
    if (is_level(head, word) && (is_capital(head->text[word.begin]) || search->has_time || word.begin == 0)) {
        search->has_level = search->is_behind_level = true;
        if (follows == ':' && !search->has_time && word.begin == 0 && is_of_name(byte_at(head, end + 1))) {
            *name = (Word){end + 1, name_end(head, end + 1)}; /* Python's `ERROR:shop.cart:` */
            return byte_at(head, name->end) == ':' ? LOGGER : NOTHING;
        }
        if (follows == ':' && word.begin == 0 && byte_at(head, end + 1) == ' ') {
            *name = (Word){end + 2, name_end(head, end + 2)}; /* .NET's `fail: Shop.Cart[0]` */
            return is_logger(head, *name) && byte_at(head, name->end) == '[' && is_digit(byte_at(head, name->end + 1)) ? LOGGER : NOTHING;
        }
        const bool goes_on = is_blank(follows) || follows == '|' || follows == ']';
        if (goes_on && search->before.end > 0) {
            *name = search->before;
            return LOGGER;
        }
        search->at = goes_on ? end + !is_blank(follows) : head->size;
        return NOTHING;
    }
    if (!may_be_name(head, end))
        return NOTHING;
    if (follows == '[' && search->has_level && bracket_end(head, end) > end)
        end = bracket_end(head, end) + 1;
    const bool has_colon = byte_at(head, end) == ':' && ends_word(byte_at(head, end + 1));
    if (search->has_level && is_logger(head, word))
        return has_colon || is_before_dash(head, end) || (was_behind_level && follows == ']') ? LOGGER : NOTHING;
    if (was_behind_level && search->has_time && has_colon && is_lower(head, word))
        return SERVICE;
    if (!search->has_level && is_before_dash(head, end) && (is_logger(head, word) || is_lower(head, word))) {
        search->before = word;
        search->at = blanks_end(head, end);
    }
    return NOTHING;
}

/* Go over a number or a mark; the search ends at anything else. */
static OFTEN void skip_mark(Search *search)
{
    const Head *head = &search->head;
    const uint32_t begin = search->at;
    uint32_t end = begin;
    while (end < head->size && !ends_word(head->text[end]) && head->text[end] != '|')
        end++;
    const bool is_rule = end == begin + 3 && memcmp(head->text + begin, "---", 3) == 0;
    const uint8_t first = byte_at(head, begin);
    const bool is_mark = is_digit(first) || first == '-' || first == '|' || first == '#';
    search->is_behind_rule = is_rule;
    search->is_behind_level = search->is_behind_level && (first == '-' || first == '|') && !is_rule;
    search->at = is_mark ? end + (end == begin) : head->size;
}

/* Find what a line names: the service, and the logger. */
static OFTEN void find_in_line(Search search, Word *service, Word *logger)
{
    for (int word = 0; word < MOST_WORDS && search.at < search.head.size; word++) {
        Word name = {0, 0};
        Kind kind = NOTHING;
        search.at = blanks_end(&search.head, search.at);
        const uint8_t first = byte_at(&search.head, search.at);
        if (first == '[' || first == '<' || first == '(' || first == '{')
            kind = read_bracket(&search, &name);
        else if (is_letter(first))
            kind = read_name(&search, &name);
        else
            skip_mark(&search);
        /* What the end of the head cuts may be longer. */
        if (kind == NOTHING || name.end >= HEAD_BYTES)
            continue;
        *(kind == SERVICE ? service : logger) = name;
        if (kind == LOGGER)
            return;
    }
}

/* Whether this byte belongs to the time before it. */
static bool closes_time(uint8_t byte)
{
    return byte == ']' || byte == ')' || byte == '>' || byte == '"' || byte == ',' || byte == ':' || byte == '|';
}

/*
 * Write which bytes of each of n lines are the service and which the logger, 0 to 0 for none: `spans` is uint8[4, n]. Line i is
 * `data[places[i]:places[i + 1]]`; `start` and `end` are of its time.
 */
EXPORTED void find_names(const uint8_t *data, const int32_t *places, int64_t n, const uint8_t *start, const uint8_t *end, uint8_t *spans)
{
    for (int64_t i = 0; i < n; i++) {
        const uint32_t size = (uint32_t)(places[i + 1] - places[i]);
        Search search = {.head = {data + places[i], size < HEAD_BYTES ? size : HEAD_BYTES}};
        Word service = {0, 0}, logger = {0, 0};
        search.has_time = end[i] > 0 && start[i] <= 1 && end[i] < search.head.size;
        if (search.has_time)
            search.at = end[i] + closes_time(byte_at(&search.head, end[i]));
        if (search.has_time || end[i] == 0)
            find_in_line(search, &service, &logger);
        spans[i] = (uint8_t)service.begin, spans[n + i] = (uint8_t)service.end;
        spans[2 * n + i] = (uint8_t)logger.begin, spans[3 * n + i] = (uint8_t)logger.end;
    }
}
