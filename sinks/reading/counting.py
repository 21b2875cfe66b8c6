"""Counts lines by template, time, service, level, topic or a kept field: whole blocks from their heads, the others by unpacking them.

A block is whole if all of its lines are wanted, all fall into one group (or head rows say how many into which), and no other block may
share lines with it. Only window edges, mixed services and copies are unpacked, `places` only. Templates count pieces: a line of three
chunks has three templates. Everything else counts lines, the pieces with chunk 0. Heads name templates by 8 bytes of their ids; for
counting that is enough, though somebody could make two templates whose counts add up to one.

Heads know nothing of fields: by a field, or by the names of fields, every block is unpacked, and of a field with more than `MOST_VALUES`
values those that were met first are counted.
"""

from collections.abc import Sequence
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from sinks.arrow import take
from sinks.block import BlockId, Column, Lines
from sinks.field_pairs import field_names, field_values
from sinks.heads import Heads
from sinks.reading.copies import reach_of, with_events_beyond, with_other_runs
from sinks.reading.count_tally import Groups, Tally, top
from sinks.reading.group_names import FIELD, FIELD_NAMES, GroupBy
from sinks.reading.line_filter import LineFilter, block_filter, heads_fit, rows_of, wanted_rows, with_fields
from sinks.reading.names import TemplateNames, template_ids
from sinks.reading.snapshot import MOST_PLACES, PLACES, PLACES_AND_FIELDS, Snapshot
from sinks.reading.union import UnionPart, clusters, outer_blocks, sharing_blocks, unite
from sinks.row import TemplateId, TemplateKey, template_key, template_keys
from sinks.sink import BlockFilter

MOST_VALUES = 100_000
"""Of the fields that are counted by, together; each takes memory until the count is done."""
_SIGN = np.int64(-1 << 63)
"""Flipped in templates' keys, so that they are in the order of the ids."""
_NOT_COUNTED = -1


class CountQuery(NamedTuple):
    """What is counted, and by what.

    Thread: any.
    """

    only: LineFilter = LineFilter()
    templates: tuple[TemplateId, ...] | None = None
    """Only lines of these; None: of any."""
    by: tuple[GroupBy, ...] = ()
    bucket_ms: int | None = None
    """How long a bucket is; with "time" only. Buckets begin at multiples of it."""
    bucketed_ms: tuple[int, int] | None = None
    """The first and the last millisecond that buckets are made for; what is outside counts in the nearest one. None: any."""
    top: int | None = None
    """Maximum number of groups, largest first; time buckets do not count."""


class CountRow(NamedTuple):
    """One group.

    Thread: any.
    """

    key: tuple[int | str, ...]
    """In the order of `by`: the first millisecond of a bucket, the id of a template, or a text; empty for lines without the field."""
    lines: int
    """By template pieces, else lines."""
    first_ms: int
    last_ms: int
    """Times of the first and the last of them, both included."""


class Counts(NamedTuple):
    """Groups with at least one line.

    Thread: any.
    """

    rows: list[CountRow]
    """By time where there is one, then the most lines first, then by key."""
    complete: bool
    """False: the deadline, a block that could not be read, or a field with too many values cut it."""
    damaged: tuple[BlockId, ...] = ()
    """Blocks that could not be read."""


class TemplateCounts(NamedTuple):
    """Lines, and further chunks of long lines, of n templates, ascending by key, as columns: there may be a million.

    Thread: any.
    """

    keys: NDArray[np.int64]
    """int64[n]: the first 8 bytes of the templates' ids, as `sinks.row.template_key` has them."""
    lines: NDArray[np.int64]
    first_ms: NDArray[np.int64]
    last_ms: NDArray[np.int64]
    """int64[n]: times of the first and the last of them, both included."""
    complete: bool
    """False: the deadline, or a block that could not be read, cut it."""


_NONE = np.empty(0, np.int64)
NO_TEMPLATE_COUNTS = TemplateCounts(_NONE, _NONE, _NONE, _NONE, complete=True)


def count_templates(snapshot: Snapshot, only: LineFilter, templates: tuple[TemplateId, ...] | None) -> TemplateCounts:
    """Count the lines of some templates (None: of any) that pass, without naming them."""
    counting, is_all = _counted(snapshot, CountQuery(only, templates, ("template",)))
    groups = counting.tally.groups()
    complete = is_all and not snapshot.damaged
    if groups is None:
        return NO_TEMPLATE_COUNTS._replace(complete=complete)
    return TemplateCounts(groups.keys[0], groups.lines, groups.first_ms, groups.last_ms, complete)


