"""The producer adapter against librdkafka's mock cluster: reports are truthful, complete and prompt."""

import threading
from collections import Counter
from functools import partial

import pytest

from producers.kafka import TOO_LARGE, EmbeddedBroker, KafkaProducer, OutgoingRecord, ProducerBroken, ProducerMisconfigured, QueueFull
from tests.producers.conftest import WAIT_S, NewProducer, Outcomes, ReadTopic, Said


def test_delivery_is_reported_when_the_broker_has_the_record(
    new_producer: NewProducer, topic: str, outcomes: Outcomes, read_topic: ReadTopic
) -> None:
    new_producer().send(
        topic, OutgoingRecord(b"v", key=b"k", headers=[("a", b"1"), ("a", b"\xff"), ("n", None)], partition=3), delivered=outcomes.of("r")
    )

    assert outcomes.wait_for(1) == [("r", None)]
    (record,) = read_topic(topic, 1)
    assert (record.key(), record.value(), record.partition()) == (b"k", b"v", 3)
    assert record.headers() == [("a", b"1"), ("a", b"\xff"), ("n", None)]


def test_every_record_is_reported_exactly_once_and_flush_waits_for_all(new_producer: NewProducer, topic: str) -> None:
    producer = new_producer()
    reports: Counter[int] = Counter()

    def note(number: int, reason: str | None) -> None:
        reports.update([number] if reason is None else [])

    for number in range(5_000):
        producer.send(topic, OutgoingRecord(b"x"), delivered=partial(note, number))

    assert producer.flush(WAIT_S) == 0
    assert reports == Counter(range(5_000))


def test_flush_returns_only_when_the_last_callback_has_returned(new_producer: NewProducer, topic: str) -> None:
    producer = new_producer()
    entered, release = threading.Event(), threading.Event()

    def slow(_reason: str | None) -> None:
        entered.set()
        release.wait(WAIT_S)

    producer.send(topic, OutgoingRecord(b"x"), delivered=slow)
    assert entered.wait(WAIT_S)

    assert producer.flush(0.3) == 1
    release.set()
    assert producer.flush(WAIT_S) == 0


def test_callbacks_and_ticks_run_on_one_thread_that_is_not_the_senders(new_producer: NewProducer, topic: str, outcomes: Outcomes) -> None:
    producer = new_producer()
    threads: set[str] = set()
    ticked = threading.Event()

    def tick(_now: float) -> None:
        threads.add(threading.current_thread().name)
        ticked.set()

    def delivered(_reason: str | None) -> None:
        threads.add(threading.current_thread().name)
        outcomes.of("r")(None)

    producer.each_tick(tick)
    producer.send(topic, OutgoingRecord(b"x"), delivered=delivered)

    outcomes.wait_for(1)
    assert ticked.wait(WAIT_S)
    assert threads == {"kafka-delivery"}


def test_without_a_broker_nothing_is_reported_until_close_and_its_absence_is_said_once(
    new_producer: NewProducer, closed_port: int, outcomes: Outcomes, said: Said
) -> None:
    producer = new_producer(servers=f"127.0.0.1:{closed_port}")
    producer.send("t", OutgoingRecord(b"x"), delivered=outcomes.of("r"))

    line = said.wait_for("Connection refused")
    assert str(closed_port) in line
    assert line.endswith("Connection refused; trying again"), "two producers say the same"
    assert "\n" not in line
    assert producer.flush(0.5) > 0
    assert outcomes.all == []

    assert producer.close(0.0) > 0
    ((_, reason),) = outcomes.wait_for(1)
    assert reason is not None
    assert len(said.lines) == 1


def test_a_record_of_the_largest_line_is_taken_and_a_larger_one_is_refused_by_name(
    new_producer: NewProducer, topic: str, outcomes: Outcomes
) -> None:
    producer = new_producer()
    producer.send(topic, OutgoingRecord(b"x" * 2_000_000), delivered=outcomes.of("larger"))
    assert outcomes.all == [("larger", TOO_LARGE)]

    producer.send(topic, OutgoingRecord(b"x" * 1_000_000, headers=[("h", b"y" * 1_000)]), delivered=outcomes.of("largest"))
    assert outcomes.wait_for(2)[1] == ("largest", None)


def test_a_full_queue_is_refused_at_once_when_told_not_to_wait_or_to_stop(
    new_producer: NewProducer, closed_port: int, outcomes: Outcomes
) -> None:
    stopped = threading.Event()
    properties = {"queue.buffering.max.messages": "2"}
    producer = new_producer(properties, servers=f"127.0.0.1:{closed_port}", stopped=stopped.is_set)
    producer.send("t", OutgoingRecord(b"1"), delivered=outcomes.of("1"))
    producer.send("t", OutgoingRecord(b"2"), delivered=outcomes.of("2"))

    with pytest.raises(QueueFull, match="a record of t"):
        producer.send("t", OutgoingRecord(b"3"), delivered=outcomes.of("3"), wait_s=0.0)
    stopped.set()
    with pytest.raises(QueueFull):
        producer.send("t", OutgoingRecord(b"4"), delivered=outcomes.of("4"))
    producer.close(0.0)
    assert sorted(name for name, _ in outcomes.all) == ["1", "2"]


def test_values_of_one_partition_arrive_in_their_order_however_small_the_queue(
    new_producer: NewProducer, topic: str, read_topic: ReadTopic
) -> None:
    producer = new_producer({"queue.buffering.max.messages": "30"})
    reasons: Counter[str | None] = Counter()

    for partition in (2, 0):
        values = [b"%d" % number for number in range(200)]
        assert producer.send_values(topic, values, partition=partition, delivered=lambda reason: reasons.update([reason])) == 200

    assert producer.flush(WAIT_S) == 0
    assert reasons == Counter({None: 400})
    found = {(record.partition(), record.offset()): record.value() for record in read_topic(topic, 400)}
    assert found == {(partition, number): b"%d" % number for partition in (0, 2) for number in range(200)}


