"""A worker that has just been given partitions, before its first record is prepared."""

from collections.abc import Callable, Sequence

import numpy as np

from consumers.assignment import Receipt
from consumers.ledger import Ledger
from consumers.record import Partition, Record
from sinks.block import Block
from sinks.line import Line
from sinks.lines import lines_of
from sinks.reading.reader import BlockReader
from sinks.sink import Sink
from tests.consumers.records import Letters, admit_batch
from tests.fakes.sink import FakeSink
from tests.world import DIM, line, template
from worker.indexing.line_batch import LineBatch
from worker.indexing.resume import Resume
from worker.indexing.runs import Runs
from worker.runtime.surroundings import Surroundings

TOPIC = "logs"
EPOCH = line(0).epoch
NOW_MS = 1_700_000_000_000


class Resuming:
    """The real resume, runs and reader, on the fake sink or another one; time stands still but while it pauses."""

    def __init__(self, *blocks: Block, window_records: int = 1_000, sink: Sink | None = None, partitions: int = 8) -> None:
        self._sink = sink or FakeSink(DIM)
        if sink is None:
            self._sink.open()
        self.now_s = 100.0
        self.pauses: list[float] = []
        self.give_up_after = 1_000
        self.on_pause: Callable[[], object] = lambda: None
        self.said: list[str] = []
        self.passed: list[str] = []
        self.ledger = Ledger(cap_records=1 << 20, cap_bytes=1 << 40, dead_letter=Letters())
        self.partitions = [Partition(TOPIC, number) for number in range(partitions)]
        self.ledger.assign(self.partitions)
        surroundings = Surroundings(
            clock=lambda: self.now_s,
            wall_ms=lambda: float(NOW_MS),
            say=self.said.append,
            pause=self._pause,
            is_abandoned=lambda: self._pause(0.0),
            fail_point=self.passed.append,
        )
        self.runs = Runs(surroundings, draw_bits=lambda _bits: 7)
        self.resume = Resume(
            sink=self._sink,
            reader=BlockReader(self._sink, clock=lambda: self.now_s),
            runs=self.runs,
            window_records=window_records,
            surroundings=surroundings,
        )
        self.store(*blocks)

    @property
    def sink(self) -> FakeSink:
        """The fake."""
        assert isinstance(self._sink, FakeSink)
        return self._sink

    def store(self, *blocks: Block) -> None:
        """Put blocks into the index."""
        self._sink.write_blocks(blocks)

    def store_templates(self, *texts: str) -> None:
        self._sink.templates.upsert([template(text) for text in texts])

    def admit(self, *offsets: int, partition: int = 0) -> Receipt:
        """Take records in, as one batch in the order of their offsets."""
        return admit_batch(self.ledger, *(Record(TOPIC, partition, offset, EPOCH, 1_000 * offset, None, b"x", ()) for offset in offsets))

    def begin_again(self, *partitions: int) -> None:
        """Lose partitions and get them back."""
        again = [Partition(TOPIC, number) for number in partitions]
        self.ledger.revoke(again)
        self.ledger.assign(again)

    def skips(self, receipt: Receipt, lines: Sequence[Line]) -> list[bool]:
        """Return which of these lines, of records of one batch, are passed over."""
        rows = np.searchsorted(receipt.records.offset, [one.offset for one in lines])
        batch = LineBatch(receipt.assignment, receipt.arrival[rows], lines_of(lines))
        stored: list[bool] = self.resume.stored(batch).tolist()
        assert self.resume.has_windows(receipt.assignment) or not any(stored), "it is not asked without windows"
        return stored

    def skipped(self, *offsets: int, partition: int = 0) -> list[int]:
        """Look back for these records, each of a usual line; return the offsets of those that are passed over."""
        receipt = self.admit(*offsets, partition=partition)
        assert self.resume.look_back([receipt])
        skips = self.skips(receipt, [line(offset, partition=partition) for offset in offsets])
        return [offset for offset, is_skipped in zip(offsets, skips, strict=True) if is_skipped]

    def run_id(self, receipt: Receipt) -> str:
        """Return the id of the run of a batch's assignment."""
        run = self.runs.of(receipt.assignment)
        assert run is not None
        return run.id

    def reads(self) -> int:
        """How many times blocks were listed since this was asked last."""
        count = self.sink.calls.count("find_blocks")
        self.sink.calls.clear()
        return count

    def _pause(self, seconds: float) -> bool:
        self.on_pause()
        self.pauses.append(seconds)
        self.now_s += seconds
        return len(self.pauses) >= self.give_up_after
