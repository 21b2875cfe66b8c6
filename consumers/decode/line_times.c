/* Reads times as programs write them: the time that a text is, and the time at the beginning of a line.
 *
 * Called by consumers/decode/times.py with columns of texts in Arrow's memory; its docstring says which times there are.
 *
 * Theory of operation.
 * 1. Of a text only the first 127 bytes are looked at. Bytes are read with byte_at(), which returns 0 past the last one: no read leaves
 *    the text, and nothing that is read byte by byte goes on past its end.
 * 2. A time is a shape up to its seconds, as "YYYY-mm-dd HH:MM:SS", and what may follow them: a fraction, AM or PM, a zone, a year. The
 *    number of digits or the name that the text begins with says which few shapes are tried; the first that fits counts.
 * 3. Every byte has to fit and no letter, digit or `_` may follow: half a date is no time. The calendar and the clock are checked.
 * 4. In a line, a time counts at the first byte, in a bracket, or behind a short prefix that is no prose (stands_behind_prefix). A number
 *    counts only where what follows it says that it is a time: many messages begin with a number.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))
/* Kept apart, so that the usual path stays short. */
#define RARE __attribute__((noinline))

/* How many bytes of a text are looked at. */
enum { MOST_BYTES = 127 };

/* The kinds of consumers/decode/times.py, with the same numbers. */
enum kind { OTHER, SYSLOG, NUMBER, GLOG, ACCESS };

/* A time before 1970, which there is not; a zone that is not written, one that is written as `Europe/Berlin`, and an abbreviation of
 * several. As in consumers/decode/found.py and line_zones.py. */
#define NO_TIME INT64_MIN
enum { NO_ZONE = INT16_MAX, NAMED_ZONE = INT16_MAX - 1, UNSURE_ZONE = INT16_MAX - 2 };

enum { FIRST_YEAR = 1970, LAST_YEAR = 2262, MONTHS = 12, NOON = 12 };
#define DAY_MS INT64_C(86400000)

/* The first bytes of a text, or a part of them. */
struct text {
    const uint8_t *bytes;
    int size;
};

/* A time at a place in a text, as times.LineTimes describes it; `end` is 0 where there is none. */
struct time {
    int64_t local_ms;
    int16_t zone_min;
    bool has_year;
    uint8_t end, start, kind;
};

static uint8_t byte_at(struct text text, int at) { return at < text.size ? text.bytes[at] : 0; }

static bool is_digit(uint8_t byte) { return byte >= '0' && byte <= '9'; }

static bool is_capital(uint8_t byte) { return byte >= 'A' && byte <= 'Z'; }

static uint8_t lower(uint8_t byte) { return is_capital(byte) ? byte + ('a' - 'A') : byte; }

static bool is_letter(uint8_t byte) { return lower(byte) >= 'a' && lower(byte) <= 'z'; }

/* Whether a byte is a letter, a digit or `_`, which no time is followed by. */
static bool is_word_byte(uint8_t byte) { return is_letter(byte) || is_digit(byte) || byte == '_'; }

static bool is_blank(uint8_t byte) { return byte == ' ' || byte == '\t'; }

static bool is_space(uint8_t byte) { return is_blank(byte) || byte == '\n' || byte == '\f' || byte == '\r'; }

/* Whether a byte is one of some characters. */
static bool is_one_of(uint8_t byte, const char *characters)
{
    for (; *characters; characters++)
        if (byte == (uint8_t)*characters)
            return true;
    return false;
}

/* How many digits stand from `at` on. */
static int digits_at(struct text text, int at)
{
    int end = at;
    while (is_digit(byte_at(text, end)))
        end++;
    return end - at;
}

/* The number that `count` digits from `at` on are; at most 19 digits. */
static uint64_t number_at(struct text text, int at, int count)
{
    uint64_t number = 0;
    for (int i = at; i < at + count; i++)
        number = number * 10 + (byte_at(text, i) - '0');
    return number;
}

/* Whether an ASCII word stands at `at`. */
static bool stands_at(struct text text, int at, const char *word)
{
    for (; *word; word++, at++)
        if (byte_at(text, at) != (uint8_t)*word)
            return false;
    return true;
}

/* The month whose name is at `at`, 1 to 12; 13 to 19 for a weekday, 0 for no name. */
static int name_at(struct text text, int at)
{
    static const char names[][4] = {"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct",
                                    "nov", "dec", "mon", "tue", "wed", "thu", "fri", "sat", "sun"};
    const uint8_t found[4] = {lower(byte_at(text, at)), lower(byte_at(text, at + 1)), lower(byte_at(text, at + 2))};
    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++)
        if (memcmp(found, names[i], sizeof found) == 0)
            return i + 1;
    return 0;
}

static bool is_month(int name) { return name >= 1 && name <= MONTHS; }

/* Days since 1970 of a date; -1 where it does not exist or is not from 1970 to 2262. */
static int64_t days_of(int year, int month, int day)
{
    static const int days_before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};
    if (year < FIRST_YEAR || year > LAST_YEAR || !is_month(month))
        return -1;
    bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    int month_days = days_before[month] - days_before[month - 1] + (is_leap && month == 2);
    if (day < 1 || day > month_days)
        return -1;
    int past = year - 1;
    int leap_days = past / 4 - past / 100 + past / 400 - 477; /* the leap years from 1970 to the last year; 477 were before */
    return (year - FIRST_YEAR) * INT64_C(365) + leap_days + days_before[month - 1] + (is_leap && month > 2) + day - 1;
}

/* Milliseconds of a day; -1 where no clock shows this. */
static int64_t ms_of_clock(int hour, int minute, int second)
{
    return hour < 24 && minute < 60 && second <= 60 ? ((hour * 60 + minute) * 60 + second) * INT64_C(1000) : -1;
}

/* What a shape says beyond its template. */
enum {
    WITHOUT_ZONE = 1,     /* no zone may follow */
    WITHOUT_YEAR = 2,
    WITHOUT_SECONDS = 4,
    SHORT_YEAR = 8,       /* 70 to 99 are 1970 to 1999 */
    YEAR_FOLLOWS = 16,    /* the year may stand at the end, behind a blank */
    HALF_DAY = 32,        /* AM or PM may follow */
    ANY_ORDER = 64,       /* the month may also be the day */
};

