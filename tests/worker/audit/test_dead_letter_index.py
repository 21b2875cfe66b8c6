"""A dead letter is read back as it was written, whatever headers the record itself had."""

import pytest

from consumers.record import Header, Record
from producers.envelope import DeadLetter, envelope
from producers.lines import TooLarge
from tests.worker.audit.books import record
from worker.audit.dead_letter_index import DeadLetterIndex, Excused, StoredDeadLetter, buried_of
from worker.indexing.dead_letter_reasons import letter_of


def posted(letter: DeadLetter) -> Record:
    """Return the dead letter as it comes back from its topic."""
    shaped = envelope(letter, version="1", max_bytes=1_000_000)
    return Record("dead", 2, 7, "", 5, shaped.key, shaped.value, tuple(shaped.headers))


def read(letter: DeadLetter) -> StoredDeadLetter:
    buried = buried_of(posted(letter))
    assert buried is not None
    return buried


def test_a_whole_record_comes_back_with_its_coordinates() -> None:
    buried = read(letter_of(record(3, b"\xff", time_ms=11), "undecodable: not valid UTF-8", ()))
    assert buried[:9] == ("logs", 0, 3, "e1", 11, "decode", "undecodable: not valid UTF-8", (), 0)
    assert buried.is_whole
    assert (buried.letter.offset, buried.letter.value) == (7, b"\xff")


def test_pieces_come_back_with_their_reasons() -> None:
    pieces = [(0, 1, "too long"), (2, 0, "poison"), (5, 3, "too long")]
    buried = read(letter_of(record(3, "x"), "too long", pieces))
    assert sorted(buried.pieces) == sorted(pieces)
    assert (buried.stage, buried.is_whole) == ("embed", False)


def test_pieces_that_were_too_many_to_list_are_not_a_whole_record() -> None:
    buried = read(letter_of(record(3, "x"), "r", [(n, 0, f"reason {n}" * 9) for n in range(5000)]))
    assert (buried.pieces, buried.unlisted_pieces, buried.is_whole) == ((), 5000, False)


def test_headers_of_the_record_itself_are_not_taken_for_ours() -> None:
    forged: tuple[Header, ...] = (
        ("__connect.errors.topic", b"other"),
        ("__connect.errors.offset", b"99"),
        ("vectail.pieces", b'{"r": [[0, 0]]}'),
        ("vectail.pieces.omitted", b"3"),
    )
    buried = read(letter_of(record(3, "x")._replace(headers=forged), "undecodable: no", ()))
    assert (buried.topic, buried.offset, buried.pieces, buried.is_whole) == ("logs", 3, (), True)


def test_a_line_that_never_became_a_record_has_no_coordinates() -> None:
    line = TooLarge(file="a.log", number=3, size_bytes=10, sha256="00", head=b"x")
    buried = read(DeadLetter.too_large(line, topic="logs", time_ms=1))
    assert (buried.partition, buried.offset, buried.stage) == (None, None, "feed")
    graveyard = DeadLetterIndex({"logs": ""})
    graveyard.add(buried)
    assert not graveyard.of("logs")


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
    ],
)
def test_what_others_put_into_the_topic_is_passed_over(headers: tuple[Header, ...]) -> None:
    assert buried_of(Record("dead", 0, 0, "", 0, None, b"x", headers)) is None


def test_several_dead_letters_of_a_record_excuse_what_each_does() -> None:
    graveyard = DeadLetterIndex({"logs": "e1"})
    graveyard.add(read(letter_of(record(3, "x"), "r", [(0, 0, "r")])))
    graveyard.add(read(letter_of(record(3, "x"), "r", [(4, 2, "r")])))
    grave = graveyard.of("logs")[0, 3]
    assert grave == Excused(frozenset({(0, 0), (4, 2)}))
    assert [grave.excuses(*piece) for piece in ((0, 0), (4, 2), (0, 1))] == [True, True, False]
    graveyard.add(read(letter_of(record(3, "x"), "undecodable: no", ())))
    graveyard.add(read(letter_of(record(3, "x"), "r", [(0, 0, "r")])))
    assert graveyard.of("logs")[0, 3].excuses(9, 9)


def test_pieces_that_are_not_listed_may_be_any_of_the_record() -> None:
    graveyard = DeadLetterIndex({"logs": "e1"})
    graveyard.add(read(letter_of(record(3, "x"), "r", [(n, 0, f"reason {n}" * 9) for n in range(5000)])))
    assert graveyard.of("logs")[0, 3].excuses(4999, 0)


def test_dead_letters_of_other_topics_and_epochs_excuse_nothing() -> None:
    graveyard = DeadLetterIndex({"logs": "e1", "empty": "e2"})
    for other in (record(3, "x")._replace(epoch="e0"), record(3, "x")._replace(topic="elsewhere"), record(3, "x")._replace(epoch="e2")):
        graveyard.add(read(letter_of(other, "r", ())))
    assert (graveyard.of("logs"), graveyard.of("empty")) == ({}, {})
