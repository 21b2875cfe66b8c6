"""The heads of syslog messages as columns: priority, time, host, program, process; the text is what follows.

RFC 5424, and what is called RFC 3164: that only describes what was found in 2001, so hosts, tags and times are missing or of other shapes.
The default files of rsyslog and syslog-ng have the same without a priority.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from consumers.columns import Column, concat, cut_texts, join_texts, string_column, take, text_bytes, utf8_of
from consumers.text.regex import extract_groups, find_containing

_PRIORITY: Final = r"<(?P<pri>\d{1,3})>"
_MONTH: Final = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_CLOCK: Final = r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
_BSD: Final = rf"(?:\d{{4}} )?{_MONTH} (?: \d|\d\d?)(?: \d{{4}})? {_CLOCK}"
_ISO: Final = rf"\d{{4}}-\d\d-\d\d[T ]{_CLOCK}(?:Z|[+-]\d\d:?\d\d)?"
_HOST: Final = r"(?P<host>[^\s:\[]+)"
_TAG: Final = r"(?P<tag>[A-Za-z0-9_./@%+~#$-]+)(?:\([^()\s]*\))?"
_PROCESS: Final = r"(?:\[(?P<pid>[^\]\s]+)\]:? ?|:(?: |$))"
_TAG_AND_PROCESS: Final = _TAG + _PROCESS
_OTHER_TAG_AND_PROCESS: Final = _TAG_AND_PROCESS.replace("<tag>", "<tag2>").replace("<pid>", "<pid2>")
_ELEMENT: Final = r'\[[^\s=\]"\[]+(?: +[^\s=\]"]+="(?:[^"\\]|\\.)*")* *\]'
_ZONE: Final = "(?:UTC|GMT|[A-Z]{1,3}[SD]T|CET|MSK|JST)"
_TO_SD: Final = rf"^(?P<head>{_PRIORITY}1 (?P<time>[^\s]+) (?P<host>[^\s]+) (?P<tag>[^\s]+) (?P<pid>[^\s]+) (?P<msgid>[^\s]+) (?P<sd>-"
_TO_TEXT: Final = r"(?:$| ?[\r\n]+$| (?:\x{FEFF})? ?))"
"""rsyslog puts a blank before many messages, so one goes."""

WITHOUT_SD: Final = rf"{_TO_SD}) (?:\x{{FEFF}})?)[^\s\x{{FEFF}}]"
RFC_5424: Final = rf"(?s){_TO_SD}|(?:{_ELEMENT})+){_TO_TEXT}"
USUAL_BSD: Final = rf"^(?P<head>{_PRIORITY}(?P<time>{_MONTH} [ \d]\d {_CLOCK}) {_HOST} {_TAG_AND_PROCESS})"
USUAL_ISO: Final = rf"^(?P<head>(?:{_PRIORITY})?(?P<time>{_ISO}) {_HOST} {_TAG_AND_PROCESS})"
WITHOUT_HOST: Final = rf"^(?P<head>{_PRIORITY}(?P<time>{_MONTH} [ \d]\d {_CLOCK}) {_TAG_AND_PROCESS})"
CISCO: Final = (
    rf"^(?P<head>{_PRIORITY}(?:\d*: )?(?:(?P<before>[^\s:*]+): )?(?:\*{_BSD}|\.?(?P<time>{_BSD}))(?: {_ZONE})?"
    r"(?: (?P<host>[^\s:%]+))?(?: ?: ?| ))%[A-Za-z0-9_]+-(?:[A-Za-z0-9_]+-)?\d-"
)
"""The mnemonic, `%SYS-5-CONFIG_I`, is the message's kind: it stays in the text. A star before the time says that the clock is not set."""
RFC_3164: Final = (
    rf"^(?P<head>(?:{_PRIORITY} ?)?(?P<time>{_BSD}|{_ISO}) (?:"
    rf"{_TAG_AND_PROCESS}|(?P<host>[^\s]+)(?:$|[\r\n]| {{1,2}}(?:{_OTHER_TAG_AND_PROCESS})?)))"
)
NO_TIME_AT_ALL: Final = rf"^(?P<head>{_PRIORITY} ?(?:{_TAG_AND_PROCESS})?)"
_OF_5424: Final = (WITHOUT_SD, RFC_5424)
_OF_OTHERS: Final = (USUAL_BSD, USUAL_ISO, WITHOUT_HOST, CISCO, RFC_3164, NO_TIME_AT_ALL)
"""In this order. The usual ones find what the general ones after them would find, in a quarter of the time: RE2 need not look back."""
_COLUMNS: Final = ("pri", "time", "host", "tag", "pid", "msgid", "sd")
_OTHER_NAMES: Final = {"host": "before", "tag": "tag2", "pid": "pid2"}
_LESS, _MORE, _ONE, _BLANK = b"<>1 "


