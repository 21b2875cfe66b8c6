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

from sinks.heads import Heads
from sinks.reading.copies import reach_of, with_events_beyond, with_other_runs
from sinks.reading.count_keys import GroupKeys, is_of_fields
from sinks.reading.count_tally import Groups, Tally, top
from sinks.reading.field_figures import FieldFigures
from sinks.reading.group_names import FIELD_NAMES, GroupBy
from sinks.reading.line_filter import LineFilter, block_filter, heads_fit
from sinks.reading.names import TemplateNames
from sinks.reading.selecting import Selection
from sinks.reading.snapshot import ALL_COLUMNS, MOST_PLACES, PLACES, PLACES_AND_FIELDS, Snapshot
from sinks.reading.union import UnionPart, clusters, outer_heads, sharing_blocks, unite
from sinks.row import TemplateId, TemplateKey, template_key, template_keys
from sinks.sink import BlockFilter, ColumnName

_SIGN = np.int64(-1 << 63)
"""Flipped in templates' keys, so that they are in the order of the ids."""


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

    @property
    def is_by_template(self) -> bool:
        """Whether pieces are counted, not lines."""
        return "template" in self.by

    @property
    def reads_head_rows(self) -> bool:
        """Whether heads are looked at template by template."""
        return self.is_by_template or self.templates is not None or bool(self.only.not_templates)

    @property
    def columns(self) -> Sequence[ColumnName]:
        """What has to be read of a block whose head does not say enough."""
        if self.only.reads_texts:
            return ALL_COLUMNS
        return PLACES_AND_FIELDS if self.only.reads_fields or any(map(is_of_fields, self.by)) else PLACES

    @property
    def selection(self) -> Selection:
        """Which lines are counted."""
        return Selection(self.only, None if self.templates is None else frozenset(self.templates))


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
    figures: FieldFigures | None = None
    """Of the field, where lines are counted by one field and nothing else."""


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
    groups = counting.keys.tally.groups()
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
    rows = _rows(snapshot, names, counting.heads, query, counting.keys.tally)
    is_all &= all(row is not None for row in rows)
    shown = [row for row in rows if row is not None]
    return Counts(shown, complete=is_all and not snapshot.damaged, figures=counting.keys.figures())


def _listed(snapshot: Snapshot, asked: BlockFilter) -> Heads:
    """Return the outer blocks that may hold what is counted."""
    return outer_heads(snapshot.find(asked).heads)


def _counted(snapshot: Snapshot, query: CountQuery) -> tuple["_BlockCounting", bool]:
    """Count; returns whether neither the deadline nor a bound cut it."""
    asked = block_filter(query.only, templates=query.templates)
    heads = _listed(snapshot, asked)
    asked_for = 0
    if asked._replace(topics=(), not_topics=()) != BlockFilter():
        asked_for = heads.size
        heads = with_other_runs(snapshot, heads)  # a copy that does not pass the filter may hold
    counting = _BlockCounting(snapshot, heads, query, asked_for)
    counting.add_whole_blocks()
    return counting, counting.add_unpacked_blocks() and counting.keys.has_all_values


