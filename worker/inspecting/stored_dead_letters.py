"""Reads dead letters back: the record of each, its rejected pieces, and those that still fail after a replay.

This is the only place that reads meaning out of a stored letter's text. `producers.envelope` writes it. Its headers come after the
record's own, which may have the same names: only what follows the last `__connect.errors.topic` is read. A replay leaves a mark after the
letter, in the same partition; the last mark counts, but a letter that was once replayed completely stays so.

Whoever may write to the topic may write letters too. One with coordinates or an epoch that no record can have is passed over, like any
record that vectail did not write; what Kafka still holds decides about the others (`worker.inspecting.kept_records`).
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from consumers.decode.line_zones import DAY_MS
from consumers.groupless.groupless_reader import GrouplessReader
from consumers.kafka.source_settings import EPOCH_PATTERN, is_topic_name
from consumers.record import Header, Partition, Record
from worker.inspecting.replay_marks import ListedPieces, ReplayMark, parse_listed_pieces, read_replay_mark

_FIRST = "__connect.errors.topic"
_NUMBERS: Final = {
    "__connect.errors.partition": range((1 << 31) - 1),
    "__connect.errors.offset": range((1 << 63) - 1),
    "vectail.pieces.omitted": range(1 << 63),
    "vectail.time": range(-1 << 63, 1 << 63),
    "vectail.size": range(1 << 63),
}
"""The headers that are numbers, with what they may be; the offset after a record's is an offset too."""
_PLACE: Final = frozenset({"__connect.errors.partition", "__connect.errors.offset"})
NO_RECORD = "a line that never became a record: feed it again"
CUT = "the letter holds only the beginning of its record, which was too large for the dead-letter topic"
ALTERED = "the letter does not hold the bytes that its headers name"
READ_AGAIN: Final = frozenset({CUT, ALTERED})
"""Obstacles of letters that can be replayed as long as Kafka holds their records."""


class StoredDeadLetter(NamedTuple):
    """One dead letter, as its replays have left it."""

    topic: str
    """Where the record came from."""
    partition: int | None
    offset: int | None
    """None: a line that never became a record."""
    epoch: str
    time_ms: int
    """The record's own time; the letter's, where that cannot be one."""
    stage: str
    reason: str
    pieces: ListedPieces
    """Rejected pieces; after a partial replay, those that still fail."""
    unlisted_pieces: int
    """Number of rejected pieces that did not fit into the header. If it is 0 and `pieces` is empty, the whole record was rejected."""
    letter: Record
    """The dead letter itself, with its own coordinates and time."""
    size_bytes: int
    """Of the record's whole value, even if the letter holds only its head."""
    sha256: str
    is_replayed: bool = False
    """All of it is in the index now."""
    is_partly_replayed: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether the whole record was rejected, not single pieces."""
        return not self.pieces and not self.unlisted_pieces

    def names(self, value: bytes) -> bool:
        """Whether this is the record's whole value, as the headers name it."""
        return len(value) == self.size_bytes and hashlib.sha256(value).hexdigest() == self.sha256

    @property
    def is_intact(self) -> bool:
        """Whether the letter holds every byte of the record's value."""
        return self.names(self.letter.value or b"")

    @property
    def is_altered(self) -> bool:
        """Whether its bytes are not those that its headers name; a cut letter holds the head of them."""
        return len(self.letter.value or b"") >= self.size_bytes and not self.is_intact

    @property
    def obstacle(self) -> str:
        """Why it cannot be replayed from the letter alone; empty if it can."""
        if self.record is None:
            return NO_RECORD
        if self.is_altered:
            return ALTERED
        return "" if self.is_intact else CUT

    @property
    def reason_heading(self) -> str:
        """The reason without its detail."""
        return heading_of(self.reason)

    @property
    def own_headers(self) -> tuple[Header, ...]:
        """Headers that the record itself had."""
        return self.letter.headers[: _first_envelope_header(self.letter.headers)]

    @property
    def record(self) -> Record | None:
        """The record as it was in its own topic; None for a line that never became a record."""
        if self.partition is None or self.offset is None:
            return None
        key, value = self.letter.key, self.letter.value
        return Record(self.topic, self.partition, self.offset, self.epoch, self.time_ms, key, value, self.own_headers)

    def after_replay(self, mark: ReplayMark | None) -> "StoredDeadLetter":
        """Apply the mark of its last replay; None: not replayed."""
        if mark is None:
            return self
        if mark.is_done:
            return self._replace(is_replayed=True)
        reason = mark.pieces[0].reason if mark.pieces else self.reason
        return self._replace(reason=reason, pieces=mark.pieces, unlisted_pieces=mark.unlisted_pieces, is_partly_replayed=True)


