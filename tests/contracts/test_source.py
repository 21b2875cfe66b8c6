"""What every source of records must do, run on the fake broker, on librdkafka's mock cluster and on a real Kafka, with both protocols."""

import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from consumers.assignment import Receipt
from consumers.ledger import Ledger
from consumers.poller import Poller, PollerSettings
from consumers.record import NO_LEADER_EPOCH, Partition, Record
from tests.contracts.groups import PARTITIONS, WAIT_S, FakeWorld, KafkaWorld, Member, World, poll_until
from tests.services.kafka import KafkaServer
from tests.services.mock_kafka import MockKafka

ALL = set(range(PARTITIONS))
NewMember = Callable[..., Member]


WORLDS = [
    "fake",
    # the mock delays each join of a classic group by 3 s
    *(pytest.param(name, marks=pytest.mark.process) for name in ("mock-consumer", "kafka-classic", "kafka-consumer")),
]


@pytest.fixture(params=WORLDS)
def world(request: pytest.FixtureRequest, unique: Callable[[str], str]) -> World:
    name, _, protocol = request.param.partition("-")
    if name == "fake":
        return FakeWorld()
    topic, group = unique("logs"), unique("group")
    if name == "mock":
        mock: MockKafka = request.getfixturevalue("mock_kafka")
        return KafkaWorld(mock.bootstrap, topic=topic, group=group, protocol=protocol, topic_epoch="mock")
    kafka: KafkaServer = request.getfixturevalue("kafka")
    kafka.create_topic(topic, partitions=PARTITIONS)
    return KafkaWorld(kafka.bootstrap, topic=topic, group=group, protocol=protocol)


@pytest.fixture
def new_member(world: World) -> Iterator[NewMember]:
    """Make members of the group; all are closed after the test."""
    members: list[Member] = []

    def join(*, impatient: bool = False) -> Member:
        members.append(Member(world.new_source(impatient=impatient)))
        return members[-1]

    yield join
    for member in members:
        member.close()


def produce(world: World, records: int, *, partitions: set[int] = ALL) -> None:
    for partition in partitions:
        for number in range(records):
            world.produce(partition, b"line %d" % number)


def named(world: World, next_offsets: dict[int, int]) -> dict[Partition, int]:
    return {Partition(world.topic, partition): next_offset for partition, next_offset in next_offsets.items()}


def begin_again(member: Member, wanted: dict[Partition, int]) -> None:
    """Have partitions begin again; a broker on a busy machine may not answer in time."""
    begun: dict[Partition, int] = {}

    def have_all_begun() -> bool:
        left = {partition: next_offset for partition, next_offset in wanted.items() if partition not in begun}
        begun.update(member.source.begin_again(left))
        return begun == wanted

    poll_until(have_all_begun, member)


def admitted(receipts: list[Receipt]) -> int:
    return sum(receipt.records.size for receipt in receipts)


def committed(world: World) -> dict[int, int | None]:
    return {partition: world.committed(partition) for partition in ALL}


def test_a_record_carries_what_was_produced_and_none_where_nothing_was(world: World, new_member: NewMember) -> None:
    headers = (("trace", b"\x00\xff"), ("empty", b""), ("none", None), ("trace", b"again"))
    world.produce(0, b"\x00value\xff", key=b"key", headers=headers, time_ms=1_700_000_000_123)
    world.produce(0, None)
    world.produce(0, b"")
    member = new_member()
    poll_until(lambda: len(member.records) == 3, member)
    full, tombstone, empty = member.records
    plain = full._replace(epoch="", leader_epoch=NO_LEADER_EPOCH)
    assert plain == Record(world.topic, 0, 0, "", 1_700_000_000_123, b"key", b"\x00value\xff", headers)
    assert [record.leader_epoch for record in member.records] == [0, 0, 0]
    assert (tombstone.key, tombstone.value, tombstone.headers) == (None, None, ())
    assert (empty.key, empty.value, empty.headers) == (None, b"", ())
    assert len({record.epoch for record in member.records}) == 1
    assert full.epoch


