r"""Which keys' values vary: those that name one user, host, file or moment go when a line is masked, those that say what happened stay.

The masks of `key=value` and of JSON (`consumers/text/mask_json.py`) read it. The words are those of OpenTelemetry's and Elastic's
conventions, of PAM, auditd, sudo, Postfix, PostgreSQL and klog, and of what services print in logfmt; none is one system's own.

1. A key is read from its end, word by word, in `snake_case`, `kebab-case`, `camelCase` and `dotted.case`: the last word that is known
   decides. The value of `user_status` stays, that of `status_user` goes.
2. Words that only say how something is given, such as `name`, `text` and `ms`, are on neither list, so the word before them decides:
   `user_name` varies, `event_name` does not, and nothing is known of `name`. Nor is anything of `from` and `to`, between which states
   change, and of `at`, except after a word: `created_at` is a time, `at=error` is a level.
3. Where nothing is known, the two masks differ: `key=value` keeps the value, because a line's words may identify its template, and JSON
   drops it, because objects have many keys of which few matter; only prose it keeps. So `signature` is not known: an intrusion detection
   system has a sentence there, a request a hash.
"""

import re
from functools import lru_cache

_LONGEST_KEY = 128
"""Characters; no program prints a longer one, and time would depend on what a producer writes."""

_VARYING = (
    # ids and secrets
    *("id", "uuid", "guid", "oid", "cid", "sid", "rid", "key", "token", "hash", "digest", "checksum", "sha", "md", "etag", "nonce"),
    *("fingerprint", "cookie", "password", "secret", "serial", "session", "ses", "value", "val", "version", "revision"),
    # users
    *("user", "uid", "euid", "auid", "suid", "fsuid", "loginuid", "gid", "egid", "sgid", "fsgid", "logname", "login", "acct", "account"),
    *("owner", "author", "email", "mail", "customer", "tenant", "principal", "actor", "ugi", "agent", "sender", "recipient"),
    # hosts, what runs on them, and where they are
    *("host", "node", "pod", "container", "instance", "machine", "vm", "cluster", "namespace", "image", "database", "db", "device"),
    *("dev", "iface", "interface", "realm", "pid", "ppid", "tid", "lwp", "thread", "tty", "terminal"),
    *("topic", "queue", "table", "bucket", "partition", "shard", "replica", "application", "app", "job", "task", "worker", "group"),
    *("branch", "zone", "region", "domain", "vhost"),
    # addresses
    *("ip", "ipv", "addr", "address", "mac", "port", "url", "uri", "endpoint", "socket", "fd", "peer", "remote", "client", "server"),
    *("upstream", "backend", "relay", "src", "dst", "dest", "helo", "referer", "referrer", "lat", "lon", "latitude"),
    *("longitude",),
    # paths
    *("path", "file", "dir", "directory", "folder", "cwd", "pwd", "exe", "inode", "mount", "mountpoint", "volume"),
    # sizes and amounts
    *("size", "byte", "len", "length", "count", "total", "num", "number", "offset", "index", "seq", "sequence", "percent", "ratio", "rate"),
    *("age", "amount", "price"),
    # times
    *("time", "timestamp", "ts", "date", "datetime", "duration", "elapsed", "latency", "took", "uptime", "delay", "interval", "ttl"),
    *("stacktrace", "stack", "traceback", "backtrace"),
)

_TELLING = (
    # what came of it
    *("status", "code", "error", "err", "errno", "reason", "cause", "state", "result", "res", "outcome", "success", "succeeded", "ok"),
    *("failure", "failed", "fault", "exception", "warning", "problem", "verdict", "signal", "severity", "level", "lvl", "priority"),
    *("fatal", "healthy", "ready", "alive", "enabled", "active", "valid", "retryable"),
    # what was done
    *("method", "verb", "action", "event", "operation", "op", "command", "cmd", "type", "kind", "category", "phase", "stage", "step"),
    *("mode", "role", "route", "protocol", "proto", "scheme", "encoding", "format", "stream"),
    # which part of the program says it, and its sentence
    *("class", "module", "logger", "component", "subsystem", "service", "function", "func", "message", "msg", "title", "summary"),
    *("description", "detail"),
)

_TELLING_ENDS = ("status", "code", "error", "level", "reason", "state", "type", "method", "message", "msg")
"""Decide too where they end a longer word: `errmsg`, `loglevel`."""

_SAME_WORD_BEFORE = (
    *("src", "dst", "dest", "source", "destination", "remote", "local", "client", "server", "peer", "user", "host", "session", "request"),
    *("req", "response", "resp", "trace", "span", "parent", "thread", "process", "container", "instance", "device", "account", "message"),
    *("msg", "start", "end", "file", "path", "dir", "node", "block", "object", "order", "r"),
)
"""Written together with a word that varies: `rhost`, `srcip`, `sessionid`."""

_GIVEN_AS = ("name", "ms", "us", "ns", "s", "sec", "seconds", "millis")


def _any_of(words: tuple[str, ...]) -> str:
    """Return an alternation, the longer words first: in Python the first one that matches decides."""
    return "|".join(sorted(words, key=lambda word: (-len(word), word)))


_CAMEL_ENDS = (
    *("Id", "ID", "Ids", "IDs", "Uuid", "UUID", "Key", "Token", "Hash", "User", "Host", "Node", "Ip", "IP", "Addr", "Address", "Port"),
    *("Url", "URL", "Uri", "URI", "Path", "File", "Dir", "Size", "Bytes", "Len", "Length", "Count", "Time", "Timestamp", "Date", "At"),
)

_WORD = rf"(?:{_any_of(_SAME_WORD_BEFORE)})?(?:{_any_of(_VARYING)})(?:names?|e?s)?"
_GIVEN = rf"[_.-](?:{_any_of(_GIVEN_AS)})|M[sS]|Seconds|Millis"
VARYING_KEYS = rf"(?:(?:\b|_)(?i:{_WORD})\d*|_(?i:at)|[a-z\d](?:{_any_of(_CAMEL_ENDS)})(?:Name)?)(?:{_GIVEN})?"
"""Matches the end of keys whose values vary, all but rare ones; what separates key and value is to follow. RE2 and Python.

Where it matches all of a key's end, `varies` is true for the key. It begins within the key, because it takes half the time so.
"""

_WORDS = re.compile(r"[A-Z]+s(?![a-z])|[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_IS_VARYING = re.compile(_WORD)
_IS_TELLING = re.compile(rf"(?:{_any_of(tuple(_TELLING))}|[a-z]*(?:{_any_of(_TELLING_ENDS)}))(?:names?|e?s)?")


_NAMES_SOMEBODY = frozenset(("name", "names", "from", "to", "by"))
"""Last words of keys of which nothing is known and whose values are no prose, however many words they have."""


def may_have_prose(key: str) -> bool:
    """Return whether a key of which nothing is known may hold a sentence."""
    words = _WORDS.findall(key[-_LONGEST_KEY:])
    return not words or words[-1].lower() not in _NAMES_SOMEBODY


@lru_cache(maxsize=4_096)
def varies(key: str) -> bool | None:
    """Return whether the values of a key vary from line to line of one template; None where the key does not say it."""
    if len(key) > _LONGEST_KEY:
        return None
    words = [word.lower() for word in _WORDS.findall(key)]
    for place in range(len(words) - 1, -1, -1):
        if _IS_TELLING.fullmatch(words[place]):
            return False
        if _IS_VARYING.fullmatch(words[place]) or (words[place] == "at" and place):
            return True
    return None
