"""External faults of a source on a real Kafka: brokers that do not answer, bad headers, a badly timed rebalance."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Message

from consumers.kafka.kafka_source import KafkaSource
from consumers.kafka.source_settings import GroupProtocol
from tests.consumers.kafka.conftest import Place
from tests.consumers.kafka.raw_headers import produce_with_header
from tests.contracts.groups import PARTITIONS, poll_until
from tests.services.proxy import kafka_proxy


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@pytest.mark.parametrize("fault", ["silence", "refuse"])
def test_while_a_commit_has_no_answer_polling_goes_on_and_the_outcome_comes_later(
    place: Place, protocol: GroupProtocol, fault: str
) -> None:
    place.produce(*[b"a"] * 3)
    with kafka_proxy(place.bootstrap) as proxy:
        member = place.join(bootstrap_servers=f"127.0.0.1:{proxy.port}", group_protocol=protocol)
        poll_until(lambda: len(member.records) == 3, member)
        next_offsets = place.next_offsets(3)
        getattr(proxy, fault)()
        member.source.commit(next_offsets)
        for _ in range(5):
            assert member.fetch() == []
        assert member.accepted == []
        proxy.release()

        def is_accepted() -> bool:
            if not any(member.accepted):
                member.source.commit(next_offsets)
            return any(member.accepted)

        poll_until(is_accepted, member)
        assert {tuple(accepted.items()) for accepted in member.accepted if accepted} == {tuple(next_offsets.items())}
        member.close()
        place.members.clear()


def test_a_header_with_a_name_that_is_not_utf_8_costs_its_record_the_headers_and_nothing_else(place: Place) -> None:
    place.produce(*[b"plain"] * 60)  # Python optimises the calls of a loop, and then no longer looks whether one has failed
    for _ in range(2):
        produce_with_header(place.bootstrap, place.topic, b"odd", b"service", b"tr\xffce")
        produce_with_header(place.bootstrap, place.topic, b"good", b"service")
    member = place.join()
    poll_until(lambda: len(member.records) == 64, member)
    odd, good = (b"odd", ()), (b"good", (("service", b"v"),))
    assert [(record.value, record.headers) for record in member.records] == [(b"plain", ())] * 60 + [odd, good, odd, good]
    assert isinstance(member.source, KafkaSource)
    assert member.source.records_without_headers == 2
    line = f"{place.topic}/0: the name of a header is not UTF-8; the record goes on without its headers"
    assert place.said == [line] * 2


def test_a_broker_with_nothing_to_say_is_not_away(place: Place) -> None:
    member = place.join(down_exit_s=2.0)
    poll_until(lambda: len(member.owned) == PARTITIONS, member)
    until_s = time.monotonic() + 4.0
    while time.monotonic() < until_s:
        assert member.fetch() == []


class Late:
    """Wraps the client of a member: a rebalance happens in its next `consume`, after records of every partition were polled."""

    def __init__(self, client: Any, is_over: Callable[[], bool], turn: Callable[[], object]) -> None:  # noqa: ANN401 - the client
        self._client = client
        self._is_over = is_over
        self._turn = turn
        self._polled: list[Message] = []

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - everything else is the client's
        return getattr(self._client, name)

    def poll(self, timeout_s: float) -> Message | None:
        while {message.partition() for message in self._polled} != set(range(PARTITIONS)):
            if (message := self._client.poll(timeout_s)) is not None and message.error() is None:
                self._polled.append(message)
        return self._polled.pop()

    def consume(self, _most: int, *, timeout: float) -> list[Message]:
        while not self._is_over():
            self._turn()
            self._polled += self._client.consume(100, timeout=timeout)
        return self._polled


def test_what_was_polled_before_a_rebalance_inside_the_same_fetch_is_not_delivered(place: Place) -> None:
    first = place.join(topic_epoch="one")
    for come in (PARTITIONS, 0):
        for partition in range(PARTITIONS):
            place.produce(b"a", partition=partition)
        poll_until(lambda come=come: len(first.records) >= come, first)  # type: ignore[misc]

    def other_member_comes() -> None:
        """Poll the other member, before `consume`: in `poll`, a rebalance would take partitions before their records were polled."""
        (place.join() if len(place.members) == 1 else place.members[1]).fetch()

    source = first.source
    assert isinstance(source, KafkaSource)
    client = source._consumer  # noqa: SLF001
    source._consumer = Late(client, lambda: len(first.owned) < PARTITIONS, other_member_comes)  # type: ignore[assignment]  # noqa: SLF001
    try:
        fetched = first.fetch()
    finally:
        source._consumer = client  # noqa: SLF001
    assert {record.partition for record in fetched} <= first.owned
    assert len(first.owned) == PARTITIONS // 2
