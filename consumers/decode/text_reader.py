"""Plain text: the whole value is one line, without what container runtimes and C programs put around it.

Of a line in the format of container runtimes (`consumers.decode.cri`) the text is what the container wrote, and what that says if it is an
object (`consumers.decode.inner_objects`). NUL at the end goes.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from consumers.columns import Column, coded_alike, cut_texts, null_column, replace_rows, string_column, text_bytes, utf8_of
from consumers.decode.cri import CriLines, find_cri
from consumers.decode.decode_tally import DecodeTally
from consumers.decode.entries import Entries
from consumers.decode.found import NO_TIME, Found, Values
from consumers.decode.inner_objects import InnerObjects
from consumers.decode.json_text import write_flat
from consumers.decode.rules import DecodeRules
from consumers.decode.times import parse_times
from consumers.decode.valid_text import read_text
from consumers.text.regex import extract_groups, find_starting

_WRITTEN: Final = {
    (stream, is_partial): write_flat({"cri.partial": True, "log.iostream": stream} if is_partial else {"log.iostream": stream}).decode()
    for stream in ("stdout", "stderr")
    for is_partial in (False, True)
}
"""The fields of each such line, whatever fields the settings keep: by them its pieces are joined (`worker.indexing.record_pieces`)."""
_NUL_AT_END: Final = r"(?P<nul>\x00+)$"


class TextReader:
    """Replaces bytes that are not UTF-8, or rejects their values.

    Thread: one.
    """

    def __init__(self, rules: DecodeRules, tally: DecodeTally) -> None:
        self._rules = rules
        self._tally = tally
        self._inner = InnerObjects(rules, tally)

    def read(self, values: Values) -> Found:
        """Read n values."""
        place, text, failed = read_text(values, strict=self._rules.strict, tally=self._tally)
        size = len(place)
        text = without_nul(text)
        time_ms, fields = np.full(size, NO_TIME), null_column(size)
        inside = find_starting(text, "@")
        cri = find_cri(text)
        if cri is not None:
            time_ms[cri.row] = self._times(cri, values.kafka_ms[place[cri.row]])
            fields = replace_rows(fields, cri.row, _fields(cri))
            text = replace_rows(text, cri.row, cri.text)
            inside = np.union1d(inside, cri.row[~cri.is_partial])
        label = coded_alike("", size)
        entries = Entries(place, np.zeros(size, np.int32), text, time_ms, label, label, fields)
        if len(inside) and self._rules.format != "text":
            entries = self._inner.open(entries, values.kafka_ms[place], inside)
        return Found(entries, failed)

    def _times(self, cri: CriLines, kafka_ms: NDArray[np.int64]) -> NDArray[np.int64]:
        return parse_times(cri.time, kafka_ms, self._rules.clock)


def _fields(cri: CriLines) -> Column:
    """Return the kept fields of each line: there are few different ones."""
    values = cri.stream.values
    written = [_WRITTEN[stream, is_partial] for is_partial in (False, True) for stream in values]
    codes = cri.stream.codes + cri.is_partial * len(values)
    return string_column([written[code] for code in codes.tolist()])


def without_nul(text: Column) -> Column:
    """Remove NUL characters from the end of n texts; the same column if none has one there."""
    data, ends = utf8_of(text)
    filled = np.flatnonzero(np.diff(ends))
    if not len(filled) or data[ends[filled + 1] - 1].all():
        return text
    _, found = extract_groups(text, _NUL_AT_END)
    return cut_texts(text, np.zeros(len(text), np.int32), text_bytes(text) - text_bytes(found["nul"]))
