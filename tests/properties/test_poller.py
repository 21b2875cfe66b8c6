"""Whatever happens between a poller and its broker, no record is skipped and no other member's position moves."""

from collections.abc import Mapping
from functools import partial

from hypothesis import given, settings
from hypothesis import strategies as st

from consumers.record import Partition
from tests.consumers.scene import Scene
from tests.fakes.source import FakeSource

PARTITIONS = 3
Turn = tuple[str, tuple[int, ...]]

partitions = st.integers(0, PARTITIONS - 1)
turns = st.one_of(
    st.tuples(st.just("produce"), st.tuples(partitions, st.integers(1, 4), st.sampled_from([0, 0, 3]))),
    st.tuples(st.just("mark"), st.tuples(partitions)),
    st.tuples(st.just("settle"), st.lists(st.integers(0, 30), min_size=1, max_size=4).map(tuple)),
    st.tuples(st.just("settle_all"), st.just(())),
    st.tuples(st.just("own"), st.sets(partitions).map(tuple)),
    st.tuples(st.just("lose"), st.just(())),
    st.tuples(st.just("ask_to_begin_again"), st.tuples(partitions, st.integers(0, 3))),
    st.tuples(st.just("refuse"), st.sets(partitions).map(tuple)),
    st.tuples(st.just("another_member_works"), st.tuples(partitions)),
)


class Play:
    """One scene with its turns, and the checks."""

    def __init__(self, turns: list[Turn]) -> None:
        self._turns = turns
        self._scene = Scene(partitions=PARTITIONS, cap_records=4, max_fetch_records=3)
        self._scene.broker.on_commit = self._check_commit
        self._by_others: set[tuple[Partition, int]] = set()

    def run(self) -> None:
        scene = self._scene
        at_last: list[Turn] = [("refuse", ()), ("own", tuple(range(PARTITIONS)))]
        scene.play(
            *(partial(self._act, name, numbers) for name, numbers in self._turns + at_last), *[scene.settle] * (4 * len(self._turns) + 5)
        )
        logs = {partition: scene.broker.read(partition, 0, 10_000) for partition in scene.broker.partitions}
        done = self._settled() | self._by_others
        assert all((partition, record.offset) in done for partition, log in logs.items() for record in log)
        ends = {partition: scene.broker.end_of(partition) for partition in logs}
        assert scene.broker.committed == {partition: end for partition, end in ends.items() if end}, "behind the markers, too"
        assert (scene.ledger.open_records, scene.ledger.open_bytes) == (0, 0)

    def _act(self, name: str, numbers: tuple[int, ...]) -> None:
        scene = self._scene
        if name in ("produce", "ask_to_begin_again"):
            (self._produce if name == "produce" else self._ask_to_begin_again)(*numbers)
        elif name == "mark":
            scene.broker.mark(numbers[0])
        elif name == "settle":
            unsettled = [n for n, claim in enumerate(scene.delivered) if claim not in scene.settled]
            for n in {unsettled[number % len(unsettled)] for number in numbers if unsettled}:
                scene.settle(n)
        elif name == "settle_all":
            scene.settle()
        elif name == "own":
            scene.give(*numbers)
        elif name == "lose":
            scene.source.lost = True
        elif name == "refuse":
            scene.broker.refused = {scene.partition(number): "told to" for number in numbers}
        elif scene.partition(numbers[0]) not in scene.source.assigned:
            self._let_another_member_work(scene.partition(numbers[0]))

    def _produce(self, partition: int, records: int, gap: int) -> None:
        for _ in range(records):
            self._scene.broker.produce(partition, b"x", gap=gap)

    def _ask_to_begin_again(self, partition: int, back: int) -> None:
        claims = [claim for claim in self._scene.delivered if claim.record.partition == partition and claim.is_alive]
        if claims:
            claims[0].assignment.begin_again(max((claims[0].assignment.first_offset or 0) - back, 0))

    def _let_another_member_work(self, partition: Partition) -> None:
        """Let another owner settle and commit everything."""
        log = self._scene.broker.read(partition, self._scene.broker.committed.get(partition, 0), 10_000)
        if log and partition not in self._scene.broker.owners:
            self._by_others |= {(partition, record.offset) for record in log}
            self._scene.broker.committed[partition] = log[-1].offset + 1

    def _check_commit(self, member: FakeSource, next_offsets: Mapping[Partition, int]) -> None:
        done = self._settled() | self._by_others
        for partition, next_offset in next_offsets.items():
            assert partition in member.assigned, "a commit for a partition of another member"
            assert partition not in self._scene.ledger.asked_to_begin_again(), "a commit of an assignment that is to begin again"
            assert next_offset <= self._scene.broker.end_of(partition), "a position beyond the end"
            assert next_offset >= self._scene.broker.committed.get(partition, 0), "a position was moved back"
            passed = [record.offset for record in self._scene.broker.read(partition, 0, 10_000) if record.offset < next_offset]
            assert all((partition, offset) in done for offset in passed), "a record was skipped"

    def _settled(self) -> set[tuple[Partition, int]]:
        records = (claim.record for claim in self._scene.settled)
        return {(Partition(record.topic, record.partition), record.offset) for record in records}


@settings(max_examples=300, deadline=None)
@given(story=st.lists(turns, max_size=30))
def test_no_record_is_passed_over_no_position_moved_back_and_no_lag_left(story: list[Turn]) -> None:
    Play(story).run()
