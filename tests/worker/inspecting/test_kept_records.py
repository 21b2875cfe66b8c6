"""What a real Kafka still holds of the records of dead letters, and which letters it never had a record for."""

import hashlib
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from consumers.groupless.groupless_reader import GrouplessReader
from consumers.record import Partition, Record
from tests.services.kafka import KafkaServer
from worker.inspecting.kept_records import OTHER_BYTES, FoundRecord, KeptRecords, spans_of
from worker.inspecting.stored_dead_letters import CUT, StoredDeadLetter

WAIT_S = 30.0
RECORDS = 2_000
EXPIRED = 10
"""Records of partition 0 that Kafka has deleted."""


class Reader(GrouplessReader):
    """Counts what is read.

    Thread: the test's.
    """

    reads = 0

    def read(self, partition: Partition, first_offset: int, end_offset: int, *, epoch: str, timeout_s: float) -> Iterator[list[Record]]:
        self.reads += 1
        return super().read(partition, first_offset, end_offset, epoch=epoch, timeout_s=timeout_s)


class Log:
    """A topic of two partitions: line n of partition 0 is at offset n; its first lines have expired. Partition 1 is empty.

    Thread: the test's.
    """

    def __init__(self, kafka: KafkaServer, topic: str) -> None:
        self.topic = topic
        kafka.create_topic(topic, 2)
        producer = Producer({"bootstrap.servers": kafka.bootstrap, "log_level": 0, "enable.idempotence": True})
        for number in range(RECORDS):
            producer.produce(topic, f"line {number}".encode(), partition=0, headers=[("own", b"header")], timestamp=1_700_000_000_000)
        assert producer.flush(WAIT_S) == 0
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
        for done in admin.delete_records([TopicPartition(topic, 0, EXPIRED)]).values():
            done.result(WAIT_S)
        self.reader = Reader(kafka.bootstrap, {})
        self.epoch = self.reader.epoch(topic, WAIT_S)

    def record(self, offset: int, value: bytes | None = None, *, partition: int = 0) -> Record:
        """Return a record as a dead letter has it: of the line that is at this offset, unless `value` says otherwise."""
        content = f"line {offset}".encode() if value is None else value
        return Record(self.topic, partition, offset, self.epoch, 5, None, content, ())

    def find(self, *records: Record) -> Sequence[FoundRecord]:
        return self.find_of(*map(letter_of, records))

    def find_of(self, *letters: StoredDeadLetter) -> Sequence[FoundRecord]:
        return KeptRecords(self.reader, timeout_s=WAIT_S).find_records(letters)


def letter_of(record: Record) -> StoredDeadLetter:
    value = record.value or b""
    return StoredDeadLetter(
        *(record.topic, record.partition, record.offset, record.epoch, record.time_ms, "decode", "undecodable", (), 0),
        letter=Record("dead", 0, 0, "", 5, None, value, ()),
        size_bytes=len(value),
        sha256=hashlib.sha256(value).hexdigest(),
    )


@pytest.fixture(scope="module")
def log(kafka: KafkaServer) -> Iterator[Log]:
    log = Log(kafka, f"kept-records-{uuid.uuid4().hex[:12]}")
    with closing(log.reader):
        yield log


def test_a_letter_of_other_bytes_is_refused_and_its_neighbours_are_not(log: Log) -> None:
    found = log.find(log.record(500), log.record(501, b"nothing happened here"), log.record(501), log.record(502, b""))
    assert [one.refusal for one in found] == ["", OTHER_BYTES, "", OTHER_BYTES]
    assert [one.record is None for one in found] == [False, True, False, True]


def test_of_a_letter_that_holds_only_the_beginning_of_its_record_the_bytes_that_it_names_decide(log: Log) -> None:
    whole = letter_of(log.record(500))
    cut = whole._replace(letter=whole.letter._replace(value=b"line"))
    assert cut.obstacle == CUT
    (found,) = log.find_of(cut)
    assert found.record is not None
    assert (found.record.value, found.record.headers) == (b"line 500", (("own", b"header"),))
    assert [one.refusal for one in log.find_of(cut._replace(sha256="0" * 64), cut._replace(size_bytes=9))] == [OTHER_BYTES] * 2


def test_a_place_that_kafka_never_had_is_refused(log: Log) -> None:
    found = log.find(log.record(RECORDS), log.record(5, partition=2), log.record((1 << 63) - 2), log.record(0, partition=1))
    assert [one.refusal for one in found] == [
        f"Kafka has no such record: its partition ends at {RECORDS}",
        f"Kafka has no such record: {log.topic} has 2 partitions",
        f"Kafka has no such record: its partition ends at {RECORDS}",
        "Kafka has no such record: its partition ends at 0",
    ]


def test_what_kafka_no_longer_holds_is_neither_found_nor_refused(log: Log, unique: Callable[[str], str]) -> None:
    gone = log.record(EXPIRED - 1), log.record(500)._replace(epoch="older"), log.record(500)._replace(topic=unique("nowhere"))
    assert log.find(*gone) == [FoundRecord()] * 3
    assert log.find(log.record(EXPIRED))[0].record is not None
    assert log.find() == []


def test_records_that_are_near_each_other_are_read_at_once(log: Log) -> None:
    log.reader.reads = 0
    found = log.find(*(log.record(offset) for offset in range(1_600, 1_300, -1)), log.record(20))
    assert [one.record.offset for one in found if one.record] == [*range(1_600, 1_300, -1), 20]
    assert log.reader.reads == 2


def test_spans_hold_all_offsets_and_none_is_too_long() -> None:
    assert spans_of({5, 1, 4, 14, 15, 40}, 10) == [range(1, 6), range(14, 16), range(40, 41)]
    assert spans_of(range(25), 10) == [range(10), range(10, 20), range(20, 25)]
    assert spans_of([], 10) == []
