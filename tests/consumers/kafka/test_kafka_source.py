"""The real source, where a fake is not enough: topic ids, external faults, fatal errors, callbacks that raise."""

from collections.abc import Sequence

import pytest

from consumers.kafka.kafka_source import KafkaSource
from consumers.record import Partition
from consumers.source import SourceAway, SourceFatal
from tests.consumers.kafka.conftest import NewPlace, Place, Unique
from tests.contracts.groups import poll_until
from tests.services.kafka import KafkaServer, OwnKafka
from tests.services.ports import free_port

OFTEN = {"topic.metadata.refresh.interval.ms": "300"}


def test_the_epoch_tells_a_re_created_topic_from_its_predecessor(kafka: KafkaServer, new_place: NewPlace, unique: Unique) -> None:
    place, topic = new_place(kafka), unique("logs")
    other, epochs = place.topic, list[dict[str, str]]()
    place.produce(b"a", b"a")
    for _ in range(2):
        kafka.create_topic(topic)
        place.produce(b"a", b"a", topic=topic)
        member = place.join(topic, other)
        poll_until(lambda member=member: {record.topic for record in member.records} == {topic, other}, member)  # type: ignore[misc]
        epochs.append({record.topic: record.epoch for record in member.records})
        member.close()
        place.delete_topic(topic)
    assert epochs[0][topic] != epochs[1][topic]
    assert epochs[0][other] == epochs[1][other]
    for epoch in (*epochs[0].values(), *epochs[1].values()):
        assert len(epoch) == 8
        int(epoch, 16)


def test_while_a_topics_id_cannot_be_read_nothing_is_delivered_and_little_is_held(mock_place: Place) -> None:
    mock_place.produce(*(b"line %d" % number for number in range(3000)))
    member = mock_place.join()  # the mock cluster has no topic ids
    poll_until(lambda: mock_place.has_said("the id of topic logs cannot be read"), member)
    assert mock_place.has_said("trying again (or set kafka.topic_epoch)")
    assert member.records == []
    assert isinstance(member.source, KafkaSource)
    waiting = member.source._intake._waiting._waiting  # noqa: SLF001 - what must stay small is inside
    assert 0 < sum(len(came.messages) for came in waiting) <= 2 * 100


def test_a_topic_that_does_not_exist_is_waited_for(kafka: KafkaServer, new_place: NewPlace, unique: Unique) -> None:
    place, topic = new_place(kafka), unique("logs")
    place.produce(b"a")
    member = place.join(topic, place.topic, group_protocol="classic", librdkafka=OFTEN)
    poll_until(lambda: len(member.records) == 1 and place.has_said(f"topic {topic} does not exist yet; waiting for it"), member)
    kafka.create_topic(topic)
    place.produce(b"b", topic=topic)
    poll_until(lambda: [record.topic for record in member.records] == [place.topic, topic], member)


def test_a_broker_that_is_away_is_said_and_waited_for_as_long_as_the_settings_allow(new_place: NewPlace) -> None:
    place = new_place(f"127.0.0.1:{free_port()}")
    patient = place.join()
    poll_until(lambda: place.has_said(f"kafka at {place.bootstrap} is away; waiting for it"), patient)
    assert patient.fetch() == []
    with pytest.raises(SourceAway, match=r"has answered for 1 s \(kafka.down_exit_s\)"):
        poll_until(lambda: False, place.join(down_exit_s=1.0))


def test_after_a_broker_was_killed_records_and_commits_go_on(own_kafka: OwnKafka, new_place: NewPlace) -> None:
    place = new_place(own_kafka)
    place.produce(*[b"a"] * 3)
    member = place.join()
    poll_until(lambda: len(member.records) == 3, member)
    own_kafka.kill()
    poll_until(lambda: place.has_said("is away; waiting for it"), member)
    own_kafka.start()
    place.produce(*[b"b"] * 3)
    poll_until(lambda: 5 in member.offsets(0), member)  # a member whose session has expired begins again, as nothing is committed
    assert member.offsets(0) in (list(range(6)), [0, 1, 2, *range(6)])
    poll_until(lambda: member.commit(place.next_offsets(6)) == {}, member)


def test_a_member_that_is_fenced_ends(kafka: KafkaServer, new_place: NewPlace) -> None:
    place = new_place(kafka)
    static = {"group.instance.id": "one", "heartbeat.interval.ms": "100"}
    first = place.join(group_protocol="classic", librdkafka=static)
    poll_until(lambda: first.owned == {0}, first)
    second = place.join(group_protocol="classic", librdkafka=static)
    with pytest.raises(SourceFatal, match=r"(?i)fenced|group.instance.id"):
        poll_until(lambda: False, second, first)


def test_an_error_in_a_callback_comes_out_of_fetch(mock_place: Place) -> None:
    mock_place.produce(b"a")
    member = mock_place.join(topic_epoch="mock")

    def fail(_partitions: Sequence[Partition]) -> None:
        raise ZeroDivisionError

    member.at_assign = fail
    with pytest.raises(ZeroDivisionError):
        poll_until(lambda: False, member)
