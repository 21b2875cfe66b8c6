/* Replaces values of a record's own fields in its text, for `consumers/text/field_values.py`, which says which values and by what.

   The fields of a record are a flat JSON object; its values are read where they stand, so one with an escape in it is none. Each place of a
   text is compared with at most MOST_VALUES values, and a value is passed over once it was found, so time is linear in the bytes. Nothing is
   kept between calls, and no text depends on another one. */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

enum { MOST_VALUES = 16, LEAST_BYTES = 3, MOST_BYTES = 256, MOST_NAME = 13, MOST_NAMES = 32, UNCHANGED = -1 };

typedef struct {
    const uint8_t *bytes;
    int64_t size;
} Text;

/* What a value names; a session counts as an id if it has a digit, as the field may hold a state. */
typedef enum { NOTHING, USER, HOST, ID, SESSION } Kind;

typedef enum { NUMBER, WORD, NAME } Look;

typedef struct {
    Text text;
    Kind kind;
} Value;

typedef struct {
    Value values[MOST_VALUES];
    int count;
    bool begins[256]; /* Whether a value begins with this byte. */
} Values;

typedef struct {
    const char *name;
    Kind kind;
} Name;

/* A field by its name, which is in front of a quotation mark. */
typedef struct {
    Text name;
    Kind kind;
} Field;

/* Names of fields as `kind_of` writes them, by their size. */
static const Name OF_3[] = {{"pod", ID}, {NULL, NOTHING}};
static const Name OF_4[] = {{"user", USER}, {"host", HOST}, {"node", HOST}, {NULL, NOTHING}};
static const Name OF_5[] = {{"podid", ID}, {"reqid", ID}, {NULL, NOTHING}};
static const Name OF_6[] = {{"userid", USER}, {"poduid", ID}, {"spanid", ID}, {NULL, NOTHING}};
static const Name OF_7[] = {{"enduser", USER}, {"podname", ID}, {"session", SESSION}, {"traceid", ID}, {NULL, NOTHING}};
static const Name OF_8[] = {{"username", USER}, {"hostname", HOST}, {"nodename", HOST}, {"clientip", HOST}, {"remoteip", HOST},
    {"sourceip", HOST}, {NULL, NOTHING}};
static const Name OF_9[] = {{"enduserid", USER}, {"container", ID}, {"requestid", ID}, {"sessionid", ID}, {NULL, NOTHING}};
static const Name OF_10[] = {{"remotehost", HOST}, {"clienthost", HOST}, {"clientaddr", HOST}, {"remoteaddr", HOST},
    {"xrequestid", ID}, {"instanceid", ID}, {NULL, NOTHING}};
static const Name OF_11[] = {{"peeraddress", HOST}, {"containerid", ID}, {NULL, NOTHING}};
static const Name OF_12[] = {{"parentspanid", ID}, {NULL, NOTHING}};
static const Name OF_13[] = {{"clientaddress", HOST}, {"remoteaddress", HOST}, {"sourceaddress", HOST}, {"containername", ID},
    {"correlationid", ID}, {"transactionid", ID}, {NULL, NOTHING}};
static const Name NONE[] = {{NULL, NOTHING}};
static const Name *const BY_SIZE[MOST_NAME + 1] = {
    NONE, NONE, NONE, OF_3, OF_4, OF_5, OF_6, OF_7, OF_8, OF_9, OF_10, OF_11, OF_12, OF_13,
};

/* Words that say of the word behind them that it is a value of a kind. */
static const Name CUES[] = {
    {"user", USER}, {"username", USER}, {"login", USER},   {"account", USER}, {"for", USER},  {"by", USER},       {"of", USER},
    {"host", HOST}, {"hostname", HOST}, {"node", HOST},    {"server", HOST},  {"on", HOST},   {"from", HOST},     {"to", HOST},
    {"at", HOST},   {"pod", ID},        {"container", ID}, {"session", ID},   {"request", ID}, {"instance", ID},
};

/* States, which are no names behind a word that would announce one. */
static const char *const STATES[] = {
    "active", "alive", "busy", "close", "closed", "closing", "connected", "connection", "created", "dead", "deleted", "disabled",
    "disconnected", "down", "empty", "enabled", "error", "expired", "failed", "failure", "false", "idle", "inactive", "invalid", "limit",
    "lost", "missing", "none", "not", "null", "offline", "online", "open", "opened", "opening", "pending", "ready", "refused", "rejected",
    "removed", "restarted", "running", "started", "starting", "stopped", "stopping", "terminated", "timeout", "true", "unavailable",
    "undefined", "unhealthy", "unknown", "unreachable", "valid", "waiting", "healthy", "notready", "success", "succeeded", "unready",
};

/* What is left of a value, by kind. */
static const char *const LEFT[] = {"", "someone", "host", ""};

static inline uint8_t lower(uint8_t byte)
{
    return byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte;
}

static inline bool is_digit(uint8_t byte)
{
    return byte >= '0' && byte <= '9';
}

static inline bool is_letter(uint8_t byte)
{
    return lower(byte) >= 'a' && lower(byte) <= 'z';
}

