"""Dead letters keep the whole original, are reported as delivered only after the acknowledgement, and are never dropped."""

import hashlib
import io
import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from producers.dead_letters import HEAD_BYTES, PRODUCER_PROPERTIES, DeadLetter, Envelope, TopicLetterBox, envelope
from producers.envelope import ListedPiece, mark_headers
from producers.file_lines import LineTooLarge, read_lines
from producers.kafka import EmbeddedBroker, Header
from tests.producers.conftest import NewProducer, Outcomes, ReadTopic, Said, headers_of
from tests.services.proxy import Proxy

ORIGINAL: list[Header] = [("traceparent", b"00-ab"), ("traceparent", None), ("vectail.reason", b"somebody's own")]


def listed(*pieces: tuple[int, int, str]) -> list[ListedPiece]:
    return [ListedPiece(*piece) for piece in pieces]


def letter(value: bytes | None, *, pieces: Sequence[tuple[int, int, str]] = (), headers: list[Header] | None = None) -> DeadLetter:
    return DeadLetter(
        "logs", 3, 17, "00c0ffee", 1_700_000_000_123, b"key\xff", value, headers or [], "decode", "not UTF-8", listed(*pieces)
    )


def named(headers: list[Header]) -> dict[str, bytes | None]:
    """Read headers as dead-letter tools do: the last of each name counts."""
    return dict(headers)


def deliver(sender: TopicLetterBox, one: DeadLetter, outcomes: Outcomes) -> None:
    sender.send(one, delivered=lambda: outcomes.of("letter")("delivered"))


def test_a_dead_letter_holds_the_original_bytes_and_says_where_it_came_from(
    new_producer: NewProducer, topic: str, outcomes: Outcomes, read_topic: ReadTopic, said: Said
) -> None:
    sender = TopicLetterBox(new_producer(PRODUCER_PROPERTIES), topic, version="1.2.3", say=said)
    value = b"\x00\xff\xfe broken"

    deliver(sender, letter(value, pieces=[(0, 1, "bad"), (4, 0, "bad"), (2, 2, "worse")], headers=ORIGINAL), outcomes)

    outcomes.wait_for(1)
    (record,) = read_topic(topic, 1)
    headers = headers_of(record)
    assert (record.key(), record.value()) == (b"key\xff", value)
    assert headers[:3] == ORIGINAL
    assert named(headers[3:]) == {
        "__connect.errors.topic": b"logs",
        "__connect.errors.partition": b"3",
        "__connect.errors.offset": b"17",
        "__connect.errors.connector.name": b"vectail",
        "__connect.errors.stage": b"decode",
        "__connect.errors.exception.message": b"not UTF-8",
        "vectail.reason": b"not UTF-8",
        "vectail.version": b"1.2.3",
        "vectail.epoch": b"00c0ffee",
        "vectail.time": b"1700000000123",
        "vectail.size": b"%d" % len(value),
        "vectail.sha256": hashlib.sha256(value).hexdigest().encode(),
        "vectail.pieces": b'{"bad":[[0,1],[4,0]],"worse":[[2,2]]}',
    }
    assert sender.open_letters == 0


@pytest.mark.slow
def test_nothing_is_delivered_without_a_broker_and_that_is_said_once(
    new_producer: NewProducer, closed_port: int, outcomes: Outcomes
) -> None:
    trouble = Said()
    producer = new_producer(PRODUCER_PROPERTIES, servers=f"127.0.0.1:{closed_port}")
    sender = TopicLetterBox(producer, "dead", version="1", say=trouble, quiet_s=0.3)

    for _ in range(3):
        deliver(sender, letter(b"x"), outcomes)

    assert "holding 3" in trouble.wait_for("no acknowledgement for 0.3 s")
    assert producer.close(1.0) > 0
    assert len(trouble.lines) == 1
    assert outcomes.all == []
    assert sender.open_letters == 3