/* How a time is written up to its seconds. In a template `YYYY` or `yy` is the year, `mm dd HH MM SS` are two digits each, `d` one digit,
 * `d?` one or two, `ed` and `eH` two of which the first may be a blank, `bbb` is the name of a month, `aaa` of a weekday, `L` a letter of
 * glog, `~` what may stand between date and clock in ISO 8601; every other character is itself. */
struct shape {
    const char *template;
    enum kind kind;
    int flags;
};

static const struct shape one_digit[] = {
    {"m/d?/YYYY H?:MM:SS", OTHER, ANY_ORDER | HALF_DAY},
    {"m/d?/YYYY, H?:MM:SS", OTHER, ANY_ORDER | HALF_DAY},
    {"d bbb YYYY HH:MM:SS", OTHER, 0},
    {"d-bbb-YYYY HH:MM:SS", OTHER, 0},
    {0},
};
static const struct shape two_digits[] = {
    {"dd/bbb/YYYY:HH:MM:SS", ACCESS, 0},
    {"dd/bbb/YYYY HH:MM:SS", ACCESS, 0},
    {"yy/mm/dd HH:MM:SS", OTHER, SHORT_YEAR},
    {"mm/dd/yy HH:MM:SS", OTHER, SHORT_YEAR | HALF_DAY}, /* where the first cannot be the year: the second is above 12 */
    {"mm/d?/YYYY:HH:MM:SS", OTHER, ANY_ORDER},
    {"mm/d?/YYYY H?:MM:SS", OTHER, ANY_ORDER | HALF_DAY},
    {"mm/d?/YYYY, H?:MM:SS", OTHER, ANY_ORDER | HALF_DAY},
    {"mm-dd HH:MM:SS", OTHER, WITHOUT_YEAR | WITHOUT_ZONE},
    {"mm.dd HH:MM:SS", OTHER, WITHOUT_YEAR | WITHOUT_ZONE},
    {"mm-dd-YYYY HH:MM:SS", OTHER, ANY_ORDER},
    {"dd.mm.YYYY HH:MM:SS", OTHER, 0},
    {"dd bbb YYYY HH:MM:SS", OTHER, 0},
    {"dd bbb HH:MM:SS", OTHER, WITHOUT_YEAR},
    {"dd-bbb-YYYY HH:MM:SS", OTHER, 0},
    {"dd-bbb-yy HH:MM:SS", OTHER, SHORT_YEAR},
    {"dd-bbb-yy HH.MM.SS", OTHER, SHORT_YEAR | HALF_DAY},
    {0},
};
static const struct shape four_digits[] = {
    {"YYYY-mm-dd~HH:MM:SS", OTHER, 0},
    {"YYYY/mm/dd HH:MM:SS", OTHER, 0},
    {"YYYY/mm/dd-HH:MM:SS", OTHER, 0},
    {"YYYY.mm.dd HH:MM:SS", OTHER, 0},
    {"YYYY.mm.dd-HH:MM:SS", OTHER, 0},
    {"YYYY-mm-dd-HH.MM.SS", OTHER, 0},
    {"YYYY bbb ed HH:MM:SS", SYSLOG, 0},
    {"YYYY bbb d HH:MM:SS", SYSLOG, 0},
    {"YYYY-bbb-dd HH:MM:SS", OTHER, 0},
    {"YYYY:mm:dd-HH:MM:SS", SYSLOG, 0},
    {"YYYY:mm:dd HH:MM:SS", OTHER, 0},
    {"YYYY/mm/dd - HH:MM:SS", OTHER, 0},
    {"YYYY-mm-dd, HH:MM:SS", OTHER, 0},
    {"YYYY-mm-dd:HH:MM:SS", OTHER, 0},
    {"YYYY-mm-ddTHH:MM", OTHER, WITHOUT_SECONDS},
    {"YYYY-mm-dd HH:MM", OTHER, WITHOUT_SECONDS},
    {0},
};
static const struct shape six_digits[] = {
    {"yymmdd HHMMSS", OTHER, SHORT_YEAR},
    {"yymmdd eH:MM:SS", OTHER, SHORT_YEAR},
    {0},
};
static const struct shape eight_digits[] = {
    {"YYYYmmddTHHMMSS", OTHER, 0},
    {"YYYYmmdd-HHMMSS", OTHER, 0},
    {"YYYYmmdd HHMMSS", OTHER, 0},
    {"YYYYmmddTHH:MM:SS", OTHER, 0},
    {"YYYYmmdd HH:MM:SS", OTHER, 0},
    {"YYYYmmdd-H?:M?:S?", OTHER, 0},
    {0},
};
static const struct shape month_name[] = {
    {"bbb ed HH:MM:SS", SYSLOG, WITHOUT_YEAR | YEAR_FOLLOWS},
    {"bbb d HH:MM:SS", SYSLOG, WITHOUT_YEAR | YEAR_FOLLOWS},
    {"bbb ed YYYY HH:MM:SS", OTHER, 0},
    {"bbb d YYYY HH:MM:SS", OTHER, 0},
    {"bbb d?, YYYY H?:MM:SS", OTHER, HALF_DAY},
    {"bbb d?, YYYY, H?:MM:SS", OTHER, HALF_DAY},
    {"bbb d?, YYYY @ H?:MM:SS", OTHER, HALF_DAY},
    {0},
};
static const struct shape weekday_name[] = {
    {"aaa bbb ed HH:MM:SS", OTHER, WITHOUT_YEAR | YEAR_FOLLOWS | HALF_DAY},
    {"aaa bbb d HH:MM:SS", OTHER, WITHOUT_YEAR | YEAR_FOLLOWS | HALF_DAY},
    {"aaa bbb ed YYYY HH:MM:SS", OTHER, HALF_DAY},
    {"aaa, d? bbb YYYY HH:MM:SS", OTHER, 0},
    {"aaa ed bbb YYYY HH:MM:SS", OTHER, HALF_DAY},
    {0},
};
static const struct shape glog_letter[] = {
    {"Lmmdd HH:MM:SS", GLOG, WITHOUT_YEAR | WITHOUT_ZONE},
    {"LYYYYmmdd HH:MM:SS", GLOG, 0},
    {0},
};
static const struct shape no_shape[] = {{0}};