/* Of a word; of a character beyond ASCII every byte is. */
static inline bool is_word(uint8_t byte)
{
    return is_letter(byte) || is_digit(byte) || byte == '_' || byte >= 0x80;
}

static inline uint8_t byte_at(Text text, int64_t place)
{
    return place >= 0 && place < text.size ? text.bytes[place] : 0;
}

/* The kind of the name with these bytes, as many as the name has, NOTHING if it is none of the names. */
static Kind kind_among(const Name *names, const uint8_t *bytes, int size)
{
    for (; names->name != NULL; names++)
        if (memcmp(names->name, bytes, (size_t)size) == 0)
            return names->kind;
    return NOTHING;
}

/* The kind of a field by the last part of its dotted name, or by the last two: letters and digits only, in lower case. */
static Kind kind_of(Text name)
{
    uint8_t letters[MOST_NAME];
    int begin = MOST_NAME, dots = 0;
    for (int64_t place = name.size - 1; place >= -1; place--) {
        uint8_t byte = byte_at(name, place);
        if (place < 0 || byte == '.') {
            int size = MOST_NAME - begin;
            Kind kind = kind_among(BY_SIZE[size], letters + begin, size);
            if (kind != NOTHING || ++dots == 2)
                return kind;
        } else if (is_letter(byte) || is_digit(byte)) {
            if (begin == 0)
                return NOTHING;
            letters[--begin] = lower(byte);
        } else if (byte != '_' && byte != '-') {
            return NOTHING;
        }
    }
    return NOTHING;
}

static bool is_state(Text value)
{
    for (size_t i = 0; i < sizeof STATES / sizeof *STATES; i++) {
        int64_t place = 0;
        while (place < value.size && STATES[i][place] != 0 && lower(value.bytes[place]) == (uint8_t)STATES[i][place])
            place++;
        if (place == value.size && STATES[i][place] == 0)
            return true;
    }
    return false;
}

static bool has_digit(Text value)
{
    for (int64_t i = 0; i < value.size; i++)
        if (is_digit(value.bytes[i]))
            return true;
    return false;
}

static void add_value(Values *found, Text text, Kind kind)
{
    if (text.size < LEAST_BYTES || text.size > MOST_BYTES || found->count == MOST_VALUES)
        return;
    if (found->count == 0)
        memset(found->begins, 0, sizeof found->begins);
    found->begins[text.bytes[0]] = true;
    found->values[found->count++] = (Value){text, kind};
}

/* The string whose first byte is at `begin`, without its quotes; `is_plain` says whether it has no escape. Its size is negative without an
   end. */
static Text string_at(Text json, int64_t begin, bool *is_plain)
{
    const uint8_t *bytes = json.bytes + begin;
    const uint8_t *end = begin < json.size ? memchr(bytes, '"', (size_t)(json.size - begin)) : NULL;
    *is_plain = end != NULL && memchr(bytes, '\\', (size_t)(end - bytes)) == NULL;
    if (end == NULL || *is_plain)
        return (Text){bytes, end == NULL ? -1 : end - bytes};
    for (int64_t place = begin; place < json.size; place++) {
        if (json.bytes[place] == '"')
            return (Text){bytes, place - begin};
        place += json.bytes[place] == '\\';
    }
    return (Text){bytes, -1};
}

/* The name whose first byte is at `begin`, with its kind; records of one topic have the same names in the same order, so it is compared with
   the one that stood there before. */
static Field field_at(Text json, int64_t begin, Field *before)
{
    bool is_plain;
    int64_t size = before->name.size;
    if (size > 0 && size < json.size - begin && memcmp(json.bytes + begin, before->name.bytes, (size_t)size + 1) == 0)
        return *before;
    Text name = string_at(json, begin, &is_plain);
    Field field = {name, is_plain ? kind_of(name) : NOTHING};
    if (is_plain)
        *before = field;
    return field;
}

static void find_values(Text json, Field *before, Values *found)
{
    bool is_plain;
    int64_t place = 0;
    found->count = 0;
    for (int number = 0; place < json.size; number++) {
        const uint8_t *quote = memchr(json.bytes + place, '"', (size_t)(json.size - place));
        if (quote == NULL)
            return;
        Field field = field_at(json, quote + 1 - json.bytes, &before[number % MOST_NAMES]);
        place = quote + 1 - json.bytes + field.name.size + 1;
        if (field.name.size < 0 || byte_at(json, place) != ':')
            return;
        if (byte_at(json, ++place) != '"')
            continue;
        Text value = string_at(json, place + 1, &is_plain);
        if (value.size < 0)
            return;
        if (field.kind != NOTHING && is_plain && !is_state(value) && (field.kind != SESSION || has_digit(value)))
            add_value(found, value, field.kind == SESSION ? ID : field.kind);
        place += value.size + 2;
    }
}

static inline bool joins(uint8_t byte)
{
    return byte == '-' || byte == '.';
}

static bool begins_word(Text text, int64_t place)
{
    uint8_t before = byte_at(text, place - 1);
    return !is_word(before) && !(joins(before) && is_word(byte_at(text, place - 2)));
}

