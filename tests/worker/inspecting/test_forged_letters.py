"""Anybody who may write to the dead-letter topic can name any record: a letter adds what is missing, and replaces and excuses nothing."""

from collections.abc import Sequence

import pytest

from consumers.record import Record
from tests.worker.inspecting.audited_index import TIME_MS, AuditedIndex, dead_letter, lines_of, read_back, record
from tests.worker.inspecting.replay_desk import Desk
from worker.inspecting.dead_letter_index import DeadLetterIndex
from worker.inspecting.kept_records import OTHER_BYTES, FoundRecord
from worker.inspecting.replay import OTHER_LETTER, Replayed
from worker.inspecting.replay_plan import OTHER_LINES
from worker.settings.topic_tables import MultilineTable

TWO = '[{"message": "one"}, {"message": "two"}]'
LONG = " ".join(f"word{n} is not at all like it." for n in range(200))
TRACE = ("java.lang.IllegalStateException: no", "\tat a.B.c(D.java:1)", "\tat a.B.d(D.java:2)")


def forge(desk: Desk, one: Record, pieces: Sequence[tuple[int, int]] = ()) -> None:
    desk.post_letter_of(one, "undecodable: not valid UTF-8", [(*piece, "poison") for piece in pieces])


def check_refused(desk: Desk, audited: AuditedIndex, reason: str) -> None:
    """Check that the last letter is refused and that nothing is written or marked because of it."""
    before, marks = audited.snapshot(), len(desk.marks)
    replayed = desk.work()
    assert (replayed.left, [one.reason for one in replayed.unresolved]) == (1, [reason])
    assert (audited.snapshot(), len(desk.marks)) == (before, marks)


def check_held(replayed: Replayed, letters: int = 1) -> None:
    """Check that the index held the lines of so many letters, and that no other was replayed."""
    assert (replayed.done, replayed.held, replayed.lines, replayed.left) == (letters, letters, 0, 0)


def test_a_letter_of_other_bytes_than_kafka_s_record_is_refused(desk: Desk, audited: AuditedIndex) -> None:
    forge(desk, record(5, "nothing happened here, all is well"))
    desk.kept[5] = FoundRecord(refusal=OTHER_BYTES)
    check_refused(desk, audited, OTHER_BYTES)


def test_what_kafka_holds_of_the_record_is_replayed_and_not_what_the_letter_says_beside_it(desk: Desk, audited: AuditedIndex) -> None:
    kept = record(5, "disk full")
    forge(desk, kept._replace(time_ms=TIME_MS - 500_000, key=b"other", headers=(("service", b"other"),)))
    desk.kept[5] = FoundRecord(kept)
    assert desk.work().lines == 1
    assert audited.lines() == lines_of(audited.expected_lines.compute_expected([kept]))


@pytest.mark.parametrize("pieces", [[], [(0, 0)]], ids=["the whole record", "a piece of it"])
def test_a_sound_line_is_never_replaced(desk: Desk, audited: AuditedIndex, pieces: list[tuple[int, int]]) -> None:
    audited.index_records("disk full", "login failed")
    forge(desk, record(1, "nothing happened here, all is well"), pieces)
    check_refused(desk, audited, OTHER_LINES)


def test_a_line_with_a_missing_chunk_is_not_replaced_by_another_text(desk: Desk, audited: AuditedIndex) -> None:
    lines = lines_of(audited.index_records(LONG))
    audited.remove(lines[2])
    forge(desk, record(0, "nothing happened here"), [(0, 2)])
    check_refused(desk, audited, OTHER_LINES)


def test_what_is_missing_is_added_beside_what_is_stored(desk: Desk, audited: AuditedIndex) -> None:
    before = lines_of(audited.index_records(TWO, LONG))
    audited.remove(before[1], before[4])
    forge(desk, record(0, TWO), [(1, 0)])
    forge(desk, record(1, LONG), [(0, 2)])
    assert (desk.work().done, audited.lines()) == (2, before)


@pytest.mark.parametrize("entries", [0, 3])
def test_what_is_added_to_a_record_whose_blocks_say_otherwise_how_many_entries_it_has_is_seen(
    desk: Desk, audited: AuditedIndex, entries: int
) -> None:
    first, second = lines_of(audited.expected_lines.compute_expected([record(3, TWO)]))
    audited.store(first._replace(entries=entries))
    forge(desk, record(3, TWO), [(1, 0)])
    assert desk.work().done == 1
    assert [line._replace(entries=2) for line in audited.lines()] == [first, second]


def test_lines_that_were_stored_with_other_settings_are_left_as_they_are(desk: Desk, audited: AuditedIndex) -> None:
    audited.expected_lines = audited.expected_lines_of(redact=["ipv4"])
    audited.index_records("login from 10.0.0.1")
    desk.kept[0] = FoundRecord(audited.records[0])
    forge(desk, audited.records[0])
    before = audited.snapshot()
    check_held(desk.work(audited.expected_lines_of()))
    assert audited.snapshot() == before


def test_of_two_letters_that_disagree_the_first_is_believed(desk: Desk, audited: AuditedIndex) -> None:
    forge(desk, record(3, "disk full"))
    forge(desk, record(3, "nothing happened here"))
    replayed = desk.work()
    assert ([line.text for line in audited.lines()], replayed.unresolved[0].reason) == (["disk full"], OTHER_LETTER)
    check_refused(desk, audited, OTHER_LINES)


def test_a_record_inside_a_stored_event_is_no_line_of_its_own(desk: Desk, audited: AuditedIndex) -> None:
    audited.expected_lines = audited.expected_lines_of(multiline=MultilineTable(start="java"))
    audited.index_records(*TRACE, "java.lang.Error: end")
    forge(desk, record(1, "java.lang.Error: nothing happened here"))
    check_refused(desk, audited, OTHER_LINES)

    desk.letters.clear()
    forge(desk, audited.records[1])
    desk.kept[1] = FoundRecord(audited.records[1])
    before = audited.snapshot()
    check_held(desk.work())
    assert audited.snapshot() == before


def test_an_event_does_not_cover_a_record_that_is_stored_by_itself(desk: Desk, audited: AuditedIndex) -> None:
    joining = audited.expected_lines_of(multiline=MultilineTable(start="java"))
    audited.records = [record(offset, text) for offset, text in enumerate(TRACE)]
    audited.store(*lines_of(audited.expected_lines.compute_expected(audited.records[1:2])))
    for one in audited.records:
        forge(desk, one)
        desk.kept[one.offset] = FoundRecord(one)
    before = audited.snapshot()
    replayed = desk.work(joining)
    assert [one.reason for one in replayed.unresolved] == [OTHER_LINES] * 3
    assert (audited.snapshot(), desk.marks) == (before, [])


@pytest.mark.parametrize(
    "value",
    [b"nothing happened here", b"disk fulL", b"", b"disk full and more"],
)
def test_a_lost_line_is_not_excused_by_a_letter_of_other_bytes(audited: AuditedIndex, value: bytes) -> None:
    audited.index_records("disk full")
    audited.sink.blocks.clear()
    index = DeadLetterIndex({"logs": "e1"})
    index.add_letter(read_back(dead_letter(record(0, value), "undecodable: no")))
    audited.dead_letters = dict(index.excused_records("logs"))
    assert audited.verify().problems == {"gap": 1}
    index.add_letter(read_back(dead_letter(record(0, "disk full"), "undecodable: no")))
    audited.dead_letters = dict(index.excused_records("logs"))
    assert audited.verify().is_complete
