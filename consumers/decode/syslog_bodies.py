"""What stands behind a priority and nothing else: a JSON object, or pairs as firewalls write them. Both become fields.

`consumers.decode.syslog` asks for the texts of messages without a head. Pairs are read as logfmt, but `service` and `app` are what the
traffic was, not who wrote the line. Their time may be in several: `date=2026-11-23 time=10:00:00 tz="+0100"`.
"""

import json
import re
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from consumers.columns import Column, as_texts, bytes_of, coded, join_texts, string_column, take
from consumers.decode.decode_tally import DecodeTally
from consumers.decode.entries import Entries
from consumers.decode.found import NO_TIME, Reader, Values
from consumers.decode.json_reader import JsonReader
from consumers.decode.logfmt import LogfmtReader
from consumers.decode.rules import DecodeRules
from consumers.decode.syslog_patterns import IS_ZONE, OBJECT, PAIRS, SEPARATED
from consumers.decode.times import parse_times
from consumers.text.regex import extract_groups, find_matching

_TIME_NAMES: Final = ("eventtime",)
"""Fortinet's, to the nanosecond."""
_BEFORE: Final = r"(?:^|[ ,;|])"
_DATE: Final = rf'{_BEFORE}date="?(?P<found>\d{{4}}-\d\d-\d\d)"?(?:$|[ ,;|])'
_CLOCK: Final = rf'{_BEFORE}time="?(?P<found>\d\d:\d\d:\d\d(?:\.\d{{1,9}})?)"?(?:$|[ ,;|])'
_ZONE: Final = rf'{_BEFORE}(?:tz|timezone)="?(?P<found>[A-Za-z0-9:+/_-]{{1,32}})"?(?:$|[ ,;|])'
_BARRED, _WITH_COMMAS = (
    re.compile(rf'(?:^ ?|{mark})([A-Za-z_][A-Za-z0-9_.-]*+)=(?:("(?:[^"\\]++|\\.)*+")(?={mark}|$)|([^{mark}]*+))', re.DOTALL)
    for mark in (r"\|", ",")
)
"""A pair behind the mark before it: so each byte is looked at a bounded number of times."""


class SyslogBodies:
    """Reads the texts of messages of which a priority is all of the head.

    Thread: one.
    """

    def __init__(self, rules: DecodeRules, tally: DecodeTally) -> None:
        one_each = replace(rules, max_entries=1)
        names = replace(rules.names, time=(*rules.names.time, *_TIME_NAMES), documented_service=False)
        self._rules = rules
        self._objects = JsonReader(one_each, tally=tally, keeps_lines=False)
        self._pairs = LogfmtReader(replace(one_each, names=names), tally)

    def read(self, text: Column, kafka_ms: NDArray[np.int64]) -> list[Entries]:
        """Read n texts; `row` of the entries says of which text each is, and not every text has one."""
        objects = _read(self._objects, text, kafka_ms, f"^{OBJECT}")
        pairs = _read(self._pairs, text, kafka_ms, f"^{PAIRS}"), self._read_separated(text, kafka_ms)
        for entries in filter(None, pairs):
            is_open = np.flatnonzero(entries.time_ms == NO_TIME)
            rows = entries.row[is_open]
            entries.time_ms[is_open] = self._times(take(text, rows), kafka_ms[rows])
        return [entries for entries in (objects, *pairs) if entries is not None]

    def _read_separated(self, text: Column, kafka_ms: NDArray[np.int64]) -> Entries | None:
        """Read pairs with bars or commas between them, which are made logfmt for it."""
        rows = np.array(find_matching(text, f"^{SEPARATED}"), np.int64)
        lines = as_texts(take(text, rows))
        made = [_logfmt_of(line) for line in lines]
        found = _read(self._pairs, string_column(made), kafka_ms[rows], f"^{PAIRS}") if made else None
        if found is None:
            return None
        places = found.row.tolist()
        texts = [lines[place] if one == made[place] else one for place, one in zip(places, as_texts(found.text), strict=True)]
        return found._replace(row=rows[found.row], text=string_column(texts))

    def _times(self, lines: Column, kafka_ms: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the times that lines have in several pairs; where what stands for the zone is none, they are of the topic's."""
        date, clock, zone = (extract_groups(lines, pattern)[1]["found"] for pattern in (_DATE, _CLOCK, _ZONE))
        zoned = parse_times(join_texts([date, " ", clock, " ", zone]), kafka_ms, self._rules.clock)
        names = coded(zone)
        no_zone = np.array([not IS_ZONE.fullmatch(name) for name in names.values], np.bool_)[names.codes]
        return np.where((zoned == NO_TIME) & no_zone, parse_times(join_texts([date, " ", clock]), kafka_ms, self._rules.clock), zoned)


def _logfmt_of(line: str) -> str:
    """Return pairs with bars or commas between them as logfmt; the first of these marks separates them."""
    is_barred = "|" in line and not line.partition("|")[0].count(",")
    pairs = (_BARRED if is_barred else _WITH_COMMAS).findall(line.strip("\r\n"))
    return " ".join(f"{name}={quoted or json.dumps(bare, ensure_ascii=False)}" for name, quoted, bare in pairs)


def _read(reader: Reader, text: Column, kafka_ms: NDArray[np.int64], pattern: str) -> Entries | None:
    rows = np.array(find_matching(text, pattern), np.int64)
    if not len(rows):
        return None
    found = reader.read(Values(*bytes_of(take(text, rows)), kafka_ms[rows])).placed(rows)
    return found.entries if found.entries.size else None
