"""Syslog: RFC 5424, RFC 3164 and what is called so, and the default files of rsyslog and syslog-ng.

The text is the message without its head; level and facility are of its priority, the service is its program. What has neither a priority
nor a time at its beginning is not syslog.
"""

import re
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from consumers.columns import Coded, Column, as_texts, coded, coded_texts, join_texts, replace_rows, string_column, take, text_bytes
from consumers.decode.decode_tally import DecodeTally
from consumers.decode.entries import Entries
from consumers.decode.found import Found, Values, undecodable
from consumers.decode.inner_objects import InnerObjects
from consumers.decode.joined import join_entries
from consumers.decode.kept_fields import kept_object
from consumers.decode.levels import level_of_syslog
from consumers.decode.rules import DecodeRules
from consumers.decode.syslog_bodies import SyslogBodies
from consumers.decode.syslog_frames import split_frames
from consumers.decode.syslog_heads import SyslogHeads, read_heads
from consumers.decode.text_reader import without_nul
from consumers.decode.times import parse_times
from consumers.decode.valid_text import read_text
from consumers.text.regex import find_matching

_FACILITIES: Final = (
    "kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron", "authpriv", "ftp", "ntp", "audit", "alert", "clock",
    *(f"local{number}" for number in range(8)),
)  # fmt: skip
_LEAST_WRONG_PRIORITY: Final = 8 * len(_FACILITIES)
_NIL: Final = "-"
_LONGEST_BLANK: Final = 4
"""Bytes of a text that may be blanks only."""
_PROCESS: Final = "process.pid"
_PROCESS_MARK: Final = f'"{_PROCESS}":0'
_NUMBER: Final = r"^(?:0|[1-9][0-9]{0,14})$"
_ANY_NUMBER: Final = "0"
_PARAMETER: Final = re.compile(r'\[([^\s=\]"\[]+)|([^\s=\]"]+)="((?:[^"\\]|\\.)*)"', re.DOTALL)
"""The beginning of an element, or one of its parameters."""
_COLON_PARAMETER: Final = re.compile(r'([^\s:;\]"\[]++):"((?:[^"\\]++|\\.)*+)"', re.DOTALL)
"""A parameter as Check Point writes it."""
_ESCAPED: Final = re.compile(r'\\(["\\\]])')