def test_the_records_of_a_partition_come_together_and_in_order(world: World, new_member: NewMember) -> None:
    produce(world, 50)
    source = new_member().source
    ends = dict.fromkeys(ALL, 0)
    deadline_s = time.monotonic() + WAIT_S
    while min(ends.values()) < 50:
        assert time.monotonic() < deadline_s
        batches = source.fetch(1_000, 0.1)
        assert len({records.partition for records in batches}) == len(batches), "each partition once"
        for records in batches:
            assert {records.offset.dtype, records.time_ms.dtype} == {np.dtype(np.int64)}
            assert records.offset.tolist() == list(range(ends[records.partition], ends[records.partition] + records.size))
            assert [*records.value] == [b"line %d" % offset for offset in records.offset]
            assert records.time_ms.tolist() == [1] * records.size
            assert (records.key, records.headers) == (None, None)
            ends[records.partition] += records.size


def test_a_fetch_brings_no_more_than_asked_for(world: World, new_member: NewMember) -> None:
    produce(world, 20)
    member = new_member()
    sizes: list[int] = []
    while len(member.records) < 20 * PARTITIONS:
        sizes.append(len(member.fetch(3)))
    assert max(sizes) == 3
    assert all(member.offsets(partition) == list(range(20)) for partition in ALL)


def test_where_nothing_is_nothing_comes(world: World, new_member: NewMember) -> None:
    member = new_member()
    poll_until(lambda: member.owned == ALL, member)
    assert [member.fetch() for _ in range(10)] == [[]] * 10
    produce(world, 1, partitions={3})
    poll_until(lambda: member.offsets(3) == [0], member)


def test_paused_it_polls_and_delivers_nothing_and_resumed_it_goes_on_where_it_was(world: World, new_member: NewMember) -> None:
    produce(world, 5)
    member = new_member()
    poll_until(lambda: all(member.offsets(partition) for partition in ALL), member)
    member.source.pause()
    taken = len(member.records)
    produce(world, 5)
    for _ in range(20):
        member.source.pause()
        assert member.fetch() == []
    assert len(member.records) == taken
    member.source.resume()
    poll_until(lambda: len(member.records) >= 10 * PARTITIONS, member)
    assert all(member.offsets(partition) == list(range(10)) for partition in ALL)


def test_pausing_before_anything_came_loses_nothing(world: World, new_member: NewMember) -> None:
    produce(world, 5)
    first = new_member()
    poll_until(lambda: len(first.records) == 5 * PARTITIONS, first)
    assert first.commit(named(world, dict.fromkeys(ALL, 3))) == {}
    first.close()
    member = new_member()
    member.source.pause()
    poll_until(lambda: bool(member.owned), member)
    member.source.pause()
    member.source.resume()
    poll_until(lambda: len(member.records) >= 2 * PARTITIONS, member)
    assert all(member.offsets(partition) == [3, 4] for partition in ALL)


def test_the_next_member_begins_at_what_was_committed(world: World, new_member: NewMember) -> None:
    produce(world, 5)
    first = new_member()
    poll_until(lambda: len(first.records) == 5 * PARTITIONS, first)
    assert committed(world) == dict.fromkeys(ALL)
    assert first.commit(named(world, {0: 2, 1: 5})) == {}
    assert committed(world) == {0: 2, 1: 5, 2: None, 3: None}
    first.close()
    second = new_member()
    poll_until(lambda: len(second.records) >= 13, second)
    assert [second.offsets(partition) for partition in sorted(ALL)] == [[2, 3, 4], [], [0, 1, 2, 3, 4], [0, 1, 2, 3, 4]]


def test_a_partition_that_is_refused_is_named_and_the_others_are_committed(world: World, new_member: NewMember) -> None:
    produce(world, 3)
    member = new_member()
    poll_until(lambda: len(member.records) == 3 * PARTITIONS, member)
    refused = member.commit(named(world, {0: 1, 99: 7, 1: 2}))
    assert refused[Partition(world.topic, 99)]
    assert committed(world) == {0: 1, 1: 2, 2: None, 3: None}
    assert member.commit(named(world, {0: 1, 1: 2})) == {}


