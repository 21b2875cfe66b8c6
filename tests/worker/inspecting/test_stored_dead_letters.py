"""A dead letter is read back as it was written, whatever headers the record itself had."""

import pytest

from consumers.decode.line_zones import DAY_MS
from consumers.record import Header, Record
from producers.envelope import envelope
from tests.rows import rows
from tests.worker.inspecting.audited_index import MALFORMED_PIECES, dead_letter, read_back, record
from worker.inspecting.stored_dead_letters import ALTERED, CUT, read_dead_letter


def test_a_whole_record_comes_back_with_its_coordinates() -> None:
    letter = read_back(dead_letter(record(3, b"\xff", time_ms=11), "undecodable: not valid UTF-8", ()))
    assert letter[:9] == ("logs", 0, 3, "e1", 11, "decode", "undecodable: not valid UTF-8", (), 0)
    assert letter.is_whole
    assert (letter.letter.offset, letter.letter.value) == (7, b"\xff")


def test_pieces_come_back_with_their_reasons() -> None:
    pieces = [(0, 1, "too long"), (2, 0, "poison"), (5, 3, "too long")]
    letter = read_back(dead_letter(record(3, "x"), "too long", pieces))
    assert sorted(letter.pieces) == sorted(pieces)
    assert (letter.stage, letter.is_whole) == ("embed", False)


def test_pieces_that_were_too_many_to_list_are_not_a_whole_record() -> None:
    letter = read_back(dead_letter(record(3, "x"), "r", [(n, 0, f"reason {n}" * 9) for n in range(5000)]))
    assert (letter.pieces, letter.unlisted_pieces, letter.is_whole) == ((), 5000, False)


@pytest.mark.parametrize(
    "headers",
    [
        (),
        (("vectail.reason", b"r"),),
        (("__connect.errors.topic", b"logs"), ("__connect.errors.offset", b"1")),
        (("__connect.errors.topic", b"logs"), ("vectail.reason", b"r"), ("__connect.errors.offset", b"one")),
        (("__connect.errors.topic", b"logs"), ("vectail.reason", b"r"), ("vectail.pieces", b"[1]")),
        (("__connect.errors.topic", b"logs"), ("vectail.reason", b"r"), ("vectail.pieces", b'{"r": 1}')),
        (("__connect.errors.topic", b"logs"), ("vectail.reason", b"r"), ("vectail.pieces", b"\xff")),
        *(
            (("__connect.errors.topic", b"logs"), ("vectail.reason", b"r"), (name, number))
            for name in ("__connect.errors.partition", "__connect.errors.offset", "vectail.time", "vectail.size", "vectail.pieces.omitted")
            for number in (b"9223372036854775808", b"-9223372036854775809", b"9" * 5_000)
        ),
        (("__connect.errors.topic", b"logs"), ("vectail.reason", b"r"), ("__connect.errors.partition", b"2147483648")),
        *((("__connect.errors.topic", b"logs"), ("vectail.reason", b"r"), ("vectail.pieces", pieces)) for pieces in MALFORMED_PIECES),
    ],
)
def test_what_others_put_into_the_topic_is_passed_over(headers: tuple[Header, ...]) -> None:
    assert read_dead_letter(Record("dead", 0, 0, "", 0, None, b"x", headers)) is None


@pytest.mark.parametrize(("name", "content"), rows("letters/impossible"))
def test_a_letter_of_what_kafka_cannot_have_is_passed_over(name: str, content: str) -> None:
    shaped = envelope(dead_letter(record(3, "x"), "undecodable: no"), version="1", max_bytes=1_000_000)
    own = tuple((one, content.encode() if one == name else value) for one, value in shaped.headers)
    assert own != tuple(shaped.headers)
    assert read_dead_letter(Record("dead", 0, 0, "", 0, None, b"x", own)) is None


@pytest.mark.parametrize(("partition", "offset"), [(0, 0), ((1 << 31) - 2, (1 << 63) - 2)])
def test_the_first_and_the_last_place_of_kafka_s_are_places(partition: int, offset: int) -> None:
    letter = read_back(dead_letter(record(offset, "x")._replace(partition=partition), "undecodable: no"))
    assert (letter.partition, letter.offset) == (partition, offset)


@pytest.mark.parametrize("time_ms", [-1, -(1 << 63), 5 + DAY_MS + 1, 1 << 62, (1 << 63) - 1])
def test_a_time_that_no_record_can_have_is_the_letter_s(time_ms: int) -> None:
    assert read_back(dead_letter(record(3, "x", time_ms=time_ms), "undecodable: no")).time_ms == 5
    assert read_back(dead_letter(record(3, "x", time_ms=5 + DAY_MS), "undecodable: no")).time_ms == 5 + DAY_MS
    assert read_back(dead_letter(record(3, "x", time_ms=0), "undecodable: no")).time_ms == 0


def test_a_letter_that_does_not_hold_the_bytes_that_it_names_is_no_cut_one() -> None:
    letter = read_back(dead_letter(record(3, b"disk full"), "undecodable: no"))
    assert (letter.is_altered, letter.obstacle) == (False, "")
    for value, obstacle in ((b"disk fulL", ALTERED), (b"disk full and more", ALTERED), (b"disk", CUT), (None, CUT)):
        other = letter._replace(letter=letter.letter._replace(value=value))
        assert (other.is_altered, other.obstacle) == (obstacle == ALTERED, obstacle)
