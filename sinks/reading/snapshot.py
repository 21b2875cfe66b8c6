"""One attempt at a read: all that it lists and unpacks belongs together, or it begins anew.

While a reader works, blocks are merged and, 20 s later, the inner ones deleted. So a read of several queries ends within `LONGEST_S` of
its first one, and one that finds a listed block gone has listed too early: both lists again (design: reading). What was decoded stays in
the cache, so the second attempt is the shorter one.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TypeVar

from sinks.block import BlockColumns, BlockId, Column, Lines
from sinks.codec import BlockDamaged, UnpackedTexts, decode_fields, decode_places, of_size, unpack_texts
from sinks.lines import NO_LINES
from sinks.reading.cache import BlockCache
from sinks.reading.literals import absent_from
from sinks.row import TemplateId
from sinks.sink import BlockFilter, ColumnName, FoundBlocks, Sink, SinkBusy

LONGEST_S = 10.0
"""Inner blocks go 20 s after their outer one was acknowledged; a Bounded read may be 5 s behind."""
MOST_ATTEMPTS = 5
MOST_PLACES = 1_000
MOST_TEXTS = 250
"""Most blocks in one request, without and with their texts."""
PLACES: tuple[ColumnName, ...] = ("places",)
PLACES_AND_FIELDS: tuple[ColumnName, ...] = ("places", "fields")
ALL_COLUMNS: tuple[ColumnName, ...] = ("places", "texts", "fields")

Answer = TypeVar("Answer")


class BeginAnew(Exception):
    """What was listed does not hold any more."""


class Snapshot:
    """One attempt.

    Thread: one.
    """

    def __init__(
        self, sink: Sink, cache: BlockCache, clock: Callable[[], float], deadline_passed: Callable[[], bool], *, strong: bool, is_last: bool
    ) -> None:
        self._sink = sink
        self._cache = cache
        self._clock = clock
        self._deadline_passed = deadline_passed
        self._strong = strong
        self._started_s: float | None = None
        self.damaged: set[BlockId] = set()
        """Blocks that could not be decoded."""
        self._found: dict[BlockFilter, FoundBlocks] = {}
        """Whole listings, by what was asked for: asked again, they are the same."""
        self.is_first = not is_last
        """False: an attempt before this one found that what it had listed is gone."""

    @property
    def orders_blocks(self) -> bool:
        """Whether a limited `find` returns the blocks with the latest `last_ms`."""
        return self._sink.capabilities.orders_blocks

    def is_over(self) -> bool:
        """Whether to answer with what there is. Raises BeginAnew when the read has become too old and may begin once more."""
        self._check_age()
        return self._deadline_passed() or self._is_old()

    def find(self, only: BlockFilter, limit: int | None = None) -> FoundBlocks:
        """Return blocks that pass a filter, inner ones included."""
        if limit is None and only in self._found:
            return self._found[only]
        is_first = self._started_s is None
        if is_first:
            self._started_s = self._clock()
        found = self._sink.find_blocks(only, limit=limit, strong=self._strong)
        if not is_first:
            self._check_age()
        if limit is None:
            self._found[only] = found
        return found

    def unpack(self, ids: Collection[BlockId], columns: Sequence[ColumnName] = PLACES) -> dict[BlockId, Lines]:
        """Return the lines of listed blocks, whatever the deadline; those that cannot be decoded are left out and noted.

        Columns that are not asked for are null. Raises BeginAnew if a block is gone.
        """
        unpacked: dict[BlockId, Lines] = {}
        for part in self._batches(ids, columns):
            unpacked |= self._unpack(part, columns)
        return unpacked

    def unpack_in_batches(
        self, ids: Collection[BlockId], columns: Sequence[ColumnName] = PLACES, literals: Collection[str] = ()
    ) -> Iterator[dict[BlockId, Lines]]:
        """Yield the lines of listed blocks, a request's worth at a time, in the order of `ids`. Stop early when the read `is_over`.

        With texts and `literals` (ASCII), blocks of which no text can hold all of those come without lines.
        """
        for part in self._batches(ids, columns):
            if self.is_over():
                return
            yield self._unpack(part, columns, literals)

    def template_id_after(self, start: str) -> TemplateId | None:
        """Return the first id of a stored template above `start`, which may be part of one."""
        return next((found for found, _ in self._sink.templates.all_above(start, 1)), None)

    def _batches(self, ids: Collection[BlockId], columns: Sequence[ColumnName]) -> Iterator[list[BlockId]]:
        size = MOST_TEXTS if "texts" in columns else MOST_PLACES
        wanted = list(ids)
        return (wanted[at : at + size] for at in range(0, len(wanted), size))

    def _unpack(self, ids: Sequence[BlockId], columns: Sequence[ColumnName], literals: Collection[str] = ()) -> dict[BlockId, Lines]:
        cached = {one: self._cache.get(one, columns) for one in ids}
        absent = {one for one, found in cached.items() if found is None and self._cache.lacks(one, literals)}
        missing = [one for one, found in cached.items() if found is None and one not in self.damaged and one not in absent]
        if missing:
            absent |= self._fetch(missing, columns, literals, cached)
        found = {one: _lines(columns, found) for one, found in cached.items() if found is not None}
        return found | dict.fromkeys(absent, NO_LINES)

    def _fetch(
        self,
        ids: Sequence[BlockId],
        columns: Sequence[ColumnName],
        literals: Collection[str],
        into: dict[BlockId, list[Lines | Column] | None],
    ) -> set[BlockId]:
        """Add the columns of blocks that may hold all `literals`; returns the others."""
        without: set[BlockId] = set()
        stored = self._sink.read_columns(ids, columns, strong=self._strong)
        if len(stored) < len(ids) and not self._strong:
            # A Bounded answer may be of an earlier moment than the listing.
            stored |= self._sink.read_columns([one for one in ids if one not in stored], columns, strong=True)
        for one in stored:
            try:
                texts = unpack_texts(stored[one].texts) if "texts" in columns else None
                if texts is not None and (absent := absent_from(texts.data, literals)):
                    self._cache.put_absent(one, absent)
                    without.add(one)
                    continue
                decoded = _decoded(stored[one], columns, texts)
            except BlockDamaged:
                self.damaged.add(one)
                continue
            into[one] = decoded
            for name, column in zip(columns, decoded, strict=True):
                self._cache.put(one, name, column)
        if len(stored) < len(ids):
            raise BeginAnew
        self._check_age()
        return without

    def _check_age(self) -> None:
        if self._is_old() and self.is_first:
            raise BeginAnew

    def _is_old(self) -> bool:
        return self._started_s is not None and self._clock() - self._started_s > LONGEST_S


def consistently(make: Callable[[bool], Snapshot], read: Callable[[Snapshot], Answer]) -> Answer:
    """Return what `read` finds in a snapshot, and in another one whenever it must begin anew.

    `make` is told whether the snapshot may grow old: it then ends early instead. Raises SinkBusy if listed blocks are gone again and again.
    """
    for attempt in range(MOST_ATTEMPTS):
        try:
            return read(make(attempt > 0))
        except BeginAnew:
            continue
    raise SinkBusy(f"blocks that were listed were gone when they were read, {MOST_ATTEMPTS} times in a row")


def _decoded(stored: BlockColumns, columns: Sequence[ColumnName], texts: UnpackedTexts | None) -> list[Lines | Column]:
    """Return these columns of a block. Raises BlockDamaged."""
    places = decode_places(stored.places)
    decoded: list[Lines | Column] = [places]
    if texts is not None:
        decoded.append(of_size(texts.cut(), places.size))
    if "fields" in columns:
        decoded.append(decode_fields(stored.fields, places.size))
    return decoded


def _lines(columns: Sequence[ColumnName], decoded: Sequence[Lines | Column]) -> Lines:
    by_name = dict(zip(columns, decoded, strict=True))
    lines: Lines = by_name["places"]
    return lines._replace(text=by_name.get("texts", lines.text), fields=by_name.get("fields", lines.fields))
