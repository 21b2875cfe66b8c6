/*
 * Finds the level that each of many lines names; `consumers/decode/line_levels.py` calls it.
 *
 * Theory of operation. From the beginning of the line, or from the end of its time, word after word:
 * 1. A level counts in capitals (`ERROR`, `WARN:`), in brackets (`[error]`, `<Error>`, `[core:error]`), as `level=error`, between bars,
 *    dashes or tabs, before a colon where a message begins (`error: no such file`), as the letter of glog, Android, MongoDB, Ruby and
 *    Tornado, behind a channel (`local.ERROR:`), in a column of its own (`10:00:00,web-1,ERROR,x`), and as Cisco's number (`%LINK-3-DOWN:`).
 * 2. What may stand before it is skipped: numbers, brackets, capitals, names with a dot, digit or slash, and one plain word behind a time
 *    (a host or a logger). Behind a word with a colon the message begins: its first word is a level, or there is none.
 * 3. Anything else is prose: the search ends there, so "no error found" has no level.
 *
 * Only the head of a line, its first 127 bytes, is looked at, of columns 512 bytes. Single bytes are read with `byte_at`, which returns 0 past the end, and
 * loops end there: a line never depends on its neighbours. The end of a word or of a bracket is searched for 64 bytes and at most ten
 * words are read, so a line takes bounded time.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))
/* What few lines need is kept out of the loop over words. */
#define RARE __attribute__((noinline, cold))
#define OFTEN inline __attribute__((always_inline))

enum { COLUMN_BYTES = 512, MOST_COLUMNS = 24 };

enum { HEAD_BYTES = 127, MOST_WORDS = 10, WORD_BYTES = 64, MOST_LETTERS = 16, COMPARED_LETTERS = 8 };

/* What the shape of a time says of its line: `kind` in `LineTimes`. */
enum { SYSLOG = 1, GLOG = 3, ACCESS = 4 };

/* Places in `LEVELS` of consumers/decode/levels.py. */
enum { NO_LEVEL = -1, TRACE, DEBUG, INFO, WARN, ERROR, FATAL };

/*
 * How a name counts: in any case; in capitals only; in capitals and before a colon only; in lower case and before a colon only; it is the
 * name of a field. As the value of a field each counts in any case.
 */
typedef enum { ANY_CASE, CAPITALS, COLON, LOWER_COLON, KEY } How;

typedef struct {
    char letters[COMPARED_LETTERS + 1]; /* the first ones, in lower case: a longer word is told by them and by its size */
    uint8_t fewest, most;               /* letters of the word */
    How how;
    int8_t level;
} Name;

enum { MOST_NAMES = 7 };