/* The shapes that a text may have which begins with so many digits at `at`. */
static const struct shape *shapes_at(struct text text, int at, int digits)
{
    switch (digits) {
    case 1: return one_digit;
    case 2: return two_digits;
    case 4: return four_digits;
    case 6: return six_digits;
    case 8: return eight_digits;
    case 0: break;
    default: return no_shape;
    }
    if (is_one_of(byte_at(text, at), "DIWEF") && is_digit(byte_at(text, at + 1)))
        return glog_letter;
    uint8_t behind_name = byte_at(text, at + 3);
    int name = behind_name == ' ' || behind_name == ',' ? name_at(text, at) : 0;
    return is_month(name) ? month_name : name ? weekday_name : no_shape;
}

/* The numbers of a date and a clock, 0 where none is written. */
enum field { YEAR, MONTH, DAY, HOUR, MINUTE, SECOND, FIELDS, NO_FIELD };

static enum field field_of(char letter)
{
    switch (letter) {
    case 'Y': case 'y': return YEAR;
    case 'm': return MONTH;
    case 'd': return DAY;
    case 'H': return HOUR;
    case 'M': return MINUTE;
    case 'S': return SECOND;
    default: return NO_FIELD;
    }
}

/* Whether a character of a template that is no number and no name stands for a byte. */
static bool fits_literal(char letter, uint8_t byte)
{
    return letter == '~' ? is_one_of(byte, "T _t\t") : letter == 'L' ? is_one_of(byte, "DIWEF") : byte == (uint8_t)letter;
}

/* Reads what a template describes from `at` on. Returns where it ends, or -1 where a byte does not fit. */
static int read_template(const char *template, struct text text, int at, int fields[FIELDS])
{
    while (*template) {
        char letter = *template++;
        if (letter == 'a' || letter == 'b') {
            int name = name_at(text, at);
            if (!name || is_month(name) != (letter == 'b'))
                return -1;
            if (letter == 'b')
                fields[MONTH] = name;
            template += 2;
            at += 3;
            continue;
        }
        uint8_t byte = byte_at(text, at++);
        if (letter == 'e' && byte == ' ')
            continue;
        enum field field = field_of(letter == 'e' ? *template : letter);
        if (field == NO_FIELD) {
            if (!fits_literal(letter, byte))
                return -1;
            continue;
        }
        if (!is_digit(byte))
            return -1;
        fields[field] = fields[field] * 10 + (byte - '0');
        if (*template == '?') {
            template++;
            if (is_digit(byte_at(text, at)))
                fields[field] = fields[field] * 10 + (byte_at(text, at++) - '0');
        }
    }
    return at;
}

/* Reads the fraction behind the seconds and returns where it ends, `at` where there is none. Behind `.` or `,` stand one to nine digits of
 * a fraction, behind `:` one to three of a number of milliseconds: `:5` are 5, not 500. */
static int read_fraction(struct text text, int at, int *fraction_ms)
{
    uint8_t mark = byte_at(text, at);
    if (mark != '.' && mark != ',' && mark != ':')
        return at;
    int digits = digits_at(text, at + 1);
    if (digits == 0 || (mark == ':' && digits > 3))
        return at;
    if (digits > 9)
        digits = 9;
    *fraction_ms = (int)number_at(text, at + 1, digits < 3 ? digits : 3);
    if (mark != ':')
        for (int i = digits; i < 3; i++)
            *fraction_ms *= 10;
    return at + 1 + digits;
}

/* Reads AM or PM, perhaps behind a blank or the narrow one (U+202F) of newer versions of Java, and returns where it ends, `at` where
 * neither is written. `half_hours` becomes 12 for PM, 0 for AM. */
static int read_half_day(struct text text, int at, int *half_hours)
{
    int place = at + (byte_at(text, at) == ' ' ? 1 : stands_at(text, at, "\xe2\x80\xaf") ? 3 : 0);
    uint8_t letter = lower(byte_at(text, place));
    if ((letter != 'a' && letter != 'p') || lower(byte_at(text, place + 1)) != 'm')
        return at;
    *half_hours = letter == 'p' ? NOON : 0;
    return place + 2;
}

/* Whether a text is this word. */
static bool is_text(struct text text, const char *word) { return (size_t)text.size == strlen(word) && stands_at(text, 0, word); }

/* Whether a text is one of n words. */
static bool is_any_text(struct text text, const char *const words[], int count)
{
    for (int i = 0; i < count; i++)
        if (is_text(text, words[i]))
            return true;
    return false;
}

/* Whether a text is the name of a level, in any case. */
static bool is_level(struct text text)
{
    static const char *const names[] = {
        "trace", "debug", "info",  "notice", "warn",  "warning", "error",  "err",
        "fatal", "crit",  "critical", "alert", "emerg", "panic", "severe", "\xc5\xbf" "evere", /* the capital of the long s is S */
    };
    if (text.size < 3 || text.size > 8)
        return false;
    uint8_t folded[8];
    for (int i = 0; i < text.size; i++)
        folded[i] = lower(text.bytes[i]);
    return is_any_text((struct text){folded, text.size}, names, sizeof names / sizeof *names);
}

/* Whether three capitals or the name of a level begin at `at`. */
static bool begins_level(struct text text, int at)
{
    if (is_capital(byte_at(text, at)) && is_capital(byte_at(text, at + 1)) && is_capital(byte_at(text, at + 2)))
        return true;
    int end = at;
    while (is_word_byte(byte_at(text, end)))
        end++;
    return is_level((struct text){text.bytes + at, end - at});
}

/* Whether what stands from `at` on may follow `+hh` behind a blank: nothing, a mark, or a level behind blanks. Who writes ` +03` means a
 * zone; ` -10 degrees` is prose. */
