"""A sink in memory that keeps the contract of `sinks.sink.Sink`, and breaks it on request.

For every test that needs a sink but no Milvus. `tests/contracts/test_sink.py` runs the same suite on this sink and on Milvus. The
switches are plain attributes, set between calls or from another thread.
"""

import math
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from sinks.block import ANY_WORD, Block, BlockColumns, BlockId
from sinks.heads import head_row, join_heads
from sinks.index_spaces import IndexSpaces, VectorSpace, one_view
from sinks.row import TEMPLATE_TEXT_BYTES, TemplateId, TemplateRow, TemplateText, Vector
from sinks.sink import (
    BlockFilter,
    Capabilities,
    ColumnName,
    FoundBlocks,
    OffsetSpan,
    RunSpan,
    SeenRun,
    SinkBroken,
    SinkBusy,
    SinkCounts,
    SinkMismatch,
    SinkRejected,
    TemplateCapabilities,
    TemplateHit,
)

_WORD = re.compile(r"\w+")
HOME = "space-1"
"""The space of a worker's model."""


class FakeSink:
    """Templates and blocks in two dicts; every call takes one lock, so it is atomic.

    Thread: any.
    """

    def __init__(self, dim: int = 384, *, ranks_words: bool = False, orders_blocks: bool = True, consumer_group: str = "vectail") -> None:
        self.dim = dim
        self.capabilities = Capabilities(orders_blocks=orders_blocks)
        self.consumer_group = consumer_group
        self.owner_group = consumer_group
        """The group whose index it is."""
        self.blocks: dict[BlockId, Block] = {}
        self.templates = FakeTemplates(self, dim, ranks_words=ranks_words)
        self.views = {HOME: self.templates}
        """By their spaces; the first one is that of the worker's model."""
        self.kept_spaces = one_view(VectorSpace(dim, HOME))
        self.calls: list[str] = []
        """Names of all calls so far, including refused ones, `open` and `close`."""
        self.written: list[BlockId] = []
        """Ids of all blocks in the order in which they were stored, those stored again included."""
        self.deleted: list[BlockId] = []
        self.is_open = False
        self.exists = False
        """Whether the collections exist; the first `open` with `create` creates them."""
        self.wall_ms: Callable[[], float] = lambda: time.time() * 1000
        """What dates blocks."""
        self.lifetime_s: float | None = None
        """The value of `retention_s`; only `drop_expired` removes anything."""
        self.mismatch = ""
        """Not empty: `open` raises SinkMismatch with it."""
        self.busy_calls = 0
        """The next n calls (any but `close`) raise SinkBusy and do nothing."""
        self.lost_acknowledgements = 0
        """The next n writes or deletes do their work and then raise SinkBusy."""
        self.rejects: Callable[[Block], bool] = lambda _block: False
        """Blocks that are refused with SinkRejected; then nothing of that call is stored."""
        self.rejected_texts: set[str] = set()
        """A template with one of these texts is refused with SinkRejected; then nothing of that call is stored."""
        self.broken = ""
        """Not empty: every call but `close` raises SinkBroken with it."""
        self.gate = threading.Event()
        """While cleared, writes and reads wait here without holding the lock. Initially set."""
        self.gate.set()
        self.entered = threading.Event()
        """Set when a call reaches the gate; a test clears it and waits for it."""
        self.on_write: Callable[[Sequence[TemplateRow] | Sequence[Block]], None] = lambda _rows: None
        """Called with templates or blocks before they are stored, outside the lock; may raise."""
        self.lock = threading.Lock()

    def belong_to(self, space: VectorSpace) -> None:
        """Be the index of a model's embedding space, unless it is one already."""
        if HOME in self.views and len(self.views) == 1:
            self.views, self.kept_spaces = {space.id: self.templates}, one_view(space)

    @property
    def retention_s(self) -> float | None:
        return self.lifetime_s

    def open(self, *, create: bool = True, adopt: bool = False) -> None:
        self.begin("open", needs_open=False)
        if self.mismatch:
            raise SinkMismatch(self.mismatch)
        if not create and not self.exists:
            raise SinkMismatch("the fake sink does not exist; nothing has been indexed yet")
        if self.owner_group != self.consumer_group:
            if not adopt:
                raise SinkMismatch(f"the fake sink belongs to consumer group {self.owner_group!r}")
            self.owner_group = self.consumer_group
        self.exists = True
        self.is_open = True

    def write_blocks(self, blocks: Sequence[Block], *, again: bool = False) -> None:
        self.begin("write_blocks")
        for block in blocks:
            if self.rejects(block):
                raise SinkRejected(f"block {block.id}: the fake sink is told to reject it")
        self.on_write(blocks)
        with self.lock:
            for block in blocks:
                stored = self.blocks.get(block.id)
                assert stored is None or _content(stored) == _content(block), f"{block.id} was rewritten with other content"
                assert stored is None or again, f"{block.id} was inserted twice"
                self.blocks[block.id] = block
                self.written.append(block.id)
        self.acknowledge()

    def delete_blocks(self, ids: Collection[BlockId]) -> None:
        self.begin("delete_blocks")
        with self.lock:
            for one in ids:
                self.blocks.pop(one, None)
                self.deleted.append(one)
        self.acknowledge()

    def date_ms(self) -> int:
        return int(self.wall_ms())

    def drop_expired(self) -> int:
        self.begin("drop_expired")
        now_ms = self.date_ms()
        lifetime_s = self.lifetime_s
        with self.lock:
            expired = [one for one, block in self.blocks.items() if lifetime_s and block.head.written_ms < now_ms - 1000 * lifetime_s]
            for one in expired:
                del self.blocks[one]
        self.acknowledge()
        return len(expired)

    def find_blocks(self, only: BlockFilter, *, limit: int | None = None, strong: bool = False) -> FoundBlocks:
        del strong
        self.begin("find_blocks")
        with self.lock:
            found = [block for block in self.blocks.values() if passes(block, only)]
        if self.capabilities.orders_blocks:
            found.sort(key=lambda block: -block.last_ms)
        return FoundBlocks(join_heads([head_row(block) for block in found[:limit]]), limit is None or len(found) <= limit)

    def unseen_blocks(self, seen: Collection[SeenRun]) -> list[BlockId]:
        self.begin("unseen_blocks")
        with self.lock:
            return [one for one in self.blocks if is_unseen(one, seen)]

    def read_columns(
        self, ids: Collection[BlockId], columns: Collection[ColumnName], *, strong: bool = False
    ) -> dict[BlockId, BlockColumns]:
        del strong
        self.begin("read_columns")
        with self.lock:
            found = {one: self.blocks[one] for one in ids if one in self.blocks}
        return {
            one: BlockColumns(
                block.places if "places" in columns else b"",
                block.texts if "texts" in columns else b"",
                block.fields if "fields" in columns else b"",
            )
            for one, block in found.items()
        }

    def read_words(self, ids: Collection[BlockId]) -> dict[BlockId, NDArray[np.int32]]:
        self.begin("read_words")
        with self.lock:
            return {one: self.blocks[one].words for one in ids if one in self.blocks}

    def spaces(self) -> IndexSpaces:
        self.begin("spaces")
        with self.lock:
            return self.kept_spaces

    def change_spaces(self, before: IndexSpaces, after: IndexSpaces) -> bool:
        self.begin("change_spaces")
        with self.lock:
            if self.kept_spaces != before:
                return False
            self.kept_spaces = after
        self.acknowledge()
        return True

    def open_view(self, space: VectorSpace, *, create: bool = False) -> "FakeTemplates":
        self.begin("open_view")
        with self.lock:
            if space.id not in self.views:
                if not create:
                    raise SinkMismatch(f"the fake sink has no view of {space.id}")
                self.views[space.id] = FakeTemplates(self, space.dim, ranks_words=self.templates.ranks_words)
            return self.views[space.id]

    def prefer(self, space: str) -> None:
        self.templates = self.views[space]

    def drop_view(self, space: str) -> None:
        self.begin("drop_view")
        if self.views.get(space) is self.templates:
            raise SinkMismatch(f"the fake sink is asked by its view of {space}")
        with self.lock:
            self.views.pop(space, FakeTemplates(self, 0, ranks_words=False)).clear()
        self.acknowledge()

    def ping(self) -> None:
        """Leave no trace in `calls`: a thread of its own calls this at any time."""
        if self.broken:
            raise SinkBroken(self.broken)
        if self.busy_calls or not self.is_open:
            raise SinkBusy("the fake sink is busy")

    def counts(self) -> SinkCounts:
        self.begin("counts")
        with self.lock:
            return SinkCounts(blocks=len(self.blocks), templates=len(self.templates))

    def close(self) -> None:
        self.calls.append("close")
        self.is_open = False

    def begin(self, call: str, *, needs_open: bool = True) -> None:
        """Note a call, and refuse it if the test said so."""
        self.calls.append(call)
        self.entered.set()
        self.gate.wait()
        if self.broken:
            raise SinkBroken(self.broken)
        with self.lock:
            if self.busy_calls > 0:
                self.busy_calls -= 1
                raise SinkBusy("the fake sink is told to be busy")
        if needs_open and not self.is_open:
            raise SinkBusy("the fake sink is not open")

    def acknowledge(self) -> None:
        """Return, or lose the answer if the test said so."""
        with self.lock:
            if self.lost_acknowledgements > 0:
                self.lost_acknowledgements -= 1
                raise SinkBusy("the fake sink did the work and lost the answer")


