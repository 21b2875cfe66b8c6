"""What a field may be by the words of its name: `logTimestamp`, `error_severity` and `APP-NAME` say it without being in a table.

Every word of a name must be known, so `battery_level`, `expires_at` and `isolation_level` say nothing.
"""

import re
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from typing import Final

TEXT_LIKE, TIME_LIKE, LEVEL_LIKE, SERVICE_LIKE, MAYBE_TIME, BATCH_LIKE, LINES_LIKE = 1, 2, 4, 8, 16, 32, 64
"""Bits. `MAYBE_TIME`: the last word says that it is a time, but not of what; `BATCH_LIKE`: entries, if it is a list; `LINES_LIKE`: lines,
if it is a list of texts."""
_WORD: Final = re.compile("[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_LONGEST: Final = 128
"""Characters of a name that is looked at."""
_MOST_REMEMBERED: Final = 8_192
MOST_NAMES: Final = 1_000
"""Names of an object whose words are looked at."""


def _words(names: str) -> frozenset[str]:
    return frozenset(names.split())


_AROUND: Final = _words(
    "log logs event record entry fields data payload attributes properties labels metadata meta context extra body winlog syslog "
    "json common"
)
"""Words that say where a field is, and nothing of what it is."""
_CORE: Final = {
    TEXT_LIKE: _words("message msg logmessage logmsg errormessage eventmessage"),
    TIME_LIKE: _words("time timestamp datetime date ts logtime logtimestamp logdate eventtime eventtimestamp"),
    LEVEL_LIKE: _words("level lvl severity loglevel logseverity levelname severitytext errorseverity syslogseverity priority sev"),
    SERVICE_LIKE: _words("service app application program servicename appname applicationname programname"),
}
_MORE: Final = {
    TEXT_LIKE: _words("text full formatted rendered raw error err exception rendering info status display string"),
    TIME_LIKE: _words(
        "utc iso 8601 3339 ms millis milliseconds us micros ns nanos epoch unix logged emitted at system reported generated long"
    ),
    LEVEL_LIKE: _words("name text label str string error message display"),
    SERVICE_LIKE: _words("name dd spring resource tags kubernetes k8s string"),
}
"""Words that may stand beside those of `_CORE`."""
_LAST_OF_TIME: Final = _CORE[TIME_LIKE] | {"at"}
_OF_OTHER_TIMES: Final = _words(
    "expires expire expiry expiration due until valid next last deadline scheduled schedule updated update modified birth end ended stop "
    "before after created creation first previous uptime boot delivery ship renewal trial build release"
)
"""Words that say that a time is not when something was logged."""
_BATCH: Final = _words(
    "log logs event events record records entry entries item items message messages line lines batch data value values results streams hits"
)
"""Words of a key under which a list is a batch."""
_LINES: Final = _words("log logs line lines message messages")
_LAST: Final = {TEXT_LIKE: _CORE[TEXT_LIKE] | {"text", "string"}, SERVICE_LIKE: _CORE[SERVICE_LIKE] | {"name", "string"}}
"""What the last word must be where `message.id` and `service.tags` are something else."""


def _bits_by_word(words: Mapping[int, frozenset[str]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for bit, several in words.items():
        for word in several:
            found[word] = found.get(word, 0) | bit
    return found


_CORE_BITS: Final = _bits_by_word(_CORE)
_ALLOWED_BITS: Final = _bits_by_word({bit: core | _MORE[bit] | _AROUND for bit, core in _CORE.items()} | {BATCH_LIKE: _BATCH})
_LAST_BITS: Final = _bits_by_word({bit: _LAST.get(bit, core | _MORE[bit] | _AROUND) for bit, core in _CORE.items()})


@lru_cache(_MOST_REMEMBERED)
def shape_of(name: str) -> int:
    """Return what a field may be by its dotted name: bits, 0 if the name says nothing."""
    if len(name) > _LONGEST or "/" in name or ":" in name or " " in name:
        return 0
    if "$" in name:
        name = name.replace(".$date", "").replace(".$numberLong", "")
    words = [word.lower() for word in _WORD.findall(name)]
    if not words:
        return 0
    allowed, core = -1, 0
    for word in words:
        allowed &= _ALLOWED_BITS.get(word, 0)
        core |= _CORE_BITS.get(word, 0)
        if not allowed:
            break
    found = allowed & core & _LAST_BITS.get(words[-1], 0)
    if words[-1] in _LAST_OF_TIME and not found & TIME_LIKE and _OF_OTHER_TIMES.isdisjoint(words):
        found |= MAYBE_TIME
    if allowed & BATCH_LIKE:
        found |= BATCH_LIKE | (LINES_LIKE if not _LINES.isdisjoint(words) else 0)
    return found


def first_like(names: Collection[str], bit: int, is_one: Callable[[str], bool]) -> str | None:
    """Return which of the names is of a shape and is one by its value: the least nested first, then by name; None if there is none.

    None of more than 1,000 names is: such an object is no entry of a logger.
    """
    found = [name for name in names if is_one(name) and shape_of(name) & bit] if len(names) <= MOST_NAMES else []
    return min(found, key=_order) if found else None


def _order(name: str) -> tuple[int, str]:
    return name.count("."), name
