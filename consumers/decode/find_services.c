/*
 * Finds the service in lines of syslog's shape; `consumers/decode/line_services.py` calls it.
 *
 * Theory of operation. Behind a time of syslog, or one of ISO 8601 with `T` and a zone, stand a host and a tag, which is the service:
 * `Dec 10 06:55:46 web-1 sshd[24200]: …`. Without a host the tag is the first word, which then ends with a colon. What may stand between
 * the tag and its colon (`tag_is_ended`) is no part of it. Python decides whether a tag or a host is the name of a level.
 *
 * Only the head of a line, its first 127 bytes, is looked at. Single bytes are read with `byte_at`, which returns 0 past the end, and
 * loops end there: a line never depends on its neighbours. The end of a word is searched for 64 bytes.
 */

#include <stdbool.h>
#include <stdint.h>

#define EXPORTED __attribute__((visibility("default")))

enum { HEAD_BYTES = 127, WORD_BYTES = 64, DATE_BYTES = 10 };

/* `kind` in `LineTimes`: a host follows the time. */
enum { SYSLOG = 1 };

/* `zone_min` of a time that names no zone. */
enum { NO_ZONE = INT16_MAX };

/* The first bytes of a line. */
typedef struct {
    const uint8_t *text;
    uint32_t size;
} Head;

/* A stretch of a head; `end` is 0 for none. */
typedef struct {
    uint8_t begin, end;
} Stretch;

/* Return a byte of the head, 0 past its end. */
static uint8_t byte_at(const Head *head, uint32_t at)
{
    return at < head->size ? head->text[at] : 0;
}

static bool is_space(uint8_t byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r' || byte == '\f';
}

static bool is_digit(uint8_t byte)
{
    return byte >= '0' && byte <= '9';
}

static bool is_letter(uint8_t byte)
{
    return (uint8_t)((byte | 0x20) - 'a') < 26;
}

static bool begins_tag(uint8_t byte)
{
    return is_letter(byte) || byte == '_' || byte == '/';
}

static bool is_of_tag(uint8_t byte)
{
    return begins_tag(byte) || is_digit(byte) || byte == '-' || byte == '.';
}

/* Return where the next blank is; `at + 64` if there is none within 64 bytes, also where the head ends before. */
static uint32_t next_blank(const Head *head, uint32_t at)
{
    const uint32_t limit = at + WORD_BYTES;
    while (at < limit && byte_at(head, at) != ' ')
        at++;
    return at;
}

/* Return what is behind a group without white space or brackets of its own kind; `at` if there is none. */
static uint32_t behind_group(const Head *head, uint32_t at, uint8_t opening, uint8_t closing)
{
    if (byte_at(head, at) != opening)
        return at;
    uint32_t end = at + 1;
    while (end < head->size && head->text[end] != opening && head->text[end] != closing && !is_space(head->text[end]))
        end++;
    return byte_at(head, end) == closing ? end + 1 : at;
}

/* Return what is behind ` <Error>`; `at` if it is not there. */
static uint32_t behind_level(const Head *head, uint32_t at)
{
    if (byte_at(head, at) != ' ' || byte_at(head, at + 1) != '<')
        return at;
    uint32_t end = at + 2;
    while (is_letter(byte_at(head, end)) || is_digit(byte_at(head, end)) || byte_at(head, end) == '_')
        end++;
    return end > at + 2 && byte_at(head, end) == '>' ? end + 1 : at;
}

/*
 * Whether a tag ends at `at`: with a colon and white space, or the end of the head. Before the colon may stand, in this order, a module
 * of PAM (`(pam_unix)`), the process (`[24200]`), and what macOS adds: another process (` (svc[2])`), and the level (` <Error>`).
 */
static bool tag_is_ended(const Head *head, uint32_t at)
{
    at = behind_group(head, at, '(', ')');
    at = behind_group(head, at, '[', ']');
    if (byte_at(head, at) == ' ' && byte_at(head, at + 1) == '(')
        at = behind_group(head, at + 1, '(', ')');
    at = behind_level(head, at);
    return byte_at(head, at) == ':' && (at + 1 == head->size || is_space(byte_at(head, at + 1)));
}

/* Whether the first word from `tag` on may end a tag: with a colon, or before what macOS adds. Most lines are refused here. */
static bool may_have_tag(const Head *head, uint32_t tag)
{
    const uint32_t end = next_blank(head, tag);
    return end == tag + WORD_BYTES || byte_at(head, end - 1) == ':' || byte_at(head, end + 1) == '(' || byte_at(head, end + 1) == '<';
}

/* Return host, blank and tag behind the time that ends at `time_end`; the tag alone where no host is named. */
static Stretch host_and_tag(const Head *head, uint32_t time_end)
{
    static const Stretch none = {0, 0};
    /* RFC 3164's separator is `: ` in Cisco's lines, which name no host and no tag: they are left out. */
    if (byte_at(head, time_end) != ' ')
        return none;
    const uint32_t host = time_end + 1, host_end = next_blank(head, host);
    const bool has_host = byte_at(head, host_end - 1) != ':';
    const uint32_t tag = has_host ? host_end + 1 : host;
    if (host_end == host || tag >= head->size || !may_have_tag(head, tag) || !begins_tag(head->text[tag]))
        return none;
    uint32_t tag_end = tag;
    while (tag_end < tag + WORD_BYTES && is_of_tag(byte_at(head, tag_end)))
        tag_end++;
    const uint8_t follows = byte_at(head, tag_end);
    if ((follows != ':' && follows != '[' && follows != '(') || !tag_is_ended(head, tag_end))
        return none;
    /* A longer host is no level and may have been cut within a character: only the tag is wanted. */
    const bool is_whole_host = has_host && host_end < host + WORD_BYTES;
    return (Stretch){(uint8_t)(is_whole_host ? host : tag), (uint8_t)tag_end};
}

/*
 * Write which bytes of each of n lines are host, blank and tag, or the tag alone, `ends` 0 for neither. Line i is
 * `data[places[i]:places[i + 1]]`; `start`, `end`, `kind` and `zone_min` are of its time.
 */
EXPORTED void find_services(const uint8_t *data, const int32_t *places, int64_t n, const uint8_t *start, const uint8_t *end,
                            const uint8_t *kind, const int16_t *zone_min, uint8_t *begins, uint8_t *ends) {
    for (int64_t i = 0; i < n; i++) {
        const uint32_t size = (uint32_t)(places[i + 1] - places[i]);
        const Head head = {data + places[i], size < HEAD_BYTES ? size : HEAD_BYTES};
        const bool is_iso = end[i] > 0 && start[i] == 0 && zone_min[i] != NO_ZONE && byte_at(&head, DATE_BYTES) == 'T';
        Stretch found = {0, 0};
        if (is_iso || (kind[i] == SYSLOG && start[i] <= 1))
            found = host_and_tag(&head, end[i]);
        begins[i] = found.begin;
        ends[i] = found.end;
    }
}
