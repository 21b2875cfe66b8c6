/* Finds words that hold digits and are names or values, for `consumers/text/drop_words.py`, which says which they are.

   Each text is read from left to right, one part at a time: a run of letters, digits and the marks that join them in names. Whether a
   part goes depends on its own bytes and on at most eight beside it; `byte_at` reads 0 outside of the text, so no part depends on another
   text. A part is read a fixed number of times, so time is linear in the bytes. Nothing is kept between calls. */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

enum { LEAST_PORT_DIGITS = 3, MOST_PORT_DIGITS = 5, LEAST_RANDOM = 7, MOST_GROUP = 4, LEAST_LABEL = 2, LONGEST_LISTED = 16 };

typedef struct {
    const uint8_t *bytes;
    int64_t size;
} Text;

/* A part of a text: `begin` to before `end`. */
typedef struct {
    int64_t begin;
    int64_t end;
} Part;

/* What a part is made of. */
typedef struct {
    int64_t digits;
    int64_t lower;
    int64_t upper;
    int64_t changes;
    bool has_mark;
    bool has_other;
    bool has_code;
    bool is_hex;
} Made;

/* Digits are a part of these names, which do not vary. */
static const char *const NAMES[] = {
    "3des", "a11y", "aes128", "aes256", "amd64", "argon2", "argon2id", "arm64", "armv7", "av1", "b2b", "base32", "base58", "base64",
    "blake2", "blake2b", "bzip2", "cgroup2", "cgroupv2", "crc32", "crc32c", "crc64", "crc8", "curve25519", "db2", "ddr4", "des3", "dhcpv6",
    "e2e", "ec2", "ed25519", "es256", "es6", "ext3", "ext4", "float32", "float64", "h2", "h264", "h265", "hmac-sha1", "hmac-sha256",
    "hs256", "http1.1", "http2", "i18n", "i386", "i686", "icmpv6", "imap4", "inet6", "int32", "int64", "int8", "ip6", "ipv4", "ipv6",
    "java8", "jdk11", "k3s", "k8s", "l10n", "l3", "latin1", "log4j", "log4j2", "lua5", "lz4", "md5", "mp2", "mp3", "mp4", "mpeg4",
    "murmur3", "neo4j", "nfs4", "nfsv4", "nfsv4.1", "ntlmv2", "oauth1", "oauth2", "p2p", "p9", "p99", "p999", "perl5", "php8", "pop3",
    "py3", "python3", "raid10", "raid5", "rc4", "rs256", "s3", "saml2", "saml2.0", "sata3", "secp256k1", "secp256r1", "sha1", "sha2",
    "sha256", "sha3", "sha384", "sha512", "smb1.0", "smb2", "smbv1", "snmpv2", "snmpv2c", "snmpv3", "socks5", "ssh2",
    "tcp4", "tcp6", "udp4", "udp6", "uint32", "uint64", "uint8", "usb2", "usb3", "usb3.0", "utf-16",
    "utf-32", "utf-8", "utf16", "utf32", "utf8", "vp9", "win32", "x25519", "x509", "x64", "x86", "x86-64", "x86_64", "xxhash64",
};

/* A number is one of these things, so the word stays and the rest goes: worker-7, blk_-160, thread12. */
static const char *const THINGS[] = {
    "application", "attempt", "blk", "block", "broker", "channel", "chunk", "client", "column", "connection", "consumer", "container",
    "core", "cpu", "disk", "err", "errno", "error", "executor", "gpu", "group", "instance", "item", "job", "level", "node", "ora", "page",
    "partition", "phase", "pool", "port", "process", "producer", "queue", "rack", "rank", "region", "replica", "request", "row", "segment",
    "server", "session", "shard", "slot", "sqlstate", "stage", "step", "table", "task", "thread", "tx", "vm", "volume", "worker", "zone",
};

/* A place follows these words, whatever it is called. */
static const char *const PLACES[] = {"at", "from", "host", "hostname", "node", "on", "server", "to", "via"};