def template_ids_of(snapshot: Snapshot, names: TemplateNames, only: LineFilter, keys: NDArray[np.int64]) -> dict[TemplateKey, TemplateId]:
    """Return the ids of templates that were counted under a filter, by key; one that cannot be named is left out."""
    return names.find(snapshot, keys, _listed(snapshot, block_filter(only)))


def count(snapshot: Snapshot, names: TemplateNames, query: CountQuery) -> Counts:
    """Count the lines that pass."""
    if ("time" in query.by) != (query.bucket_ms is not None) or (query.bucket_ms is not None and query.bucket_ms <= 0):
        raise ValueError("counts by time have buckets, others have none")
    if FIELD_NAMES in query.by and len(query.by) > 1:
        raise ValueError("names of fields are counted by themselves")
    counting, is_all = _counted(snapshot, query)
    rows = _rows(snapshot, names, counting.heads, query, counting.tally)
    is_all &= all(row is not None for row in rows)
    damaged = tuple(snapshot.damaged)
    return Counts([row for row in rows if row is not None], complete=is_all and not damaged, damaged=damaged)


def _listed(snapshot: Snapshot, asked: BlockFilter) -> Heads:
    """Return the outer blocks that may hold what is counted."""
    heads = snapshot.find(asked).heads
    return heads.select(outer_blocks(heads.ids))


def _counted(snapshot: Snapshot, query: CountQuery) -> tuple["_Counting", bool]:
    """Count; returns whether neither the deadline nor a bound cut it."""
    asked = block_filter(query.only, templates=query.templates)
    heads = _listed(snapshot, asked)
    asked_for = 0
    if asked._replace(topics=(), not_topics=()) != BlockFilter():
        asked_for = heads.size
        heads = with_other_runs(snapshot, heads)  # a copy that does not pass the filter may hold
    counting = _Counting(snapshot, heads, query, asked_for)
    counting.add_whole_blocks()
    return counting, counting.add_unpacked_blocks() and counting.has_all_values