/* The names of levels, by their first letter. Levels are those of consumers/decode/levels.py. */
static const Name NAMES[26][MOST_NAMES] = {
    ['a' - 'a'] = {{"alert", 5, 5, ANY_CASE, FATAL}},
    ['c' - 'a'] = {{"crit", 4, 4, ANY_CASE, FATAL}, {"critical", 8, 8, ANY_CASE, FATAL}, {"config", 6, 6, COLON, INFO}},
    ['d' - 'a'] = {{"debug", 5, 5, ANY_CASE, DEBUG}, {"dbg", 3, 3, CAPITALS, DEBUG}, {"dpanic", 6, 6, CAPITALS, FATAL},
                   {"dbug", 4, 4, LOWER_COLON, DEBUG}, {"debu", 4, 4, CAPITALS, DEBUG}},
    ['e' - 'a'] = {{"error", 5, 5, ANY_CASE, ERROR}, {"err", 3, 3, ANY_CASE, ERROR}, {"eror", 4, 4, CAPITALS, ERROR},
                   {"emerg", 5, 5, ANY_CASE, FATAL}, {"emergenc", 9, 9, ANY_CASE, FATAL}, {"erro", 4, 4, CAPITALS, ERROR}},
    ['f' - 'a'] = {{"fatal", 5, 5, ANY_CASE, FATAL}, {"ftl", 3, 3, CAPITALS, FATAL}, {"fine", 4, 4, CAPITALS, DEBUG},
                   {"finer", 5, 5, CAPITALS, TRACE}, {"finest", 6, 6, CAPITALS, TRACE}, {"fail", 4, 4, LOWER_COLON, ERROR},
                   {"fata", 4, 4, CAPITALS, FATAL}},
    ['i' - 'a'] = {{"info", 4, 4, ANY_CASE, INFO}, {"informat", 11, 13, ANY_CASE, INFO}, {"inf", 3, 3, CAPITALS, INFO}},
    ['l' - 'a'] = {{"log", 3, 3, COLON, INFO}, {"level", 5, 5, KEY, NO_LEVEL}, {"lvl", 3, 3, KEY, NO_LEVEL},
                   {"loglevel", 8, 8, KEY, NO_LEVEL}},
    ['n' - 'a'] = {{"notice", 6, 6, ANY_CASE, INFO}},
    ['p' - 'a'] = {{"panic", 5, 5, ANY_CASE, FATAL}},
    ['s' - 'a'] = {{"severe", 6, 6, ANY_CASE, ERROR}, {"severity", 8, 8, KEY, NO_LEVEL}},
    ['t' - 'a'] = {{"trace", 5, 5, ANY_CASE, TRACE}, {"trc", 3, 3, CAPITALS, TRACE}, {"trce", 4, 4, LOWER_COLON, TRACE}},
    ['v' - 'a'] = {{"verbose", 7, 7, ANY_CASE, TRACE}, {"vrb", 3, 3, CAPITALS, TRACE}},
    ['w' - 'a'] = {{"warn", 4, 4, ANY_CASE, WARN}, {"warning", 7, 7, ANY_CASE, WARN}, {"wrn", 3, 3, CAPITALS, WARN}},
};

/* The first bytes of a line. */
typedef struct {
    const uint8_t *text;
    uint32_t size;
} Head;

/* Where the time of a line is; `end` is 0 where there is none. */
typedef struct {
    uint32_t start, end;
    uint8_t kind;
} Time;

/* Letters, at most 16, and what is around them. */
typedef struct {
    uint32_t place, size;
    uint8_t opening; /* the byte that opens the word, as `[`; of a word without one its own first byte */
    bool is_opened;
    uint8_t follows;
    bool is_capitals;
    const Name *name; /* NULL for none */
} Word;