/* What packages are built for, as it stands behind their colon. */
static const char *const MACHINES[] = {"all", "amd64", "any", "arm64", "armhf", "aarch64", "i386", "i686", "noarch", "ppc64le", "s390x", "x86_64"};

/* Keys of numbers, also behind `_` or `-`, so what stands before the colon is no host: port:22, response_code:500. */
static const char *const KEYS[] = {
    "accept", "action", "active", "age", "alive", "allow", "amount", "at", "attempt", "attempts", "available", "avg", "backlog", "bad",
    "balance", "batch", "block", "budget", "buffer", "build", "busy", "by", "bytes", "capacity", "category", "cause", "children", "chunk",
    "close", "cmd", "code", "col", "column", "command", "core", "cost", "count", "cpu", "dead", "delay", "delta", "deny", "depth", "diff",
    "distance", "done", "down", "drop", "duration", "elapsed", "enabled", "epoch", "err", "errcode", "errno", "error", "errorcode",
    "errors", "event", "exception", "exit", "exitcode", "failed", "failure", "fatal", "fault", "fd", "for", "format", "frame", "free",
    "from", "full", "gen", "generation", "gid", "good", "healthy", "heap", "height", "hit", "id", "idle", "in", "index", "inode",
    "interval", "kind", "lag", "latency", "left", "len", "length", "level", "limit", "line", "lines", "live", "load", "lost", "lvl", "max",
    "mean", "median", "mem", "memory", "method", "min", "miss", "mode", "more", "new", "num", "number", "of", "offset", "ok", "old", "on",
    "op", "open", "operation", "out", "outcome", "page", "part", "pending", "percent", "phase", "pid", "pool", "port", "price", "priority",
    "problem", "progress", "proto", "protocol", "qty", "quantity", "queue", "quota", "rate", "ratio", "rc", "read", "ready", "reason",
    "reject", "release", "remaining", "res", "result", "retries", "retry", "retryable", "rev", "revision", "role", "round", "row", "rows",
    "rss", "rx", "score", "sent", "seq", "sequence", "severity", "share", "signal", "size", "skip", "slot", "speed", "stage", "state",
    "status", "statuscode", "step", "succeeded", "success", "sum", "swap", "temp", "temperature", "term", "threshold", "tid", "time",
    "timeout", "to", "took", "total", "try", "ttl", "tx", "type", "uid", "up", "usage", "used", "valid", "verb", "verdict", "version",
    "volume", "vsz", "waiting", "warning", "weight", "width", "window", "write",
};

/* What other masks leave of a host. */
static const char *const MASKED_HOST = "host";

static inline uint8_t byte_at(Text text, int64_t place)
{
    return place >= 0 && place < text.size ? text.bytes[place] : 0;
}

static inline bool is_digit(uint8_t byte)
{
    return byte >= '0' && byte <= '9';
}

static inline bool is_lower(uint8_t byte)
{
    return byte >= 'a' && byte <= 'z';
}

static inline bool is_upper(uint8_t byte)
{
    return byte >= 'A' && byte <= 'Z';
}

static inline bool is_alnum(uint8_t byte)
{
    return is_digit(byte) || is_lower(byte) || is_upper(byte);
}

static inline bool is_of_part(uint8_t byte)
{
    return is_alnum(byte) || byte == '_' || byte == '-' || byte == '.' || byte == '+' || byte == '~' || byte == '$' || byte == '#' ||
           byte == '%' || byte == '*' || byte >= 0x80;
}

/* Whether the bytes from `begin` to before `end` are one of the listed words; any digit is as good as the listed one. */
static bool is_word(Text text, int64_t begin, int64_t end, const char *word)
{
    for (int64_t place = begin; place < end; place++, word++)
        if (text.bytes[place] != (uint8_t)*word && !(is_digit(text.bytes[place]) && is_digit((uint8_t)*word)))
            return false;
    return *word == 0;
}

