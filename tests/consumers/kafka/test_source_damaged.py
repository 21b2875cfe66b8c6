"""Damaged batches, through a proxy before a real Kafka: fetched again, with nothing skipped and no wrong offset."""

from collections.abc import Iterator

import pytest

from consumers.kafka.resume_point import ExpiredPolicy
from tests.consumers.kafka.conftest import NewPlace, Place
from tests.contracts.groups import poll_until
from tests.services.kafka import KafkaServer
from tests.services.proxy import Proxy, kafka_proxy

RECORDS, BATCH = 60, 10
DAMAGED = "damaged data received"


@pytest.fixture
def proxy(kafka: KafkaServer) -> Iterator[Proxy]:
    with kafka_proxy(kafka.bootstrap) as opened:
        yield opened


@pytest.fixture
def place(kafka: KafkaServer, proxy: Proxy, new_place: NewPlace) -> Place:
    """A topic of six batches, whose members read through the proxy."""
    made = new_place(kafka)
    values = [b"record %02d here " % number + b"and words that repeat " * 8 for number in range(RECORDS)]
    for first in range(0, RECORDS, BATCH):
        made.produce(*values[first : first + BATCH], properties={"linger.ms": 200})
    made.bootstrap = f"127.0.0.1:{proxy.port}"
    return made


@pytest.mark.parametrize("expired", ["stop", "latest", "earliest"])
def test_a_flipped_bit_in_the_first_batch_behind_the_committed_one_skips_nothing(
    place: Place, proxy: Proxy, expired: ExpiredPolicy
) -> None:
    first = place.join(on_expired_offset=expired)
    poll_until(lambda: len(first.records) == RECORDS, first)
    assert first.commit(place.next_offsets(20)) == {}
    first.close()
    proxy.spoil(b"record 2", times=1)
    second = place.join(on_expired_offset=expired)
    poll_until(lambda: len(second.records) >= RECORDS - 20, second)
    assert proxy.spoiled == 1
    assert second.offsets(0) == list(range(20, RECORDS))
    assert len([line for line in place.said if DAMAGED in line]) == 1


@pytest.mark.parametrize("times", [1, 3])
def test_a_flipped_bit_in_a_later_batch_skips_nothing_however_often_it_comes(place: Place, proxy: Proxy, times: int) -> None:
    proxy.spoil(b"record 3", times=times)
    member = place.join()
    poll_until(lambda: len(member.records) >= RECORDS, member)
    assert proxy.spoiled == times
    assert member.offsets(0) == list(range(RECORDS))
    assert [(record.value or b"")[:9] for record in member.records] == [b"record %02d" % number for number in range(RECORDS)]
