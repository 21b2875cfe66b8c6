"""A worker that has just been given partitions, before its first record is prepared."""

from collections.abc import Sequence

from consumers.ledger import Ledger, Receipt
from consumers.record import Partition, Record
from sinks.block import Block
from sinks.line import Line
from sinks.reading.reader import BlockReader
from sinks.sink import Sink
from tests.consumers.records import Letters
from tests.fakes.sink import FakeSink
from tests.sinks.blocks import DIM, line, template
from worker.indexing.resume import Resume
from worker.indexing.runs import Runs

TOPIC = "logs"
EPOCH = line(0).epoch
NOW_MS = 1_700_000_000_000


class Resuming:
    """The real resume, runs and reader, on the fake sink or another one; time stands still but while it pauses.

    Thread: the test's.
    """

    def __init__(self, *blocks: Block, window_records: int = 1_000, sink: Sink | None = None, partitions: int = 8) -> None:
        self._sink = sink or FakeSink(DIM)
        if sink is None:
            self._sink.open()
        self.now_s = 100.0
        self.pauses: list[float] = []
        self.give_up_after = 1_000
        self.said: list[str] = []
        self.passed: list[str] = []
        self.ledger = Ledger(cap_records=1 << 20, cap_bytes=1 << 40, dead_letter=Letters())
        self.partitions = [Partition(TOPIC, number) for number in range(partitions)]
        self.ledger.assign(self.partitions)
        self.runs = Runs(clock=lambda: self.now_s, wall_ms=lambda: float(NOW_MS), draw_bits=lambda _bits: 7)
        self.resume = Resume(
            sink=self._sink,
            reader=BlockReader(self._sink, clock=lambda: self.now_s),
            runs=self.runs,
            window_records=window_records,
            say=self.said.append,
            pause=self._pause,
            clock=lambda: self.now_s,
            fail_point=self.passed.append,
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
        self._sink.upsert_templates([template(text) for text in texts])

    def admit(self, *offsets: int, partition: int = 0) -> list[Receipt]:
        """Take records in, in the order of their offsets."""
        receipts = [self.ledger.admit(Record(TOPIC, partition, offset, EPOCH, 1_000 * offset, None, b"x", ())) for offset in offsets]
        return [receipt for receipt in receipts if receipt is not None]

    def begin_again(self, *partitions: int) -> None:
        """Lose partitions and get them back."""
        again = [Partition(TOPIC, number) for number in partitions]
        self.ledger.revoke(again)
        self.ledger.assign(again)

    def skips(self, receipt: Receipt, lines: Sequence[Line]) -> bool:
        """Whether the entry of these lines is passed over."""
        stored = self.resume.stored_entries(receipt)
        return stored is not None and stored.holds(lines)

    def skipped(self, *offsets: int, partition: int = 0) -> list[int]:
        """Look back for these records, each of a usual line; return the offsets of those that are passed over."""
        receipts = self.admit(*offsets, partition=partition)
        assert self.resume.look_back(receipts)
        return [one.record.offset for one in receipts if self.skips(one, [line(one.record.offset, partition=partition)])]

    def run_id(self, receipt: Receipt) -> str:
        """Return the id of the run of a record's assignment."""
        run = self.runs.of(receipt.assignment)
        assert run is not None
        return run.id

    def reads(self) -> int:
        """How many times blocks were listed since this was asked last."""
        count = self.sink.calls.count("find_blocks")
        self.sink.calls.clear()
        return count

    def _pause(self, seconds: float) -> bool:
        self.pauses.append(seconds)
        self.now_s += seconds
        return len(self.pauses) >= self.give_up_after
