"""From lines to blocks: lines gather in a builder, come out in groups, and a group becomes blocks that no sink can refuse.

`Builder` and `build` are pure: columns in, columns out, the time is passed in. The writer owns numbers, ids and what is done about
failures (design: closing).
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sinks.arrow import all_bytes, join_texts, text_bytes
from sinks.block import ANY_WORD, Block, BlockId, BlockPlace, Lines, base64_characters
from sinks.codec import encode_fields, encode_head, encode_places, encode_texts
from sinks.contents import head_of, with_valid_names, words_of
from sinks.lines import join_lines, last_offset_of, lines_between, sorted_rows, take_lines

NO_ID = BlockId(BlockPlace("", "", 0), "", 0, 0)
"""Of a block that has no number yet."""
HOUR_MS = 3_600_000
_NARROW_BUILDERS = 3


class BlockBounds(NamedTuple):
    """The most that one block may hold; what a backend takes is more.

    Thread: any.
    """

    lines: int = 1024
    """Pieces, that is: a chunk counts as a line."""
    words: int = 4096
    templates: int = 1024
    services: int = 256
    levels: int = 64
    raw_bytes: int = 1_000_000
    """UTF-8 bytes of texts and fields."""
    characters: int = 60_000
    """Of each encoded column, as base64."""


DEFAULT_BOUNDS = BlockBounds()


class Built(NamedTuple):
    """A block and which of the given lines it holds.

    Thread: any.
    """

    rows: NDArray[np.int64]
    block: Block
    """Its id is `NO_ID`."""


class LineGroup(NamedTuple):
    """Lines that are to become one block, or a few if they have too much of something.

    Thread: any.
    """

    lines: Lines
    tags: NDArray[np.int64]
    """int64[n]: what came with each line."""
    since_s: float
    """When the first of them was added."""


def build(lines: Lines, *, masks: str, written_ms: int, bounds: BlockBounds = DEFAULT_BOUNDS) -> list[Built]:
    """Return lines of one partition as blocks within all bounds, ordered by offset, sub and chunk; every row is in exactly one.

    Words that one line alone has too many of are left out, and `ANY_WORD` stands for them. Raises ValueError for a line that alone
    exceeds `characters`, which no piece of at most `PIECE_BYTES` does.
    """
    rows = sorted_rows(lines)
    ordered = with_valid_names(lines if (np.diff(rows) == 1).all() else take_lines(lines, rows))
    built: list[Built] = []
    todo = list(_stretches(text_bytes(ordered.text) + text_bytes(ordered.fields), bounds))[::-1]
    while todo:
        start, end = todo.pop()
        block = _block_within(lines_between(ordered, start, end), masks, written_ms, bounds)
        if block is not None:
            built.append(Built(rows[start:end], block))
        else:
            middle = (start + end) // 2
            todo += [(middle, end), (start, middle)]
    return built


class Builder:
    """Gathers the lines of one partition until they are a block's worth, or old enough.

    Three narrow builders each hold lines within an hour of each other; a fourth holds what fits none of them. So one line with an odd
    clock does not give a block a wide range, and interleaved files of different years still fill their blocks.

    Thread: one at a time.
    """

    def __init__(self, bounds: BlockBounds = DEFAULT_BOUNDS) -> None:
        self._bounds = bounds
        self._waiting = [_WaitingLines() for _ in range(_NARROW_BUILDERS + 1)]

    @property
    def lines(self) -> int:
        """How many lines wait."""
        return sum(one.size for one in self._waiting)

    @property
    def bytes(self) -> int:
        """How many UTF-8 bytes of text and fields wait."""
        return sum(one.bytes for one in self._waiting)

    @property
    def oldest_s(self) -> float | None:
        """When the oldest line that waits was added; None if none does."""
        return min((one.parts[0].since_s for one in self._waiting if one.parts), default=None)

    def add(self, lines: Lines, tags: NDArray[np.int64], now_s: float) -> None:
        """Take lines, each with a number that comes back with it."""
        if not lines.size:
            return
        # Those that hold lines already are asked first.
        narrow = sorted(self._waiting[:-1], key=lambda one: not one.parts)
        first_ms, last_ms = int(lines.time.min()), int(lines.time.max())
        if narrow[0].takes_all(first_ms, last_ms):
            narrow[0].add(LineGroup(lines, tags, now_s), first_ms, last_ms)
            return
        left = np.arange(lines.size)
        for one in narrow:
            if not len(left):
                return
            fits = one.takes(lines.time[left])
            one.add_rows(lines, tags, left[fits], now_s)
            left = left[~fits]
        self._waiting[-1].add_rows(lines, tags, left, now_s)

    def take(self, now_s: float, *, flush_s: float, everything: bool = False) -> list[LineGroup]:
        """Return the groups that are full, and those with a line that has waited for `flush_s`; or `everything`."""
        groups: list[LineGroup] = []
        for one in self._waiting:
            if one.parts:
                is_due = everything or now_s - one.parts[0].since_s >= flush_s
                groups += one.take(self._bounds, is_due=is_due)
        return groups


class _WaitingLines:
    """The lines of one builder, in the order in which they came."""

    def __init__(self) -> None:
        self.parts: list[LineGroup] = []
        self.size = 0
        self.bytes = 0
        self._low_ms = 0
        self._high_ms = 0

    def takes_all(self, first_ms: int, last_ms: int) -> bool:
        """Say whether `takes` says yes to all times of which these are the first and the last."""
        if not self.parts:
            return last_ms - first_ms <= HOUR_MS
        return max(self._high_ms, last_ms) - min(self._low_ms, first_ms) <= HOUR_MS

    def takes(self, times: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which of these times are, together, within an hour of what is here; an empty one goes by the first."""
        low = self._low_ms if self.parts else int(times[0])
        high = self._high_ms if self.parts else low
        fits: NDArray[np.bool_] = (times >= low) & (times <= low + HOUR_MS)
        if fits.any():
            high = max(high, int(times[fits].max()))
        return fits | (times < low) & (times >= high - HOUR_MS)

    def add_rows(self, lines: Lines, tags: NDArray[np.int64], rows: NDArray[np.int64], now_s: float) -> None:
        """Take a copy of some of the given lines."""
        if len(rows):
            part = LineGroup(take_lines(lines, rows), tags[rows], now_s)
            self.add(part, int(part.lines.time.min()), int(part.lines.time.max()))

    def add(self, part: LineGroup, first_ms: int, last_ms: int) -> None:
        """Take lines with these earliest and latest times."""
        self._low_ms = min(self._low_ms, first_ms) if self.parts else first_ms
        self._high_ms = max(self._high_ms, last_ms) if self.parts else last_ms
        self.parts.append(part)
        self.size += part.lines.size
        self.bytes += all_bytes(part.lines.text) + all_bytes(part.lines.fields)

    def take(self, bounds: BlockBounds, *, is_due: bool) -> list[LineGroup]:
        """Return the groups that are full, and the rest as well if it is due."""
        if not is_due and self.size < bounds.lines and self.bytes <= bounds.raw_bytes:
            return []
        parts = self.parts
        self.parts, self.size, self.bytes = [], 0, 0
        lines, tags = join_lines([part.lines for part in parts]), np.concatenate([part.tags for part in parts])
        since_s = np.repeat([part.since_s for part in parts], [part.lines.size for part in parts])
        groups: list[LineGroup] = []
        for start, end in _stretches(text_bytes(lines.text) + text_bytes(lines.fields), bounds):
            if is_due or end < lines.size or end - start == bounds.lines:
                groups.append(LineGroup(lines_between(lines, start, end), tags[start:end], float(since_s[start])))
                continue
            # A copy, so that a few lines that wait do not hold the memory of all.
            for since in np.unique(since_s[start:end]):
                self.add_rows(lines, tags, np.arange(start, end)[since_s[start:end] == since], float(since))
        return groups


