"""logfmt: `level=info msg="disk full" size=3`, a line an entry.

The pairs become a JSON object (`consumers.decode.logfmt_pairs`) and are read as such: so names mean here what they mean in JSON. All values
are strings. A word without `=` is no field, and where no field is the message the text is the whole line.
"""

import re
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from consumers.columns import (
    Column,
    as_texts,
    bytes_of,
    replace_rows,
    string_column,
    strip_line_ends,
    take,
    text_bytes,
    utf8_of,
)
from consumers.decode.decode_tally import DecodeTally
from consumers.decode.entries import no_entries
from consumers.decode.escapes import strip_escapes
from consumers.decode.found import Found, Values, too_many_entries, undecodable
from consumers.decode.json_names import TEXT_NAMES, TIME_NAMES
from consumers.decode.json_reader import JsonReader
from consumers.decode.logfmt_pairs import objects_of
from consumers.decode.rules import DecodeRules
from consumers.decode.text_reader import without_nul
from consumers.decode.valid_text import read_text
from consumers.rejection import Rejection
from consumers.text.regex import find_matching

_BLANKS: Final = " \t\r\n\f\v"
_BLANK: Final = r"[ \t\r\n\f\v]"
_NO_OBJECT_BYTES: Final = len("{}")
_LINE_FEED: Final = ord("\n")
_OTHER_TIME: Final = "t"
"""Grafana's and go-kit's name."""


class LogfmtReader:
    """Reads logfmt.

    Thread: one.
    """

    def __init__(self, rules: DecodeRules, tally: DecodeTally) -> None:
        self._rules = rules
        self._tally = tally
        names = replace(rules.names, time=(*rules.names.time, *TIME_NAMES, _OTHER_TIME))
        self._json = JsonReader(replace(rules, names=names), tally=tally)
        texts = "|".join(re.escape(name) for name in (*rules.names.text, *TEXT_NAMES))
        self._has_text = rf'[{{,]"(?:{texts})":"[^"]'

    def read(self, values: Values) -> Found:
        """Read n values; one of whose lines has no pair is not read at all."""
        valid = read_text(values, strict=self._rules.strict, tally=self._tally)
        line, sub, lines = _split_lines(strip_line_ends(strip_escapes(without_nul(valid.text))))
        place = valid.place[line]
        failed: dict[int, Rejection] = dict(valid.failed)
        for row in np.unique(place[sub >= self._rules.max_entries]).tolist():
            failed[row] = too_many_entries(self._rules.max_entries)
        objects = objects_of(lines)
        for row in np.unique(place[text_bytes(objects) <= _NO_OBJECT_BYTES]).tolist():
            failed.setdefault(row, undecodable("not logfmt: a line without a pair"))
        if failed:
            kept = np.flatnonzero(~np.isin(place, list(failed)))
            place, sub, lines, objects = place[kept], sub[kept], take(lines, kept), take(objects, kept)
        read = self._json.read(Values(*bytes_of(objects), values.kafka_ms[place])).entries if len(place) else no_entries()
        text = self._texts(read.text, take(objects, read.row), take(lines, read.row))
        return Found(read._replace(row=place[read.row], sub=sub[read.row], text=text), sorted(failed.items()))

    def _texts(self, text: Column, objects: Column, lines: Column) -> Column:
        """Return the texts of n entries with the line where no field is the text."""
        has_text = np.zeros(len(text), np.bool_)
        has_text[find_matching(objects, self._has_text)] = True
        without = np.flatnonzero(~has_text)
        return replace_rows(text, without, take(lines, without)) if len(without) else text


def _split_lines(text: Column) -> tuple[NDArray[np.int64], NDArray[np.int32], Column]:
    """Return the lines of n values that are not blank: which value each is of, which line of it, and the lines."""
    if not (utf8_of(text)[0] == _LINE_FEED).any():
        filled = np.delete(np.arange(len(text)), find_matching(text, f"^{_BLANK}*$"))
        return filled, np.zeros(len(filled), np.int32), text if len(filled) == len(text) else take(text, filled)
    lines = [[line for line in value.split("\n") if line.strip(_BLANKS)] for value in as_texts(text)]
    counts = np.fromiter(map(len, lines), np.int64, len(lines))
    value = np.repeat(np.arange(len(text)), counts)
    sub = np.arange(len(value)) - (np.cumsum(counts) - counts)[value]
    return value, sub.astype(np.int32), string_column([line for of_value in lines for line in of_value])
