"""Dead letters read back: which record each stands for, which of its pieces were given up, and which of them are bad still.

`producers.envelope` shapes them. Its headers come after the record's own, which may bear the same names: only what follows the
last `__connect.errors.topic` is read. A replay leaves a mark in the same partition, behind the letter; the last mark holds, but
a letter that was once replayed whole stays so.
"""

import hashlib
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from consumers.groupless.reader import GrouplessReader
from consumers.record import Header, Partition, Record
from worker.audit.marks import Mark, Pieces, listed_pieces, mark_of

_FIRST = "__connect.errors.topic"
_NUMBER = {"__connect.errors.partition", "__connect.errors.offset", "vectail.pieces.omitted", "vectail.time", "vectail.size"}
NO_RECORD = "a line that never became a record: feed it again"
CUT = "only its head was kept: the record was too large for the dead-letter topic"


class StoredDeadLetter(NamedTuple):
    """One dead letter.

    Thread: any.
    """

    topic: str
    """Where the record came from."""
    partition: int | None
    offset: int | None
    """None: a line that never became a record."""
    epoch: str
    time_ms: int
    """The record's own time."""
    stage: str
    reason: str
    pieces: Pieces
    """Rejected pieces; once the letter was replayed in part, those that are bad still."""
    unlisted_pieces: int
    """So many that did not fit into the header. With none and no `pieces`, the whole record was given up."""
    letter: Record
    """The dead letter itself, with its own coordinates and time."""
    size_bytes: int
    """Of the record's value, also where it was cut."""
    sha256: str
    is_replayed: bool = False
    """All of it is in the index now."""
    is_partly_replayed: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether the whole record was given up, not single pieces."""
        return not self.pieces and not self.unlisted_pieces

    @property
    def is_intact(self) -> bool:
        """Whether the letter holds the record's value, every byte of it."""
        value = self.letter.value or b""
        return len(value) == self.size_bytes and hashlib.sha256(value).hexdigest() == self.sha256

    @property
    def obstacle(self) -> str:
        """Why nobody can replay it; empty if one can."""
        if self.record is None:
            return NO_RECORD
        return "" if self.is_intact else CUT

    @property
    def own_headers(self) -> tuple[Header, ...]:
        """Headers that the record itself had."""
        return self.letter.headers[: _first_of_ours(self.letter.headers)]

    @property
    def record(self) -> Record | None:
        """The record as it was in its own topic; None for a line that never became one."""
        if self.partition is None or self.offset is None:
            return None
        key, value = self.letter.key, self.letter.value
        return Record(self.topic, self.partition, self.offset, self.epoch, self.time_ms, key, value, self.own_headers)

    def marked(self, mark: Mark | None) -> "StoredDeadLetter":
        """Return it as it is after a replay."""
        if mark is None:
            return self
        if mark.is_done:
            return self._replace(is_replayed=True)
        reason = mark.pieces[0][2] if mark.pieces else self.reason
        return self._replace(reason=reason, pieces=mark.pieces, unlisted_pieces=mark.unlisted_pieces, is_partly_replayed=True)


class Excused(NamedTuple):
    """What all dead letters of one record together excuse.

    Thread: any.
    """

    pieces: frozenset[tuple[int, int]] | None
    """(sub, chunk) that owe no rows; None: any may be missing."""

    def excuses(self, sub: int, chunk: int) -> bool:
        """Say whether this piece need not be stored."""
        return self.pieces is None or (sub, chunk) in self.pieces


Graves = Mapping[tuple[int, int], Excused]
"""By partition and offset, of one topic in one epoch."""


def buried_of(letter: Record) -> StoredDeadLetter | None:
    """Read one record of the dead-letter topic; None if it is none of ours."""
    headers = _our_headers(letter.headers)
    topic = headers.get(_FIRST, "")
    try:
        numbers = {name: int(text) for name, text in headers.items() if name in _NUMBER}
        pieces = listed_pieces(headers.get("vectail.pieces", "{}"))
    except (ValueError, TypeError):
        return None
    if not topic or "vectail.reason" not in headers:
        return None
    return StoredDeadLetter(
        topic=topic,
        partition=numbers.get("__connect.errors.partition"),
        offset=numbers.get("__connect.errors.offset"),
        epoch=headers.get("vectail.epoch", ""),
        time_ms=numbers.get("vectail.time", 0),
        stage=headers.get("__connect.errors.stage", ""),
        reason=headers["vectail.reason"],
        pieces=pieces,
        unlisted_pieces=numbers.get("vectail.pieces.omitted", 0),
        letter=letter,
        size_bytes=numbers.get("vectail.size", -1),
        sha256=headers.get("vectail.sha256", ""),
    )


