"""Damaged batches, through a proxy before a real Kafka: fetched again, with nothing skipped and no wrong offset."""

from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Producer

from consumers.kafka.resume_point import ExpiredPolicy
from consumers.kafka.settings import KafkaSourceSettings
from consumers.kafka.source import KafkaSource
from consumers.kafka.subscription import Subscription
from consumers.record import Partition
from tests.contracts.groups import WAIT_S, Member, poll_until
from tests.services.kafka import KafkaServer
from tests.services.proxy import Proxy, kafka_proxy

RECORDS, BATCH = 60, 10
DAMAGED = "damaged data received"


class Wire:
    """A topic of six batches, and members that read it through the proxy.

    Thread: the test's.
    """

    def __init__(self, kafka: KafkaServer, proxy: Proxy, topic: str, group: str) -> None:
        self.proxy, self.topic, self.group = proxy, topic, group
        self.said: list[str] = []
        kafka.create_topic(topic)
        producer = Producer({"bootstrap.servers": kafka.bootstrap, "linger.ms": 200, "log_level": 0})
        for number in range(RECORDS):
            producer.produce(topic, b"record %02d here " % number + b"and words that repeat " * 8, partition=0)
            if number % BATCH == BATCH - 1:
                assert producer.flush(WAIT_S) == 0

    def join(self, *, expired: ExpiredPolicy = "stop") -> Member:
        settings = KafkaSourceSettings(
            bootstrap_servers=f"127.0.0.1:{self.proxy.port}",
            group=self.group,
            group_protocol="consumer",
            on_expired_offset=expired,
            librdkafka={"fetch.wait.max.ms": "20", "log_level": "0"},
        )
        return Member(KafkaSource(settings, Subscription(names=(self.topic,)), say=self.said.append))


@pytest.fixture
def wire(kafka: KafkaServer, unique: Callable[[str], str]) -> Iterator[Wire]:
    with kafka_proxy(kafka.bootstrap) as proxy:
        yield Wire(kafka, proxy, unique("logs"), unique("group"))


@pytest.mark.parametrize("expired", ["stop", "latest", "earliest"])
def test_a_flipped_bit_in_the_first_batch_behind_the_committed_one_skips_nothing(wire: Wire, expired: ExpiredPolicy) -> None:
    first = wire.join(expired=expired)
    poll_until(lambda: len(first.records) == RECORDS, first)
    assert first.commit({Partition(wire.topic, 0): 20}) == {}
    first.close()
    wire.proxy.spoil(b"record 2", times=1)
    second = wire.join(expired=expired)
    poll_until(lambda: len(second.records) >= RECORDS - 20, second)
    assert wire.proxy.spoiled == 1
    assert second.offsets(0) == list(range(20, RECORDS))
    assert len([line for line in wire.said if DAMAGED in line]) == 1
    second.close()


@pytest.mark.parametrize("times", [1, 3])
def test_a_flipped_bit_in_a_later_batch_skips_nothing_however_often_it_comes(wire: Wire, times: int) -> None:
    wire.proxy.spoil(b"record 3", times=times)
    member = wire.join()
    poll_until(lambda: len(member.records) >= RECORDS, member)
    assert wire.proxy.spoiled == times
    assert member.offsets(0) == list(range(RECORDS))
    assert [(record.value or b"")[:9] for record in member.records] == [b"record %02d" % number for number in range(RECORDS)]
    member.close()
