"""Reads a batch of JSON records: by the fast path what has a usual form, by the general rules everything else.

`consumers.decode.decoder` calls it with all values of a batch that begin like JSON.
"""

from collections.abc import Sequence
from itertools import compress
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from consumers.columns import Column
from consumers.decode.json_document import JsonEntry, NotJson, TooManyEntries, read_document
from consumers.decode.json_limits import find_beyond_limits
from consumers.decode.json_object import JsonObjects


class JsonEntries(NamedTuple):
    """The m log entries of n values, each column of length m; the entries of one value are neighbours, in their order.

    Thread: any.
    """

    place: NDArray[np.int64]
    """int64[m]: which of the values an entry is of."""
    sub: NDArray[np.int32]
    """int32[m]: which entry of its value, from 0."""
    text: list[str]
    """May be empty, and may end with a line end."""
    service: list[str]
    level: list[str]
    failed: list[tuple[int, NotJson | TooManyEntries]]
    """The values that cannot be read, ascending, each with the reason; they have no entries."""


class JsonRecords:
    """Reads JSON records; remembers names of levels.

    Thread: one.
    """

    def __init__(self, *, max_entries: int) -> None:
        self._objects = JsonObjects()
        self._max_entries = max_entries

    def read(self, values: Sequence[bytes], column: Column) -> JsonEntries:
        """Read n values that are valid UTF-8; `column` holds the same values as texts."""
        known = self._objects.read(values)
        is_beyond = find_beyond_limits(values, column)
        if None not in known.text and not is_beyond.any():
            texts = cast("list[str]", known.text)
            return JsonEntries(np.arange(len(values)), np.zeros(len(values), np.int32), texts, known.service, known.level, [])
        is_known = np.fromiter((text is not None for text in known.text), np.bool_, len(values)) & ~is_beyond
        others: list[tuple[int, int, JsonEntry]] = []
        failed: list[tuple[int, NotJson | TooManyEntries]] = []
        for place in np.flatnonzero(~is_known).tolist():
            try:
                entries = read_document(values[place], max_entries=self._max_entries)
            except (NotJson, TooManyEntries) as error:
                failed.append((place, error))
            else:
                others += ((place, sub, entry) for sub, entry in enumerate(entries))
        places = np.flatnonzero(is_known)
        return JsonEntries(
            place=np.concatenate([places, np.fromiter((place for place, _, _ in others), np.int64, len(others))]),
            sub=np.concatenate([np.zeros(len(places), np.int32), np.fromiter((sub for _, sub, _ in others), np.int32, len(others))]),
            text=[*cast("list[str]", compress(known.text, is_known)), *(entry.text for _, _, entry in others)],
            service=[*compress(known.service, is_known), *(entry.service for _, _, entry in others)],
            level=[*compress(known.level, is_known), *(entry.level for _, _, entry in others)],
            failed=failed,
        )
