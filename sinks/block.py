"""Blocks: immutable groups of up to a thousand lines of one partition, compressed, with what is in them beside.

The types that builder, codec, writer, readers and tools share. A run is one assignment of a partition to a process. Its blocks are
numbered 0, 1, 2 …; a merged block `a-b` holds exactly the lines of blocks a … b of its run (design: sink).
"""

import re
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from sinks.row import TemplateText

Column = Any
"""n strings (or nulls) in Arrow's memory, a `pyarrow.Array`; `sinks.arrow` makes them. The binding has no types."""

ANY_WORD = 0
"""Among the words of a block: it may hold any word, because a line had more than fit."""
NUMBER_DIGITS = 8
_ID = re.compile(r"([^@/]+)@([^@/]*)/(\d+)/([0-9a-f]{20})/(\d{8,})-(\d{8,})")


class BlockPlace(NamedTuple):
    """A partition of a topic in one epoch: what a run, and so a block, belongs to.

    Thread: any.
    """

    topic: str
    epoch: str
    partition: int


class BlockId(NamedTuple):
    """Names a block: the primary key, as text.

    Thread: any.
    """

    place: BlockPlace
    run: str
    """12 hex digits of milliseconds since 1970 and 8 random ones: of two runs of a place, the later one is greater."""
    first: int
    last: int
    """Numbers of the blocks that it stands for, both included; equal unless it was merged."""

    def __str__(self) -> str:
        topic, epoch, partition = self.place
        return f"{topic}@{epoch}/{partition}/{self.run}/{self.first:0{NUMBER_DIGITS}d}-{self.last:0{NUMBER_DIGITS}d}"

    def is_inside(self, other: "BlockId") -> bool:
        """Whether it is an inner block of `other`: of the same run, and all its lines are in there."""
        return (
            self.run == other.run
            and self.place == other.place
            and other.first <= self.first
            and self.last <= other.last
            and other.last - other.first > self.last - self.first
        )


def parse_block_id(text: str) -> BlockId:
    """Return the id that `str` made. Raises ValueError."""
    found = _ID.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not a block id")
    topic, epoch, partition, run, first, last = found.groups()
    return BlockId(BlockPlace(topic, epoch, int(partition)), run, int(first), int(last))


def new_run(now_ms: int, random_bits: int, above: str = "") -> str:
    """Return the id of a run that begins now; greater than `above`, the greatest that is known of the partition."""
    run = f"{now_ms & (1 << 48) - 1:012x}{random_bits & (1 << 32) - 1:08x}"
    return run if run > above else f"{int(above[:12], 16) + 1:012x}{random_bits & (1 << 32) - 1:08x}"


def base64_characters(size_bytes: int) -> int:
    """Return the base64 length of this many bytes, in which a server stores encoded columns."""
    return 4 * -(-size_bytes // 3)


Text_co = TypeVar("Text_co", bound=str, covariant=True)


class CodedColumn(NamedTuple, Generic[Text_co]):
    """A column with few distinct values.

    Thread: any.
    """

    codes: NDArray[np.int32]
    """int32[n]: places in `values`."""
    values: tuple[Text_co, ...]
    """Distinct; every value is used."""

    def text(self, i: int) -> Text_co:
        """Return the value of row `i`."""
        return self.values[int(self.codes[i])]


class Lines(NamedTuple):
    """n pieces of log lines of one partition as columns, each of length n. A piece is a line, or a chunk of a long line.

    Thread: any.
    """

    offset: NDArray[np.int64]
    sub: NDArray[np.int32]
    chunk: NDArray[np.int32]
    chunks: NDArray[np.int32]
    """Into how many its entry was cut; 0: the entry is *hollow*, no line (`sinks.reading.versions`)."""
    cut: NDArray[np.uint64]
    """0 where `chunks` is 1."""
    records: NDArray[np.int32]
    """How many offsets the entry spans: 1, more for joined ones."""
    entries: NDArray[np.int32]
    """How many entries its record has, as its run wrote it; 0 where a block does not say. A record of which some are missing is torn."""
    time: NDArray[np.int64]
    """When it was logged, milliseconds since 1970."""
    kafka_time: NDArray[np.int64]
    leader_epoch: NDArray[np.int32]
    """Kafka's, of the first of its entry's records; -1 where it is not known. It tells the records of a log that was cut from those that
    came in their place, which are of a later leader."""
    last_leader_epoch: NDArray[np.int32]
    """Of the last of its entry's records."""
    service: CodedColumn[str]
    level: CodedColumn[str]
    template: CodedColumn[TemplateText]
    text: Column
    """Raw texts; null where only the template was kept (sampling), or where they were not read. An empty one is stored as null."""
    fields: Column
    """Flat JSON objects as `consumers.decode.kept_fields` writes them, or null."""

    @property
    def size(self) -> int:
        """How many pieces; `len` counts the columns."""
        return len(self.offset)


class Head(NamedTuple):
    """What is in one block: enough to find it and to count it without unpacking.

    Thread: any.
    """

    templates: NDArray[np.int64]
    """int64[m]: keys of its distinct templates (`sinks.row.template_key`), ascending."""
    pieces: NDArray[np.int64]
    """int64[m]: how many pieces have that template."""
    first_ms: NDArray[np.int64]
    last_ms: NDArray[np.int64]
    """int64[m]: times of the first and of the last of them."""
    services: tuple[str, ...]
    levels: tuple[str, ...]
    """Distinct, ascending; "" for lines without one."""
    written_ms: int
    """When its oldest block was first written, milliseconds since 1970."""


class Block(NamedTuple):
    """A block as it is stored; the same id always has the same content.

    Thread: any.
    """

    id: BlockId
    first_offset: int
    last_offset: int
    """Both included; entries that span several records are covered."""
    first_ms: int
    last_ms: int
    """Of `time`, both included."""
    lines: int
    """Lines, not pieces: the pieces with chunk 0."""
    head: Head
    words: NDArray[np.int32]
    """int32[w]: distinct, ascending, 28 bits; with `ANY_WORD` it may hold any."""
    places: bytes
    """All columns but text and fields: one zstd frame around an Arrow IPC stream (`sinks.codec`)."""
    texts: bytes
    """The texts, encoded alike."""
    fields: bytes
    """The fields, encoded alike; empty if no line has any."""

    @property
    def characters(self) -> dict[str, int]:
        """How many characters each encoded column has as base64, as servers store it."""
        frames = {"places": self.places, "texts": self.texts, "fields": self.fields}
        return {name: base64_characters(len(frame)) for name, frame in frames.items()}

    @property
    def size_bytes(self) -> int:
        """About how many bytes it takes in a request to a server."""
        return sum(self.characters.values()) + 4 * len(self.words) + 40 * len(self.head.templates) + 600


class BlockColumns(NamedTuple):
    """The encoded columns of a stored block; those that were not asked for are empty.

    Thread: any.
    """

    places: bytes
    texts: bytes
    fields: bytes
