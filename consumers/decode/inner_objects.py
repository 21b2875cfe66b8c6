"""Objects of JSON that are the texts of other formats: a container runtime's line, a syslog message, the body of an OTLP record.

Their readers give such texts to `InnerObjects`. An object with a text is read by the rules of JSON; what it does not say of time, level and
service is what its envelope says, and the fields of both are kept. Any other text stays as it is.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from consumers.columns import Coded, Column, as_texts, byte_column, coded_texts, replace_rows, string_column, take, used_values
from consumers.decode.decode_tally import DecodeTally
from consumers.decode.entries import Entries
from consumers.decode.found import NO_TIME, Values
from consumers.decode.json_document import BLANKS, OBJECT_BEGINS
from consumers.decode.json_reader import JsonReader
from consumers.decode.json_text import Scalar, read_flat, write_flat
from consumers.decode.kept_fields import LEVEL_ORIGINAL, MOST_BYTES
from consumers.decode.rules import DecodeRules
from consumers.text.regex import find_matching, find_starting

_HOST: Final = "host.name"
_MOST_REMEMBERED: Final = 1_024
_MAY_BEGIN: Final = "{ @"


class InnerObjects:
    """Opens texts that are objects.

    Thread: one.
    """

    def __init__(self, rules: DecodeRules, tally: DecodeTally | None = None) -> None:
        self._tally = DecodeTally() if tally is None else tally
        self._json = JsonReader(rules, tally=tally, keeps_lines=False)
        self._fields: dict[str, dict[str, str]] = {}
        """By the kept fields of an envelope: each as JSON writes it, by its name as JSON writes it."""

    def open(self, entries: Entries, kafka_ms: NDArray[np.int64], rows: NDArray[np.int64] | None = None) -> Entries:
        """Return n entries, one for each given, with what the objects say that are their texts.

        `kafka_ms`: int64[n], of each entry. `rows`: those whose texts may be opened, ascending; None: all.
        """
        candidates = self._candidates(entries.text, rows)
        if not len(candidates):
            return entries
        text, row = take(entries.text, candidates), candidates
        values = [one[one.index("{") :].rstrip(BLANKS).encode() for one in as_texts(text)]
        found = self._json.read(Values(values, byte_column(values), kafka_ms[row])).entries
        texts = as_texts(found.text)
        counts = np.bincount(found.row, minlength=len(values))
        opened = [
            place
            for place, of in enumerate(found.row.tolist())
            if counts[of] == 1 and texts[place] and (not texts[place].startswith("{") or self._json.has_text(values[of]))
        ]
        if not opened:
            return entries
        self._tally.opened_texts += len(opened)
        inner = found if len(opened) == found.size else found.take(np.array(opened))
        return self._merged(entries, inner, row[inner.row])

    def _candidates(self, text: Column, rows: NDArray[np.int64] | None) -> NDArray[np.int64]:
        """Return the texts that begin and end like an object."""
        begins = np.asarray(find_starting(text, _MAY_BEGIN), np.int64)
        if rows is not None:
            begins = np.intersect1d(begins, rows)
        if not len(begins):
            return begins
        chosen = take(text, begins)
        begins = begins[find_matching(chosen, OBJECT_BEGINS)]
        ends = [one.rstrip(BLANKS).endswith("}") for one in as_texts(take(text, begins))]
        return begins[np.array(ends, np.bool_)]

    def _merged(self, entries: Entries, inner: Entries, row: NDArray[np.int64]) -> Entries:
        """Return entries with what was read inside of those in `row`, ascending."""
        outer = entries.take(row)
        has_level = np.array([bool(value) for value in inner.level.values], np.bool_)[inner.level.codes]
        time_ms = entries.time_ms.copy()
        time_ms[row] = np.where(inner.time_ms == NO_TIME, outer.time_ms, inner.time_ms)
        service = [
            own if own and not (other and _is_host(own, fields)) else other
            for own, other, fields in zip(_labels(inner.service), _labels(outer.service), inner.fields.to_pylist(), strict=True)
        ]
        level = [own or other for own, other in zip(_labels(inner.level), _labels(outer.level), strict=True)]
        fields = [
            self._both(around, within, leaves_level=own)
            for around, within, own in zip(outer.fields.to_pylist(), inner.fields.to_pylist(), has_level.tolist(), strict=True)
        ]
        return entries._replace(
            text=replace_rows(entries.text, row, inner.text),
            time_ms=time_ms,
            service=_replaced(entries.service, row, service),
            level=_replaced(entries.level, row, level),
            fields=replace_rows(entries.fields, row, string_column(fields)),
            trace=_filled(entries.trace, inner.trace, row, entries.size),
            template=_filled(entries.template, inner.template, row, entries.size),
        )

    def _both(self, around: str | None, within: str | None, *, leaves_level: bool) -> str | None:
        """Return the kept fields of an envelope and then those inside, of which one of the same name counts; the last that fit."""
        if not around:
            return within
        own = within or ""
        added = [
            pair for name, pair in self._pairs(around).items() if name not in own and not (leaves_level and name == f'"{LEVEL_ORIGINAL}":')
        ]
        while added:
            joined = "{" + ",".join(added) + (f",{own[1:]}" if own else "}")
            if len(joined.encode()) <= MOST_BYTES:
                return joined
            added.pop()
        return within

    def _pairs(self, fields: str) -> dict[str, str]:
        found = self._fields.get(fields)
        if found is None:
            if len(self._fields) >= _MOST_REMEMBERED:
                self._fields.clear()
            found = self._fields[fields] = {_pair(name, "")[:-2]: _pair(name, value) for name, value in read_flat(fields).items()}
        return found


def _pair(name: str, value: Scalar) -> str:
    return write_flat({name: value}).decode()[1:-1]


def _is_host(service: str, fields: str | None) -> bool:
    """Whether a service is only the name of the host, which stands for a service where nothing else does."""
    return _pair(_HOST, service) in (fields or "")


def _labels(labels: Coded) -> list[str]:
    return [labels.values[code] for code in labels.codes.tolist()]


def _replaced(labels: Coded, row: NDArray[np.int64], texts: list[str]) -> Coded:
    """Return labels with other ones in some rows."""
    both = coded_texts([*labels.values, *texts])
    codes = both.codes[: len(labels.values)][labels.codes]
    codes[row] = both.codes[len(labels.values) :]
    return used_values(codes, both.values)


def _filled(column: Column | None, inner: Column | None, row: NDArray[np.int64], size: int) -> Column | None:
    """Return a column with what was read inside, where that is anything; None if both are."""
    if inner is None:
        return column
    texts: list[str | None] = [None] * size if column is None else column.to_pylist()
    for place, text in zip(row.tolist(), inner.to_pylist(), strict=True):
        texts[place] = text if text is not None else texts[place]
    return string_column(texts)