class FakeTemplates(dict[TemplateId, TemplateRow]):
    """The stored rows by their ids, and the sink's view of them.

    Thread: any; calls take the sink's lock.
    """

    def __init__(self, sink: FakeSink, dim: int, *, ranks_words: bool) -> None:
        super().__init__()
        self._sink = sink
        self._dim = dim
        self.ranks_words = ranks_words

    @property
    def capabilities(self) -> TemplateCapabilities:
        return TemplateCapabilities(ranks_words=self.ranks_words, scans=False)

    def upsert(self, rows: Sequence[TemplateRow]) -> None:
        self._sink.begin("templates.upsert")
        for row in rows:
            self._check_vector(row.vector)
            if row.text in self._sink.rejected_texts or not _fits(row.text, TEMPLATE_TEXT_BYTES):
                raise SinkRejected(f"template {row.template!r}: its text is refused")
        self._sink.on_write(rows)
        with self._sink.lock:
            self.update((row.template, row._replace(vector=np.array(row.vector, np.float32))) for row in rows)
        self._sink.acknowledge()

    def vectors(self, templates: Collection[TemplateId]) -> dict[TemplateId, Vector]:
        self._sink.begin("templates.vectors")
        with self._sink.lock:
            return {one: self[one].vector.copy() for one in set(templates) & self.keys()}

    def texts(self, templates: Collection[TemplateId]) -> dict[TemplateId, TemplateText]:
        self._sink.begin("templates.texts")
        with self._sink.lock:
            return {one: self[one].text for one in set(templates) & self.keys()}

    def stored(self, templates: Collection[TemplateId]) -> set[TemplateId]:
        self._sink.begin("templates.stored")
        with self._sink.lock:
            return set(templates) & self.keys()

    def nearest(self, vectors: NDArray[np.float32], limit: int) -> list[list[TemplateHit]]:
        self._sink.begin("templates.nearest")
        for vector in vectors:
            self._check_vector(vector)
        with self._sink.lock:
            rows = list(self.values())
        answers = [[TemplateHit(row.template, _cosine(row.vector, vector), row.text) for row in rows] for vector in vectors]
        return [sorted(hits, key=lambda hit: -hit.score)[: max(limit, 0)] for hits in answers]

    def matching(self, text: str, limit: int) -> list[TemplateHit]:
        """Rank by BM25 (Robertson and Zaragoza 2009)."""
        self._sink.begin("templates.matching")
        if not self.ranks_words:
            raise ValueError("the fake sink is told to have no BM25")
        with self._sink.lock:
            rows = list(self.values())
        words = [Counter(_WORD.findall(row.text.lower())) for row in rows]
        mean = sum(map(Counter.total, words)) / max(len(rows), 1)
        scores = [0.0] * len(rows)
        for wanted, times in Counter(_WORD.findall(text.lower())).items():
            have = sum(wanted in one for one in words)
            rarity = math.log(1 + (len(rows) - have + 0.5) / (have + 0.5))
            for place, one in enumerate(words):
                if one[wanted]:
                    scores[place] += times * rarity * one[wanted] * 2.5 / (one[wanted] + 1.5 * (0.25 + 0.75 * one.total() / mean))
        hits = [TemplateHit(row.template, score, row.text) for score, row in zip(scores, rows, strict=True) if score > 0]
        return sorted(hits, key=lambda hit: (-hit.score, hit.template))[: max(limit, 0)]

    def all_above(self, last: str, limit: int) -> list[tuple[TemplateId, TemplateText]]:
        self._sink.begin("templates.all_above")
        with self._sink.lock:
            return [(one, self[one].text) for one in sorted(self) if one > last][:limit]

    def count(self) -> int:
        self._sink.begin("templates.count")
        with self._sink.lock:
            return len(self)

    def _check_vector(self, vector: NDArray[np.float32]) -> None:
        if vector.shape != (self._dim,) or not np.isfinite(vector).all():
            raise ValueError(f"a vector is not finite float32[{self._dim}]")