class SyslogReader:
    """Reads syslog.

    Thread: one.
    """

    def __init__(self, rules: DecodeRules, tally: DecodeTally) -> None:
        self._rules = rules
        self._tally = tally
        self._inner = InnerObjects(rules, tally)
        self._bodies = SyslogBodies(rules, tally)

    def read(self, values: Values) -> Found:
        """Read n values; one of whose messages is not syslog is not read at all."""
        frames = split_frames(values, max_entries=self._rules.max_entries)
        valid = read_text(frames.messages, strict=self._rules.strict, tally=self._tally)
        heads = read_heads(without_nul(valid.text))
        is_wrong = _wrong_priorities(heads.priority)
        failed = dict(frames.failed)
        for unread, rejection in valid.failed:
            failed.setdefault(int(frames.place[unread]), rejection)
        read = valid.place[heads.row[~is_wrong]]
        if len(read) < len(frames.place):
            others = np.setdiff1d(np.arange(len(frames.place)), read)
            for row in frames.place[others].tolist():
                failed.setdefault(row, undecodable("not syslog"))
        whole = ~is_wrong
        if failed:
            whole &= ~np.isin(frames.place[valid.place[heads.row]], list(failed))
        if not whole.all():
            heads = heads.taken(np.flatnonzero(whole))
        message = valid.place[heads.row]
        place = frames.place[message]
        kafka_ms = values.kafka_ms[place]
        entries = self._with_bodies(self._entries(heads, place, frames.sub[message], kafka_ms), heads, kafka_ms)
        return Found(self._inner.open(entries, kafka_ms), sorted(failed.items()))

    def _with_bodies(self, entries: Entries, heads: SyslogHeads, kafka_ms: NDArray[np.int64]) -> Entries:
        """Return entries with what the texts of those without a head say, and with the level of their priority where they name none."""
        alone = np.flatnonzero(text_bytes(heads.time) == 0)
        if len(alone):
            alone = alone[(text_bytes(heads.host)[alone] == 0) & (text_bytes(heads.tag)[alone] == 0)]
        if not len(alone):
            return entries
        found = self._bodies.read(take(entries.text, alone), kafka_ms[alone])
        bodies = join_entries([read._replace(row=alone[read.row]) for read in found])
        if not bodies.size:
            return entries
        rest = np.setdiff1d(np.arange(entries.size), bodies.row, assume_unique=True)
        named = [bodies.level.text(place) or entries.level.text(row) for place, row in enumerate(bodies.row.tolist())]
        bodies = bodies._replace(row=entries.row[bodies.row], sub=entries.sub[bodies.row], level=coded_texts(named))
        joined = join_entries([entries.take(rest), bodies])
        return joined.take(np.lexsort((joined.sub, joined.row)))

    def _entries(self, heads: SyslogHeads, row: NDArray[np.int64], sub: NDArray[np.int32], kafka_ms: NDArray[np.int64]) -> Entries:
        priority = coded(heads.priority)
        numbers = [int(number) if number else None for number in priority.values]
        levels = coded_texts(["" if number is None else level_of_syslog(number & 7) for number in numbers])
        return Entries(
            row=row,
            sub=sub,
            text=self._texts(heads),
            time_ms=parse_times(heads.time, kafka_ms, self._rules.clock),
            service=_without_nil(heads.tag),
            level=Coded(levels.codes[priority.codes], levels.values),
            fields=self._fields(heads, priority, ["" if number is None else _FACILITIES[number >> 3] for number in numbers]),
        )

    def _texts(self, heads: SyslogHeads) -> Column:
        """Return the texts; where a message has none, its id and its structured data."""
        short = np.flatnonzero(text_bytes(heads.text) <= _LONGEST_BLANK)
        empty = short[[not text.strip() for text in as_texts(take(heads.text, short))]]
        if not len(empty):
            return heads.text
        parts = [_without_nil(take(column, empty)) for column in (heads.msgid, heads.structured)]
        made = [" ".join(filter(None, (part.text(place) for part in parts))) for place in range(len(empty))]
        self._tally.made_texts += sum(map(bool, made))
        return replace_rows(heads.text, empty, string_column(made)) if any(made) else heads.text

    def _fields(self, heads: SyslogHeads, priority: Coded, facilities: Sequence[str]) -> Column:
        """Return the kept fields: few distinct objects, and in them the number of the process, which is another in many lines."""
        has_number = np.zeros(len(heads.row), np.bool_)
        has_number[find_matching(heads.process, _NUMBER)] = True
        process, numbered = heads.process, np.flatnonzero(has_number)
        if len(numbered):
            process = replace_rows(process, numbered, string_column([_ANY_NUMBER] * len(numbered)))
        labels = (_without_nil(heads.host), _without_nil(process), _without_nil(heads.msgid), coded(heads.structured), priority)
        distinct, codes = _distinct_rows(labels)
        before: list[str | None] = []
        after: list[str] = []
        for host, name, msgid, structured, number in distinct.tolist():
            is_number = labels[1].values[name] == _ANY_NUMBER
            items: dict[str, object] = {
                "host.name": labels[0].values[host],
                _PROCESS: 0 if is_number else labels[1].values[name],
                "syslog.facility": facilities[number],
                "syslog.msgid": labels[2].values[msgid],
            }
            items |= read_structured(labels[3].values[structured])
            written = kept_object(items, self._rules, ())
            head, mark, tail = (written or "").partition(_PROCESS_MARK) if is_number else ("", "", "")
            before.append(head + mark[:-1] if mark else written)
            after.append(tail)
        fields = take(string_column(before), codes)
        rows = np.flatnonzero(np.array([bool(tail) for tail in after], np.bool_)[codes])
        if not len(rows):
            return fields
        parts = [take(fields, rows), take(heads.process, rows), take(string_column(after), codes[rows])]
        return replace_rows(fields, rows, join_texts(parts))


def read_structured(structured: str) -> dict[str, str]:
    """Return the parameters of structured data as `sd.ID.NAME`; of one that is given twice the first."""
    found: dict[str, str] = {}
    if begun := _COLON_PARAMETER.match(structured, 1):
        return {name: _ESCAPED.sub(r"\1", value) for name, value in _COLON_PARAMETER.findall(structured, begun.start())}
    element = ""
    for begun, name, value in _PARAMETER.findall(structured):
        if begun:
            element = begun
        else:
            found.setdefault(f"sd.{element}.{name}", _ESCAPED.sub(r"\1", value) if "\\" in value else value)
    return found


def _distinct_rows(labels: Sequence[Coded]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct rows of k columns of n labels, int64[m, k], and which of them each row is: int64[n]."""
    codes = np.zeros(len(labels[0].codes), np.int64)
    for label in labels:
        # Numbered anew at each column, so that no product exceeds 2⁶³.
        codes = np.unique(codes * len(label.values) + label.codes, return_inverse=True)[1]
    first = np.unique(codes, return_index=True)[1]
    return np.stack([label.codes[first] for label in labels], axis=1), codes


def _wrong_priorities(priority: Column) -> NDArray[np.bool_]:
    """Return which priorities are above the largest: bool[n]."""
    found = coded(priority)
    return np.array([bool(number) and int(number) >= _LEAST_WRONG_PRIORITY for number in found.values], np.bool_)[found.codes]


def _without_nil(column: Column) -> Coded:
    """Return a column of labels with an empty one where RFC 5424 writes `-`."""
    found = coded(column)
    if _NIL not in found.values:
        return found
    labels = coded_texts(["" if value == _NIL else value for value in found.values])
    return Coded(labels.codes[found.codes], labels.values)