@pytest.mark.slow
def test_a_failed_delivery_is_sent_again_until_the_broker_takes_it(
    broker: EmbeddedBroker, new_producer: NewProducer, closed_port: int, topic: str, outcomes: Outcomes, read_topic: ReadTopic
) -> None:
    trouble = Said()
    impatient = {**PRODUCER_PROPERTIES, "message.timeout.ms": "200"}
    sender = TopicLetterBox(new_producer(impatient, servers=f"127.0.0.1:{closed_port}"), topic, version="1", say=trouble)
    deliver(sender, letter(b"first"), outcomes)
    trouble.wait_for("trying again")
    assert outcomes.all == []

    with Proxy(int(broker.bootstrap_servers.rpartition(":")[2]), at=closed_port):
        outcomes.wait_for(1)
    trouble.wait_for("takes them again")

    assert outcomes.all == [("letter", "delivered")]
    assert len(trouble.lines) == 2
    assert [record.value() for record in read_topic(topic, 1)] == [b"first"]


def test_what_the_topic_refuses_even_cut_gets_smaller_until_it_is_taken(
    new_producer: NewProducer, topic: str, outcomes: Outcomes, read_topic: ReadTopic
) -> None:
    tiny_topic, trouble = {**PRODUCER_PROPERTIES, "message.max.bytes": "20000"}, Said()
    sender = TopicLetterBox(new_producer(tiny_topic), topic, version="1", say=trouble)
    value = bytes(range(256)) * 8_000
    pieces = [(sub, 0, "a reason") for sub in range(3_000)]

    deliver(sender, letter(value, pieces=pieces, headers=[("h", b"x" * 5_000)])._replace(key=b"k" * 50_000), outcomes)

    outcomes.wait_for(1)
    (record,) = read_topic(topic, 1)
    headers = named(headers_of(record))
    assert (record.key(), record.value()) == (b"k" * 4_096, value[:4_096])
    assert headers["vectail.size"] == b"2048000"
    assert headers["vectail.sha256"] == hashlib.sha256(value).hexdigest().encode()
    assert headers["vectail.pieces.omitted"] == b"3000"
    assert headers["vectail.headers.omitted"] == b"1"
    assert len([line for line in trouble.lines if "refused one for its size" in line]) <= 1
    assert not [line for line in trouble.lines if "does not take them" in line]


def test_a_reason_without_end_is_clipped() -> None:
    shaped = envelope(letter(b"x", pieces=[(0, 0, "r" * 500_000)])._replace(reason="r" * 500_000), version="1", max_bytes=1_000_000)

    headers = named(shaped.headers)
    assert headers["vectail.reason"] == headers["__connect.errors.exception.message"] == b"r" * 1_000
    assert headers["vectail.pieces"] == b'{"%s":[[0,0]]}' % (b"r" * 1_000)


def test_a_mark_names_its_letter_and_the_pieces_that_are_left() -> None:
    failing = listed((0, 1, "bad"), (4, 0, "bad"), (2, 2, "worse"))
    many = listed(*((n, 0, "r" * 99 + str(n)) for n in range(2_000)))

    assert mark_headers(3, 17, (), version="1.2") == [("vectail.replayed", b"3/17"), ("vectail.version", b"1.2")]
    assert named(mark_headers(3, 17, failing, version="1"))["vectail.pieces"] == b'{"bad":[[0,1],[4,0]],"worse":[[2,2]]}'
    assert named(mark_headers(3, 17, many, version="1"))["vectail.pieces.omitted"] == b"2000"


def test_a_full_queue_holds_letters_and_loses_none(
    new_producer: NewProducer, topic: str, outcomes: Outcomes, read_topic: ReadTopic
) -> None:
    sender = TopicLetterBox(new_producer({**PRODUCER_PROPERTIES, "queue.buffering.max.messages": "5"}), topic, version="1", say=Said())

    for number in range(100):
        deliver(sender, letter(b"%d" % number), outcomes)

    outcomes.wait_for(100)
    assert {record.value() for record in read_topic(topic, 100)} == {b"%d" % number for number in range(100)}
    assert len(outcomes.all) == 100