class _BlockCounting:
    """One count under way.

    Thread: one.
    """

    def __init__(self, snapshot: Snapshot, heads: Heads, query: CountQuery, asked_for: int) -> None:
        """`asked_for`: how many of the blocks, from the first, were listed by a filter; 0 if all blocks are listed."""
        self._snapshot = snapshot
        self.heads = heads
        self._query = query
        self._asked_for = asked_for
        self.keys = GroupKeys(query.by, query.bucket_ms, query.bucketed_ms)
        self._block_of = np.repeat(np.arange(heads.size), np.diff(heads.start))
        self._shared = sharing_blocks(heads)
        whole, self._touched = heads_fit(heads, query.only)
        """Blocks that may hold a wanted line."""
        self._whole = whole & ~self._shared & self._are_in_one_group() & (query.columns == PLACES)

    def add_whole_blocks(self) -> None:
        """Count the blocks for which their heads are enough."""
        if not self._whole.any():
            return
        heads, query = self.heads, self._query
        if query.reads_head_rows:
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
                keys.append(self.keys.bucket(first_ms))
            elif name == "template":
                keys.append(template)
            else:
                keys.append(self.keys.of_blocks(name, heads)[blocks])
        self.keys.tally.add(Groups(keys, lines, first_ms, last_ms))

    def add_unpacked_blocks(self) -> bool:
        """Count all other blocks; False if the read was over before."""
        heads, selection = self.heads, self._query.selection
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
        columns = self._query.columns
        for batch in batches:
            if self._snapshot.is_over():
                return False
            unpacked = self._snapshot.unpack([heads.ids[at] for at in batch.tolist()], columns)
            parts = [UnionPart(one, lines) for one, lines in unpacked.items()]
            ours = heads.select(batch[(batch < self._asked_for) & self._shared[batch]])
            for part, held in zip(parts, unite(with_events_beyond(self._snapshot, parts, reach_of(ours))), strict=False):
                self._add_rows(part, held, selection)
        return True

    def _add_rows(self, part: UnionPart, held: NDArray[np.bool_], selection: Selection) -> None:
        lines, query = part.lines, self._query
        if query.reads_head_rows and not query.is_by_template:
            held = held & (lines.chunk == 0)  # the others may be of another template than their line's first one
        keys, rows = self.keys.of_rows(part, selection.rows(lines, held))
        counted = np.ones(len(rows), np.int64) if query.is_by_template else (lines.chunk[rows] == 0).astype(np.int64)
        self.keys.tally.add(Groups(keys, counted, lines.time[rows], lines.time[rows]))

    def _are_in_one_group(self) -> NDArray[np.bool_]:
        """Return of which blocks the head says enough: each part of it that is wanted is inside the window and in one group."""
        heads, query = self.heads, self._query
        if query.reads_head_rows:
            first_ms, last_ms = heads.template_first_ms, heads.template_last_ms
        else:
            first_ms, last_ms = heads.first_ms, heads.last_ms
        fits = query.only.window_holds(first_ms, last_ms)
        if query.bucket_ms is not None:
            fits &= self.keys.bucket(first_ms) == self.keys.bucket(last_ms)
        if query.reads_head_rows:
            fits |= ~self._wanted_head_rows()
            fits = np.bincount(self._block_of[~fits], minlength=heads.size) == 0
            if not query.is_by_template:
                # Heads count pieces; of a block without further chunks these are the lines.
                fits &= np.bincount(self._block_of, heads.pieces, minlength=heads.size) == heads.lines
        for name, values in (("service", heads.services), ("level", heads.levels)):
            if name in query.by:
                fits = fits & np.fromiter((len(one) == 1 for one in values), np.bool_, heads.size)
        return fits

    def _wanted_head_rows(self) -> NDArray[np.bool_]:
        """Return which rows of the heads' templates are wanted and not outside of the window."""
        heads, query = self.heads, self._query
        wanted = query.only.window_meets(heads.template_first_ms, heads.template_last_ms)
        if query.templates is not None:
            wanted &= np.isin(heads.templates, template_keys(query.templates))
        if query.only.not_templates:
            wanted &= ~np.isin(heads.templates, template_keys(query.only.not_templates))
        return wanted


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


def _ranked(key: NDArray[np.int64], name: GroupBy, ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a column of keys so that its order is that of the values which it stands for."""
    if name == "template":
        return key ^ _SIGN
    return key if name == "time" else ranks[key]


def _ids(snapshot: Snapshot, names: TemplateNames, heads: Heads, query: CountQuery, keys: NDArray[np.int64]) -> list[TemplateId | None]:
    """Return the ids of templates."""
    found = names.find(snapshot, keys, heads) if query.templates is None else {template_key(one): one for one in query.templates}
    return [found.get(key) for key in keys.tolist()]