static bool may_follow_hours(struct text text, int at, bool has_zero)
{
    uint8_t byte = byte_at(text, at);
    if (at == text.size || is_one_of(byte, "])>|,;:\"'"))
        return true;
    int begin = at;
    while (is_blank(byte_at(text, at)))
        at++;
    return at > begin && (has_zero || at == text.size || is_one_of(byte_at(text, at), "[(<{|-") || begins_level(text, at));
}

/* Reads `+hh`, `+hhmm` or `+hh:mm`. Returns where it ends, -1 where there is none. */
RARE static int read_signed_zone(struct text text, int at, bool is_behind_blank, int *zone_min)
{
    int digits = digits_at(text, at + 1);
    bool has_colon = digits == 2 && byte_at(text, at + 3) == ':' && digits_at(text, at + 4) == 2;
    /* `+03:10.0.0.7(4711)` is a zone and an address. */
    has_colon &= !(is_behind_blank && byte_at(text, at + 6) == '.');
    bool has_minutes = has_colon || digits == 4;
    if (digits != 2 && digits != 4)
        return -1;
    int hours = (int)number_at(text, at + 1, 2), minutes = has_minutes ? (int)number_at(text, at + 3 + has_colon, 2) : 0;
    if (hours >= 24 || minutes >= 60)
        return -1;
    /* What stands behind a blank may be another number: all zones of today are less than 15 hours away, in quarters of an hour. */
    if (is_behind_blank && (hours >= 15 || minutes % 15))
        return -1;
    if (is_behind_blank && !has_minutes && !may_follow_hours(text, at + 3, byte_at(text, at + 1) == '0'))
        return -1;
    *zone_min = (hours * 60 + minutes) * (byte_at(text, at) == '-' ? -1 : 1);
    return at + 3 + (has_minutes ? 2 : 0) + has_colon;
}

/* Abbreviations of zones: minutes ahead of UTC, UNSURE_ZONE where the zones of today that have the name differ. */
static const struct abbreviation {
    char name[5];
    int16_t zone_min;
} abbreviations[] = {
    {"ACDT", 630},  {"ACST", 570},  {"ADT", -180},     {"AEDT", 660},  {"AEST", 600},  {"AKDT", -480}, {"AKST", -540}, {"AST", UNSURE_ZONE},
    {"AWST", 480},  {"BST", 60},    {"CAT", 120},      {"CDT", -300},  {"CEST", 120},  {"CET", 60},    {"CST", UNSURE_ZONE}, {"EAT", 180},
    {"EDT", -240},  {"EEST", 180},  {"EET", 120},      {"EST", -300},  {"HKT", 480},   {"HST", -600},  {"IDT", 180},   {"IST", UNSURE_ZONE},
    {"JST", 540},   {"KST", 540},   {"MDT", -360},     {"MEST", 120},  {"MET", 60},    {"MSK", 180},   {"MST", -420},  {"NDT", -150},
    {"NST", -210},  {"NZDT", 780},  {"NZST", 720},     {"PDT", -420},  {"PKT", 300},   {"PST", -480},  {"SAST", 120},  {"SGT", 480},
    {"WAT", 60},    {"WEST", 60},   {"WET", 0},        {"WIB", 420},   {"WIT", 540},   {"WITA", 480},
};

/* Whether a name goes on at `at`: with a letter, a digit or `_`, or with what joins words. Hosts are called `Z-1`. */
static bool is_name_at(struct text text, int at)
{
    return is_word_byte(byte_at(text, at)) || (is_one_of(byte_at(text, at), "-./@") && is_word_byte(byte_at(text, at + 1)));
}

/* Reads an abbreviation of a zone but `UTC` and `GMT`. Returns where it ends, -1 where there is none. */
static int read_abbreviation(struct text text, int at, int *zone_min)
{
    if (!is_capital(byte_at(text, at + 1)))
        return -1;
    int end = at + 2;
    while (end < at + 5 && is_capital(byte_at(text, end)))
        end++;
    if (end < at + 3 || end > at + 4 || is_name_at(text, end) || !is_one_of(byte_at(text, end - 1), "TKBA"))
        return -1;
    for (int i = 0; i < (int)(sizeof abbreviations / sizeof *abbreviations); i++)
        if (strlen(abbreviations[i].name) == (size_t)(end - at) && stands_at(text, at, abbreviations[i].name)) {
            *zone_min = abbreviations[i].zone_min;
            return end;
        }
    return -1;
}

/* Reads what may stand behind `UTC` or `GMT`: `+3`, `+03`, `+0300`, `+03:00`. Returns where it ends, `at` where there is none. */
static int read_hours_of_utc(struct text text, int at, int *zone_min)
{
    uint8_t sign = byte_at(text, at);
    if (sign != '+' && sign != '-')
        return at;
    int digits = digits_at(text, at + 1), end = at + 1 + digits;
    if (digits != 1 && digits != 2 && digits != 4)
        return at;
    int hours = (int)number_at(text, at + 1, digits == 4 ? 2 : digits), minutes = 0;
    if (digits == 4) {
        minutes = (int)number_at(text, at + 3, 2);
    } else if (byte_at(text, end) == ':' && digits_at(text, end + 1) == 2) {
        minutes = (int)number_at(text, end + 1, 2);
        end += 3;
    }
    if (hours >= 15 || minutes >= 60)
        return at;
    *zone_min = (hours * 60 + minutes) * (sign == '-' ? -1 : 1);
    return end;
}

/* Where the long name of a zone ends that JavaScript writes behind it, ` (Central European Standard Time)`; `at` where there is none. */
static int behind_long_name(struct text text, int at)
{
    if (byte_at(text, at) != ' ' || byte_at(text, at + 1) != '(' || !is_capital(byte_at(text, at + 2)))
        return at;
    int end = at + 2;
    while (is_letter(byte_at(text, end)) || byte_at(text, end) == ' ')
        end++;
    return byte_at(text, end) == ')' && stands_at(text, end - 4, "Time") ? end + 1 : at;
}

