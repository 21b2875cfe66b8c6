"""Which templates the newest blocks hold: what a search ranks when the nearest templates of all have too few lines under its filters."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sinks.heads import Heads
from sinks.reading.line_filter import LineFilter, block_filter, heads_fit
from sinks.reading.listing import NewestFirst, Pace
from sinks.reading.names import TemplateNames, template_ids
from sinks.reading.selecting import Selection
from sinks.reading.snapshot import Snapshot
from sinks.reading.union import outer_heads
from sinks.row import TemplateId, template_keys


class FoundTemplates(NamedTuple):
    """Templates of lines that pass a filter.

    Thread: any.
    """

    templates: list[TemplateId]
    """The one that was seen last first."""
    complete: bool
    """False: only the newest blocks were looked at, the deadline cut it, or a block could not be read; there may be others."""


def newest_templates(snapshot: Snapshot, pace: Pace, names: TemplateNames, only: LineFilter, most_blocks: int) -> FoundTemplates:
    """Return the templates of at most `most_blocks` blocks. A copy that another one hides may name a template too many."""
    listing = NewestFirst(snapshot, block_filter(only), pace)
    heads = listing.heads()
    while listing.unseen_ms is not None and heads.size < most_blocks and not snapshot.is_over():
        listing.next_page()
        heads = outer_heads(listing.heads())
    newest = np.argsort(-heads.last_ms, kind="stable")[: max(most_blocks, 0)]
    is_all = listing.unseen_ms is None and len(newest) == heads.size
    heads = heads.select(newest)
    whole = _whole_blocks(heads, only)
    is_excluded = np.isin(heads.templates, template_keys(only.not_templates))
    rows = np.flatnonzero(whole[np.repeat(np.arange(heads.size), np.diff(heads.start))] & ~is_excluded)
    keys, last_ms = [heads.templates[rows]], [heads.template_last_ms[rows]]
    others = [heads.ids[at] for at in np.flatnonzero(~whole).tolist()]
    unpacked = 0
    selection = Selection(only)
    for blocks in snapshot.unpack_in_batches(others, selection.columns, only.literals):
        for lines in blocks.values():
            found = selection.rows(lines)
            keys.append(template_keys(template_ids(lines.template.values))[lines.template.codes[found]])
            last_ms.append(lines.time[found])
        unpacked += len(blocks)
    distinct = _by_last_seen(np.concatenate(keys), np.concatenate(last_ms))
    ids = names.find(snapshot, distinct, heads)
    templates = [ids[key] for key in distinct.tolist() if key in ids]
    is_all = is_all and unpacked == len(others) and len(templates) == len(distinct)
    return FoundTemplates(templates, complete=is_all and not snapshot.damaged)


def _whole_blocks(heads: Heads, only: LineFilter) -> NDArray[np.bool_]:
    """Return the blocks of which every line passes."""
    return heads_fit(heads, only)[0] & only.window_holds(heads.first_ms, heads.last_ms) & (not only.reads_fields and not only.reads_texts)


def _by_last_seen(keys: NDArray[np.int64], last_ms: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the distinct keys, the one with the latest time first."""
    order = np.lexsort((keys, -last_ms))
    _, first = np.unique(keys[order], return_index=True)
    rows: NDArray[np.int64] = order[np.sort(first)]
    return keys[rows]