typedef struct {
    Head head;
    Time time;
    uint32_t at;
    int step, plain, numbers; /* how many words, plain words and numbers there were */
    bool has_begun;           /* the last word ended with a colon */
    bool is_behind_bar;       /* the last word was `-` or `|` */
    bool is_behind_capitals;  /* the last word was in capitals */
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

/* Whether a blank, a NUL or the end of the head is there. */
static bool ends_word(uint8_t byte)
{
    return is_blank(byte) || byte == 0;
}

static bool is_bar(uint8_t byte)
{
    return byte == '-' || byte == '|';
}

static bool opens_word(uint8_t byte)
{
    return byte == '[' || byte == '<' || byte == '(' || byte == '"' || byte == '\'' || byte == '=';
}

/* Whether this byte may follow a name in capitals. */
static bool ends_capitals(uint8_t byte)
{
    switch (byte) {
    case ']': case ')': case '>': case '|': case ':': case ',': case ';': case '"': case '/':
        return true;
    default:
        return ends_word(byte);
    }
}

/* Whether this byte belongs to the time before it. */
static bool closes_time(uint8_t byte)
{
    switch (byte) {
    case ']': case ')': case '>': case '"': case '\'': case ',': case ':': case ';': case '|':
        return true;
    default:
        return false;
    }
}

static bool is_space(uint8_t byte)
{
    return is_blank(byte) || byte == '\n' || byte == '\r' || byte == '\f';
}

/* Whether this byte may be part of a tag of Android. */
static bool is_of_android_tag(uint8_t byte)
{
    return is_letter(byte) || is_digit(byte) || byte == '_' || byte == '.' || byte == '$' || byte == '-';
}

/* Return what closes this bracket, 0 for another byte. */
static uint8_t closing_of(uint8_t opening)
{
    return opening == '[' ? ']' : opening == '<' ? '>' : opening == '(' ? ')' : 0;
}

/* Return the level of a single letter. */
static int8_t level_of_letter(uint8_t letter)
{
    switch (letter) {
    case 'V':
        return TRACE;
    case 'D':
        return DEBUG;
    case 'I':
        return INFO;
    case 'W':
        return WARN;
    case 'E':
        return ERROR;
    case 'F': case 'C':
        return FATAL;
    default:
        return NO_LEVEL;
    }
}

/* Return where the bytes that are searched from `at` on end. */
static uint32_t search_limit(const Head *head, uint32_t at)
{
    return at + WORD_BYTES < head->size ? at + WORD_BYTES : head->size;
}

/* Return where a word from `at` on ends: at a blank, after 64 bytes, or with the head. */
static uint32_t word_end(const Head *head, uint32_t at)
{
    const uint32_t limit = search_limit(head, at);
    while (at < limit && !is_blank(head->text[at]))
        at++;
    return at;
}

/* Return where at most 64 blanks from `at` on end. */
static uint32_t blanks_end(const Head *head, uint32_t at)
{
    const uint32_t limit = search_limit(head, at);
    while (at < limit && is_blank(head->text[at]))
        at++;
    return at;
}

/* Return where white space of any kind from `at` on ends. */
static uint32_t spaces_end(const Head *head, uint32_t at)
{
    while (is_space(byte_at(head, at)))
        at++;
    return at;
}

/* Return where digits from `at` on end. */
static uint32_t digits_end(const Head *head, uint32_t at)
{
    while (is_digit(byte_at(head, at)))
        at++;
    return at;
}

/* Return the name that a word of letters is. */
static const Name *name_of(const char folded[COMPARED_LETTERS], uint32_t size)
{
    if (size == 0)
        return NULL;
    const Name *name = NAMES[folded[0] - 'a'];
    for (int i = 0; i < MOST_NAMES && name[i].most; i++)
        if (size >= name[i].fewest && size <= name[i].most && memcmp(folded, name[i].letters, COMPARED_LETTERS) == 0)
            return &name[i];
    return NULL;
}

/* Read the letters from `place` on; `opening` stands before them if `is_opened`. */
static OFTEN Word letters_at(const Head *head, uint32_t place, uint8_t opening, bool is_opened)
{
    Word word = {.place = place, .opening = opening, .is_opened = is_opened, .is_capitals = true};
    char folded[COMPARED_LETTERS] = {0};
    uint8_t byte = byte_at(head, place);
    while (word.size < MOST_LETTERS && is_letter(byte)) {
        if (word.size < COMPARED_LETTERS) {
            folded[word.size] = (char)(byte | 0x20);
            word.is_capitals &= is_capital(byte);
        }
        byte = byte_at(head, place + ++word.size);
    }
    word.follows = byte;
    word.name = name_of(folded, word.size);
    return word;
}

static Word word_at(const Head *head, uint32_t place, uint8_t opening, bool is_opened)
{
    return letters_at(head, place, opening, is_opened);
}

/* Read the word at `at`. */
static OFTEN Word read_word(const Head *head, uint32_t at)
{
    const uint8_t opening = byte_at(head, at);
    const bool is_opened = opens_word(opening);
    return letters_at(head, at + is_opened, opening, is_opened);
}

/* Return where what follows the time begins; 0 without one. */
static uint32_t behind_time(const Search *search)
{
    const uint32_t end = search->time.end;
    return end + (end > 0 && closes_time(byte_at(&search->head, end)));
}

/* Return the level that is a letter before the time: `I1123 …`, `I, [2026…`, `[I 2026…`. */
static int8_t letter_before_time(const Head *head, const Time *time)
{
    if (time->start == 3 && byte_at(head, 0) == '[' && byte_at(head, 2) == ' ')
        return level_of_letter(byte_at(head, 1));
    if (time->start == 4 && byte_at(head, 1) == ',' && time->end > 0)
        return level_of_letter(byte_at(head, 0));
    return time->kind == GLOG ? level_of_letter(byte_at(head, time->start)) : NO_LEVEL;
}

/* Begin at the line's first byte, or behind a time that nothing stands before. */
static OFTEN void begin(Search *search)
{
    const Head *head = &search->head;
    if (search->time.start <= 1)
        search->at = behind_time(search);
    if (search->time.kind == SYSLOG && byte_at(head, search->at) == ' ') {
        /* The word behind a time of syslog is the host. */
        const uint32_t host_end = word_end(head, search->at + 1);
        if (byte_at(head, host_end - 1) != ':')
            search->at = host_end;
    }
}

/* Go over blanks, and over the time of a line that has something before it. */
static OFTEN void skip_to_word(Search *search)
{
    search->at = blanks_end(&search->head, search->at);
    if (search->time.start > 1 && search->at + 1 >= search->time.start && search->at < search->time.end)
        search->at = blanks_end(&search->head, behind_time(search));
}

/* Whether a name in lower case counts: between brackets, bars or tabs, in a column, or before a colon where a message begins. */
static bool is_delimited(const Search *search, const Word *word)
{
    const uint8_t follows = word->follows, behind = byte_at(&search->head, word->place + word->size + 1);
    const uint8_t closing = closing_of(word->opening);
    const bool is_alone = ends_word(follows);
    if (closing && (follows == closing || (is_alone && behind == closing)))
        return true;
    if (follows == ':' && (search->plain == 0 || search->has_begun) && !word->is_opened)
        return true;
    if (search->is_behind_bar && (follows == '|' || (is_alone && (is_bar(behind) || ends_word(behind)))))
        return true;
    if (search->at == 0)
        return false;
    return (follows == '\t' && byte_at(&search->head, word->place - 1) == '\t') || (search->step == 0 && is_alone && ends_word(behind));
}

/*
 * Return the level with what slog adds to it, as in `ERROR+2` and `DEBUG-4`, by OpenTelemetry's numbers, of which each level has four;
 * NO_LEVEL if nothing like this stands at `at`.
 */
static int8_t level_with_number(const Head *head, uint32_t at, int8_t level)
{
    const uint8_t sign = byte_at(head, at);
    const uint32_t end = digits_end(head, at + 1);
    if ((sign != '+' && sign != '-') || end == at + 1 || end > at + 3 || !ends_word(byte_at(head, end)))
        return NO_LEVEL;
    if (sign == '-')
        return level == DEBUG ? TRACE : NO_LEVEL;
    return level == ERROR && (end == at + 3 || head->text[at + 1] >= '4') ? FATAL : level;
}

/* Whether a number in brackets follows a name, as in `ERRO[0001]` of logrus and `ERROR[1234]` of Asterisk. */
static bool has_number_behind(const Head *head, const Word *word)
{
    const uint32_t number = word->place + word->size + 1;
    const uint32_t end = digits_end(head, number);
    return end > number && byte_at(head, end) == ']';
}

/* Whether `error:` follows the word at `at`: of `PHP Fatal error: `. */
static bool is_before_error(const Head *head, uint32_t end)
{
    return end + 7 <= head->size && memcmp(head->text + end, " error:", 7) == 0;
}

/* Whether the name of a level counts here. */
static OFTEN bool does_name_count(const Search *search, const Word *word)
{
    const Head *head = &search->head;
    if (word->follows == '[' && word->is_capitals && !word->is_opened && has_number_behind(head, word))
        return true;
    if ((search->plain == 0 || search->has_begun) && word->name->level == FATAL && is_before_error(head, word->place + word->size))
        return true;
    if (!(word->is_capitals && ends_capitals(word->follows) && word->opening != '"') && !is_delimited(search, word))
        return false;
    /* `SERVICE ALERT: …` is a kind of message. */
    return !(search->is_behind_capitals && word->is_capitals && strcmp(word->name->letters, "alert") == 0);
}

/* Whether the word is the name of a level, written as this name has to be. */
static OFTEN bool is_level_name(const Word *word)
{
    if (!word->name || word->name->how == KEY)
        return false;
    /* What the end of the head cuts may be another word. */
    if (word->place + word->size >= HEAD_BYTES)
        return false;
    switch (word->name->how) {
    case ANY_CASE:
        return true;
    case LOWER_COLON:
        return !word->is_capitals && !is_capital(word->opening) && word->follows == ':';
    default:
        return word->is_capitals && (word->name->how == CAPITALS || word->follows == ':');
    }
}

/* Whether a tag of Android and a colon stand at `at`: `ActivityManager( 1234):`. */
static bool is_android_tag(const Head *head, uint32_t at)
{
    const uint32_t tag = at;
    while (is_of_android_tag(byte_at(head, at)))
        at++;
    if (at < tag + 2)
        return false;
    at = spaces_end(head, at);
    if (byte_at(head, at) == '(') {
        const uint32_t number = spaces_end(head, at + 1);
        at = digits_end(head, number);
        if (at == number || byte_at(head, at) != ')')
            return false;
        at++;
    }
    return byte_at(head, at) == ':';
}

/* Return the level of a letter: `[E]`, Android's behind two numbers or before a slash and a tag, MongoDB's behind the time. */
static int8_t level_of_lone_letter(const Search *search, const Word *word)
{
    const Head *head = &search->head;
    const int8_t level = level_of_letter(byte_at(head, word->place));
    if (word->opening == '[')
        return word->follows == ']' ? level : NO_LEVEL;
    if (word->is_opened)
        return NO_LEVEL;
    if (word->follows == '/')
        return is_android_tag(head, word->place + 2) ? level : NO_LEVEL;
    if (word->follows != ' ')
        return NO_LEVEL;
    if (search->numbers == 2 && search->plain == 0)
        return level;
    const uint32_t next = word->place + 2 + (byte_at(head, word->place + 2) == ' ');
    const bool are_capitals = is_capital(byte_at(head, next)) && is_capital(byte_at(head, next + 1));
    return search->step == 0 && search->at > 0 && are_capitals ? level : NO_LEVEL;
}

/* Read a value, perhaps in quotes. */
static Word read_value(const Head *head, uint32_t at)
{
    const uint8_t opening = byte_at(head, at);
    const bool is_quoted = opening == '"';
    return word_at(head, at + is_quoted, opening, is_quoted);
}

/* Return the level behind `level=`, whose letters end at `key_end`. */
static int8_t level_of_field(const Head *head, uint32_t key_end)
{
    const Word value = read_value(head, key_end + 1);
    const uint32_t end = value.place + value.size;
    const bool is_whole = ends_word(value.follows) || value.follows == '"' || value.follows == ',' || value.follows == ';';
    if (!value.name || value.name->how == KEY || end >= HEAD_BYTES)
        return value.size == 1 && is_whole ? level_of_letter(head->text[value.place]) : NO_LEVEL;
    return is_whole ? value.name->level : level_with_number(head, end, value.name->level);
}

/* Return the level of a field whose name is longer, as `log.level=error`. */
RARE static int8_t level_of_long_key(const Head *head, const Word *word)
{
    uint32_t at = word->place + word->size, last = at;
    for (; is_letter(byte_at(head, at)) || byte_at(head, at) == '.' || byte_at(head, at) == '_'; at++)
        if (!is_letter(head->text[at]))
            last = at + 1;
    if (byte_at(head, at) != '=')
        return NO_LEVEL;
    const Word key = word_at(head, last, 0, false);
    return key.name && key.name->how == KEY ? level_of_field(head, at) : NO_LEVEL;
}

/* Whether what follows the letters of a word may lead to a level at its end. */
static bool may_be_channel(const Word *word)
{
    const uint8_t follows = word->follows;
    return word->size > 0 && !word->is_opened && (follows == '.' || follows == ':' || follows == '-' || follows == '_');
}

/* Return the level in capitals with which the word at `at` ends, behind a dot or a colon: `local.ERROR:`, `app@shop:[123]:ERROR:`. */
RARE static int8_t level_of_channel(const Head *head, uint32_t at)
{
    while (at < head->size && !ends_word(head->text[at]))
        at++;
    if (at == head->size || at < 2 || head->text[at - 1] != ':')
        return NO_LEVEL;
    uint32_t place = --at;
    while (place > 0 && is_capital(head->text[place - 1]) && at - place < MOST_LETTERS)
        place--;
    if (place == 0 || (head->text[place - 1] != '.' && head->text[place - 1] != ':'))
        return NO_LEVEL;
    const Word word = word_at(head, place, 0, false);
    return word.name && word.name->how != KEY && word.place + word.size == at ? word.name->level : NO_LEVEL;
}

/* Return the level of Cisco's severity at `at`: `%LINK-3-UPDOWN:`. */
RARE static int8_t level_of_cisco(const Head *head, uint32_t at)
{
    static const int8_t OF_SEVERITY[] = {FATAL, FATAL, FATAL, ERROR, WARN, INFO, INFO, DEBUG};
    const uint32_t limit = search_limit(head, at);
    int8_t level = NO_LEVEL;
    uint32_t begin = ++at; /* of a part between dashes */
    for (; at < limit; at++) {
        const uint8_t byte = head->text[at];
        if (byte == ':')
            return at > begin ? level : NO_LEVEL;
        if (byte == '-' && at == begin + 1 && head->text[begin] >= '0' && head->text[begin] <= '7')
            level = OF_SEVERITY[head->text[begin] - '0'];
        if (byte == '-')
            begin = at + 1;
        else if (!is_capital(byte) && !is_digit(byte) && byte != '_')
            return NO_LEVEL;
    }
    return NO_LEVEL;
}

/* Return the level in capitals behind a clock in the same bracket: `[10:00:00 ERR]`. */
RARE static int8_t level_behind_clock(const Head *head, uint32_t at)
{
    const uint32_t hour_end = digits_end(head, at + 1);
    if (hour_end != at + 3 || byte_at(head, hour_end) != ':' || byte_at(head, hour_end + 3) != ':')
        return NO_LEVEL;
    const Word word = word_at(head, blanks_end(head, word_end(head, at)), 0, false);
    return is_level_name(&word) && word.is_capitals && word.follows == ']' ? word.name->level : NO_LEVEL;
}

/* Return the level that a value of a module is the name of. */
static int8_t level_of_value(const Word *value)
{
    return value->name && value->name->how == ANY_CASE ? value->name->level : NO_LEVEL;
}

/* Return the level of a bracket with a name and a level, as `[core:error]`. */
static int8_t level_of_module(const Head *head, uint32_t at)
{
    const uint32_t limit = search_limit(head, at);
    while (at < limit && head->text[at] != ':' && head->text[at] != ']')
        at++;
    if (at == limit || head->text[at] == ']')
        return NO_LEVEL;
    const Word value = read_value(head, at + 1);
    return value.follows == ']' ? level_of_value(&value) : NO_LEVEL;
}

/* Whether `LOG` stands alone behind the time, and a tag with a colon behind it: `LOG database: `. */
static bool is_log_before_tag(const Search *search, const Word *word)
{
    if (!word->is_capitals || word->is_opened || word->follows != ' ')
        return false;
    const uint32_t end = word_end(&search->head, word->place + word->size + 1);
    return search->step == 0 && search->at > 0 && end < search->head.size && search->head.text[end - 1] == ':';
}

static bool is_php(const Head *head, const Word *word)
{
    return word->size == 3 && word->follows == ' ' && !word->is_opened && memcmp(head->text + word->place, "PHP", 3) == 0;
}

/* Return the level of `PHP Parse error:` and the like; `PHP Warning:` is read as its second word. */
RARE static int8_t level_of_php(const Head *head, const Word *word)
{
    const Word kind = word_at(head, word->place + word->size + 1, 0, false);
    if (kind.size == 0 || !is_before_error(head, kind.place + kind.size))
        return NO_LEVEL;
    return kind.name && kind.name->level == FATAL ? FATAL : ERROR;
}

/* Return the level that is named at this word. */
static OFTEN int8_t level_here(const Search *search, const Word *word)
{
    const Head *head = &search->head;
    if (is_level_name(word)) {
        if (word->is_capitals && (word->follows == '+' || word->follows == '-'))
            return level_with_number(head, word->place + word->size, word->name->level);
        return does_name_count(search, word) ? word->name->level : NO_LEVEL;
    }
    if (word->name && word->name->how == COLON && is_log_before_tag(search, word))
        return word->name->level;
    if (word->opening == '%')
        return level_of_cisco(head, search->at);
    if (word->opening == '[' && is_digit(word->follows) && word->size == 0)
        return level_behind_clock(head, search->at);
    const bool is_behind_colon = search->step == 0 && search->at > 0 && head->text[search->at - 1] == ':';
    if (word->opening == ':' || is_behind_colon || (search->plain == 0 && may_be_channel(word))) {
        const int8_t level = level_of_channel(head, search->at);
        if (level != NO_LEVEL)
            return level;
    }
    if (word->size == 0)
        return NO_LEVEL;
    if (word->opening == '[' && (word->follows == '_' || word->follows == ':' || is_digit(word->follows)))
        return level_of_module(&search->head, search->at);
    if (word->name && word->name->how == KEY && word->follows == '=')
        return level_of_field(head, word->place + word->size);
    if (word->follows == '.' || word->follows == '_')
        return level_of_long_key(head, word);
    if (is_php(head, word))
        return level_of_php(head, word);
    if (word->size == 1 && word->is_capitals && !search->has_begun)
        return level_of_lone_letter(search, word);
    return NO_LEVEL;
}

/* Whether a level may follow: not behind the first word of a message, nor behind `level=` or `msg=`. */
static OFTEN bool may_go_on(const Search *search, const Word *word)
{
    if (search->has_begun)
        return false;
    if (word->follows != '=')
        return true;
    const uint8_t *letters = search->head.text + word->place;
    const bool is_message = (word->size == 3 && memcmp(letters, "msg", 3) == 0) || (word->size == 7 && memcmp(letters, "message", 7) == 0);
    return !is_message && !(word->name && word->name->how == KEY);
}

/* Return where the bracket at `at` ends, or where it is given up; what is in it may hold blanks. */
static uint32_t bracket_end(const Head *head, uint32_t at)
{
    const uint32_t limit = search_limit(head, at);
    while (at < limit && head->text[at] != ']')
        at++;
    return at < head->size ? at + 1 : at;
}

/* Go behind the word, and return whether the search goes on. */
static OFTEN bool skip_word(Search *search, const Word *word)
{
    const Head *head = &search->head;
    const bool was_behind_bar = search->is_behind_bar;
    uint32_t end = word_end(head, search->at);
    search->is_behind_bar = word->opening == '|' || (word->opening == '-' && end == search->at + 1);
    if (search->is_behind_bar)
        end = search->at + 1;
    else if (word->opening == '[')
        end = bracket_end(head, search->at);
    const bool is_word = word->size > 0 && !word->is_opened;
    search->is_behind_capitals = is_word && word->is_capitals && word->size > 1;
    const bool is_plain = is_word && ends_word(word->follows) && !search->is_behind_capitals;
    search->plain += is_plain && !was_behind_bar;
    search->numbers += is_digit(word->opening);
    search->has_begun = end > 0 && byte_at(head, end - 1) == ':';
    search->at = end;
    search->step++;
    return end < head->size && (!is_plain || was_behind_bar || (search->time.end > 0 && search->plain <= 1));
}

/* Whether a column holds prose: two words of letters, outside of quotes. */
static bool is_prose(const Head *line, uint32_t begin, uint32_t end)
{
    for (uint32_t at = begin + 1; at + 1 < end; at++)
        if (line->text[at] == ' ' && is_letter(line->text[at - 1]) && is_letter(line->text[at + 1]))
            return !is_digit(line->text[begin]) && line->text[begin] != '"';
    return false;
}

/* Return the level that is all of a column, perhaps in quotes; in lower case only without blanks. */
static int8_t level_of_column(const Head *line, uint32_t begin, uint32_t end)
{
    const uint32_t given = begin;
    while (begin < end && line->text[begin] == ' ')
        begin++;
    while (end > begin && line->text[end - 1] == ' ')
        end--;
    if (end > begin + 1 && line->text[begin] == '"' && line->text[end - 1] == '"')
        begin++, end--;
    const Word word = word_at(line, begin, 0, false);
    uint32_t word_ends = begin + word.size;
    if (word_ends + 1 == end && is_digit(word.follows) && word.name && word.name->level == DEBUG)
        word_ends++; /* PostgreSQL's DEBUG1 */
    if (!word.name || word.name->how == KEY || word_ends != end)
        return NO_LEVEL;
    const bool is_any = word.name->how == ANY_CASE && (line->text[given] != ' ');
    return word.is_capitals || is_any ? word.name->level : NO_LEVEL;
}

/* Return where the column that begins at `at` ends; what is in quotes may hold separators. */
static uint32_t column_end(const Head *line, uint32_t at, uint8_t separator)
{
    bool is_quoted = false;
    for (; at < line->size && (is_quoted || line->text[at] != separator); at++)
        is_quoted ^= line->text[at] == '"';
    return at;
}

/* Return the level in a column of its own, behind the time in the first column; a name of a zone may stand between. */
static int8_t level_of_columns(const Head *line, const Time *time)
{
    uint32_t at = time->end + (time->start == 1);
    if (byte_at(line, at) == ' ' && is_capital(byte_at(line, at + 1)) && is_capital(byte_at(line, at + 2)))
        for (at += 3; is_capital(byte_at(line, at));)
            at++;
    const uint8_t separator = byte_at(line, at);
    if (separator != ',' && separator != ';' && separator != '|')
        return NO_LEVEL;
    for (int column = 0; column < MOST_COLUMNS && at < line->size; column++) {
        const uint32_t begin = at + 1, end = column_end(line, begin, separator);
        const int8_t level = end < line->size ? level_of_column(line, begin, end) : NO_LEVEL;
        if (level != NO_LEVEL || is_prose(line, begin, end))
            return level;
        at = end;
    }
    return NO_LEVEL;
}

/* Return the level that is the first column, before the time: `Error,11/23/2026 10:00:00 AM,Service Control Manager,7036`. */
static int8_t level_of_first_column(const Head *head)
{
    const Word word = word_at(head, 0, 0, false);
    const uint8_t behind = byte_at(head, word.size + 1);
    return word.follows == ',' && (is_digit(behind) || behind == '"') ? level_of_value(&word) : NO_LEVEL;
}

/* Return the level that the words of a line name. */
static OFTEN int8_t level_of_words(Head head, Time time)
{
    const int8_t letter = letter_before_time(&head, &time);
    if (letter != NO_LEVEL || time.kind == ACCESS)
        return letter;
    Search search = {.head = head, .time = time};
    begin(&search);
    while (search.step < MOST_WORDS) {
        skip_to_word(&search);
        const Word word = read_word(&head, search.at);
        const int8_t level = level_here(&search, &word);
        if (level != NO_LEVEL)
            return level;
        if (!may_go_on(&search, &word) || !skip_word(&search, &word))
            break;
    }
    return NO_LEVEL;
}

/* Return the level that a line names; `line` is longer than `head`. */
static int8_t level_of_line(Head head, Head line, Time time)
{
    const bool is_time_first = time.end > 0 && time.start <= 1;
    int8_t level = is_time_first ? level_of_columns(&line, &time) : NO_LEVEL;
    if (level == NO_LEVEL)
        level = level_of_words(head, time);
    return level == NO_LEVEL && !is_time_first && time.kind != ACCESS ? level_of_first_column(&head) : level;
}

/*
 * Write the level of each of n lines, a place in `LEVELS` or -1. Line i is `data[ends[i]:ends[i + 1]]`; `start`, `end` and `kind` are of
 * its time.
 */
EXPORTED void find_levels(const uint8_t *data, const int32_t *ends, int64_t n, const uint8_t *start, const uint8_t *end,
                          const uint8_t *kind, int8_t *levels) {
    for (int64_t i = 0; i < n; i++) {
        const uint32_t size = (uint32_t)(ends[i + 1] - ends[i]);
        const Head head = {data + ends[i], size < HEAD_BYTES ? size : HEAD_BYTES};
        const Time time = {start[i], end[i] < head.size ? end[i] : head.size, kind[i]};
        const Head line = {head.text, size < COLUMN_BYTES ? size : COLUMN_BYTES};
        levels[i] = level_of_line(head, line, time);
    }
}