/* Reads the name of a zone, as `Europe/Berlin`. Returns where it ends, -1 where there is none. */
static int read_region(struct text text, int at)
{
    static const char *const areas[] = {"Africa/",    "America/", "Antarctica/", "Arctic/", "Asia/",   "Atlantic/",
                                        "Australia/", "Europe/",  "Etc/",        "Indian/", "Pacific/"};
    if (is_capital(byte_at(text, at + 1)) || !is_one_of(byte_at(text, at), "AEIP"))
        return -1;
    for (int i = 0; i < (int)(sizeof areas / sizeof *areas); i++) {
        if (!stands_at(text, at, areas[i]))
            continue;
        int begin = at + (int)strlen(areas[i]), end = begin;
        while (is_word_byte(byte_at(text, end)) || is_one_of(byte_at(text, end), "/+-"))
            end++;
        return is_capital(byte_at(text, begin)) && is_word_byte(byte_at(text, end - 1)) ? end : -1;
    }
    return -1;
}

/* Reads the name of a zone in brackets behind an offset, `[Europe/Berlin]` or `[UTC]`, as Java writes it. Returns where it ends, `at` where
 * there is none. */
RARE static int read_bracketed_zone(struct text text, int at)
{
    int ignored_min = 0, begin = at + 1, end;
    if (stands_at(text, begin, "UTC") || stands_at(text, begin, "GMT"))
        end = read_hours_of_utc(text, begin + 3, &ignored_min);
    else if (byte_at(text, begin) == 'Z')
        end = begin + 1;
    else if ((end = read_region(text, begin)) < 0)
        end = read_abbreviation(text, begin, &ignored_min);
    return end > begin && byte_at(text, end) == ']' ? end + 1 : at;
}

/* Reads a zone that is written with a letter: `Z`, `UTC`, `GMT+3`, `CET`, `Europe/Berlin`. Returns where it ends, -1 where there is none. */
RARE static int read_named_zone(struct text text, int at, bool is_behind_blank, int *zone_min)
{
    uint8_t first = byte_at(text, at);
    if (first == 'z' || first == 'Z') {
        *zone_min = 0;
        return is_behind_blank && (first == 'z' || is_name_at(text, at + 1)) ? -1 : at + 1;
    }
    if (!is_capital(first))
        return -1;
    if (is_one_of(first, "UG") && (stands_at(text, at, "UTC") || stands_at(text, at, "GMT"))) {
        *zone_min = 0;
        return behind_long_name(text, read_hours_of_utc(text, at + 3, zone_min));
    }
    int end = read_abbreviation(text, at, zone_min);
    if (end < 0 && is_behind_blank && (end = read_region(text, at)) >= 0)
        *zone_min = NAMED_ZONE;
    return end;
}

/* Whether a zone may begin with the letter at `at`: `INFO` and other words behind a time are refused here. */
static bool may_be_named_zone(struct text text, int at)
{
    uint8_t first = byte_at(text, at), second = byte_at(text, at + 1), third = byte_at(text, at + 2);
    if (first == 'Z' || first == 'z')
        return true;
    if (!is_capital(first))
        return false;
    if (!is_capital(second))
        return is_one_of(first, "AEIP"); /* areas: `Europe/…` */
    return third == 'T' || byte_at(text, at + 3) == 'T' || (third == 'C' && first == 'U') || (third == 'K' && first == 'M') ||
           (third == 'B' && first == 'W'); /* UTC, MSK, WIB; all others have a T there */
}

/* Where the name of a zone ends that Go writes behind its offset, ` +0300 MSK` or ` +0300 +03`, and the reading of its clock, ` m=+0.5`; `at`
 * where neither is written. */
RARE static int behind_zone_again(struct text text, int at)
{
    int ignored_min = 0, end = at;
    if (byte_at(text, at) != ' ')
        return at;
    if (is_one_of(byte_at(text, at + 1), "+-") && digits_at(text, at + 2) == 2)
        end = at + 4;
    else if ((end = read_named_zone(text, at + 1, true, &ignored_min)) < 0)
        return at;
    if (is_word_byte(byte_at(text, end)))
        return at;
    if (stands_at(text, end, " m=+") && is_digit(byte_at(text, end + 4)))
        for (end += 4; is_digit(byte_at(text, end)) || byte_at(text, end) == '.'; end++)
            continue;
    return end;
}

/* Reads a zone, perhaps behind a blank; a sign there needs minutes or what says that it is a zone: ` -1` is none. Returns where it ends,
 * `at` where there is none. */
static int read_zone(struct text text, int at, int *zone_min)
{
    bool is_behind_blank = byte_at(text, at) == ' ';
    int place = at + is_behind_blank, found_min = 0;
    uint8_t first = byte_at(text, place);
    if (first != '+' && first != '-' && !may_be_named_zone(text, place))
        return at;
    int end = first == '+' || first == '-' ? read_signed_zone(text, place, is_behind_blank, &found_min)
                                           : read_named_zone(text, place, is_behind_blank, &found_min);
    if (end < 0 || is_word_byte(byte_at(text, end)))
        return at;
    *zone_min = found_min;
    if (byte_at(text, end) == '[')
        return read_bracketed_zone(text, end);
    return first == '+' || first == '-' ? behind_zone_again(text, end) : end;
}

/* Puts a month and a day whose order is not known in order, and returns whether it is certain. */
static bool order_date(int fields[FIELDS], bool month_first)
{
    int first = fields[MONTH], second = fields[DAY];
    if (first > MONTHS && second <= MONTHS) {
        fields[MONTH] = second;
        fields[DAY] = first;
        return true;
    }
    return second > MONTHS || first == second || month_first;
}

/* Days since 1970 of the date that was read; without a year month * 32 + day. -1 for no date. */
static int64_t days_of_fields(const int fields[FIELDS], bool has_year, bool is_short_year)
{
    int month = fields[MONTH], day = fields[DAY], year = fields[YEAR];
    if (!has_year)
        return is_month(month) && day >= 1 && day <= 31 ? month * 32 + day : -1;
    if (is_short_year)
        year += year < FIRST_YEAR % 100 ? 2000 : 1900;
    return days_of(year, month, day);
}

