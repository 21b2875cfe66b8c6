"""The heads of syslog messages as columns: priority, time, host, program, process; the text is what follows.

RFC 5424, and what is called RFC 3164: that only describes what was found in 2001, so hosts, tags and times are missing or of other shapes.
The default files of rsyslog and syslog-ng have the same without a priority.
"""

import re
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from consumers.columns import Column, coded, concat, cut_texts, join_texts, string_column, take, text_bytes, utf8_of
from consumers.decode import syslog_patterns as patterns
from consumers.decode.levels import level_of_name
from consumers.text.regex import extract_groups, find_containing

_OF_5424: Final = (patterns.WITHOUT_SD, patterns.RFC_5424, patterns.VERSION_AND_TAG, patterns.NO_SD, patterns.EPOCH)
_OF_OTHERS: Final = (
    patterns.USUAL_BSD, patterns.USUAL_ISO, patterns.WITHOUT_HOST, patterns.CISCO, patterns.MNEMONIC, patterns.RFC_3164,
    patterns.OTHER_STAMP, patterns.DEVICE, patterns.NO_TIME_AT_ALL,
)  # fmt: skip
"""In this order. The usual ones find what the general ones after them would find, in a quarter of the time: RE2 need not look back."""
_OF_DOUBTFUL: Final = (
    patterns.RELAYED, patterns.NUMBERED, patterns.MNEMONIC, patterns.ROW, patterns.OTHER_STAMP,
)  # fmt: skip
"""For messages whose host or tag can be none."""
_WITH_PERCENT: Final = frozenset({patterns.CISCO, patterns.MNEMONIC, patterns.RELAYED})
_COLUMNS: Final = ("pri", "time", "host", "tag", "pid", "msgid", "sd")
_OTHER_NAMES: Final = {"host": "before", "tag": "tag2", "pid": "pid2"}
_LESS, _MORE, _ONE, _BLANK = b"<>1 "
_DATE_BYTES: Final = len("2026-11-23")
"""Of a time whose clock stands behind a blank, so that every word behind it was taken for the one before."""
_NO_HOST: Final = re.compile(r"[\[<].*|\d+,\d{4}/.*|(?:19|20)\d\d", re.DOTALL)
_NO_TAG: Final = re.compile(r"\d+|%.*", re.DOTALL)


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
    """Structured data of RFC 5424, or what stands in its place, as it is written."""

    def taken(self, places: NDArray[np.int64]) -> "SyslogHeads":
        """Return those at the given places."""
        row, *columns = self
        return SyslogHeads(row[places], *(take(column, places) for column in columns))


def read_heads(messages: Column) -> SyslogHeads:
    """Read n messages; each row depends on its message alone."""
    is_5424 = _may_be_5424(messages)
    of_5424 = _joined(_read_in_order(messages, np.flatnonzero(is_5424), _OF_5424))
    of_others = _joined(_read_in_order(messages, np.flatnonzero(~is_5424), _OF_OTHERS))
    if of_5424:
        of_5424 = _read_again(messages, of_5424, np.flatnonzero(text_bytes(of_5424.time) == _DATE_BYTES), (patterns.NO_SD,))
    if of_others:
        doubtful = np.union1d(_find_no_hosts(of_others), _find_no_tags(of_others))
        if len(doubtful):
            of_others = _read_again(messages, of_others, doubtful, _OF_DOUBTFUL)
            of_others = _read_again(messages, of_others, _find_no_hosts(of_others), (patterns.TIME_ALONE,))
    found = [heads for heads in (of_5424, of_others) if heads]
    return _joined(found) or _read(messages, np.empty(0, np.int64), patterns.RFC_5424)


def _read_again(messages: Column, heads: SyslogHeads, places: NDArray[np.int64], in_order: tuple[str, ...]) -> SyslogHeads:
    """Return heads with those at some places as other patterns find them; as they are where none fits."""
    again = _joined(_read_in_order(messages, heads.row[places], in_order))
    if again is None:
        return heads
    kept = heads.taken(np.flatnonzero(~np.isin(heads.row, again.row)))
    return _joined([kept, again]) or heads


def _read_in_order(messages: Column, rows: NDArray[np.int64], in_order: tuple[str, ...]) -> list[SyslogHeads]:
    """Return the heads of the given rows, each by the first pattern that fits it."""
    found: list[SyslogHeads] = []
    for pattern in in_order:
        chosen = rows
        if pattern in _WITH_PERCENT and len(rows):
            chosen = np.intersect1d(rows, find_containing(messages, "%"), assume_unique=True)
        if len(chosen):
            heads = _read(messages, chosen, pattern)
            if len(heads.row):
                found.append(heads)
                rows = np.setdiff1d(rows, heads.row, assume_unique=True)
    return found


def _joined(found: list[SyslogHeads]) -> SyslogHeads | None:
    """Return heads of different messages in their order; None if there are none."""
    if len(found) <= 1:
        return found[0] if found else None
    order = np.argsort(np.concatenate([heads.row for heads in found]))
    row, *columns = zip(*found, strict=True)
    return SyslogHeads(np.concatenate(row)[order], *(take(concat(column), order) for column in columns))


def _find_no_hosts(heads: SyslogHeads) -> NDArray[np.int64]:
    """Return the places of heads whose host is a zone, a level, a bracket or so, and of those with nothing but a level for a tag."""
    host, tag = coded(heads.host), coded(heads.tag)
    no_host = [bool(_NO_HOST.fullmatch(name)) or _is_zone(name) or (name.isupper() and _is_level(name)) for name in host.values]
    found = np.flatnonzero(np.array(no_host, np.bool_)[host.codes]) if any(no_host) else np.empty(0, np.int64)
    levels = np.array([_is_level(name) for name in tag.values], np.bool_)
    if not levels.any():
        return found
    is_alone = (text_bytes(heads.time) == 0) & (text_bytes(heads.process) == 0)
    return np.union1d(found, np.flatnonzero(is_alone & levels[tag.codes]))


def _find_no_tags(heads: SyslogHeads) -> NDArray[np.int64]:
    """Return the places of heads whose tag is a zone, a number or a mnemonic."""
    tag = coded(heads.tag)
    no_tag = [bool(_NO_TAG.fullmatch(name)) or _is_zone(name) for name in tag.values]
    return np.flatnonzero(np.array(no_tag, np.bool_)[tag.codes]) if any(no_tag) else np.empty(0, np.int64)


def _is_zone(name: str) -> bool:
    return patterns.IS_ZONE.fullmatch(name) is not None


def _is_level(name: str) -> bool:
    """Whether this is the name of a level, of more than one letter."""
    return len(name) > 1 and bool(level_of_name(name))


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