def _stretches(sizes: NDArray[np.int32], bounds: BlockBounds) -> Iterator[tuple[int, int]]:
    """Cut n lines of these sizes, in their order, into stretches within the bounds of lines and bytes."""
    ends = np.cumsum(sizes, dtype=np.int64)
    start = 0
    while start < len(sizes):
        before = int(ends[start - 1]) if start else 0
        fit = int(np.searchsorted(ends, before + bounds.raw_bytes, "right"))
        end = max(min(fit, start + bounds.lines), start + 1)
        yield start, end
        start = end


def _block_within(lines: Lines, masks: str, written_ms: int, bounds: BlockBounds) -> Block | None:
    """Return lines as a block; None if they are several and exceed a bound."""
    is_one = lines.size == 1
    joined = join_texts(lines.text)
    words = words_of(lines, joined)
    counts = (len(words), len(lines.template.values), len(lines.service.values), len(lines.level.values))
    if any(count > most for count, most in zip(counts, bounds[1:5], strict=True)):
        if not is_one:
            return None
        words = np.concatenate([np.array([ANY_WORD], np.int32), words[: bounds.words - 1]])
    head = head_of(lines, written_ms)
    places = encode_places(lines, masks=masks)
    texts = encode_texts(joined)
    fields = encode_fields(lines.fields)
    longest = max(len(encode_head(head)), base64_characters(max(map(len, (places, texts, fields)))))
    if longest > bounds.characters:
        if is_one:
            raise ValueError(f"one line takes {longest} characters, {bounds.characters} are allowed")
        return None
    return Block(
        id=NO_ID,
        first_offset=int(lines.offset.min()),
        last_offset=last_offset_of(lines),
        first_ms=int(lines.time.min()),
        last_ms=int(lines.time.max()),
        lines=int(np.count_nonzero((lines.chunk == 0) & (lines.chunks > 0))),
        head=head,
        words=words,
        places=places,
        texts=texts,
        fields=fields,
    )
