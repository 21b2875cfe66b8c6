"""Feeding a topic: every line arrives once, and no faster than the reader can take them."""

import threading
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from producers.feed import MOST_LINES, RECORD_OVERHEAD_BYTES, Feeder, FeedFailed, FeedProgress, FeedWindow
from producers.file_lines import LineTooLarge
from producers.kafka import EmbeddedBroker, KafkaProducer
from tests.producers.conftest import WAIT_S, NewProducer, ReadTopic, Said

TOO_LARGE = LineTooLarge("f", 2, b"head", 2_000_000, "ab")


def refuse_none(line: LineTooLarge) -> None:
    pytest.fail(f"refused {line}")


def never(seconds: float) -> bool:
    return threading.Event().wait(seconds)


def test_line_i_goes_to_partition_i_modulo_their_number_and_all_are_acknowledged(
    new_producer: NewProducer, topic: str, read_topic: ReadTopic
) -> None:
    fed = FeedProgress()
    lines = [b"%d" % number for number in range(1_001)]

    Feeder(new_producer(), topic, progress=fed, pause=never).feed([lines], refuse=refuse_none)

    records = read_topic(topic, 1_001)
    assert {(record.partition(), record.offset()): record.value() for record in records} == {
        (number % 4, number // 4): b"%d" % number for number in range(1_001)
    }
    assert {record.key() for record in records} == {None}
    assert (fed.read, fed.sent, fed.acknowledged, fed.too_large) == (1_001, 1_001, 1_001, 0)


def test_a_feed_goes_on_as_the_records_in_its_window_are_committed(new_producer: NewProducer, topic: str, read_topic: ReadTopic) -> None:
    fed, committed = FeedProgress(), Counter[int]()
    most_open: list[int] = []

    def commit_one_of_each(_seconds: float) -> bool:
        most_open.append(fed.sent - sum(committed.values()))
        committed.update(range(4))
        return False

    lines = [b"%03d" % number + b"x" * 100 for number in range(200)]
    window = FeedWindow(lambda: committed, limit_bytes=500)
    Feeder(new_producer(), topic, progress=fed, pause=commit_one_of_each, window=window).feed([lines], refuse=refuse_none)

    assert {record.value() for record in read_topic(topic, 200)} == set(lines)
    assert max(most_open) <= 4 * 2, "two records with their overhead fit"


def test_a_window_holds_less_than_half_of_what_an_embedded_broker_keeps_of_a_partition() -> None:
    assert 20 < FeedWindow(dict[int, int]).admit(0, [b"x" * 100_000] * 100) < 5_000_000 // 100_000 // 2


def test_a_window_admits_one_record_whatever_its_size_and_then_waits_for_it() -> None:
    committed = {0: 0}
    window = FeedWindow(lambda: committed, limit_bytes=1_000)

    assert window.admit(0, [b"x" * 5_000, b""]) == 1
    assert window.admit(0, [b"x"]) == 0
    assert window.admit(1, [b"x"]) == 1
    committed[0] = 1
    assert window.admit(0, [b"x" * 800, b""]) == 1
    assert window.admit(0, [b"x" * 800]) == 0


@given(
    sends=st.lists(st.tuples(st.integers(0, 1), st.lists(st.integers(0, 400), min_size=1, max_size=6), st.integers(0, 4)), max_size=30),
)
def test_a_window_admits_as_many_records_as_one_that_looks_at_each(sends: list[tuple[int, list[int], int]]) -> None:
    sizes: dict[int, list[int]] = {0: [], 1: []}
    committed = {0: 0, 1: 0}
    window = FeedWindow(lambda: committed, limit_bytes=1_000)

    for partition, lengths, commits in sends:
        admitted = window.admit(partition, [b"x" * length for length in lengths])
        for place, length in enumerate(lengths):
            open_bytes = sum(sizes[partition][committed[partition] :])
            is_admitted = not open_bytes or open_bytes + length + RECORD_OVERHEAD_BYTES <= 1_000
            assert (place < admitted) == is_admitted
            if not is_admitted:
                break
            sizes[partition].append(length + RECORD_OVERHEAD_BYTES)
        committed[partition] = min(committed[partition] + commits, len(sizes[partition]))


def test_lines_after_one_that_is_too_large_go_on_in_their_order(new_producer: NewProducer, topic: str, read_topic: ReadTopic) -> None:
    lines = [b"%d" % number for number in range(MOST_LINES + 300)]
    refused: list[tuple[LineTooLarge, int]] = []
    fed = FeedProgress()

    def refuse(line: LineTooLarge) -> None:
        refused.append((line, fed.sent))

    lists: list[list[bytes | LineTooLarge]] = [[*lines[:5], TOO_LARGE, TOO_LARGE, *lines[5:]], [TOO_LARGE], []]
    Feeder(new_producer(), topic, progress=fed, pause=never).feed(lists, refuse=refuse)

    records = read_topic(topic, len(lines))
    assert {(record.partition(), record.offset()): record.value() for record in records} == {
        (number % 4, number // 4): line for number, line in enumerate(lines)
    }
    assert refused == [(TOO_LARGE, 5), (TOO_LARGE, 5), (TOO_LARGE, len(lines))]
    assert (fed.read, fed.sent, fed.acknowledged, fed.too_large) == (len(lines) + 3, len(lines), len(lines), 3)


def test_a_feed_that_is_stopped_at_a_full_queue_counts_what_was_taken(new_producer: NewProducer, topic: str) -> None:
    fed = FeedProgress()
    # Nothing leaves the queue within a minute.
    properties = {"queue.buffering.max.messages": "30", "linger.ms": "60000", "enable.idempotence": "false"}
    producer = new_producer(properties, stopped=lambda: True)

    Feeder(producer, topic, progress=fed, pause=never).feed([[b"x"] * 100, [b"never"]], refuse=refuse_none)

    assert (fed.read, fed.sent) == (100, 30)
    assert producer.close(0.0) == 30


def test_a_feed_that_is_told_to_stop_ends_while_it_waits_for_room(new_producer: NewProducer, topic: str) -> None:
    fed = FeedProgress()

    Feeder(new_producer(), topic, progress=fed, pause=lambda _: True, window=FeedWindow(dict[int, int], limit_bytes=500)).feed(
        [[b"x" * 100] * 50], refuse=refuse_none
    )

    assert fed.sent == 8


@pytest.mark.process
def test_a_feed_without_a_broker_waits_until_told_to_stop(new_producer: NewProducer, closed_port: int, said: Said) -> None:
    fed = FeedProgress()
    waits = threading.Event()
    stop = threading.Event()

    def pause(_seconds: float) -> bool:
        waits.set()
        return stop.wait(WAIT_S)

    producer = new_producer(servers=f"127.0.0.1:{closed_port}")
    feeding = threading.Thread(target=lambda: Feeder(producer, "t", progress=fed, pause=pause).feed([[b"x"]], refuse=refuse_none))
    feeding.start()

    assert waits.wait(WAIT_S)
    said.wait_for("trying again")
    stop.set()
    feeding.join(WAIT_S)
    assert not feeding.is_alive()
    assert (fed.read, fed.sent) == (0, 0)


@pytest.mark.process
def test_a_delivery_that_fails_ends_the_feed_with_one_line(said: Said) -> None:
    broker = EmbeddedBroker()
    producer = KafkaProducer(broker.bootstrap_servers, {"message.timeout.ms": "3000", "enable.idempotence": "false"}, say=said)
    fed = FeedProgress()

    def lists() -> Iterator[list[bytes]]:
        yield [b"delivered"]
        assert producer.flush(WAIT_S) == 0
        broker.close()
        yield [b"never"]

    with pytest.raises(FeedFailed, match=r"topic logs: .*1 of 2 records were delivered") as failure:
        Feeder(producer, "logs", progress=fed, pause=never).feed(lists(), refuse=refuse_none)

    assert "\n" not in str(failure.value)
    producer.close(0.0)


def test_a_rate_makes_the_feed_wait_for_as_long_as_it_says(new_producer: NewProducer, topic: str) -> None:
    waited_s: list[float] = []

    def pause(seconds: float) -> bool:
        waited_s.append(seconds)
        return len(waited_s) == 3

    Feeder(new_producer(), topic, progress=FeedProgress(), pause=pause, rate=0.01).feed([[b"x"] * 10], refuse=refuse_none)

    assert [round(seconds, -1) for seconds in waited_s] == [100.0, 200.0, 300.0]
