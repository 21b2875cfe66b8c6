"""A dead letter is read back as it was written, whatever headers the record itself had."""

import pytest

from consumers.record import Header, Record
from producers.envelope import DeadLetter
from producers.lines import TooLarge
from tests.worker.audit.audited_index import MALFORMED_PIECES, dead_letter, read_back, record
from worker.audit.stored_dead_letters import read_dead_letter


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


def test_headers_of_the_record_itself_are_not_taken_for_ours() -> None:
    forged: tuple[Header, ...] = (
        ("__connect.errors.topic", b"other"),
        ("__connect.errors.offset", b"99"),
        ("vectail.pieces", b'{"r": [[0, 0]]}'),
        ("vectail.pieces.omitted", b"3"),
    )
    letter = read_back(dead_letter(record(3, "x")._replace(headers=forged), "undecodable: no", ()))
    assert (letter.topic, letter.offset, letter.pieces, letter.is_whole) == ("logs", 3, (), True)


def test_a_line_that_never_became_a_record_has_no_coordinates() -> None:
    line = TooLarge(file="a.log", number=3, size_bytes=10, sha256="00", head=b"x")
    letter = read_back(DeadLetter.too_large(line, topic="logs", time_ms=1))
    assert (letter.partition, letter.offset, letter.stage) == (None, None, "feed")


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
