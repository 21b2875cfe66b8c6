"""The reader without a group: what a partition holds, and every record of a range, with gaps and transactions."""

import time
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from consumers.groupless.groupless_reader import GrouplessReader, OffsetRange, RangeUnreadable, TopicUnknown
from consumers.record import Partition, Record
from tests.services.kafka import KafkaServer
from tests.services.mock_kafka import PARTITIONS, MockKafka
from tests.services.ports import free_port

WAIT_S = 30.0
LOGS = Partition("logs", 0)
Unique = Callable[[str], str]


def send(bootstrap: str, partition: Partition, count: int) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    for number in range(count):
        producer.produce(partition.topic, b"line %d" % number, b"key", partition.partition, headers=[("h", b"1")], timestamp=1_000 + number)
    assert producer.flush(WAIT_S) == 0


def read(reader: GrouplessReader, partition: Partition, first: int, end: int, *, timeout_s: float = WAIT_S) -> list[Record]:
    return [one for records in reader.read(partition, first, end, epoch="e1", timeout_s=timeout_s) for one in records]


@pytest.fixture
def reader(mock_kafka: MockKafka) -> Iterator[GrouplessReader]:
    reader = GrouplessReader(mock_kafka.bootstrap, {})
    yield reader
    reader.close()


@pytest.fixture
def real(kafka: KafkaServer) -> Iterator[GrouplessReader]:
    reader = GrouplessReader(kafka.bootstrap, {})
    yield reader
    reader.close()


def test_a_range_takes_its_first_offset_and_not_its_end(mock_kafka: MockKafka, reader: GrouplessReader) -> None:
    send(mock_kafka.bootstrap, LOGS, 50)
    records = read(reader, LOGS, 10, 40)
    assert [record.offset for record in records] == list(range(10, 40))
    assert records[0] == Record("logs", 0, 10, "e1", 1_010, b"key", b"line 10", (("h", b"1"),), leader_epoch=0)
    assert read(reader, LOGS, 7, 7) == []
    assert [record.offset for record in read(reader, LOGS, 49, 50)] == [49], "a second range, of the same reader"


def test_a_long_range_comes_in_several_lists(mock_kafka: MockKafka, reader: GrouplessReader) -> None:
    send(mock_kafka.bootstrap, LOGS, 2_500)
    lists = list(reader.read(LOGS, 0, 2_500, epoch="", timeout_s=WAIT_S))
    assert [record.offset for records in lists for record in records] == list(range(2_500))
    assert max(map(len, lists)) <= 1_000


def test_a_range_that_is_left_early_does_not_disturb_the_next(mock_kafka: MockKafka, reader: GrouplessReader) -> None:
    send(mock_kafka.bootstrap, LOGS, 2_500)
    send(mock_kafka.bootstrap, Partition("logs", 1), 3)
    begun = reader.read(LOGS, 0, 2_500, epoch="", timeout_s=WAIT_S)
    next(begun)
    begun.close()  # type: ignore[attr-defined]
    assert [(record.partition, record.offset) for record in read(reader, Partition("logs", 1), 0, 3)] == [(1, 0), (1, 1), (1, 2)]


def test_a_range_beyond_the_end_is_not_waited_for_for_ever(mock_kafka: MockKafka, reader: GrouplessReader) -> None:
    send(mock_kafka.bootstrap, LOGS, 3)
    with pytest.raises(RangeUnreadable, match=r"no record for 0\.5 s"):
        read(reader, LOGS, 0, 9, timeout_s=0.5)


def test_partitions_bounds_and_times_are_told(mock_kafka: MockKafka, reader: GrouplessReader) -> None:
    send(mock_kafka.bootstrap, LOGS, 5)
    assert reader.partitions(["logs"], WAIT_S) == [Partition("logs", number) for number in range(PARTITIONS)]
    ranges = reader.offset_ranges([LOGS, Partition("logs", 1)], WAIT_S)
    assert ranges == {LOGS: OffsetRange(0, 5), Partition("logs", 1): OffsetRange(0, 0)}


def test_a_time_is_an_offset(kafka: KafkaServer, real: GrouplessReader, unique: Unique) -> None:
    place = Partition(unique("times"), 0)
    kafka.create_topic(place.topic, 2)
    send(kafka.bootstrap, place, 5)
    empty = Partition(place.topic, 1)
    for time_ms, offset in ((0, 0), (1_000, 0), (1_001, 1), (1_004, 4), (1_005, None)):
        assert real.offsets_at([place, empty], time_ms, WAIT_S) == {place: offset, empty: None}


