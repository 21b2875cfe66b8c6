"""An index of many lines, filled without a broker and without a model: in a local folder for `benchmarks.search_growth`, or on a server.

The lines are copies of a few ten thousand (`benchmarks.copies`). Vectors are random, those of one service near each other.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from random import Random
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from benchmarks.copies import copies
from consumers.text.mask import MASKS_VERSION, Masker
from sinks.arrow import string_column
from sinks.block import Block, BlockId, BlockPlace, CodedColumn, Lines, new_run
from sinks.build import BlockBounds, build
from sinks.index_spaces import VectorSpace
from sinks.lines import coded, take_coded
from sinks.milvus.milvus_settings import MilvusSettings
from sinks.milvus.milvus_sink import MilvusSink
from sinks.row import TemplateRow, TemplateText, template_id
from sinks.sink import SinkBusy, SinkCounts

DIM = 384
SPACE = "benchmark"
TOPIC, EPOCH = "logs", "0a0b0c0d"
PARTITIONS = 4
START_MS = 1_700_000_000_000
GAP_MS = 8
"""Between a line and the next one: 125 lines a second."""
SERVICES = tuple(f"service-{number:02d}" for number in range(12))
LEVELS = ("INFO", "INFO", "INFO", "WARN", "ERROR", "")
_BLOCKS_AT_ONCE = 64
_TEMPLATES_AT_ONCE = 2_000
_SAMPLES_A_COPY = 20
_ATTEMPTS, _BUSY_S = 5, 2.0
"""At a write, and between two."""
_SEED = 7
_Text = TypeVar("_Text", bound=str)


class Sample(NamedTuple):
    """One of the stored lines."""

    number: int
    """Which one it is, counted from 0 over all partitions."""
    text: str

    @property
    def partition(self) -> int:
        """Where it is."""
        return self.number % PARTITIONS

    @property
    def offset(self) -> int:
        """Where it is."""
        return self.number // PARTITIONS


class Filled(NamedTuple):
    """An index that was filled."""

    sink: MilvusSink
    """Open."""
    lines: int
    raw_bytes: int
    """UTF-8 bytes of all texts."""
    samples: Sequence[Sample]
    templates: Sequence[TemplateRow]
    longest_insert_s: float
    """Of the calls that stored blocks, 64 at a time."""
    start_ms: int = START_MS
    """The time of the first line."""

    @property
    def end_ms(self) -> int:
        """After the time of the last line."""
        return self.start_ms + GAP_MS * self.lines


def fill(folder: Path, texts: Sequence[str], lines: int, *, space: str = SPACE, start_ms: int = START_MS) -> Filled:
    """Store that many copies of these texts in a new local folder, as blocks as the worker makes them. Close the sink afterwards.

    `space` names the embedding space: a worker opens only an index of its own.
    """
    return fill_index(MilvusSettings(uri=str(folder)), texts, lines, space=space, start_ms=start_ms)


def fill_index(settings: MilvusSettings, texts: Sequence[str], lines: int, *, space: str = SPACE, start_ms: int = START_MS) -> Filled:
    """Do the same in new collections anywhere. A few thousand lines and a copy of the texts are in memory at a time."""
    random, texts = Random(_SEED), texts[:lines]
    sink = MilvusSink(settings, VectorSpace(DIM, space))
    sink.open()
    columns = _Columns(texts, start_ms)
    for at in range(0, len(columns.templates), _TEMPLATES_AT_ONCE):
        sink.templates.upsert(columns.templates[at : at + _TEMPLATES_AT_ONCE])
    numbers = [count() for _ in range(PARTITIONS)]
    run, waiting, samples, raw_bytes, blocks = new_run(START_MS, 0), list[Block](), list[Sample](), 0, 0
    longest_s = 0.0
    for first, copied in _pieces(texts, lines):
        raw_bytes += sum(len(text.encode("utf-8", "replace")) for text in copied)
        samples += [Sample(first + i, copied[i]) for i in random.sample(range(len(copied)), min(_SAMPLES_A_COPY, len(copied)))]
        for partition in range(PARTITIONS):
            place = BlockPlace(TOPIC, EPOCH, partition)
            rows = np.arange(-(first - partition) % PARTITIONS, len(copied), PARTITIONS)
            for built in build(columns.lines_of(first, copied, rows), masks=str(MASKS_VERSION), written_ms=START_MS):
                number = next(numbers[partition])
                waiting.append(built.block._replace(id=BlockId(place, run, number, number)))
        if len(waiting) >= _BLOCKS_AT_ONCE or first + len(copied) == lines:
            began_s = time.perf_counter()
            _write(sink, waiting)
            longest_s = max(longest_s, time.perf_counter() - began_s)
            blocks += len(waiting)
            waiting = []
    if sink.counts() != SinkCounts(blocks, len(columns.templates)):
        raise SystemExit(f"the index has {sink.counts()}, not {blocks} blocks: the figures would be worth nothing")
    return Filled(sink, lines, raw_bytes, samples, columns.templates, longest_s, start_ms)


def new_sink(folder: Path, space: str = SPACE) -> MilvusSink:
    """Return the sink of a local folder, not open yet."""
    return MilvusSink(MilvusSettings(uri=str(folder)), VectorSpace(DIM, space))


def _write(sink: MilvusSink, blocks: Sequence[Block]) -> None:
    """Write, and again while a server is busy. Raises SinkBusy."""
    for attempt in range(_ATTEMPTS):
        with suppress(SinkBusy):
            sink.write_blocks(blocks, again=attempt > 0)
            return
        time.sleep(_BUSY_S)
    sink.write_blocks(blocks, again=True)


class _Columns:
    """What all copies have in common."""

    def __init__(self, texts: Sequence[str], start_ms: int) -> None:
        self._start_ms = start_ms
        masked = Masker().mask(list(texts))
        self._size = len(texts)
        self._template = coded([TemplateText(text) for text in masked])
        self._service = coded([service_of(text) for text in masked])
        self._level = coded([LEVELS[_hash_of(text) // len(SERVICES) % len(LEVELS)] for text in masked])
        names = self._template.values
        draw = np.random.default_rng(_SEED)
        middle = dict(zip(SERVICES, _unit(draw.standard_normal((len(SERVICES), DIM))), strict=True))
        vectors = _unit(np.array([middle[service_of(text)] for text in names]) + _unit(draw.standard_normal((len(names), DIM))))
        self.templates = [TemplateRow(template_id(text), vector, text) for text, vector in zip(names, vectors, strict=True)]

    def lines_of(self, first: int, copied: Sequence[str], rows: NDArray[np.int64]) -> Lines:
        """Return some lines of a piece, which begins with line number `first`."""
        number = first + rows

        def one(column: CodedColumn[_Text]) -> CodedColumn[_Text]:
            return take_coded(column, number % self._size)

        zeros, ones = np.zeros(len(rows), np.int32), np.ones(len(rows), np.int32)
        time_ms = self._start_ms + GAP_MS * number
        return Lines(
            offset=number // PARTITIONS,
            sub=zeros,
            chunk=zeros,
            chunks=ones,
            cut=np.zeros(len(rows), np.uint64),
            records=ones,
            entries=ones,
            time=time_ms,
            kafka_time=time_ms,
            leader_epoch=zeros,
            last_leader_epoch=zeros,
            service=one(self._service),
            level=one(self._level),
            template=one(self._template),
            text=string_column([copied[row] for row in rows.tolist()]),
            fields=string_column([None] * len(rows)),
        )


def service_of(template: str) -> str:
    """Return the service that logs a template."""
    return SERVICES[_hash_of(template) % len(SERVICES)]


def _unit(vectors: NDArray[np.float64]) -> NDArray[np.float32]:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def _hash_of(text: str) -> int:
    return int(template_id(TemplateText(text))[:8], 16)


def _pieces(texts: Sequence[str], lines: int) -> Iterator[tuple[int, list[str]]]:
    """Yield pieces that make a block for each partition, each with the number of its first line."""
    piece, waiting, first = PARTITIONS * BlockBounds().lines, list[str](), 0
    for copied in copies(texts, lines):
        waiting += copied
        while len(waiting) >= piece or (waiting and first + len(waiting) == lines):
            yield first, waiting[:piece]
            first, waiting = first + len(waiting[:piece]), waiting[piece:]