def test_the_logs_ends_are_known_once_something_came(world: World, new_member: NewMember) -> None:
    produce(world, 4)
    member = new_member()
    poll_until(lambda: len(member.records) == 4 * PARTITIONS, member)
    assert member.source.end_offsets() == named(world, dict.fromkeys(ALL, 4))


def test_a_second_member_gets_partitions_only_after_the_first_has_given_them_back(world: World, new_member: NewMember) -> None:
    first = new_member()
    poll_until(lambda: first.owned == ALL, first)
    second = new_member()
    both_owned: list[int] = []
    second.at_assign = lambda gained: both_owned.extend(first.owned & {partition.partition for partition in gained})
    poll_until(lambda: len(second.owned) == 2, first, second)
    assert first.owned | second.owned == ALL
    assert first.owned.isdisjoint(second.owned)
    assert both_owned == []
    produce(world, 3)
    poll_until(lambda: len(first.records) + len(second.records) == 3 * PARTITIONS, first, second)
    assert {record.partition for record in second.records} == second.owned


def test_what_is_committed_while_partitions_are_revoked_is_where_the_next_owner_begins(world: World, new_member: NewMember) -> None:
    produce(world, 5)
    first = new_member()
    poll_until(lambda: len(first.records) == 5 * PARTITIONS, first)
    first.at_revoke = lambda gone: first.source.commit(dict.fromkeys(gone, 4), is_last=True)
    second = new_member()
    poll_until(lambda: len(second.owned) == 2 and all(second.offsets(partition) for partition in second.owned), first, second)
    assert all(second.offsets(partition) == [4] for partition in second.owned)
    poll_until(lambda: [len(accepted) for accepted in first.accepted] == [2], first)
    assert not any(first.refused)


def test_partitions_of_a_member_that_left_come_back_and_are_not_paused(world: World, new_member: NewMember) -> None:
    produce(world, 5)
    first = new_member()
    poll_until(lambda: len(first.records) == 5 * PARTITIONS, first)
    first.source.pause()
    second = new_member()
    poll_until(lambda: len(second.owned) == 2, first, second)
    moved = set(second.owned)
    poll_until(lambda: all(second.offsets(partition) == list(range(5)) for partition in moved), first, second)
    assert second.commit(named(world, dict.fromkeys(moved, 3))) == {}
    second.close()
    poll_until(lambda: first.owned == ALL, first)
    first.source.resume()
    poll_until(lambda: all(first.offsets(partition)[5:] == [3, 4] for partition in moved), first)
    assert all(first.offsets(partition) == list(range(5)) for partition in ALL - moved)


def test_closing_gives_back_everything(world: World, new_member: NewMember) -> None:
    produce(world, 2)
    member = new_member()
    poll_until(lambda: len(member.records) == 2 * PARTITIONS, member)
    member.at_revoke = lambda gone: member.source.commit(dict.fromkeys(gone, 1), is_last=True)
    member.close()
    assert member.owned == set()
    assert committed(world) == dict.fromkeys(ALL, 1)


def test_a_partition_that_begins_again_is_committed_there_before_its_records_come_again(world: World, new_member: NewMember) -> None:
    produce(world, 8)
    member = new_member()
    poll_until(lambda: len(member.records) == 8 * PARTITIONS, member)
    assert member.commit(named(world, dict.fromkeys(ALL, 8))) == {}
    events = list(member.events)
    wanted = named(world, {0: 3, 2: 5})
    begin_again(member, wanted)
    while not member.offsets(0)[8:]:
        member.fetch()
    assert world.committed(0) == 3
    produce(world, 1, partitions={1})
    poll_until(lambda: len(member.offsets(0)) == 13 and len(member.offsets(2)) == 11 and len(member.offsets(1)) == 9, member)
    assert member.offsets(0)[8:] == [3, 4, 5, 6, 7]
    assert member.offsets(2)[8:] == [5, 6, 7]
    assert committed(world) == {0: 3, 1: 8, 2: 5, 3: 8}
    assert member.events == events, "the caller begins another assignment"


