"""The senders against a real broker: what the mock cluster cannot do (refuse, miss a topic, be killed and come back)."""

import random
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Consumer, Message, TopicPartition

from producers.dead_letters import HEAD_BYTES, PRODUCER_PROPERTIES, DeadLetter, TopicLetterBox
from producers.feed import Feeder, FeedFailed, FeedProgress
from producers.kafka import KafkaProducer
from producers.replies import PRODUCER_PROPERTIES as REPLY_PROPERTIES
from producers.replies import Reply, ReplySender
from tests.producers.conftest import WAIT_S, Outcomes, Said, headers_of
from tests.services.kafka import OwnKafka

Unique = Callable[[str], str]


@pytest.fixture
def kafka(own_kafka: OwnKafka) -> OwnKafka:
    """A broker that these tests stop, and that all their fixtures speak to."""
    return own_kafka


@pytest.fixture
def producer(kafka: OwnKafka, said: Said) -> Iterator[KafkaProducer]:
    built = KafkaProducer(kafka.bootstrap, PRODUCER_PROPERTIES, say=said)
    yield built
    built.close(0.0)


def letter(value: bytes) -> DeadLetter:
    return DeadLetter("logs", 0, 5, "00c0ffee", 1_700_000_000_000, None, value, (), "decode", "bad")


def read_all(kafka: OwnKafka, topic: str) -> list[Message]:
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "reader", "enable.auto.commit": False, "log_level": 0})
    low, high = consumer.get_watermark_offsets(TopicPartition(topic, 0), WAIT_S)
    consumer.assign([TopicPartition(topic, 0, low)])
    found: list[Message] = []
    while len(found) < high - low:
        more = consumer.consume(high - low - len(found), WAIT_S)
        assert more
        found += more
    consumer.close()
    return found


def test_a_letter_that_the_broker_refuses_for_its_size_arrives_cut_and_its_neighbours_whole(
    kafka: OwnKafka, producer: KafkaProducer, unique: Unique, outcomes: Outcomes
) -> None:
    topic = unique("dead")
    kafka.create_topic(topic, settings={"max.message.bytes": "100000"})
    sender = TopicLetterBox(producer, topic, version="1", say=Said())
    large = random.Random(1).randbytes(300_000)

    for value in (b"left", large, b"right"):
        sender.send(letter(value), delivered=lambda: outcomes.of("letter")(None))

    outcomes.wait_for(3)
    records = {record.value(): dict(headers_of(record)) for record in read_all(kafka, topic)}
    assert records.keys() == {b"left", large[:HEAD_BYTES], b"right"}
    assert records[large[:HEAD_BYTES]]["vectail.size"] == b"300000"
    assert "vectail.truncated" not in records[b"left"]
    assert "vectail.truncated" not in records[b"right"]


def test_a_dead_letter_topic_that_is_missing_is_named_and_used_once_it_is_there(
    kafka: OwnKafka, producer: KafkaProducer, unique: Unique, outcomes: Outcomes
) -> None:
    topic = unique("dead")
    trouble = Said()
    sender = TopicLetterBox(producer, topic, version="1", say=trouble, quiet_s=60.0)

    sender.send(letter(b"x"), delivered=lambda: outcomes.of("letter")(None))
    assert topic in trouble.wait_for("nknown topic")
    assert outcomes.all == []
    kafka.create_topic(topic)

    outcomes.wait_for(1)
    assert [record.value() for record in read_all(kafka, topic)] == [b"x"]


def test_a_reply_to_a_topic_that_is_missing_is_let_go(kafka: OwnKafka, unique: Unique, outcomes: Outcomes, said: Said) -> None:
    built = KafkaProducer(kafka.bootstrap, {**REPLY_PROPERTIES, "topic.metadata.propagation.max.ms": "500"}, say=said)
    sender = ReplySender(built)

    sender.send(Reply(unique("absent"), b"1", b"{}"), deadline_s=None, settled=outcomes.of("reply"))

    assert outcomes.wait_for(1) == [("reply", False)]
    assert sender.undelivered == 1
    built.close(0.0)


def test_a_feed_into_a_topic_that_is_missing_says_so(producer: KafkaProducer, unique: Unique) -> None:
    topic = unique("absent")
    fed = FeedProgress()

    with pytest.raises(FeedFailed, match=f"topic {topic}: .*nknown topic"):
        Feeder(producer, topic, progress=fed, pause=lambda _: False).feed([[b"x"]], refuse=lambda _: None)

    assert fed.read == 0
