"""The newest dead letters, read from the end: bounded, with the marks that belong to them, on a fake topic and on a real Kafka."""

import tracemalloc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing

import pytest
from confluent_kafka import Producer

from consumers.groupless.groupless_reader import GrouplessReader, OffsetRange, RangeUnreadable
from consumers.record import Partition, Record
from consumers.rejection import Rejection
from producers.envelope import ListedPiece, envelope, mark_headers
from tests.services.kafka import KafkaServer
from worker.asking.places import RecordPlace
from worker.indexing.dead_letter_reasons import letter_of
from worker.inspecting.newest_dead_letters import HEAD_BYTES, NewestLetters, read_newest_letters

STRANGE = Rejection("decode", "undecodable", "undecodable: not valid UTF-8")
TOPIC = "dead"


def letter(partition: int, offset: int, *, time_ms: int, value: bytes = b"v", topic: str = "logs", of: int | None = None) -> Record:
    record = Record(topic, 3, offset if of is None else of, "e1", 5, None, value, ())
    shaped = envelope(letter_of(record, STRANGE, ()), version="1", max_bytes=1_000_000)
    return Record(TOPIC, partition, offset, "", time_ms, shaped.key, shaped.value, tuple(shaped.headers))


def mark(partition: int, offset: int, of: int, failing: Sequence[ListedPiece] = ()) -> Record:
    return Record(TOPIC, partition, offset, "", 1, None, None, tuple(mark_headers(partition, of, tuple(failing), version="1")))


class Topic:
    """A dead-letter topic, as far as the reader is asked for it.

    Thread: the test's.
    """

    def __init__(self, records: Mapping[int, Sequence[Record]], *, record_s: float = 0.0) -> None:
        self.records = records
        self.now_s = 0.0
        self.read_offsets: list[tuple[int, int, int]] = []
        self._record_s = record_s

    def partitions(self, topics: Sequence[str], _timeout_s: float) -> list[Partition]:
        return [Partition(topic, number) for topic in topics for number in self.records]

    def offset_ranges(self, partitions: Sequence[Partition], _timeout_s: float) -> dict[Partition, OffsetRange]:
        return {one: OffsetRange(0, self.records[one.partition][-1].offset + 1 if self.records[one.partition] else 0) for one in partitions}

    def read(self, partition: Partition, first_offset: int, end_offset: int, *, epoch: str, timeout_s: float) -> Iterator[list[Record]]:
        assert not epoch
        assert timeout_s > 0
        self.read_offsets.append((partition.partition, first_offset, end_offset))
        for record in self.records[partition.partition]:
            if first_offset <= record.offset < end_offset:
                self.now_s += self._record_s
                yield [record]

    def newest(
        self, *, limit: int = 100, of: RecordPlace | None = None, most_records: int = 100_000, within_s: float = 5.0
    ) -> NewestLetters:
        return read_newest_letters(
            self,  # type: ignore[arg-type] # as much of it as is asked
            TOPIC,
            limit=limit,
            of=of,
            most_records=most_records,
            within_s=within_s,
            clock=lambda: self.now_s,
        )


def places(found: NewestLetters) -> list[tuple[int, int]]:
    return [(one.letter.letter.partition, one.letter.letter.offset) for one in found.newest]


def test_the_newest_of_all_partitions_come_first_and_all_are_counted() -> None:
    topic = Topic(
        {
            0: [letter(0, n, time_ms=10 * n) for n in range(2_000)],
            1: [letter(1, n, time_ms=19_985 + n, topic="other") for n in range(3)],
            2: [],
        }
    )
    found = topic.newest(limit=4)
    assert places(found) == [(0, 1999), (1, 2), (1, 1), (1, 0)]
    assert found.by_reason == {("undecodable", "logs"): 2_000, ("undecodable", "other"): 3}
    assert found.is_complete


def test_a_mark_counts_wherever_it_is_and_one_that_says_done_outlives_later_ones() -> None:
    some = [ListedPiece(0, 0, "still refused")]
    records = [letter(0, n, time_ms=n) for n in range(5_000)]
    records += [mark(0, 5_000, 10), mark(0, 5_001, 20, some), mark(0, 5_002, 30, some), mark(0, 5_003, 30), mark(0, 5_004, 30, some)]
    found = Topic({0: records}).newest(limit=5_000)
    state = {one.letter.letter.offset: one.letter for one in found.newest}
    assert [offset for offset, one in state.items() if one.is_replayed] == [30, 10]
    assert [offset for offset, one in state.items() if one.is_partly_replayed] == [20]
    assert state[20].reason == "still refused"
    assert (found.replayed, found.by_reason.total()) == (2, 4_998)