class DeadLetters:
    """The dead letters that were there when it was made, each as its replays have left it; they may be read several times.

    Marks are read first, and letters one by one, so that what is held is small.

    Thread: one, the reader's.
    """

    def __init__(
        self,
        reader: GrouplessReader,
        topic: str,
        *,
        timeout_s: float,
        since_ms: int | None = None,
        first_offsets: Mapping[int, int] | None = None,
    ) -> None:
        """Only those not older than `since_ms`, and from `first_offsets`, by partition, of no other ones. Raises RangeUnreadable."""
        self._reader = reader
        self._timeout_s = timeout_s
        self._since_ms = since_ms
        self._spans: list[tuple[Partition, int, int]] = []
        self._marks: dict[tuple[int, int], Mark] = {}
        for partition in reader.partitions(topic, timeout_s):
            if first_offsets is not None and partition.partition not in first_offsets:
                continue
            first_offset, end_offset = reader.bounds(partition, timeout_s)
            if first_offsets is not None:
                first_offset = max(first_offset, first_offsets[partition.partition])
            if since_ms is not None:
                first_offset = max(first_offset, reader.offset_at(partition, max(since_ms, 0), timeout_s))
            self._spans.append((partition, first_offset, end_offset))
        for record in self._records():
            mark = mark_of(record)
            place = (record.partition, -1 if mark is None else mark.offset)
            if mark is not None and not (place in self._marks and self._marks[place].is_done):
                self._marks[place] = mark

    def __iter__(self) -> Iterator[StoredDeadLetter]:
        """Read them, partition by partition. Raises RangeUnreadable."""
        for record in self._records():
            buried = buried_of(record)
            if buried is not None and (self._since_ms is None or record.time_ms >= self._since_ms):
                yield buried.marked(self._marks.get((record.partition, record.offset)))

    def _records(self) -> Iterator[Record]:
        for partition, first_offset, end_offset in self._spans:
            for records in self._reader.read(partition, first_offset, end_offset, epoch="", timeout_s=self._timeout_s):
                yield from records


def read_buried(reader: GrouplessReader, dead_letter_topic: str, *, timeout_s: float) -> Iterator[StoredDeadLetter]:
    """Read all dead letters that are there now, those too that were replayed. Raises RangeUnreadable."""
    yield from DeadLetters(reader, dead_letter_topic, timeout_s=timeout_s)


class DeadLetterIndex:
    """What dead letters excuse, of the topics that are looked at.

    Thread: one.
    """

    def __init__(self, epochs: Mapping[str, str]) -> None:
        """`epochs` is by topic; dead letters of other topics, and of other epochs of these, are passed over."""
        self._epochs = epochs
        self._graves: dict[str, dict[tuple[int, int], Excused]] = {topic: {} for topic in epochs}

    def add(self, buried: StoredDeadLetter) -> None:
        """Note one dead letter; several of one record excuse what each does, and one that was replayed excuses nothing."""
        if buried.is_replayed:
            return
        if buried.epoch == self._epochs.get(buried.topic) and buried.partition is not None and buried.offset is not None:
            listed = None if buried.is_whole or buried.unlisted_pieces else frozenset((sub, chunk) for sub, chunk, _ in buried.pieces)
            self.excuse(buried.topic, buried.partition, buried.offset, listed)

    def excuse(self, topic: str, partition: int, offset: int, pieces: frozenset[tuple[int, int]] | None) -> None:
        """Note what a dead letter of a record of this epoch excuses; None: all of it."""
        graves = self._graves[topic]
        before = graves.get((partition, offset), Excused(frozenset())).pieces
        graves[partition, offset] = Excused(None if before is None or pieces is None else before | pieces)

    def of(self, topic: str) -> Graves:
        """Return the graves of one topic."""
        return self._graves[topic]


def _our_headers(headers: tuple[Header, ...]) -> dict[str, str]:
    return {name: (content or b"").decode("utf-8", "replace") for name, content in headers[_first_of_ours(headers) :]}


def _first_of_ours(headers: tuple[Header, ...]) -> int:
    """Return where our headers begin; behind the last one if there are none."""
    ours = [place for place, (name, _) in enumerate(headers) if name == _FIRST]
    return ours[-1] if ours else len(headers)
