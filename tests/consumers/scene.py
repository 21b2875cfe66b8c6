"""A poller on a fake broker, run turn by turn on the test's own thread: no waiting, and the test decides the order."""

from collections.abc import Callable

from consumers.assignment import Claim, Receipt
from consumers.ledger import Ledger
from consumers.poller import Poller, PollerSettings
from consumers.record import Partition
from tests.consumers.records import Letters
from tests.fakes.source import FakeBroker, FakeSource

NO_GRACE_S = 25.0
"""A `max_poll_interval_s` so short that a revocation cannot wait."""


def idle() -> None:
    """A turn in which nothing happens."""


def turn(*calls: Callable[[], object]) -> Callable[[], None]:
    """Make one turn of several calls."""

    def make_all() -> None:
        for call in calls:
            call()

    return make_all


class Scene:
    """One poller and the outcome of its records."""

    def __init__(
        self,
        *,
        partitions: int = 2,
        cap_records: int = 100,
        cap_bytes: int = 1_000_000,
        max_fetch_records: int = 500,
        commit_interval_s: float = 0.0,
        max_poll_interval_s: float = NO_GRACE_S,
        patience_s: float = 0.0,
        fail_point: Callable[[str], None] = lambda _point: None,
    ) -> None:
        self.broker = FakeBroker(partitions=partitions)
        self.source = FakeSource(self.broker)
        self.said: list[str] = []
        self.batches: list[list[Receipt]] = []
        """What was delivered, call by call."""
        self.delivered: list[Claim] = []
        """The claim on each record that was delivered, in order."""
        self.settled: list[Claim] = []
        self.ledger = Ledger(cap_records=cap_records, cap_bytes=cap_bytes, dead_letter=Letters())
        self.poller = Poller(
            source=self.source,
            ledger=self.ledger,
            deliver=self._deliver,
            settings=PollerSettings(
                max_fetch_records=max_fetch_records,
                commit_interval_s=commit_interval_s,
                max_poll_interval_s=max_poll_interval_s,
                patience_s=patience_s,
            ),
            say=self.said.append,
            fail_point=fail_point,
        )

    def play(self, *turns: Callable[[], object]) -> None:
        """Run the poller; each of its polls begins with the next turn, and after the last turn it finishes."""
        self.source.turns = [*turns, lambda: self.poller.finish(commit=True)]
        self.poller.run()

    def produce(self, partition: int, records: int) -> None:
        """Append small records to a partition."""
        for _ in range(records):
            self.broker.produce(partition, b"a line")

    def settle(self, *numbers: int) -> None:
        """Settle the records with these numbers, in order of delivery from 0; without numbers, all that are open."""
        for claim in [self.delivered[n] for n in numbers] or [one for one in self.delivered if one not in self.settled]:
            claim.expect(1, decoded_bytes=0)
            claim.settle()
            self.settled.append(claim)

    def fall_silent(self, *numbers: int) -> None:
        """Settle records, whose commit and every later one have no outcome until `answer`."""
        self.source.silent = True
        self.settle(*numbers)

    def answer(self) -> None:
        self.source.silent = False

    def lose(self) -> None:
        """Take the poller's partitions away without asking."""
        self.source.lost = True

    def offsets(self, partition: int) -> list[int]:
        """Return the offsets delivered from a partition, in order."""
        return [claim.record.offset for claim in self.delivered if claim.record.partition == partition]

    def give(self, *partitions: int) -> None:
        """Begin a rebalance after which the poller owns exactly these partitions."""
        self.broker.move({self.source: partitions})

    def committed(self) -> dict[int, int]:
        """Return the group's position in each partition that has one."""
        return {partition.partition: next_offset for partition, next_offset in self.broker.committed.items()}

    def partition(self, number: int) -> Partition:
        return self.broker.partitions[number]

    def _deliver(self, receipts: list[Receipt]) -> None:
        self.batches.append(receipts)
        self.delivered += [receipt.claim(row) for receipt in receipts for row in range(receipt.records.size)]