def test_of_a_topic_that_is_too_long_the_newest_are_read_and_it_is_said() -> None:
    topic = Topic({0: [letter(0, n, time_ms=n) for n in range(9_000)]})
    found = topic.newest(limit=2, most_records=3_000)
    assert places(found) == [(0, 8_999), (0, 8_998)]
    assert (found.is_complete, found.by_reason.total()) == (False, 3_000)


def test_the_letters_of_one_record_are_found_among_others() -> None:
    topic = Topic({0: [letter(0, n, time_ms=n, of=n % 4) for n in range(8)] + [mark(0, 8, 6)]})
    found = topic.newest(of=RecordPlace("logs", 3, 2))
    assert (places(found), [one.letter.offset for one in found.newest]) == ([(0, 6), (0, 2)], [2, 2])
    assert (found.by_reason.total(), found.replayed) == (1, 1)
    assert places(topic.newest(of=RecordPlace("logs", 1, 2))) == []


def test_when_the_time_is_over_nothing_is_told_of_a_span_that_was_not_read_to_its_end() -> None:
    records = [letter(0, n, time_ms=n) for n in range(3_000)]
    topic = Topic({0: [*records, mark(0, 3_000, 2_400)]}, record_s=0.001)
    found = topic.newest(within_s=1.0)
    assert not found.is_complete
    assert found.by_reason.total() == 500 - 1, "the first span; the second is longer than the time"
    assert topic.now_s < 1.1
    assert topic.read_offsets == [(0, 2_501, 3_001), (0, 501, 2_501)]


def test_of_a_long_value_the_beginning_is_kept_and_what_is_known_of_the_whole() -> None:
    (one,) = Topic({0: [letter(0, 0, time_ms=1, value=b"a" * 50_000)]}).newest().newest
    assert (len(one.letter.letter.value or b""), one.letter.size_bytes, one.obstacle) == (HEAD_BYTES, 50_000, "")
    cut = letter(0, 0, time_ms=1, value=b"abc")._replace(value=b"ab")
    (one,) = Topic({0: [cut]}).newest().newest
    assert one.obstacle


def test_long_letters_are_not_in_memory_together() -> None:
    long_bytes, number = 250_000, 400

    class Long(Topic):
        def read(self, partition: Partition, first_offset: int, end_offset: int, *, epoch: str, timeout_s: float) -> Iterator[list[Record]]:
            assert (partition, epoch) == (Partition(TOPIC, 0), "")
            assert timeout_s > 0
            for offset in range(first_offset, end_offset):
                one = letter(0, offset, time_ms=offset, value=b"%d" % offset + b"a" * long_bytes)
                yield [one._replace(headers=(("own", b"b" * long_bytes), *one.headers))]

    topic = Long({0: [letter(0, number - 1, time_ms=0)]})
    tracemalloc.start()
    found = topic.newest(limit=number)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found.newest) == number
    assert {one.obstacle for one in found.newest} == {""}
    assert peak_bytes < number * long_bytes / 4


def test_a_topic_that_cannot_be_read_is_an_error_unless_something_was_read_before() -> None:
    class Silent(Topic):
        may_read = 0

        def read(self, partition: Partition, first_offset: int, end_offset: int, *, epoch: str, timeout_s: float) -> Iterator[list[Record]]:
            if self.may_read == 0:
                raise RangeUnreadable("kafka gave no record")
            self.may_read -= 1
            return super().read(partition, first_offset, end_offset, epoch=epoch, timeout_s=timeout_s)

    topic = Silent({0: [letter(0, n, time_ms=n) for n in range(2_000)]})
    with pytest.raises(RangeUnreadable):
        topic.newest()
    topic.may_read = 1
    found = topic.newest()
    assert (found.by_reason.total(), found.is_complete) == (500, False)


def test_a_real_topic_is_read_backwards_too(kafka: KafkaServer, unique: Callable[[str], str]) -> None:
    name = unique("dead")
    kafka.create_topic(name, 2)
    # Idempotent: else a batch that is sent again may come behind later ones, and the newest letter is not the last.
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "log_level": 0, "enable.idempotence": True})
    for number in range(1_200):
        shaped = letter(0, number, time_ms=0)
        producer.produce(name, shaped.value, partition=number % 2, headers=[*shaped.headers], timestamp=1_700_000_000_000 + number)
    producer.produce(name, b"not ours", partition=1)
    producer.produce(name, None, partition=0, headers=[*mark_headers(0, 3, (), version="1")])
    assert producer.flush(30) == 0
    with closing(GrouplessReader(kafka.bootstrap, {}, topic_epoch="")) as reader:
        found = read_newest_letters(reader, name, limit=3, most_records=100_000, within_s=30.0)
        few = read_newest_letters(reader, name, limit=3, most_records=500, within_s=30.0)
    assert places(found) == [(1, 599), (0, 599), (1, 598)]
    assert (found.is_complete, found.replayed, found.by_reason.total()) == (True, 1, 1_199)
    assert not few.is_complete