def test_of_several_values_only_the_one_that_is_too_large_is_refused(
    new_producer: NewProducer, topic: str, outcomes: Outcomes, read_topic: ReadTopic
) -> None:
    values = [b"before", b"x" * 2_000_000, b"", b"after"]
    assert new_producer().send_values(topic, values, partition=1, delivered=outcomes.of("r")) == 4

    assert sorted(map(str, outcomes.wait_for(4))) == sorted(map(str, [("r", TOO_LARGE), *[("r", None)] * 3]))
    assert [record.value() for record in read_topic(topic, 3)] == [b"before", b"", b"after"]


def test_values_behind_a_full_queue_are_not_taken_when_told_to_stop(
    new_producer: NewProducer, closed_port: int, outcomes: Outcomes
) -> None:
    producer = new_producer({"queue.buffering.max.messages": "3"}, servers=f"127.0.0.1:{closed_port}", stopped=lambda: True)

    assert producer.send_values("t", [b"1", b"2", b"3", b"4"], partition=0, delivered=outcomes.of("r")) == 3
    assert producer.send_values("t", [b"4"], partition=0, delivered=outcomes.of("r")) == 0
    producer.close(0.0)

    assert len(outcomes.wait_for(3)) == 3


def test_the_delivery_thread_does_not_wait_for_room_that_it_makes_itself(new_producer: NewProducer, topic: str, outcomes: Outcomes) -> None:
    producer = new_producer({"queue.buffering.max.messages": "1"})
    taken: list[int] = []

    def delivered(reason: str | None) -> None:
        if not taken:
            taken.append(producer.send_values(topic, [b"2", b"3"], partition=0, delivered=outcomes.of("more")))
        outcomes.of("first")(reason)

    producer.send(topic, OutgoingRecord(b"1"), delivered=delivered)

    outcomes.wait_for(1)
    assert taken[0] < 2
    assert producer.flush(WAIT_S) == 0
    assert outcomes.all.count(("more", None)) == taken[0]


def test_values_that_the_client_refuses_are_reported_and_a_producer_that_is_broken_takes_none(
    new_producer: NewProducer, topic: str, outcomes: Outcomes
) -> None:
    producer = new_producer()
    assert producer.send_values("t" * 600, [b"1", b"2"], partition=0, delivered=outcomes.of("long topic")) == 2
    assert producer.send_values(topic, [b"3"], partition=99, delivered=outcomes.of("no partition")) == 1
    assert [(name, reason is None) for name, reason in outcomes.wait_for(3)] == [("long topic", False)] * 2 + [("no partition", False)]

    producer.close(WAIT_S)
    with pytest.raises(ProducerBroken, match="closed"):
        producer.send_values(topic, [b"x"], partition=0, delivered=outcomes.of("r"))


def test_a_callback_that_raises_breaks_the_producer_visibly(
    new_producer: NewProducer, topic: str, outcomes: Outcomes, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooked = threading.Event()
    monkeypatch.setattr(threading, "excepthook", lambda _: hooked.set())
    producer = new_producer()

    def broken(_reason: str | None) -> None:
        raise RuntimeError

    producer.send(topic, OutgoingRecord(b"x"), delivered=broken)

    assert hooked.wait(WAIT_S)
    assert producer.fatal is not None
    with pytest.raises(ProducerBroken, match="callback raised"):
        producer.send(topic, OutgoingRecord(b"x"), delivered=outcomes.of("r"))


@pytest.mark.parametrize(
    ("properties", "named"), [({"linger.sm": "5"}, "linger.sm"), ({"acks": "1"}, "acks"), ({"linger.ms": "soon"}, "queue.buffering.max.ms")]
)
def test_a_property_that_librdkafka_does_not_take_is_named_in_one_line(properties: dict[str, str], named: str) -> None:
    with pytest.raises(ProducerMisconfigured, match=named) as refusal:
        KafkaProducer("127.0.0.1:1", properties, say=Said())
    assert "\n" not in str(refusal.value)


def test_librdkafka_log_lines_go_where_they_are_told_and_nowhere_else(closed_port: int, capfd: pytest.CaptureFixture[str]) -> None:
    said, log = Said(), Said()
    producer = KafkaProducer(f"127.0.0.1:{closed_port}", {}, say=said, log=log)

    assert "FAIL" in log.wait_for("Connection refused")
    producer.close(0.0)
    assert capfd.readouterr() == ("", "")


def test_partitions_are_counted_when_a_broker_answers_and_unknown_when_none_does(new_producer: NewProducer, closed_port: int) -> None:
    assert new_producer().partition_count("named-for-the-first-time", timeout_s=WAIT_S) == 4
    assert new_producer(servers=f"127.0.0.1:{closed_port}").partition_count("t", timeout_s=0.2) is None


@pytest.mark.slow
def test_a_broker_that_goes_away_is_said_and_embedded_brokers_are_apart(outcomes: Outcomes, said: Said) -> None:
    first, second = EmbeddedBroker(), EmbeddedBroker()
    assert first.bootstrap_servers != second.bootstrap_servers
    assert first.bootstrap_servers.startswith("127.0.0.1:")
    producer = KafkaProducer(first.bootstrap_servers, {}, say=said)
    producer.send("t", OutgoingRecord(b"x"), delivered=outcomes.of("before"))
    outcomes.wait_for(1)

    first.close()
    first.close()
    producer.send("t", OutgoingRecord(b"x"), delivered=outcomes.of("after"))
    said.wait_for("trying again")
    assert outcomes.all == [("before", None)]
    producer.close(0.0)
    second.close()