static bool is_listed(Text text, int64_t begin, int64_t end, const char *const *words, size_t count)
{
    if (end - begin > LONGEST_LISTED)
        return false;
    for (size_t i = 0; i < count; i++)
        if (is_word(text, begin, end, words[i]))
            return true;
    return false;
}

static int kind_of(uint8_t byte)
{
    return is_digit(byte) ? 1 : is_lower(byte) ? 2 : is_upper(byte) ? 3 : 0;
}

static Made look_at(Text text, Part part, const uint8_t *codes)
{
    Made made = {.is_hex = true};
    for (int64_t place = part.begin; place < part.end; place++) {
        uint8_t byte = text.bytes[place];
        made.digits += is_digit(byte);
        made.lower += is_lower(byte);
        made.upper += is_upper(byte);
        made.changes += place > part.begin && kind_of(byte) != kind_of(text.bytes[place - 1]);
        made.has_mark |= byte < 0x80 && !is_alnum(byte);
        made.has_other |= byte >= 0x80;
        made.has_code |= codes[place];
        made.is_hex &= is_digit(byte) || (byte >= 'a' && byte <= 'f') || (byte >= 'A' && byte <= 'F');
    }
    return made;
}

static bool has_mark_of_version(Text text, Part part)
{
    for (int64_t place = part.begin; place < part.end; place++)
        if (text.bytes[place] == '-' || text.bytes[place] == '_' || text.bytes[place] == '~' || text.bytes[place] == '+')
            return true;
    return false;
}

/* Whether a part is a version or ends in one: `1.8.4-2+deb12u2`, `nscd-2.3.4`, `Package_for_KB29~31bf~amd64~~6.1.1`; not `TLSv1.3`. */
static bool has_version(Text text, Part part)
{
    if (!has_mark_of_version(text, part))
        return false;
    bool is_marked = is_digit(text.bytes[part.begin]);
    for (int64_t place = part.begin; place < part.end; place++) {
        uint8_t byte = text.bytes[place];
        is_marked |= byte == '-' || byte == '_' || byte == '~' || byte == '+';
        if (is_marked && byte == '.' && is_digit(byte_at(text, place - 1)) && is_digit(byte_at(text, place + 1)))
            return true;
    }
    return false;
}

/* Whether a part goes on in a time, an address or a fraction: `2024-01-02T03:04`, `aa:0b`, `12:00PM`. */
static bool is_in_group(Text text, Part part, Made made)
{
    uint8_t before = byte_at(text, part.begin - 1), after = byte_at(text, part.end);
    bool joins_before = before == ':' || before == ',' || before == '/', joins_after = after == ':' || after == ',' || after == '/';
    if (made.is_hex && part.end - part.begin <= MOST_GROUP && (before == ':' || after == ':'))
        return true;
    return is_digit(text.bytes[part.begin]) && !has_version(text, part) && ((joins_before && is_digit(byte_at(text, part.begin - 2))) ||
                                                (joins_after && is_digit(byte_at(text, part.end + 1))));
}

/* Whether a part is a date: 2-Nov-2021. */
static bool is_date(Text text, Part part)
{
    int64_t place = part.begin;
    while (is_digit(byte_at(text, place)))
        place++;
    return byte_at(text, place) == '-' && is_upper(byte_at(text, place + 1)) && is_lower(byte_at(text, place + 2)) &&
           is_lower(byte_at(text, place + 3)) && byte_at(text, place + 4) == '-';
}

/* Whether the last of several labels has letters only: a host with its domain, a file, a class. */
static bool ends_in_label(Text text, Part part)
{
    int64_t place = part.end;
    while (place > part.begin && (is_lower(text.bytes[place - 1]) || is_upper(text.bytes[place - 1])))
        place--;
    return part.end - place >= LEAST_LABEL && place > part.begin && text.bytes[place - 1] == '.';
}

/* Whether only a number behind a dot has digits, or dots fill a column: `write_block.434`, `depth....0`. */
static bool is_numbered(Text text, Part part, Made made)
{
    int64_t place = part.end;
    while (place > part.begin && is_digit(text.bytes[place - 1]))
        place--;
    return part.end - place == made.digits && place > part.begin && text.bytes[place - 1] == '.';
}

