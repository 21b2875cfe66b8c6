"""Which template a head's key names: heads hold the first 8 bytes of an id, the blocks themselves hold the texts."""

import threading
from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sinks.heads import Heads
from sinks.reading.snapshot import Snapshot
from sinks.row import TemplateId, TemplateKey, TemplateText, template_id, template_key

_MOST_NAMES = 1_000_000
_BLOCKS_AT_ONCE = 64
_cached_id = lru_cache(1 << 17)(template_id)


def template_ids(texts: Iterable[TemplateText]) -> list[TemplateId]:
    """Return the ids of templates' texts."""
    return [_cached_id(text) for text in texts]


class TemplateNames:
    """Ids by key, learnt from the blocks that were unpacked for them; bounded.

    Thread: any; one lock.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._names: dict[TemplateKey, TemplateId] = {}

    def find(self, snapshot: Snapshot, keys: NDArray[np.int64], listed: Heads) -> dict[TemplateKey, TemplateId]:
        """Return the id of each key that is in one of the listed blocks, inner ones left out.

        Of two templates with the same first 8 bytes, one is named. A key is left out if no block with it can be read and its template
        is not stored, or if the read is over.
        """
        wanted = set(keys.tolist())
        with self._lock:
            found = {key: self._names[key] for key in wanted & self._names.keys()}
        while wanted - found.keys() and not snapshot.is_over():
            missing = np.array(sorted(wanted - found.keys()), np.int64)
            blocks = _blocks_that_cover(listed, missing)
            lines = snapshot.unpack([listed.ids[at] for at in blocks])
            learnt = {template_key(one): one for block in lines.values() for one in template_ids(block.template.values)}
            new = {key: learnt[key] for key in missing.tolist() if key in learnt}
            new = new or _stored(snapshot, missing)
            found |= new
            self._learn(learnt | new)
            if not new:
                break
        return found

    def _learn(self, names: dict[TemplateKey, TemplateId]) -> None:
        with self._lock:
            if len(self._names) + len(names) > _MOST_NAMES:
                self._names.clear()
            self._names |= names


def _blocks_that_cover(listed: Heads, keys: NDArray[np.int64]) -> list[int]:
    """Return a few blocks that hold many of these keys (ascending) between them."""
    rows = np.flatnonzero(np.isin(listed.templates, keys))
    blocks = np.searchsorted(listed.start, rows, side="right") - 1
    columns = np.searchsorted(keys, listed.templates[rows])
    is_missing = np.ones(len(keys), np.bool_)
    starts = np.searchsorted(blocks, np.arange(listed.size + 1))
    chosen: list[int] = []
    for at in np.argsort(-np.diff(starts), kind="stable").tolist():
        columns_here = columns[starts[at] : starts[at + 1]]
        if is_missing[columns_here].any():
            is_missing[columns_here] = False
            chosen.append(at)
            if len(chosen) == _BLOCKS_AT_ONCE or not is_missing.any():
                break
    return chosen


def _stored(snapshot: Snapshot, keys: NDArray[np.int64]) -> dict[TemplateKey, TemplateId]:
    """Return the ids of keys whose blocks cannot be read, as the templates' rows have them."""
    found = {}
    for key in keys.tolist():
        if snapshot.is_over():
            break
        start = (key & (1 << 64) - 1).to_bytes(8, "big").hex()
        one = snapshot.template_id_after(start)
        if one is not None and one.startswith(start):
            found[key] = one
    return found