static bool ends_word(Text text, int64_t place)
{
    uint8_t after = byte_at(text, place);
    return !is_word(after) && !(joins(after) && is_word(byte_at(text, place + 1)));
}

static inline bool opens(uint8_t byte)
{
    return byte == '"' || byte == '\'' || byte == '`' || byte == '[' || byte == '(' || byte == '<';
}

static bool is_cue(const uint8_t *bytes, int64_t size, Kind kind)
{
    uint8_t word[MOST_NAME];
    if (size > MOST_NAME)
        return false;
    for (int64_t i = 0; i < size; i++)
        word[i] = lower(bytes[i]);
    for (size_t i = 0; i < sizeof CUES / sizeof *CUES; i++)
        if (CUES[i].kind == kind && strlen(CUES[i].name) == (size_t)size && memcmp(CUES[i].name, word, (size_t)size) == 0)
            return true;
    return false;
}

/* Whether a word before a place says that a value of this kind is there: `user ada`, `pod: 'web'`, `from [gateway]`. */
static bool is_announced(Text text, int64_t place, Kind kind)
{
    int64_t end = place - opens(byte_at(text, place - 1));
    end -= byte_at(text, end - 1) == ' ';
    end -= byte_at(text, end - 1) == ':' || byte_at(text, end - 1) == '=';
    int64_t begin = end;
    while (begin > 0 && end - begin <= MOST_NAME && is_word(text.bytes[begin - 1]))
        begin--;
    return end < place && end > begin && is_cue(text.bytes + begin, end - begin, kind);
}

/* What a value looks like: a number, which the masks see themselves; a word that may be an ordinary one; or surely a name. */
static Look look_of(Text value)
{
    bool has_letter = false, has_sign = false;
    for (int64_t i = 0; i < value.size; i++) {
        uint8_t byte = value.bytes[i];
        has_letter |= is_letter(byte) || byte >= 0x80;
        has_sign |= byte >= 'A' && byte <= 'Z' && is_letter(byte_at(value, i - 1)) && lower(value.bytes[i - 1]) == value.bytes[i - 1];
        has_sign |= is_digit(byte) || byte >= 0x80 || byte == '-' || byte == '_' || byte == '.' || byte == '@' || byte == ':';
    }
    return !has_letter ? NUMBER : has_sign ? NAME : WORD;
}

static bool is_told(Text text, int64_t place, const Value *value)
{
    Look look = look_of(value->text);
    return look == NAME || (look == WORD && is_announced(text, place, value->kind));
}

/* The longest value that stands at a place of a text as a whole word; NULL if none does. */
static const Value *value_at(Text text, int64_t place, const Values *values)
{
    const Value *best = NULL;
    for (int i = 0; i < values->count; i++) {
        const Value *one = &values->values[i];
        if (one->text.size > text.size - place || memcmp(text.bytes + place, one->text.bytes, (size_t)one->text.size) != 0)
            continue;
        if ((best == NULL || one->text.size > best->text.size) && ends_word(text, place + one->text.size) &&
            is_told(text, place, one))
            best = one;
    }
    return best;
}

/* Write a text with its values replaced; return its size, or UNCHANGED if it holds no value. */
static int64_t replace_in(Text text, const Values *values, uint8_t *out)
{
    int64_t size = 0, copied = 0;
    for (int64_t place = 0; place < text.size;) {
        const Value *value = values->begins[text.bytes[place]] && begins_word(text, place) ? value_at(text, place, values) : NULL;
        if (value == NULL) {
            place++;
            continue;
        }
        memcpy(out + size, text.bytes + copied, (size_t)(place - copied));
        size += place - copied;
        memcpy(out + size, LEFT[value->kind], strlen(LEFT[value->kind]));
        size += (int64_t)strlen(LEFT[value->kind]);
        copied = place += value->text.size;
    }
    if (copied == 0)
        return UNCHANGED;
    memcpy(out + size, text.bytes + copied, (size_t)(text.size - copied));
    return size + text.size - copied;
}

/* Write those of n texts that hold values with these replaced, one after the other, into `out`, which has room for three times the bytes
   of the texts: a value of three bytes leaves seven at most. Set `sizes`, one for each text: of what was written, or UNCHANGED. Text i is
   `data[ends[i]]` to before `data[ends[i + 1]]`, its fields likewise; where `has_fields` is 0, it has none. */
EXPORTED void replace_values(const uint8_t *data, const int32_t *ends, const uint8_t *fields, const int32_t *field_ends,
                             const uint8_t *has_fields, int64_t texts, int64_t *sizes, uint8_t *out)
{
    Values values;
    Field before[MOST_NAMES] = {0};
    for (int64_t i = 0; i < texts; i++) {
        values.count = 0;
        if (has_fields[i])
            find_values((Text){fields + field_ends[i], field_ends[i + 1] - field_ends[i]}, before, &values);
        sizes[i] = values.count == 0 ? UNCHANGED : replace_in((Text){data + ends[i], ends[i + 1] - ends[i]}, &values, out);
        out += sizes[i] == UNCHANGED ? 0 : sizes[i];
    }
}