/* Whether the word before a part says that a place is named: `on node-7`, `from worker-2`. */
static bool is_place(Text text, Part part)
{
    int64_t end = part.begin - 1, begin = end;
    while (end - begin < LONGEST_LISTED && is_lower(byte_at(text, begin - 1)))
        begin--;
    return byte_at(text, end) == ' ' && begin < end && is_listed(text, begin, end, PLACES, sizeof PLACES / sizeof *PLACES);
}

/* Where the word ends that a number is one of, with what joins them; `begin` if it is none of the listed ones. */
static int64_t end_of_thing(Text text, Part part)
{
    int64_t end = part.begin;
    while (end < part.end && is_lower(text.bytes[end]))
        end++;
    return is_listed(text, part.begin, end, THINGS, sizeof THINGS / sizeof *THINGS) ? end : part.begin;
}

/* Whether letters and digits change as in no word: dQw4w9WgXcQ. */
static bool is_random(Part part, Made made)
{
    int64_t size = part.end - part.begin;
    return !made.has_mark && made.lower && made.upper && size >= LEAST_RANDOM && 5 * made.changes >= 2 * size;
}

static bool has_dash(Text text, Part part)
{
    return memchr(text.bytes + part.begin, '-', (size_t)(part.end - part.begin)) != NULL;
}

static void flag_part(Text text, Part part, const uint8_t *codes, uint8_t *flags)
{
    Made made = look_at(text, part, codes);
    uint8_t after = byte_at(text, part.end);
    if (!made.digits || !(made.lower + made.upper) || made.has_other || made.has_code || after == '=' || (after == '(' && !has_dash(text, part)))
        return;
    if (is_random(part, made)) {
        memset(flags + part.begin, 1, (size_t)(part.end - part.begin));
        return;
    }
    bool begins_with_digit = is_digit(text.bytes[part.begin]);
    if (is_in_group(text, part, made) || is_date(text, part) || is_numbered(text, part, made) ||
        (made.upper && !begins_with_digit && !has_version(text, part)))
        return;
    if ((ends_in_label(text, part) && !has_version(text, part)) || is_listed(text, part.begin, part.end, NAMES, sizeof NAMES / sizeof *NAMES))
        return;
    int64_t epoch = part.begin - 1;
    while (is_digit(byte_at(text, epoch - 1)))
        epoch--;
    if (has_version(text, part) && byte_at(text, part.begin - 1) == ':' && epoch < part.begin - 1 && !is_of_part(byte_at(text, epoch - 1))) {
        memset(flags + epoch, 1, (size_t)(part.end - epoch));
        return;
    }
    int64_t begin = is_place(text, part) ? part.begin : end_of_thing(text, part);
    memset(flags + begin, 1, (size_t)(part.end - begin));
}

/* Whether nothing of a name or a number goes on here. */
static bool ends_here(Text text, int64_t place)
{
    uint8_t byte = byte_at(text, place);
    return !is_of_part(byte) || ((byte == '.' || byte == '-') && !is_of_part(byte_at(text, place + 1)));
}

/* Flag a package with its architecture: libssl3:amd64. Returns where to go on. */
static int64_t flag_package(Text text, Part part, uint8_t *flags)
{
    int64_t begin = part.end + 1, end = begin;
    while (is_lower(byte_at(text, end)) || is_digit(byte_at(text, end)) || byte_at(text, end) == '_')
        end++;
    if (byte_at(text, part.end) != ':' || !is_listed(text, begin, end, MACHINES, sizeof MACHINES / sizeof *MACHINES) || !ends_here(text, end))
        return part.end;
    memset(flags + part.begin, 1, (size_t)(end - part.begin));
    return end;
}