def test_what_a_transaction_leaves_between_records_is_stepped_over(kafka: KafkaServer, real: GrouplessReader, unique: Unique) -> None:
    place = Partition(unique("transactions"), 0)
    kafka.create_topic(place.topic)
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": place.topic, "log_level": 0})
    producer.init_transactions(WAIT_S)
    for end in (producer.commit_transaction, producer.abort_transaction, producer.commit_transaction):
        producer.begin_transaction()
        producer.produce(place.topic, b"one", partition=0)
        producer.produce(place.topic, b"two", partition=0)
        assert producer.flush(WAIT_S) == 0
        end(WAIT_S)
    held = real.offset_ranges([place], WAIT_S)[place]
    assert held == OffsetRange(0, 9), "each transaction ends with a marker"
    assert [record.offset for record in read(real, place, *held)] == [0, 1, 6, 7]
    assert [record.offset for record in read(real, place, 2, 6)] == []


def test_the_end_excludes_an_open_transaction_unless_it_is_asked_for(kafka: KafkaServer, real: GrouplessReader, unique: Unique) -> None:
    place = Partition(unique("transactions"), 0)
    kafka.create_topic(place.topic)
    send(kafka.bootstrap, place, 2)
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": place.topic, "log_level": 0})
    producer.init_transactions(WAIT_S)
    producer.begin_transaction()
    producer.produce(place.topic, b"open", partition=0, timestamp=5_000)
    assert producer.flush(WAIT_S) == 0
    lag = GrouplessReader(kafka.bootstrap, {}, include_open_transactions=True)
    for reader, end_offset, offset in ((real, 2, None), (lag, 3, 2)):
        assert reader.offset_ranges([place], WAIT_S) == {place: OffsetRange(0, end_offset)}
        assert reader.offsets_at([place], 4_000, WAIT_S) == {place: offset}
    producer.abort_transaction(WAIT_S)
    lag.close()


def test_records_that_are_gone_are_an_error_and_not_a_jump(kafka: KafkaServer, real: GrouplessReader, unique: Unique) -> None:
    place = Partition(unique("gone"), 0)
    kafka.create_topic(place.topic)
    send(kafka.bootstrap, place, 10)
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
    (removed,) = admin.delete_records([TopicPartition(*place, 6)]).values()
    removed.result(WAIT_S)
    assert real.offset_ranges([place], WAIT_S) == {place: OffsetRange(6, 10)}
    with pytest.raises(RangeUnreadable):
        read(real, place, 5, 10, timeout_s=5.0)
    assert [record.offset for record in read(real, place, 6, 10)] == [6, 7, 8, 9]


def test_the_epoch_is_of_this_topic_and_not_of_its_name(kafka: KafkaServer, real: GrouplessReader, unique: Unique) -> None:
    name = unique("epoch")
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
    epochs = []
    for _ in range(2):
        kafka.create_topic(name)
        epochs.append(real.epoch(name, WAIT_S))
        admin.delete_topics([name])[name].result(WAIT_S)
    assert len(set(epochs)) == 2
    assert all(len(epoch) == 8 for epoch in epochs)
    deadline_s = time.monotonic() + WAIT_S

    def ask_until_it_is_gone() -> None:
        while time.monotonic() < deadline_s:  # on a busy machine the broker still tells of it for a moment
            real.epoch(name, WAIT_S)

    with pytest.raises(RangeUnreadable, match=name):
        ask_until_it_is_gone()


def test_whether_a_topic_is_compacted_is_told(kafka: KafkaServer, real: GrouplessReader, mock_kafka: MockKafka, unique: Unique) -> None:
    for policy, wanted in (("delete", False), ("compact", True), ("compact,delete", True)):
        name = unique("policy")
        kafka.create_topic(name, settings={"cleanup.policy": policy})
        assert real.is_compacted(name, WAIT_S) is wanted
    assert real.is_compacted(unique("nowhere"), WAIT_S) is None
    reader = GrouplessReader(mock_kafka.bootstrap, {})
    assert reader.is_compacted("logs", 0.5) is None, "the mock does not support the request"
    reader.close()


def test_a_topic_that_is_not_there_is_the_users_to_change(kafka: KafkaServer, real: GrouplessReader, unique: Unique) -> None:
    del kafka
    with pytest.raises(TopicUnknown, match="does not exist"):
        real.partitions([unique("nowhere")], WAIT_S)


@pytest.mark.slow
def test_a_broker_that_is_away_is_one_line() -> None:
    reader = GrouplessReader(f"127.0.0.1:{free_port()}", {})
    started_s = time.monotonic()
    for ask in (
        lambda: reader.partitions(["logs"], 0.3),
        lambda: reader.offset_ranges([LOGS], 0.3),
        lambda: reader.offsets_at([LOGS], 0, 0.3),
        lambda: read(reader, LOGS, 0, 1, timeout_s=0.3),
    ):
        with pytest.raises(RangeUnreadable) as failed:
            ask()
        assert str(failed.value)
        assert type(failed.value) is RangeUnreadable
    assert time.monotonic() - started_s < 10
    reader.close()


def test_an_epoch_that_is_set_is_not_asked_for() -> None:
    reader = GrouplessReader(f"127.0.0.1:{free_port()}", {}, topic_epoch="e7")
    assert reader.epoch("logs", 0.1) == "e7"
    reader.close()
