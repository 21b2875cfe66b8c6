"""What lines are counted under: a number for each part of a group's key, so that lines are summed up as columns.

Called by `sinks.reading.counting`, which decides which lines are counted.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sinks.arrow import take
from sinks.block import Column
from sinks.field_pairs import NO_VALUE, FieldValues, field_names, field_values
from sinks.heads import Heads
from sinks.reading.count_tally import Tally
from sinks.reading.field_figures import FieldFigures, OtherValues, field_figures
from sinks.reading.group_names import FIELD, FIELD_NAMES, GroupBy
from sinks.reading.names import template_ids
from sinks.reading.union import UnionPart
from sinks.row import template_keys

MOST_VALUES = 100_000
"""Of the fields that are counted by, together; each takes memory until the count is done."""
_NOT_COUNTED = -1


class GroupKeys:
    """The keys of the groups that a count has, and the groups themselves.

    Thread: one.
    """

    def __init__(self, by: tuple[GroupBy, ...], bucket_ms: int | None, bucketed_ms: tuple[int, int] | None) -> None:
        """As `sinks.reading.counting.CountQuery` has them."""
        self._by = by
        self._bucket_ms = bucket_ms or 1
        self._bucketed_ms = bucketed_ms
        self.tally = Tally()
        self._others = OtherValues()
        self.has_all_values = True
        """False: a field has more values than are counted."""

    def figures(self) -> FieldFigures | None:
        """Return the figures of the field, if it is one field and nothing else that is counted by."""
        if len(self._by) != 1 or not self._by[0].startswith(FIELD):
            return None
        groups, texts = self.tally.groups(), self.tally.texts()
        counted = [] if groups is None else zip((texts[code] for code in groups.keys[0].tolist()), groups.lines.tolist(), strict=True)
        return field_figures(counted, self._others)

    def bucket(self, time_ms: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the first millisecond of the bucket of each time."""
        if self._bucketed_ms is not None:
            time_ms = np.clip(time_ms, *self._bucketed_ms)
        return time_ms // self._bucket_ms * self._bucket_ms

    def of_blocks(self, name: GroupBy, heads: Heads) -> NDArray[np.int64]:
        """Return the key of each block, all of whose lines have the same topic, service or level."""
        if name == "topic":
            values = [one.place.topic for one in heads.ids]
        else:
            values = [one[0] if one else "" for one in (heads.services if name == "service" else heads.levels)]
        return np.array([self.tally.code(value) for value in values], np.int64)

    def of_rows(self, part: UnionPart, rows: NDArray[np.int64]) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
        """Return the keys of some rows of a block, and of each key its row; values beyond `MOST_VALUES` are left out."""
        if self._by == (FIELD_NAMES,):
            found = field_names(_taken(part.lines.fields, rows))
            keys, rows = [self._codes_of(found.names)[found.codes]], rows[found.rows]
        else:
            keys = [self._of_rows(name, part, rows) for name in self._by]
        if not self.has_all_values:
            of_fields = [key for key, name in zip(keys, self._by, strict=True) if is_of_fields(name)]
            known = np.logical_and.reduce([key != _NOT_COUNTED for key in of_fields])
            keys, rows = [key[known] for key in keys], rows[known]
        return keys, rows

    def _of_rows(self, name: GroupBy, part: UnionPart, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        lines = part.lines
        if name == "time":
            return self.bucket(lines.time[rows])
        if name == "topic":
            return np.full(len(rows), self.tally.code(part.id.place.topic), np.int64)
        if name == "template":
            return template_keys(template_ids(lines.template.values))[lines.template.codes[rows]]
        if name.startswith(FIELD):
            values = field_values(_taken(lines.fields, rows), name.removeprefix(FIELD))
            codes = self._codes_of((*values.values, ""))  # the last place stands for `NO_VALUE`
            if not self.has_all_values:
                self._add_others(values, codes[:-1] == _NOT_COUNTED, lines.chunk[rows] == 0)
            return codes[values.codes]
        column = lines.service if name == "service" else lines.level
        return np.array([self.tally.code(value) for value in column.values], np.int64)[column.codes[rows]]

    def _add_others(self, values: FieldValues, are_left_out: NDArray[np.bool_], are_lines: NDArray[np.bool_]) -> None:
        lines = np.bincount(values.codes[are_lines & (values.codes != NO_VALUE)], minlength=len(values.values))
        for place in np.flatnonzero(are_left_out).tolist():
            self._others.add(values.values[place], int(lines[place]))

    def _codes_of(self, values: Sequence[str]) -> NDArray[np.int64]:
        """Return the numbers of some texts, `_NOT_COUNTED` for those that are too many."""
        tally, codes = self.tally, []
        for value in values:
            is_counted = not value or tally.size < MOST_VALUES or tally.has(value)
            codes.append(tally.code(value) if is_counted else _NOT_COUNTED)
            self.has_all_values &= is_counted
        return np.array(codes, np.int64)


def is_of_fields(name: GroupBy) -> bool:
    """Whether it is a kept field that is counted by, or the names of all."""
    return name == FIELD_NAMES or name.startswith(FIELD)


def _taken(fields: Column, rows: NDArray[np.int64]) -> Column:
    return fields if len(rows) == len(fields) else take(fields, rows)
