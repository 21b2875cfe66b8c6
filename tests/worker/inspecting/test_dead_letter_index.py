"""Dead letters excuse the pieces that they list, or their whole record, until they are replayed."""

from tests.worker.inspecting.audited_index import dead_letter, read_back, record
from worker.inspecting.dead_letter_index import DeadLetterIndex, Excused, key_of


def test_several_dead_letters_of_a_record_excuse_what_each_does() -> None:
    index = DeadLetterIndex({"logs": "e1"})
    index.add_letter(read_back(dead_letter(record(3, "x"), "r", [(0, 0, "r")])))
    index.add_letter(read_back(dead_letter(record(3, "x"), "r", [(4, 2, "r")])))
    excused = index.excused_records("logs")[key_of(record(3, "x"))]
    assert excused == Excused(frozenset({(0, 0), (4, 2)}))
    assert [excused.excuses(*piece) for piece in ((0, 0), (4, 2), (0, 1))] == [True, True, False]
    index.add_letter(read_back(dead_letter(record(3, "x"), "undecodable: no", ())))
    index.add_letter(read_back(dead_letter(record(3, "x"), "r", [(0, 0, "r")])))
    assert index.excused_records("logs")[key_of(record(3, "x"))].excuses(9, 9)


def test_pieces_that_are_not_listed_may_be_any_of_the_record() -> None:
    index = DeadLetterIndex({"logs": "e1"})
    index.add_letter(read_back(dead_letter(record(3, "x"), "r", [(n, 0, f"reason {n}" * 9) for n in range(5000)])))
    assert index.excused_records("logs")[key_of(record(3, "x"))].excuses(4999, 0)


def test_dead_letters_of_other_topics_and_epochs_excuse_nothing() -> None:
    index = DeadLetterIndex({"logs": "e1", "empty": "e2"})
    for other in (record(3, "x")._replace(epoch="e0"), record(3, "x")._replace(topic="elsewhere"), record(3, "x")._replace(epoch="e2")):
        index.add_letter(read_back(dead_letter(other, "r", ())))
    assert (index.excused_records("logs"), index.excused_records("empty")) == ({}, {})


def test_a_dead_letter_that_does_not_hold_its_record_excuses_nothing_and_one_with_its_head_does() -> None:
    index = DeadLetterIndex({"logs": "e1"})
    letter = read_back(dead_letter(record(3, "disk full"), "undecodable: no"))
    index.add_letter(letter._replace(letter=letter.letter._replace(value=b"disk fulL")))
    assert not index.excused_records("logs")
    index.add_letter(letter._replace(letter=letter.letter._replace(value=b"disk")))
    assert index.excused_records("logs").keys() == {key_of(record(3, "disk full"))}