/* Reads a year behind a blank, and returns where it ends, `at` where there is none. */
static int read_year(struct text text, int at, int fields[FIELDS])
{
    if (byte_at(text, at) != ' ' || digits_at(text, at + 1) != 4)
        return at;
    int year = (int)number_at(text, at + 1, 4);
    if (year < FIRST_YEAR || year > LAST_YEAR)
        return at;
    fields[YEAR] = year;
    return at + 5;
}

/* Reads a time of one shape that begins at `at`. Returns whether there is one. */
static bool read_shape(const struct shape *shape, struct text text, int at, struct time *time)
{
    int fields[FIELDS] = {0};
    int end = read_template(shape->template, text, at, fields);
    if (end < 0)
        return false;
    int fraction_ms = 0, half_hours = -1, zone_min = NO_ZONE;
    if (!(shape->flags & WITHOUT_SECONDS))
        end = read_fraction(text, end, &fraction_ms);
    if (shape->flags & HALF_DAY)
        end = read_half_day(text, end, &half_hours);
    if (!(shape->flags & WITHOUT_ZONE))
        end = read_zone(text, end, &zone_min);
    bool has_year = !(shape->flags & WITHOUT_YEAR);
    if (shape->flags & YEAR_FOLLOWS) {
        int year_end = read_year(text, end, fields);
        has_year = year_end > end;
        end = year_end;
    }
    if (is_word_byte(byte_at(text, end)) || ((shape->flags & WITHOUT_SECONDS) && byte_at(text, end) == ':'))
        return false;
    bool is_half = half_hours >= 0;
    if (is_half) {
        if (fields[HOUR] < 1 || fields[HOUR] > NOON)
            return false;
        fields[HOUR] = fields[HOUR] % NOON + half_hours;
    }
    if ((shape->flags & ANY_ORDER) && !order_date(fields, is_half))
        return false;
    int64_t days = days_of_fields(fields, has_year, shape->flags & SHORT_YEAR);
    int64_t clock_ms = ms_of_clock(fields[HOUR], fields[MINUTE], fields[SECOND]);
    if (days < 0 || clock_ms < 0)
        return false;
    time->local_ms = days * DAY_MS + clock_ms + fraction_ms;
    time->zone_min = (int16_t)zone_min;
    time->has_year = has_year;
    time->end = (uint8_t)end;
    time->start = (uint8_t)at;
    time->kind = (uint8_t)shape->kind;
    return true;
}

/* Milliseconds since 1970 that yyyymmddHHMMSS stands for as one number; negative for none. */
static int64_t ms_of_compact_date(int64_t number)
{
    int64_t date = number / 1000000, of_day = number % 1000000;
    int64_t days = days_of((int)(date / 10000), (int)(date / 100 % 100), (int)(date % 100));
    int64_t clock_ms = ms_of_clock((int)(of_day / 10000), (int)(of_day / 100 % 100), (int)(of_day % 100));
    return days < 0 || clock_ms < 0 ? -1 : days * DAY_MS + clock_ms;
}

/* Reads a number of so many digits that begins at `at`, perhaps with a fraction: 9 or 10 digits are seconds, 12 or 13 milliseconds, 15 or
 * 16 microseconds, 18 or 19 nanoseconds, 14 and 17 a compact date. Returns whether it is a time. */
static bool read_number(struct text text, int at, int digits, struct time *time)
{
    if (digits > 19)
        return false;
    uint64_t read = number_at(text, at, digits);
    if (read > INT64_MAX)
        return false;
    int64_t number = (int64_t)read;
    int fraction_ms = 0, end = at + digits;
    bool is_date = digits == 14 || digits == 17;
    if (!is_date) {
        end = read_fraction(text, end, &fraction_ms);
        if (end > at + digits && byte_at(text, at + digits) == ':')
            return false;
    }
    switch (digits) {
    case 9: case 10: time->local_ms = number * 1000 + fraction_ms; break;
    case 12: case 13: time->local_ms = number; break;
    case 15: case 16: time->local_ms = number / 1000; break;
    case 18: case 19: time->local_ms = number / 1000000; break;
    case 14: time->local_ms = ms_of_compact_date(number); break;
    case 17: time->local_ms = ms_of_compact_date(number / 1000); break;
    default: return false;
    }
    if (time->local_ms < 0 || is_word_byte(byte_at(text, end)))
        return false;
    if (digits == 17)
        time->local_ms += number % 1000;
    time->zone_min = is_date ? NO_ZONE : 0;
    time->has_year = true;
    time->end = (uint8_t)end;
    time->start = (uint8_t)at;
    time->kind = NUMBER;
    return true;
}

/* Reads the time that begins at `at`. Returns whether there is one; if not, `time` is only partly overwritten and its `end` is kept. */
static bool read_time(struct text text, int at, struct time *time)
{
    int digits = digits_at(text, at);
    if (digits >= 9)
        return read_number(text, at, digits, time);
    for (const struct shape *shape = shapes_at(text, at, digits); shape->template; shape++)
        if (read_shape(shape, text, at, time))
            return true;
    return false;
}

/* Whether a text is two or more capitals and digits, the first a capital. */
static bool is_in_capitals(struct text text)
{
    if (text.size < 2 || !is_capital(text.bytes[0]))
        return false;
    for (int i = 1; i < text.size; i++)
        if (!is_capital(text.bytes[i]) && !is_digit(text.bytes[i]))
            return false;
    return true;
}

/* Whether a text stands between two brackets, without a white space. */
static bool is_bracketed(struct text text, uint8_t opening, uint8_t closing)
{
    if (text.size < 2 || text.bytes[0] != opening || text.bytes[text.size - 1] != closing)
        return false;
    for (int i = 1; i < text.size - 1; i++)
        if (text.bytes[i] == closing || is_space(text.bytes[i]))
            return false;
    return true;
}

/* Whether a text is a word with a digit, `.`, `_` or `/`, as hosts, files and loggers have it, and does not end as a sentence does. */
static bool is_name(struct text text)
{
    int mark = 0;
    while (mark < text.size && !is_digit(text.bytes[mark]) && !is_one_of(text.bytes[mark], "._/["))
        mark++;
    if (mark == text.size || text.bytes[mark] == '[')
        return false;
    for (int i = 0; i < text.size; i++)
        if (is_space(text.bytes[i]) || text.bytes[i] == '"' || text.bytes[i] == '=')
            return false;
    uint8_t last = text.bytes[text.size - 1];
    return is_digit(last) || (mark < text.size - 1 && !is_one_of(last, ".,:;!?)"));
}