def read_dead_letter(letter: Record) -> StoredDeadLetter | None:
    """Read one record of the dead-letter topic; None if vectail did not write it."""
    headers = _envelope_headers(letter.headers)
    topic = headers.get(_FIRST, "")
    try:
        numbers = {name: _number(name, text) for name, text in headers.items() if name in _NUMBERS}
        pieces = parse_listed_pieces(headers.get("vectail.pieces", "{}"))
    except ValueError:
        return None
    epoch = headers.get("vectail.epoch", "")
    is_of_record = numbers.keys() >= _PLACE
    if not topic or "vectail.reason" not in headers or (is_of_record and not (is_topic_name(topic) and re.fullmatch(EPOCH_PATTERN, epoch))):
        return None
    time_ms = numbers.get("vectail.time", 0)
    return StoredDeadLetter(
        topic=topic,
        partition=numbers.get("__connect.errors.partition"),
        offset=numbers.get("__connect.errors.offset"),
        epoch=epoch,
        time_ms=time_ms if 0 <= time_ms <= letter.time_ms + DAY_MS else letter.time_ms,
        stage=headers.get("__connect.errors.stage", ""),
        reason=headers["vectail.reason"],
        pieces=pieces,
        unlisted_pieces=numbers.get("vectail.pieces.omitted", 0),
        letter=letter,
        size_bytes=numbers.get("vectail.size", -1),
        sha256=headers.get("vectail.sha256", ""),
    )


def heading_of(reason: str) -> str:
    """Return a reason without its detail."""
    return reason.partition(": ")[0]


def read_origin(letter: Record) -> tuple[str, str] | None:
    """Return the reason and the topic of the record, and read nothing else; None if vectail did not write this letter."""
    reason = None
    for name, content in reversed(letter.headers):
        if name == "vectail.reason":
            reason = content
        elif name == _FIRST:
            topic = (content or b"").decode("utf-8", "replace")
            return (((reason or b"").decode("utf-8", "replace")), topic) if topic and reason is not None else None
    return None


class DeadLetters:
    """The dead letters that were in the topic when it was made; it may be iterated several times.

    It reads all marks first and then one letter at a time, so it holds little.

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
        """Skip letters older than `since_ms`; with `first_offsets`, read only these partitions, from there on. Raises RangeUnreadable."""
        self._reader = reader
        self._timeout_s = timeout_s
        self._since_ms = since_ms
        self._spans: list[tuple[Partition, int, int]] = []
        self._marks: dict[tuple[int, int], ReplayMark] = {}
        for partition, held in reader.offset_ranges(reader.partitions([topic], timeout_s), timeout_s).items():
            if first_offsets is not None and partition.partition not in first_offsets:
                continue
            first_offset, end_offset = held
            if first_offsets is not None:
                first_offset = max(first_offset, first_offsets[partition.partition])
            if since_ms is not None:
                since_offset = reader.offsets_at([partition], max(since_ms, 0), timeout_s)[partition]
                first_offset = max(first_offset, end_offset if since_offset is None else since_offset)
            self._spans.append((partition, first_offset, end_offset))
        for record in self._records():
            mark = read_replay_mark(record)
            place = (record.partition, -1 if mark is None else mark.offset)
            if mark is not None and not (place in self._marks and self._marks[place].is_done):
                self._marks[place] = mark

    def __iter__(self) -> Iterator[StoredDeadLetter]:
        """Read the letters, partition by partition. Raises RangeUnreadable."""
        for record in self._records():
            letter = read_dead_letter(record)
            if letter is not None and (self._since_ms is None or record.time_ms >= self._since_ms):
                yield letter.after_replay(self._marks.get((record.partition, record.offset)))

    def _records(self) -> Iterator[Record]:
        for partition, first_offset, end_offset in self._spans:
            for records in self._reader.read(partition, first_offset, end_offset, epoch="", timeout_s=self._timeout_s):
                yield from records


def _number(name: str, text: str) -> int:
    """Parse the number of one of `_NUMBERS`. Raises ValueError."""
    number = int(text)
    if number not in _NUMBERS[name]:
        raise ValueError(f"no {name} is {text}")
    return number


def _envelope_headers(headers: tuple[Header, ...]) -> dict[str, str]:
    return {name: (content or b"").decode("utf-8", "replace") for name, content in headers[_first_envelope_header(headers) :]}


def _first_envelope_header(headers: tuple[Header, ...]) -> int:
    """Return the index of the first header that vectail added; the number of headers if there is none."""
    ours = [place for place, (name, _) in enumerate(headers) if name == _FIRST]
    return ours[-1] if ours else len(headers)