@pytest.mark.parametrize("is_paused", [False, True])
def test_a_partition_that_begins_again_comes_back_even_if_it_was_paused(world: World, new_member: NewMember, *, is_paused: bool) -> None:
    produce(world, 4, partitions={0})
    member = new_member()
    poll_until(lambda: member.offsets(0) == [0, 1, 2, 3], member)
    if is_paused:
        member.source.pause()
    begin_again(member, named(world, {0: 2}))
    member.source.resume()
    poll_until(lambda: len(member.offsets(0)) == 6, member)
    assert member.offsets(0)[4:] == [2, 3]
    poll_until(lambda: member.source.reached().get(Partition(world.topic, 0)) == 4, member)


@pytest.mark.parametrize("world", [WORLDS[0], *WORLDS[2:]], indirect=True)  # the mock takes 45 s to notice
def test_a_member_that_did_not_poll_has_lost_its_partitions_and_may_join_again(world: World, new_member: NewMember) -> None:
    produce(world, 5)
    sleeper, other = new_member(impatient=True), new_member(impatient=True)
    poll_until(lambda: len(sleeper.owned) == len(other.owned) == 2, sleeper, other)
    told: list[str] = []
    for _ in range(3):  # if the machine stalls for a session, both leave the group, before the member that does not poll
        before = len(sleeper.events)
        world.stop_polling(sleeper.source)
        poll_until(lambda: other.owned == ALL, other)
        poll_until(lambda before=before: len(sleeper.owned) == len(other.owned) == 2 and len(sleeper.events) > before, sleeper, other)  # type: ignore[misc]
        told = [what for what, _ in sleeper.events[before:]][:2]
        if told == ["lost", "assign"]:
            break
    assert told == ["lost", "assign"]


def test_a_broker_accepts_the_commit_of_a_partition_that_has_moved(world: World, new_member: NewMember) -> None:
    """No broker refuses such a commit, so the poller filters every commit by its current assignment."""
    produce(world, 6)
    first = new_member()
    poll_until(lambda: len(first.records) == 6 * PARTITIONS, first)
    second = new_member()
    poll_until(lambda: len(second.owned) == 2, first, second)
    moved = min(second.owned)
    assert second.commit(named(world, {moved: 6})) == {}
    assert first.commit(named(world, {moved: 2})) == {}
    assert world.committed(moved) == 2


def test_a_poller_never_commits_a_partition_that_it_does_not_own_now(world: World, new_member: NewMember) -> None:
    produce(world, 30)
    ledger = Ledger(cap_records=1000, cap_bytes=1_000_000, dead_letter=lambda _claim, _reason, _rejects: None)
    receipts: list[Receipt] = []
    no_grace = PollerSettings(commit_interval_s=0.0, max_poll_interval_s=25.0)
    source = world.new_source()
    poller = Poller(source=source, ledger=ledger, deliver=receipts.extend, settings=no_grace, say=lambda _line: None)
    thread = threading.Thread(target=poller.run)
    thread.start()
    try:
        poll_until(lambda: admitted(receipts) == 30 * PARTITIONS)
        other = new_member()
        poll_until(lambda: len(other.owned) == 2, other)
        moved = set(other.owned)
        assert other.commit(named(world, dict.fromkeys(moved, 30))) == {}
        for receipt in receipts:
            receipt.drop(np.flatnonzero(receipt.records.offset < 10), "empty")
        poll_until(lambda: all(world.committed(partition) == 10 for partition in ALL - moved), other)
        assert {world.committed(partition) for partition in moved} == {30}
        other.close()
        poll_until(lambda: len(ledger.owned()) == PARTITIONS)
        for receipt in receipts:
            receipt.drop(np.flatnonzero(receipt.records.offset >= 10), "empty")
        poll_until(lambda: all(world.committed(partition) == 30 for partition in ALL - moved))
    finally:
        poller.finish(commit=True)
        thread.join(WAIT_S)
    assert committed(world) == dict.fromkeys(ALL, 30)
    assert ledger.tally["abandoned"] >= 30 * 2  # more if a stalled machine made it lose the other partitions for a moment
    assert ledger.tally["abandoned"] + ledger.tally["dropped:empty"] == ledger.tally["admitted"] == admitted(receipts)