/* Whether a word is the key of a number: by its last part, or because it tells what happened or how much of something there is. */
static bool is_key(Text text, Part part)
{
    int64_t begin = part.end, last = part.end - 1;
    while (begin > part.begin && text.bytes[begin - 1] != '_' && text.bytes[begin - 1] != '-')
        begin--;
    if (is_listed(text, begin, part.end, KEYS, sizeof KEYS / sizeof *KEYS))
        return true;
    if (has_dash(text, part))
        return false;
    uint8_t byte = text.bytes[last], before = byte_at(text, last - 1);
    return byte == 's' || (byte == 'd' && before == 'e') || (byte == 'g' && before == 'n' && byte_at(text, last - 2) == 'i');
}

/* Whether a word and a number end the head of a line, behind its clock: `12:01:02 web:7]`. */
static bool is_in_head(Text text, Part part, int64_t end)
{
    int64_t blank = part.begin - 1;
    return byte_at(text, end) == ']' && byte_at(text, blank) == ' ' && is_digit(byte_at(text, blank - 1)) &&
           is_digit(byte_at(text, blank - 2)) && byte_at(text, blank - 3) == ':';
}

/* Flag a host of one label, or a program, with the number behind its colon: kafka:9092, web-a:7. Returns where to go on. A word that may as
   well be the key of a number stays, and other masks know what to do with the number: hits:10. */
static int64_t flag_host(Text text, Part part, const uint8_t *codes, uint8_t *flags)
{
    int64_t end = part.end + 1;
    if (byte_at(text, part.end) != ':' || byte_at(text, part.begin - 1) == ':' || !is_lower(text.bytes[part.begin]))
        return part.end;
    while (is_digit(byte_at(text, end)))
        end++;
    int64_t digits = end - part.end - 1;
    if (!digits || digits > MOST_PORT_DIGITS || !ends_here(text, end) || byte_at(text, end) == ':' || codes[end - 1])
        return part.end;
    bool is_plain = true;
    for (int64_t place = part.begin; place < part.end; place++) {
        if (!is_lower(text.bytes[place]) && !is_digit(text.bytes[place]) && text.bytes[place] != '-' && text.bytes[place] != '_')
            return part.end;
        is_plain &= !is_digit(text.bytes[place]) && text.bytes[place] != '-';
    }
    if (is_key(text, part) || (is_plain && digits < LEAST_PORT_DIGITS && !is_in_head(text, part, end)) ||
        is_word(text, part.begin, part.end, MASKED_HOST))
        return part.end;
    memset(flags + part.begin, 1, (size_t)(end - part.begin));
    return end;
}

static void flag_words_of(Text text, const uint8_t *codes, uint8_t *flags)
{
    int64_t place = 0;
    while (place < text.size) {
        if (!is_of_part(text.bytes[place])) {
            place++;
            continue;
        }
        Part part = {place, place};
        while (part.end < text.size && is_of_part(text.bytes[part.end]))
            part.end++;
        place = part.end;
        while (part.begin < part.end && !is_alnum(text.bytes[part.begin]) && text.bytes[part.begin] < 0x80 && text.bytes[part.begin] != '_')
            part.begin++;
        while (part.begin < part.end && !is_alnum(text.bytes[part.end - 1]) && text.bytes[part.end - 1] < 0x80)
            part.end--;
        if (part.begin == part.end)
            continue;
        int64_t end = part.end == place ? flag_package(text, part, flags) : part.end;
        if (end == part.end && end == place)
            end = flag_host(text, part, codes, flags);
        if (end > part.end)
            place = end;
        else
            flag_part(text, part, codes, flags);
    }
}

/* Set `flags`, one for each byte of the n texts and all 0 before, for what goes. Text i is `data[ends[i]]` to before `data[ends[i + 1]]`;
   `codes` flags the digits of codes, which stay with their words. */
EXPORTED void flag_words(const uint8_t *data, const int32_t *ends, int64_t texts, const uint8_t *codes, uint8_t *flags)
{
    for (int64_t i = 0; i < texts; i++)
        flag_words_of((Text){data + ends[i], ends[i + 1] - ends[i]}, codes + ends[i], flags + ends[i]);
}