/* Whether a word may stand before a time: a level, a mark, a name, or the type of a load balancer's line. */
static bool may_precede(struct text word)
{
    static const char *const protocols[] = {"http", "https", "ws", "wss"};
    struct text level = word;
    if (level.size && level.bytes[level.size - 1] == ':')
        level.size--;
    return is_text(word, "-") || is_in_capitals(word) || is_bracketed(word, '[', ']') || is_bracketed(word, '<', '>') || is_level(level) ||
           is_name(word) || is_any_text(word, protocols, sizeof protocols / sizeof *protocols);
}

static bool is_separator(struct text word) { return is_text(word, "-") || is_text(word, "|"); }

/* Whether a prefix is one or two words that are no prose, each perhaps with `-` or `|` behind it, and perhaps an opening bracket. */
static bool are_words(struct text prefix)
{
    struct text words[4];
    int count = 0;
    if (prefix.size && is_one_of(prefix.bytes[prefix.size - 1], "[(<"))
        prefix.size--;
    if (!prefix.size || is_blank(prefix.bytes[0]) || !is_blank(prefix.bytes[prefix.size - 1]))
        return false;
    for (int at = 0; at < prefix.size;) {
        int begin = at;
        while (!is_blank(prefix.bytes[at])) /* the last byte is one */
            at++;
        if (count == 4)
            return false;
        words[count++] = (struct text){prefix.bytes + begin, at - begin};
        while (is_blank(byte_at(prefix, at)))
            at++;
    }
    if (!may_precede(words[0]))
        return false;
    switch (count) {
    case 1: return true;
    case 2: return is_separator(words[1]) || may_precede(words[1]);
    case 3: return (is_separator(words[1]) && may_precede(words[2])) || (may_precede(words[1]) && is_separator(words[2]));
    default: return is_separator(words[1]) && may_precede(words[2]) && is_separator(words[3]);
    }
}

/* Whether a prefix is the letter that Ruby, `I, [`, or Tornado, `[I `, writes before the time. */
static bool is_letter_prefix(struct text prefix)
{
    if (prefix.size == 4)
        return is_one_of(prefix.bytes[0], "DIWEFA") && stands_at(prefix, 1, ", [");
    return prefix.size == 3 && prefix.bytes[0] == '[' && is_one_of(prefix.bytes[1], "DIWEFC") && prefix.bytes[2] == ' ';
}

/* Whether a prefix is the key of a time in logfmt, as `ts=`, perhaps with a quote. */
static bool is_key(struct text prefix)
{
    static const char *const keys[] = {"time=", "ts=", "timestamp=", "date=", "at=", "t="};
    if (prefix.size && prefix.bytes[prefix.size - 1] == '"')
        prefix.size--;
    return is_any_text(prefix, keys, sizeof keys / sizeof *keys);
}

/* Where white space ends that begins at `at`. */
static int skip_space(struct text text, int at)
{
    while (is_space(byte_at(text, at)))
        at++;
    return at;
}

/* Whether a prefix is a level in a bracket, or an empty bracket, and perhaps an opening bracket behind it. */
static bool is_bracketed_level(struct text prefix)
{
    if (byte_at(prefix, 0) != '[')
        return false;
    int end = 1;
    while (end < prefix.size && !is_space(prefix.bytes[end]) && prefix.bytes[end] != ']')
        end++;
    if (end > 1 && !is_level((struct text){prefix.bytes + 1, end - 1}))
        return false;
    end = skip_space(prefix, end);
    if (byte_at(prefix, end) != ']')
        return false;
    end = skip_space(prefix, end + 1);
    return end + (byte_at(prefix, end) == '[') == prefix.size;
}

/* Whether a prefix is that of an access log: client, identity and user, or the address alone, before a bracket. */
static bool is_access_prefix(struct text prefix)
{
    enum { MOST_WORDS = 5 };
    struct text words[MOST_WORDS];
    int count = 0, begin = 0;
    bool is_address = true;
    if (prefix.size < 3 || !stands_at(prefix, prefix.size - 2, " ["))
        return false;
    prefix.size--; /* every word ends with a blank now */
    for (int at = 0; at < prefix.size; at++) {
        uint8_t byte = prefix.bytes[at];
        if (byte == ' ') {
            if (at == begin || count == MOST_WORDS)
                return false;
            words[count++] = (struct text){prefix.bytes + begin, at - begin};
            begin = at + 1;
        } else if (is_space(byte)) {
            return false;
        }
        is_address &= byte == ' ' || byte == '.' || byte == ':' || is_digit(byte) || (lower(byte) >= 'a' && lower(byte) <= 'f');
    }
    return (count == 1 && is_address) || (count >= 3 && count <= 4 && is_text(words[1], "-")) || (count >= 4 && is_text(words[2], "-"));
}

/* Whether a prefix is the mark of BGL and Thunderbird: that of an alert, or none. */
static bool is_mark(struct text prefix)
{
    if (!prefix.size || prefix.bytes[prefix.size - 1] != ' ')
        return false;
    prefix.size--;
    return is_text(prefix, "-") || is_in_capitals(prefix);
}

/* Whether a time of this kind counts behind a prefix. */
static bool stands_behind_prefix(struct text prefix, enum kind kind)
{
    if (kind == NUMBER)
        return is_mark(prefix);
    return (kind == ACCESS && is_access_prefix(prefix)) || are_words(prefix) || is_letter_prefix(prefix) || is_key(prefix) ||
           is_bracketed_level(prefix) || is_text(prefix, "# Time: "); /* of MySQL's slow log */
}

/* Whether a character is not cut by the end of a text in UTF-8. */
static bool is_whole_character(struct text text, int at)
{
    uint8_t first = text.bytes[at];
    int size = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    return at + size <= text.size;
}

/* Whether what stands from `at` on may follow a time that is a number: a bracket, or a level, capitals, a number or a sign behind blanks;
 * `1700000000 bytes` is no time. */