class _Counting:
    """One count under way.

    Thread: one.
    """

    def __init__(self, snapshot: Snapshot, heads: Heads, query: CountQuery, asked_for: int) -> None:
        """`asked_for`: how many of the blocks, from the first, were listed by a filter; 0 if all blocks are listed."""
        self._asked_for = asked_for
        self.tally = Tally()
        self._snapshot = snapshot
        self.heads = heads
        self._query = query
        self.has_all_values = True
        """False: a field has more values than are counted."""
        self._by_template = "template" in query.by
        self._by_row = self._by_template or query.templates is not None or bool(query.only.not_templates)
        """Whether heads are looked at template by template."""
        self._reads_fields = query.only.reads_fields or any(map(_is_of_fields, query.by))
        self._templates = None if query.templates is None else frozenset(query.templates)
        self._block_of = np.repeat(np.arange(heads.size), np.diff(heads.start))
        self._shared = sharing_blocks(heads)
        whole, self._touched = heads_fit(heads, query.only)
        """Blocks that may hold a wanted line."""
        self._whole = whole & ~self._shared & self._are_in_one_group()
        if self._reads_fields:
            self._whole[:] = False

    def add_whole_blocks(self) -> None:
        """Count the blocks for which their heads are enough."""
        if self._reads_fields:
            return
        heads, query = self.heads, self._query
        if self._by_row:
            rows = np.flatnonzero(self._wanted_head_rows() & self._whole[self._block_of])
            blocks, template = self._block_of[rows], heads.templates[rows]
            lines, first_ms, last_ms = heads.pieces[rows], heads.template_first_ms[rows], heads.template_last_ms[rows]
        else:
            blocks = np.flatnonzero(self._whole)
            template = blocks
            lines, first_ms, last_ms = heads.lines[blocks], heads.first_ms[blocks], heads.last_ms[blocks]
        keys = []
        for name in query.by:
            if name == "time":
                keys.append(self._bucket(first_ms))
            elif name == "template":
                keys.append(template)
            else:
                keys.append(self._block_codes(name)[blocks])
        self.tally.add(Groups(keys, lines, first_ms, last_ms))

    def add_unpacked_blocks(self) -> bool:
        """Count all other blocks; False if the read was over before."""
        heads = self.heads
        alone = np.flatnonzero(~self._whole & ~self._shared & self._touched)
        batches = [alone[at : at + MOST_PLACES] for at in range(0, len(alone), MOST_PLACES)]
        groups = [group for group in clusters(heads, np.flatnonzero(self._shared)) if self._touched[group].any()]
        size = MOST_PLACES
        for group in groups:
            if size + len(group) > MOST_PLACES:
                batches.append(group)
                size = 0
            else:
                batches[-1] = np.concatenate([batches[-1], group])
            size += len(group)
        columns = PLACES_AND_FIELDS if self._reads_fields else PLACES
        for batch in batches:
            if self._snapshot.is_over():
                return False
            unpacked = self._snapshot.unpack([heads.ids[at] for at in batch.tolist()], columns)
            parts = [UnionPart(one, lines) for one, lines in unpacked.items()]
            ours = heads.select(batch[(batch < self._asked_for) & self._shared[batch]])
            for part, held in zip(parts, unite(with_events_beyond(self._snapshot, parts, reach_of(ours))), strict=False):
                self._add_rows(part, held)
        return True

    def _add_rows(self, part: UnionPart, held: NDArray[np.bool_]) -> None:
        lines, only = part.lines, self._query.only
        wanted = held & wanted_rows(lines, only)
        if self._templates is not None:
            wanted &= rows_of(lines.template, self._templates)
        if self._by_row and not self._by_template:
            wanted &= lines.chunk == 0  # the others may be of another template than their line's first one
        rows = np.flatnonzero(wanted)
        if only.reads_fields:
            rows = with_fields(lines.fields, rows, only)
        if self._query.by == (FIELD_NAMES,):
            keys, rows = self._name_keys(lines.fields, rows)
        else:
            keys = [self._row_keys(name, part, rows) for name in self._query.by]
        if not self.has_all_values:
            of_fields = [key for key, name in zip(keys, self._query.by, strict=True) if _is_of_fields(name)]
            known = np.logical_and.reduce([key != _NOT_COUNTED for key in of_fields])
            keys, rows = [key[known] for key in keys], rows[known]
        counted = np.ones(len(rows), np.int64) if self._by_template else (lines.chunk[rows] == 0).astype(np.int64)
        self.tally.add(Groups(keys, counted, lines.time[rows], lines.time[rows]))

    def _row_keys(self, name: GroupBy, part: UnionPart, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        lines: Lines = part.lines
        if name == "time":
            return self._bucket(lines.time[rows])
        if name == "topic":
            return np.full(len(rows), self.tally.code(part.id.place.topic), np.int64)
        if name == "template":
            return template_keys(template_ids(lines.template.values))[lines.template.codes[rows]]
        if name.startswith(FIELD):
            return self._field_keys(name.removeprefix(FIELD), lines.fields if len(rows) == lines.size else take(lines.fields, rows))
        column = lines.service if name == "service" else lines.level
        return np.array([self.tally.code(value) for value in column.values], np.int64)[column.codes[rows]]

    def _field_keys(self, name: str, fields: Column) -> NDArray[np.int64]:
        values = field_values(fields, name)
        return self._codes_of((*values.values, ""))[values.codes]  # the last place stands for `NO_VALUE`

    def _name_keys(self, fields: Column, rows: NDArray[np.int64]) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
        """Return the names of the fields of some rows, and for each the row that has it."""
        found = field_names(fields if len(rows) == len(fields) else take(fields, rows))
        return [self._codes_of(found.names)[found.codes]], rows[found.rows]

    def _codes_of(self, values: Sequence[str]) -> NDArray[np.int64]:
        """Return the numbers of some texts, `_NOT_COUNTED` for those that are too many."""
        tally, codes = self.tally, []
        for value in values:
            is_counted = not value or tally.size < MOST_VALUES or tally.has(value)
            codes.append(tally.code(value) if is_counted else _NOT_COUNTED)
            self.has_all_values &= is_counted
        return np.array(codes, np.int64)

    def _are_in_one_group(self) -> NDArray[np.bool_]:
        """Return of which blocks the head says enough: each part of it that is wanted is inside the window and in one group."""
        heads, query = self.heads, self._query
        if self._by_row:
            first_ms, last_ms = heads.template_first_ms, heads.template_last_ms
        else:
            first_ms, last_ms = heads.first_ms, heads.last_ms
        fits = np.ones(len(first_ms), np.bool_)
        if query.only.since_ms is not None:
            fits &= first_ms >= query.only.since_ms
        if query.only.until_ms is not None:
            fits &= last_ms < query.only.until_ms
        if query.bucket_ms is not None:
            fits &= self._bucket(first_ms) == self._bucket(last_ms)
        if self._by_row:
            fits |= ~self._wanted_head_rows()
            fits = np.bincount(self._block_of[~fits], minlength=heads.size) == 0
            if not self._by_template:
                # Heads count pieces; of a block without further chunks these are the lines.
                fits &= np.bincount(self._block_of, heads.pieces, minlength=heads.size) == heads.lines
        for name, values in (("service", heads.services), ("level", heads.levels)):
            if name in query.by:
                fits = fits & np.fromiter((len(one) == 1 for one in values), np.bool_, heads.size)
        return fits

    def _wanted_head_rows(self) -> NDArray[np.bool_]:
        """Return which rows of the heads' templates are wanted and not outside of the window."""
        heads, query = self.heads, self._query
        wanted = np.ones(len(heads.templates), np.bool_)
        if query.templates is not None:
            wanted = np.isin(heads.templates, template_keys(query.templates))
        if query.only.not_templates:
            wanted &= ~np.isin(heads.templates, template_keys(query.only.not_templates))
        if query.only.since_ms is not None:
            wanted &= heads.template_last_ms >= query.only.since_ms
        if query.only.until_ms is not None:
            wanted &= heads.template_first_ms < query.only.until_ms
        return wanted

    def _block_codes(self, name: GroupBy) -> NDArray[np.int64]:
        heads = self.heads
        if name == "topic":
            values = [one.place.topic for one in heads.ids]
        else:
            values = [one[0] if one else "" for one in (heads.services if name == "service" else heads.levels)]
        return np.array([self.tally.code(value) for value in values], np.int64)

    def _bucket(self, time_ms: NDArray[np.int64]) -> NDArray[np.int64]:
        bucket_ms = self._query.bucket_ms or 1
        if self._query.bucketed_ms is not None:
            time_ms = np.clip(time_ms, *self._query.bucketed_ms)
        return time_ms // bucket_ms * bucket_ms


def _rows(snapshot: Snapshot, names: TemplateNames, heads: Heads, query: CountQuery, tally: Tally) -> list[CountRow | None]:
    """Return the groups of the answer, in order; None for one whose template cannot be named."""
    groups = tally.groups()
    if groups is None:
        return []
    texts = sorted(tally.texts())
    places = {text: rank for rank, text in enumerate(texts)}
    ranks = np.array([places[text] for text in tally.texts()], np.int64)
    groups = top(
        groups._replace(keys=[_ranked(key, name, ranks) for key, name in zip(groups.keys, query.by, strict=True)]), query.by, query.top
    )
    columns: list[list[int] | list[str] | list[TemplateId | None]] = []
    for key, name in zip(groups.keys, query.by, strict=True):
        if name == "time":
            columns.append(key.tolist())
        elif name == "template":
            columns.append(_ids(snapshot, names, heads, query, key ^ _SIGN))
        else:
            columns.append([texts[rank] for rank in key.tolist()])
    keys = zip(*columns, strict=True) if columns else [()] * len(groups.lines)
    numbers = zip(groups.lines.tolist(), groups.first_ms.tolist(), groups.last_ms.tolist(), strict=True)
    return [None if None in key else CountRow(cast("tuple[int | str, ...]", key), *one) for key, one in zip(keys, numbers, strict=True)]


def _is_of_fields(name: GroupBy) -> bool:
    return name == FIELD_NAMES or name.startswith(FIELD)


def _ranked(key: NDArray[np.int64], name: GroupBy, ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a column of keys so that its order is that of the values which it stands for."""
    if name == "template":
        return key ^ _SIGN
    return key if name == "time" else ranks[key]


def _ids(snapshot: Snapshot, names: TemplateNames, heads: Heads, query: CountQuery, keys: NDArray[np.int64]) -> list[TemplateId | None]:
    """Return the ids of templates."""
    found = names.find(snapshot, keys, heads) if query.templates is None else {template_key(one): one for one in query.templates}
    return [found.get(key) for key in keys.tolist()]