class SyslogHeads(NamedTuple):
    """The m of n messages that are syslog, as columns of length m; a text is empty where the message does not say it.

    Thread: any.
    """

    row: NDArray[np.int64]
    """int64[m]: which of the messages, ascending."""
    text: Column
    priority: Column
    """Up to three digits."""
    time: Column
    host: Column
    tag: Column
    process: Column
    msgid: Column
    structured: Column
    """Structured data of RFC 5424 as it is written."""


def read_heads(messages: Column) -> SyslogHeads:
    """Read n messages; each row depends on its message alone."""
    is_5424 = _may_be_5424(messages)
    found: list[SyslogHeads] = []
    for patterns, left in ((_OF_5424, np.flatnonzero(is_5424)), (_OF_OTHERS, np.flatnonzero(~is_5424))):
        for pattern in patterns:
            rows = np.intersect1d(left, find_containing(messages, "%"), assume_unique=True) if pattern is CISCO else left
            if len(rows):
                found.append(_read(messages, rows, pattern))
                left = np.setdiff1d(left, found[-1].row, assume_unique=True)  # noqa: PLW2901 - what is left for the next pattern
    found = [heads for heads in found if len(heads.row)] or [_read(messages, np.empty(0, np.int64), RFC_5424)]
    if len(found) == 1:
        return found[0]
    order = np.argsort(np.concatenate([heads.row for heads in found]))
    row, *columns = zip(*found, strict=True)
    return SyslogHeads(np.concatenate(row)[order], *(take(concat(column), order) for column in columns))


def _read(messages: Column, rows: NDArray[np.int64], pattern: str) -> SyslogHeads:
    """Return the heads of those of the given rows that the pattern fits."""
    chosen = messages if len(rows) == len(messages) else take(messages, rows)
    is_match, groups = extract_groups(chosen, pattern)
    if not is_match.all():
        fitting = np.flatnonzero(is_match)
        rows, chosen = rows[fitting], take(chosen, fitting)
        groups = {name: take(column, fitting) for name, column in groups.items()}
    text = cut_texts(chosen, text_bytes(groups["head"]), text_bytes(chosen))
    nothing = string_column([""] * len(rows))
    for name, other in _OTHER_NAMES.items():
        if other in groups:
            groups[name] = join_texts([groups[name], groups[other]])  # only one of them takes part in a match
    return SyslogHeads(rows, text, *(groups.get(name, nothing) for name in _COLUMNS))


def _may_be_5424(messages: Column) -> NDArray[np.bool_]:
    """Return which messages have the version of RFC 5424 after their priority."""
    data, ends = utf8_of(messages)
    sizes, begins = np.diff(ends), ends[:-1].astype(np.int64)
    found = np.zeros(len(messages), np.bool_)
    for digits in (1, 2, 3):
        rows = np.flatnonzero(sizes > digits + 3)
        after = begins[rows] + digits + 1
        fits = (data[begins[rows]] == _LESS) & (data[after] == _MORE) & (data[after + 1] == _ONE) & (data[after + 2] == _BLANK)
        found[rows[fits]] = True
    return found