static bool may_follow_number(struct text text, int at)
{
    if (byte_at(text, at) == ']')
        return true;
    int begin = at;
    while (is_blank(byte_at(text, at)))
        at++;
    if (at == begin || at >= text.size || is_space(text.bytes[at]))
        return false;
    return is_letter(text.bytes[at]) ? begins_level(text, at) : is_whole_character(text, at);
}

/* Reads a time at `at` that counts there, apart from what stands before it. A time that was read and does not count leaves its `start`:
 * consumers/decode/line_levels.py looks for a letter before it. */
static bool read_counting_time(struct text text, int at, struct time *time)
{
    if (!read_time(text, at, time))
        return false;
    return time->kind != NUMBER || may_follow_number(text, time->end);
}

/* Behind how many words a time is looked for, where each ends at the latest, and where the time begins at the latest. */
enum { PREFIX_WORDS = 3, MOST_WORD_BYTES = 64, LAST_START = 64 };

static const char opening[] = "[(<\"'*."; /* a time may stand behind one of them; Cisco marks clocks that are not set with `*` and `.` */

/* Reads a time behind a prefix that ends at `start`, or with the opening character there. */
static bool read_behind_prefix(struct text text, int start, struct time *time)
{
    int begin = start + is_one_of(byte_at(text, start), opening);
    if (start > LAST_START || begin >= text.size || !read_counting_time(text, begin, time))
        return false;
    return stands_behind_prefix((struct text){text.bytes, begin}, time->kind);
}

/* Where the next such byte is from `at` on, at most `most` bytes further; where the search ends if there is none. */
static int find_byte(struct text text, int at, uint8_t byte, int most)
{
    if (most > text.size - at)
        most = text.size - at;
    const uint8_t *found = memchr(text.bytes + at, byte, (size_t)most);
    return found ? (int)(found - text.bytes) : at + most;
}

/* Where the next word begins; one without a blank in 64 bytes ends there. */
static int next_word(struct text text, int at)
{
    at = find_byte(text, at, ' ', MOST_WORD_BYTES);
    while (byte_at(text, at) == ' ')
        at++;
    return at;
}

/* Reads the time of Linux' audit, `msg=audit(1795428000.123:456)`. */
RARE static bool read_audit_time(struct text text, struct time *time)
{
    static const char mark[] = "audit(";
    enum { MARK_BYTES = sizeof mark - 1 };
    if (!is_one_of(byte_at(text, 0), "ant[")) /* `audit`, `node=`, `type=`, and the kernel's bracket */
        return false;
    int at = find_byte(text, 0, '(', text.size) + 1;
    if (at < MARK_BYTES || !stands_at(text, at - MARK_BYTES, mark))
        return false;
    struct time found = {0};
    if (!read_time(text, at, &found) || byte_at(text, found.end) != ':')
        return false;
    int digits = digits_at(text, found.end + 1);
    if (!digits || byte_at(text, found.end + 1 + digits) != ')')
        return false;
    *time = found;
    return true;
}

/* Finds the time at the beginning of a line. Returns whether there is one. */
static bool find_time(struct text text, struct time *time)
{
    if (read_counting_time(text, 0, time))
        return true;
    if (is_one_of(byte_at(text, 0), opening) && read_counting_time(text, 1, time))
        return true;
    int start = 0;
    for (int i = 0; i < PREFIX_WORDS; i++) {
        start = next_word(text, start);
        if (read_behind_prefix(text, start, time))
            return true;
    }
    return read_behind_prefix(text, find_byte(text, 0, '[', LAST_START) + 1, time) ||
           read_behind_prefix(text, find_byte(text, 0, '=', LAST_START) + 1, time) || read_audit_time(text, time);
}

/* The columns of times.LineTimes, with room for all rows. */
struct columns {
    int64_t *local_ms;
    int16_t *zone_min;
    bool *has_year;
    uint8_t *end, *start, *kind;
};

static struct text text_of(const uint8_t *data, const int32_t *ends, int64_t row)
{
    int32_t size = ends[row + 1] - ends[row];
    return (struct text){data + ends[row], size < MOST_BYTES ? size : MOST_BYTES};
}

static void put(struct columns columns, int64_t row, bool is_time, const struct time *time)
{
    columns.local_ms[row] = is_time ? time->local_ms : NO_TIME;
    columns.zone_min[row] = is_time ? time->zone_min : NO_ZONE;
    columns.has_year[row] = is_time ? time->has_year : true;
    columns.end[row] = is_time ? time->end : 0;
    columns.start[row] = time->start;
    columns.kind[row] = is_time ? time->kind : OTHER;
}

/* Finds the time at the beginning of each of n lines. Row i is data[ends[i]] to before data[ends[i + 1]]; each column has n rows. */
EXPORTED void find_line_times(const uint8_t *data, const int32_t *ends, int64_t rows, int64_t *local_ms, int16_t *zone_min, bool *has_year,
                              uint8_t *end, uint8_t *start, uint8_t *kind)
{
    struct columns columns = {local_ms, zone_min, has_year, end, start, kind};
    for (int64_t row = 0; row < rows; row++) {
        struct time time = {0};
        bool is_time = find_time(text_of(data, ends, row), &time);
        put(columns, row, is_time, &time);
    }
}

/* Reads the time that each of n texts is, from its first byte to its last, perhaps within brackets. As find_line_times otherwise. */
EXPORTED void read_whole_times(const uint8_t *data, const int32_t *ends, int64_t rows, int64_t *local_ms, int16_t *zone_min, bool *has_year,
                               uint8_t *end, uint8_t *start, uint8_t *kind)
{
    struct columns columns = {local_ms, zone_min, has_year, end, start, kind};
    for (int64_t row = 0; row < rows; row++) {
        struct time time = {0};
        struct text text = text_of(data, ends, row);
        bool is_bracketed = text.size > 1 && text.bytes[0] == '[' && text.bytes[text.size - 1] == ']';
        bool is_time = read_time(text, is_bracketed, &time) && time.end == text.size - is_bracketed;
        put(columns, row, is_time, &time);
    }
}
