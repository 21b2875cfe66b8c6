"""JSON: an object is an entry, an array of objects or several objects one after another are several.

`consumers.decode.decoder` calls it for all values of a list that are JSON or begin like it. Objects of a usual form go the fast path
(`consumers.decode.json_columns`), everything else goes by the general rules (`consumers.decode.json_document`). Batches of other formats
that are written as JSON go to their readers.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

import numpy as np
from numpy.typing import NDArray

from consumers.columns import as_text, byte_column, utf8_of
from consumers.decode.decode_tally import DecodeTally
from consumers.decode.entries import Entries, no_entries
from consumers.decode.found import Found, Reader, Values, too_many_entries, undecodable
from consumers.decode.joined import join_entries
from consumers.decode.json_columns import JsonColumns
from consumers.decode.json_document import Documents, Walked
from consumers.decode.json_repair import JsonRepairs, RepairedJson
from consumers.decode.json_roles import RoleRules
from consumers.decode.json_text import NotJson
from consumers.decode.json_values import TooManyEntries, documents_in, repaired_value
from consumers.decode.rules import DecodeRules
from consumers.rejection import Rejection

_ROUNDS: Final = 2
"""How often the form is learned from what does not fit in one list of values."""
_MOST_SHOWN: Final = 64
"""Values from which the form is learned at once."""
_LONGEST_REST: Final = 64
"""Lists of values for which nothing is learned, after nothing new was found again and again."""
_BEGINS_BATCH: Final = re.compile(rb'\s*+(?:\[\s*+)?+\{\s*+"resource_?[Ll]ogs"\s*+:\s*+\[')
"""Never goes back, so its time is linear in white space too."""


_BACKSLASH: Final = ord("\\")
_BATCH, _EVENT = "batch", "event"
_OF_BATCH: Final = ("resourceLogs", "resource_logs")
_OF_EVENT: Final = ("specversion", "id", "source", "type")
_FOREIGN: Final = frozenset({*_OF_BATCH, _OF_EVENT[0]})


class JsonReader:
    """Reads JSON records; remembers forms.

    Thread: one.
    """

    def __init__(
        self,
        rules: DecodeRules,
        *,
        tally: DecodeTally | None = None,
        batches: Reader | None = None,
        events: Reader | None = None,
        keeps_lines: bool = True,
    ) -> None:
        """`batches` reads values of OTLP, `events` those of CloudEvents; None: they are objects like others.

        `tally` counts repairs; None: nobody asks for them. `keeps_lines`: under `auto`, a line that is spoiled among others is text.
        """
        self._max_entries = rules.max_entries
        self._keeps_lines = keeps_lines and rules.format == "auto"
        self._readers = {_BATCH: batches, _EVENT: events}
        self._rest = 0
        self._next_rest = 1
        roles = RoleRules(rules)
        self._repairs = JsonRepairs(rules, tally)
        self._documents = Documents(rules, roles, self._repairs)
        self._columns = JsonColumns(rules, roles)

    def read(self, values: Values) -> Found:
        """Read n values; those that are not JSON are repaired and read again."""
        is_text = as_text(values.column) is not None
        invalid = [] if is_text else [row for row, value in enumerate(values.value) if not _is_utf8(value)]
        found, failed, not_json = self._read_valid(values, np.delete(np.arange(values.size), invalid))
        spoiled = {**not_json, **dict.fromkeys(invalid, "not valid JSON")}
        if spoiled:
            again, failed_again = self._read_spoiled(values, spoiled)
            found += again
            failed += failed_again
        return Found(join_entries(found), sorted(failed))

    def has_text(self, value: bytes) -> bool:
        """Whether a value is an object with a text, so that the text of its entry is not the whole object."""
        return self._documents.has_text(value)

    def _read_spoiled(self, values: Values, spoiled: Mapping[int, str]) -> tuple[list[Entries], list[tuple[int, Rejection]]]:
        """Read the values that are not JSON, given why they are not, after a repair."""
        failed: list[tuple[int, Rejection]] = []
        repaired: dict[int, RepairedJson] = {}
        for row in sorted(spoiled):
            one = repaired_value(
                values.value[row], max_entries=self._max_entries, strict=self._repairs.strict, keeps_lines=self._keeps_lines
            )
            if one is None:
                failed.append((row, undecodable(spoiled[row])))
            else:
                repaired[row] = one
        if not repaired:
            return [], failed
        rows = np.array(list(repaired))
        mended = [one.value for one in repaired.values()]
        found, refused, not_json = self._read_valid(Values(mended, byte_column(mended), values.kafka_ms[rows]), np.arange(len(rows)))
        refused += [(place, undecodable(reason)) for place, reason in not_json.items()]
        failed += Found(no_entries(), refused).placed(rows).failed
        for place in {*range(len(rows))} - {place for place, _ in refused}:
            self._repairs.count(repaired[int(rows[place])].what)
        return [one._replace(row=rows[one.row]) for one in found], failed

    def _read_valid(
        self, values: Values, rows: NDArray[np.int64]
    ) -> tuple[list[Entries], list[tuple[int, Rejection]], dict[int, str]]:  # fmt: skip
        """Read values that are UTF-8: entries, rows that cannot be read, and rows that are not JSON, with the reason."""
        found, others = self._read_columns(values, rows)
        generally, failed, not_json, foreign = self._read_generally(values, others)
        if generally is not None:
            found.append(generally)
        for kind, reader in self._readers.items():
            chosen = foreign[kind]
            if reader is not None and chosen:
                read = reader.read(values.at(np.array(chosen))).placed(np.array(chosen))
                found.append(read.entries)
                failed += read.failed
        return found, failed, not_json

    def _read_columns(self, values: Values, rows: NDArray[np.int64]) -> tuple[list[Entries], list[int]]:
        """Read what has a usual form; returns the other rows too."""
        found: list[Entries] = []
        form = self._columns.form
        has_escapes = bool((utf8_of(values.column)[0] == _BACKSLASH).any())
        for round_ in range(_ROUNDS + 1):
            value = values.value if len(rows) == values.size else [values.value[row] for row in rows.tolist()]
            groups, others = self._columns.read(value, values.kafka_ms[rows], has_escapes=has_escapes)
            found += [group._replace(row=rows[group.row]) for group in groups]
            size, rows = len(rows), rows[others]
            if not len(rows) or round_ == _ROUNDS or not self._learn(values, rows):
                form.count_strangers(len(rows), size)
                break
        return found, rows.tolist()

    def _learn(self, values: Values, rows: NDArray[np.int64]) -> bool:
        """Learn the form of values that do not fit. Returns whether it has changed; values that never fit are looked at ever less often."""
        if self._rest:
            self._rest -= 1
            return False
        is_changed = self._columns.form.learn(self._objects(values, rows))
        self._next_rest = 1 if is_changed else min(2 * self._next_rest, _LONGEST_REST)
        self._rest = 0 if is_changed else self._next_rest
        return is_changed

    def _objects(self, values: Values, rows: NDArray[np.int64]) -> list[Mapping[str, object]]:
        found: list[Mapping[str, object]] = []
        for row in rows[:: max(1, len(rows) // _MOST_SHOWN)].tolist():
            if not _BEGINS_BATCH.match(values.value[row]):
                with suppress(NotJson, TooManyEntries):
                    found += documents_in(values.value[row], max_entries=1)
        # A form never has one of these keys, so objects of other readers never fit it.
        return [document for document in found if not _FOREIGN & document.keys()]

    def _read_generally(
        self, values: Values, rows: Sequence[int]
    ) -> tuple[Entries | None, list[tuple[int, Rejection]], dict[int, str], Mapping[str, list[int]]]:
        """Return entries, rows that cannot be read, rows that are not JSON with the reason, and rows that other readers read."""
        walked: list[Walked] = []
        place: list[int] = []
        sub: list[int] = []
        failed: list[tuple[int, Rejection]] = []
        not_json: dict[int, str] = {}
        foreign: dict[str, list[int]] = {_BATCH: [], _EVENT: []}
        for row in rows:
            value = values.value[row]
            if self._readers[_BATCH] is not None and _BEGINS_BATCH.match(value):
                foreign[_BATCH].append(row)
                continue
            try:
                documents = documents_in(value, max_entries=self._max_entries)
                if documents and (kind := self._reader_of(documents[0])):
                    foreign[kind].append(row)
                    continue
                several = self._walk(documents)
            except NotJson as error:
                not_json[row] = str(error)
            except TooManyEntries:
                failed.append((row, too_many_entries(self._max_entries)))
            else:
                walked += several
                place += [row] * len(several)
                sub += range(len(several))
        if not walked:
            return None, failed, not_json, foreign
        places = np.array(place)
        entries = self._documents.entries(walked, places, np.array(sub, np.int32), values.kafka_ms[places])
        return entries, failed, not_json, foreign

    def _walk(self, documents: Sequence[Mapping[str, object]]) -> list[Walked]:
        """Return the entries of the objects of a value. Raises NotJson, TooManyEntries."""
        found: list[Walked] = []
        for document in documents:
            found += self._documents.walk(document, most=self._max_entries - len(found))
        return found

    def _reader_of(self, document: Mapping[str, object]) -> str | None:
        """Return which other reader reads a value that is such an object or begins with one."""
        if self._readers[_BATCH] is not None and any(isinstance(document.get(name), list) for name in _OF_BATCH):
            return _BATCH
        if self._readers[_EVENT] is not None and all(isinstance(document.get(name), str) for name in _OF_EVENT):
            return _EVENT
        return None


def _is_utf8(value: bytes) -> bool:
    try:
        value.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
