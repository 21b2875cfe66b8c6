"""The order in which one partition's records arrive in one assignment, and how far they are settled without a hole, as columns.

`consumers.ledger` is the only caller and holds its lock around every call. Nothing here knows threads, Kafka or time. A record is its
*arrival number*: 0 for the first record of the assignment, 1 for the next. A call that raises has changed nothing.
"""

from collections import Counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Arrivals = NDArray[np.int64]
"""int64[n]: arrival numbers of one assignment."""

_NOT_EXPECTED = -1
"""Pieces left of a record that nobody has expected yet."""
_FOLLOWS = -2
"""Pieces left of a record that ends as an earlier one does."""
_LEAST_ROWS = 64
_MOST_IDLE_ROWS = 512
"""Columns longer than this are freed when nothing is open."""


class Closed(NamedTuple):
    """Records that are finished, and what they released.

    Thread: any.
    """

    arrival: Arrivals
    """Ascending."""
    raw_bytes: NDArray[np.int64]
    """int64[n]: of each."""
    decoded_bytes: int
    popped: int
    """Records that were taken off the front: settled, with nothing open before them."""


class _Columns(NamedTuple):
    """A row for each record; those before the oldest open one are finished, those behind the last are free."""

    offset: NDArray[np.int64]
    left: NDArray[np.int32]
    """Pieces that are not done, or `_NOT_EXPECTED`, or `_FOLLOWS`."""
    raw_bytes: NDArray[np.int64]
    decoded_bytes: NDArray[np.int64]
    is_open: NDArray[np.bool_]
    is_rejected: NDArray[np.bool_]
    """Whether one of its pieces was rejected."""
    followers: NDArray[np.int32]
    """How many of the next records end as this one does."""