def test_a_line_that_never_became_a_record_has_head_size_and_digest_but_no_offset() -> None:
    line = b"=" * 10_000_000
    (cut,) = read_lines(io.BytesIO(line + b"\r\n"), file="big.log")
    assert isinstance(cut, LineTooLarge)

    shaped = envelope(DeadLetter.too_large(cut, topic="logs", time_ms=5), version="1", max_bytes=1_000_000)

    headers = named(shaped.headers)
    assert shaped.value == line[:1_024]
    assert shaped.key is None
    assert headers["vectail.size"] == b"10000000"
    assert headers["vectail.sha256"] == hashlib.sha256(line).hexdigest().encode()
    assert headers["vectail.truncated"] == b"true"
    assert headers["vectail.reason"] == b"too_large: line 1 of big.log has 10000000 bytes"
    assert headers["__connect.errors.topic"] == b"logs"
    assert "__connect.errors.offset" not in headers
    assert "__connect.errors.partition" not in headers


def test_a_tombstone_and_a_lone_surrogate_can_be_dead_letters() -> None:
    shaped = envelope(letter(None)._replace(reason="bad \ud800"), version="1", max_bytes=1_000_000)

    assert shaped.value is None
    assert named(shaped.headers)["vectail.size"] == b"0"
    assert named(shaped.headers)["vectail.reason"] == b"bad \\ud800"


def test_a_cut_letter_keeps_its_headers_in_front_unless_they_are_as_large_as_a_value() -> None:
    small: list[Header] = [("h", b"x")]
    large: list[Header] = [("h", b"x" * 200_000)]

    kept = envelope(letter(b"v", headers=small), version="1", max_bytes=0)
    left_out = envelope(letter(b"v", headers=large), version="1", max_bytes=0)

    assert kept.headers[0] == ("h", b"x")
    assert "vectail.headers.omitted" not in named(kept.headers)
    assert named(left_out.headers)["vectail.headers.omitted"] == b"1"
    assert total_bytes(left_out) < HEAD_BYTES


def total_bytes(shaped: Envelope) -> int:
    texts = [shaped.key, shaped.value, *(part for name, content in shaped.headers for part in (name.encode(), content))]
    return sum(len(text or b"") for text in texts)


binary = st.one_of(st.none(), st.binary(max_size=300), st.integers(0, 200_000).map(lambda size: b"z" * size))


@given(
    key=binary,
    value=binary,
    headers=st.lists(st.tuples(st.text(max_size=5), binary), max_size=3),
    max_bytes=st.integers(0, 400_000),
    pieces=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.text(max_size=5)), max_size=5),
)
def test_an_envelope_is_the_whole_letter_or_a_bounded_and_truthful_cut(
    key: bytes | None, value: bytes | None, headers: list[Header], max_bytes: int, pieces: list[tuple[int, int, str]]
) -> None:
    original = letter(value, pieces=pieces, headers=headers)._replace(key=key)

    shaped = envelope(original, version="1", max_bytes=max_bytes)

    ours = named(shaped.headers)
    assert ours["vectail.size"] == str(len(value or b"")).encode()
    assert ours["vectail.sha256"] == hashlib.sha256(value or b"").hexdigest().encode()
    if pieces:
        reasons = json.loads(ours["vectail.pieces"] or b"")
        assert sorted((sub, chunk, reason) for reason, places in reasons.items() for sub, chunk in places) == sorted(pieces)
    if shaped.is_cut:
        assert ours["vectail.truncated"] == b"true"
        assert total_bytes(shaped) <= 4 * HEAD_BYTES
        assert (value or b"").startswith(shaped.value or b"")
        assert (shaped.value is None) == (value is None)
    else:
        assert total_bytes(shaped) <= max_bytes
        assert (shaped.key, shaped.value, shaped.headers[: len(headers)]) == (key, value, headers)