def passes(block: Block, only: BlockFilter) -> bool:
    """Whether a block passes a filter."""
    words, templates = set(block.words.tolist()), set(block.head.templates.tolist())
    return (
        (not only.topics or block.id.place.topic in only.topics)
        and only.epoch in (None, block.id.place.epoch)
        and only.partition in (None, block.id.place.partition)
        and (only.first_offset is None or block.last_offset >= only.first_offset)
        and (only.end_offset is None or block.first_offset < only.end_offset)
        and (only.since_ms is None or block.last_ms >= only.since_ms)
        and (only.until_ms is None or block.first_ms < only.until_ms)
        and (only.templates is None or not templates.isdisjoint(only.templates))
        and (ANY_WORD in words or words.issuperset(only.words))
        and (not only.services or not set(only.services).isdisjoint(block.head.services))
        and (not only.levels or not set(only.levels).isdisjoint(block.head.levels))
        and (only.spans is None or any(_is_in(block, span) for span in only.spans))
        and (only.besides is None or any(_is_beside(block, span) for span in only.besides))
        and block.id.place.topic not in only.not_topics
        and (not only.not_services or not set(block.head.services) <= set(only.not_services))
        and (not only.not_levels or not set(block.head.levels) <= set(only.not_levels))
    )


def is_unseen(one: BlockId, seen: Collection[SeenRun]) -> bool:
    """Whether a block begins behind what was seen of its run."""
    runs = {run.run: run.last for run in seen if run.place == one.place}
    return one.first > runs[one.run] if one.run in runs else one.run > max(runs, default="")


def _is_in(block: Block, span: OffsetSpan) -> bool:
    is_over = block.last_offset >= span.first_offset and block.first_offset < span.end_offset
    return is_over and block.id.place.partition == span.partition


def _is_beside(block: Block, span: RunSpan) -> bool:
    is_over = block.last_offset >= span.first_offset and block.first_offset < span.end_offset
    return is_over and block.id.place == span.place and block.id.run != span.run


def _content(block: Block) -> tuple[object, ...]:
    return block.places, block.texts, block.fields, block.lines, block.words.tolist()


def _fits(text: str, most_bytes: int) -> bool:
    try:
        return len(text.encode()) <= most_bytes
    except UnicodeEncodeError:
        return False


def _cosine(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    return float(one @ other / (np.linalg.norm(one) * np.linalg.norm(other)))