class ArrivalColumns:
    """Open records of one assignment in arrival order; `next_offset` never passes an open one, nor one to come.

    Thread: any, under its Ledger's lock.
    """

    __slots__ = ("_begin", "_columns", "_end", "_end_offset", "_first", "first_offset", "next_offset")

    def __init__(self) -> None:
        self._columns = _new_columns(0)
        self._first = 0
        """The arrival number of row 0."""
        self._begin = 0
        """The row of the oldest open record."""
        self._end = 0
        """The row after the last record."""
        self.first_offset: int | None = None
        self.next_offset: int | None = None
        self._end_offset = 0

    @property
    def end(self) -> int:
        """The arrival number of the next record to arrive."""
        return self._first + self._end

    @property
    def oldest_open(self) -> int | None:
        """The arrival number of the oldest open record."""
        return self._first + self._begin if self._begin < self._end else None

    def arrive(self, offset: NDArray[np.int64], raw_bytes: NDArray[np.int64]) -> int:
        """Note the arrival of n ≥ 1 records; return the arrival number of the first."""
        if self.first_offset is None:
            self.first_offset = int(offset[0])
        self._make_room(len(offset))
        columns, rows = self._columns, slice(self._end, self._end + len(offset))
        columns.offset[rows] = offset
        columns.left[rows] = _NOT_EXPECTED
        columns.raw_bytes[rows] = raw_bytes
        columns.decoded_bytes[rows] = 0
        columns.is_open[rows] = True
        columns.is_rejected[rows] = False
        columns.followers[rows] = 0
        self._end = rows.stop
        return self._first + rows.start

    def follow(self, arrival: Arrivals, followers: NDArray[np.int64]) -> None:
        """Note how many records behind each of these, 1 or more, end as it does: no call is made for one of those any more.

        Raises RuntimeError for a record that is there twice, or was expected or claimed before, be it one of these or one behind it.
        """
        sizes = followers + 1
        all_rows = np.repeat(arrival, sizes) + np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        rows = self._untouched(all_rows)
        if rows is None or followers.min(initial=1) < 1:
            raise RuntimeError("a record that is expected, finished or unknown neither follows nor is followed")
        self._columns.left[rows] = _FOLLOWS
        self._columns.left[arrival - self._first] = _NOT_EXPECTED
        self._columns.followers[arrival - self._first] = followers

    def with_followers(self, arrival: Arrivals) -> Arrivals:
        """Return these records, ascending and without pieces left, each with those that follow it; those have none left either now."""
        followers = self._columns.followers[arrival - self._first]
        if not followers.any():
            return arrival
        sizes = followers.astype(np.int64) + 1
        together: Arrivals = np.repeat(arrival, sizes) + np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        self._columns.left[together - self._first] = 0
        return together

    def expect(self, arrival: Arrivals, pieces: NDArray[np.int64], decoded_bytes: NDArray[np.int64]) -> int:
        """Note how many pieces each of these records has, and their bytes after decoding; return the sum of the bytes.

        Raises RuntimeError for a record that is there twice, was expected or claimed before, or has no piece.
        """
        rows = self._untouched(arrival)
        if rows is None or pieces.min(initial=1) < 1:
            raise RuntimeError("a record expects once, one piece or more")
        self._columns.left[rows] = pieces
        self._columns.decoded_bytes[rows] = decoded_bytes
        return int(decoded_bytes.sum())

    def claim_whole(self, arrival: Arrivals) -> Arrivals:
        """Note that these records are finished without pieces; return them in ascending order.

        Raises RuntimeError for a record that is there twice, was expected or claimed before, or is followed.
        """
        rows = self._untouched(arrival)
        if rows is None or self._columns.followers[rows].any():
            raise RuntimeError("a record that expects pieces, is finished, or is followed, cannot be dropped or refused as a whole")
        self._columns.left[rows] = 0
        return arrival if _is_ascending(arrival) else np.sort(arrival)

    def finish_pieces(self, arrival: Arrivals) -> Arrivals:
        """Note that a piece of each of these records is done, as often as it occurs; return those that have none left, ascending.

        Raises RuntimeError where more pieces are done than were expected.
        """
        rows, times = arrival - self._first, np.ones(1, np.int64)
        if not _is_ascending(rows):
            rows, times = np.unique(rows, return_counts=True)
        if not self._has(rows):
            raise RuntimeError("a piece is done that was not expected, of a record that is settled or unknown")
        left = self._columns.left[rows] - times
        if left.min(initial=0) < 0:
            raise RuntimeError(f"a piece of arrival {self._first + int(rows[left.argmin()])} is done that was not expected")
        self._columns.left[rows] = left
        finished: Arrivals = rows[left == 0] + self._first
        return finished

    def reject_piece(self, arrival: int) -> Arrivals:
        """Note that a piece of this record is done and was rejected; return the record if it has none left."""
        finished = self.finish_pieces(np.array([arrival]))
        self._columns.is_rejected[arrival - self._first] = True
        return finished

    def rejected(self, arrival: Arrivals) -> NDArray[np.bool_]:
        """Return which of these records have a rejected piece: bool[n]."""
        return self._columns.is_rejected[arrival - self._first]

    def awaits_letter(self, arrival: int) -> bool:
        """Whether this record has no piece left and is still open."""
        row = arrival - self._first
        return 0 <= row < self._end and bool(self._columns.is_open[row]) and not self._columns.left[row]

    def close(self, arrival: Arrivals) -> Closed:
        """Finish open records without pieces, ascending: release their bytes, and take those off the front that nothing open is before."""
        rows = arrival - self._first
        self._columns.is_open[rows] = False
        raw_bytes, decoded_bytes = self._columns.raw_bytes[rows], int(self._columns.decoded_bytes[rows].sum())
        return Closed(arrival, raw_bytes, decoded_bytes, self._pop())

    def reach(self, end_offset: int) -> None:
        """Note that every record before this offset has arrived: when they are settled, it is next."""
        self._end_offset = end_offset
        self._advance()

    def _pop(self) -> int:
        is_open = self._columns.is_open[self._begin : self._end]
        popped = int(is_open.argmax()) if is_open.size else 0
        if is_open.size and not is_open[popped]:
            popped = is_open.size
        if popped:
            self._begin += popped
            self.next_offset = int(self._columns.offset[self._begin - 1]) + 1
        self._advance()
        if self._begin == self._end:
            self._first += self._end
            self._begin = self._end = 0
            if self._columns.offset.size > _MOST_IDLE_ROWS:
                self._columns = _new_columns(0)
        return popped

    def _advance(self) -> None:
        if self._end_offset > (self.next_offset or 0) and (
            self._begin == self._end or self._columns.offset[self._begin] >= self._end_offset
        ):
            self.next_offset = self._end_offset

    def _untouched(self, arrival: Arrivals) -> NDArray[np.int64] | None:
        """Return the rows of these records; None when one is there twice, is unknown, or was expected, claimed or finished before."""
        rows = arrival - self._first
        ascending = rows if _is_ascending(rows) else np.unique(rows)
        is_untouched = ascending.size == rows.size and self._has(ascending)
        return rows if is_untouched and (self._columns.left[rows] == _NOT_EXPECTED).all() else None

    def _has(self, ascending: NDArray[np.int64]) -> bool:
        """Whether all of these rows are rows of records; finished ones may be among them until they are cut off."""
        return not ascending.size or bool(ascending[0] >= 0 and ascending[-1] < self._end)

    def _make_room(self, records: int) -> None:
        """Cut the finished rows off, and grow to twice what is needed, when the columns are too short for more records."""
        if self._end + records <= self._columns.offset.size:
            return
        size = self._end - self._begin
        grown = _new_columns(max(2 * (size + records), _LEAST_ROWS))
        columns: tuple[NDArray[np.generic], ...] = self._columns
        longer: tuple[NDArray[np.generic], ...] = grown
        for column, fresh in zip(columns, longer, strict=True):
            fresh[:size] = column[self._begin : self._end]
        self._columns, self._first = grown, self._first + self._begin
        self._begin, self._end = 0, size


class Outcomes:
    """Counts since the start, over all assignments.

    Thread: any, under its Ledger's lock.
    """

    def __init__(self) -> None:
        self._topics: dict[str, Counter[str]] = {}

    def of(self, topic: str) -> Counter[str]:
        """Return where the records of a topic are counted: `admitted`, and later each under its outcome."""
        return self._topics.setdefault(topic, Counter())

    def by_topic(self) -> dict[str, Counter[str]]:
        """Return a copy, with what is in flight."""
        found = {topic: Counter(tally) for topic, tally in self._topics.items()}
        for tally in found.values():
            tally["in_flight"] = 2 * tally["admitted"] - tally.total()
        return found


def _new_columns(rows: int) -> _Columns:
    return _Columns(
        offset=np.empty(rows, np.int64),
        left=np.empty(rows, np.int32),
        raw_bytes=np.empty(rows, np.int64),
        decoded_bytes=np.empty(rows, np.int64),
        is_open=np.empty(rows, np.bool_),
        is_rejected=np.empty(rows, np.bool_),
        followers=np.empty(rows, np.int32),
    )


def _is_ascending(numbers: NDArray[np.int64]) -> bool:
    """Whether each is above the one before."""
    return bool((numbers[1:] > numbers[:-1]).all())
