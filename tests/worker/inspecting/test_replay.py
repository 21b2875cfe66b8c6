"""A replay stores exactly the entries that are missing, marks the letters, and leaves what still fails."""

import gzip
import json

import pytest

from consumers.decode.line_zones import DAY_MS
from consumers.record import Header, Record
from producers.dead_letters import DeadLetter
from producers.file_lines import LineTooLarge
from tests.worker.inspecting.audited_index import MALFORMED_PIECES, WALL_MS, AuditedIndex, lines_of, record
from tests.worker.inspecting.replay_desk import Desk
from worker.connections import letter_box_at_need
from worker.indexing.dead_letter_reasons import TOO_MANY_CHUNKS
from worker.inspecting.dead_letter_index import DeadLetterIndex, key_of
from worker.inspecting.kept_records import FoundRecord
from worker.inspecting.replay import GONE
from worker.inspecting.replay_marks import ReplayMarker, ReplayMarkUndelivered, read_replay_mark
from worker.inspecting.replay_plan import NO_ENTRY
from worker.inspecting.stored_dead_letters import CUT, NO_RECORD
from worker.settings.tables import KafkaTable

LONG = " ".join(f"word{n} is not at all like it." for n in range(200))
VARIED = " ".join(f"{one}{other} is not at all like it." for one in "abcdefghijklm" for other in "nopqrstuvwxyz")
"""Its chunks have different templates."""
THREE = '[{"message": "one"}, {"message": "two"}, {"message": "three"}]'


def texts(audited: AuditedIndex) -> list[str]:
    return [line.text or "" for line in audited.lines()]


def test_the_listed_entries_are_stored_in_place_and_no_others(desk: Desk, audited: AuditedIndex) -> None:
    audited.sink.blocks.clear()
    expected = audited.expected_lines.compute_expected([record(7, THREE)])
    desk.post_letter_of(record(7, THREE), "poison", [(0, 0, "poison"), (2, 0, "poison")])
    replayed = desk.work()
    assert audited.lines() == [lines_of(expected)[0], lines_of(expected)[2]]
    assert (replayed.letters, replayed.done, replayed.left, replayed.lines, replayed.templates) == (1, 1, 0, 2, 2)
    assert [(letter.offset, left) for letter, left in desk.marks] == [(0, ())]


def test_of_a_record_whose_time_cannot_be_true_a_letter_gives_its_own_and_kafkas_record_that_of_the_replay(
    desk: Desk, audited: AuditedIndex
) -> None:
    far_ms = WALL_MS + 2 * DAY_MS
    for offset in (6, 7):
        desk.post_letter_of(record(offset, THREE, time_ms=far_ms), "poison", [(0, 0, "poison")])
    desk.kept[7] = FoundRecord(record(7, THREE, time_ms=far_ms))
    assert desk.work().done == 2
    assert [(line.time, line.kafka_time) for line in audited.lines()] == [(5, 5), (WALL_MS, far_ms)]


def test_a_record_that_was_bad_as_a_whole_is_replayed_with_all_its_pieces(desk: Desk, audited: AuditedIndex) -> None:
    one = record(3, b"caf\xe9")._replace(headers=(("a", b"1"), ("__connect.errors.topic", b"forged")))
    desk.post_letter_of(one, "undecodable: not valid UTF-8")
    replayed = desk.work()
    assert lines_of(audited.expected_lines.compute_expected([one])) == audited.lines()
    assert (replayed.done, replayed.lines) == (1, 1)
    assert desk.letters[0].record == one


def test_a_record_that_is_refused_again_as_a_whole_stays_with_the_reason_of_now(desk: Desk, audited: AuditedIndex) -> None:
    desk.post_letter_of(record(3, b"\xff"), "undecodable: of long ago")
    replayed = desk.work(audited.expected_lines_of(errors="strict"))
    assert (replayed.done, replayed.partly, replayed.left, replayed.lines) == (0, 0, 1, 0)
    assert replayed.unresolved[0].reason.startswith("undecodable: ")
    assert replayed.unresolved[0].reason != "undecodable: of long ago"
    assert (desk.marks, desk.letters[0].is_replayed) == ([], False)


def test_an_entry_that_had_too_many_chunks_is_stored_whole(desk: Desk, audited: AuditedIndex) -> None:
    value = json.dumps([{"message": "short"}, {"message": LONG}])
    desk.post_letter_of(record(3, value), TOO_MANY_CHUNKS.reason, [(1, 0, TOO_MANY_CHUNKS.reason)])
    (one,) = audited.expected_lines.compute_expected([record(3, value)])
    assert desk.work().lines == len(one.lines) - 1 > 3
    assert audited.lines() == list(one.lines[1:])


def test_a_line_of_which_one_chunk_is_listed_is_stored_whole(desk: Desk, audited: AuditedIndex) -> None:
    lines = lines_of(audited.expected_lines.compute_expected([record(3, LONG)]))
    audited.store(*lines[:2], *lines[3:])
    desk.post_letter_of(record(3, LONG), "poison", [(0, 2, "poison")])
    assert desk.work().lines == len(lines)
    assert audited.lines() == lines


@pytest.mark.parametrize("chunk", [0, 90], ids=["the first", "one that there is no more"])
def test_a_chunk_that_is_refused_again_stays_and_the_others_hold(desk: Desk, audited: AuditedIndex, chunk: int) -> None:
    (long,) = audited.expected_lines.compute_expected([record(3, VARIED)])
    audited.sink.rejected_texts = {long.lines[0].template_text}
    desk.post_letter_of(record(3, VARIED), "poison", [(0, chunk, "poison")])
    replayed = desk.work()
    assert (replayed.done, replayed.left, replayed.partly) == (0, 1, chunk > 0)
    assert [piece[:2] for piece in replayed.unresolved[0].pieces] == [(0, 0)]
    assert audited.lines() == list(long.lines[1:])


def test_an_entry_that_the_record_no_longer_has_stays(desk: Desk, audited: AuditedIndex) -> None:
    desk.post_letter_of(record(3, THREE), "poison", [(0, 0, "poison"), (2, 0, "poison")])
    replayed = desk.work(audited.expected_lines_of(format="text"))
    assert (replayed.done, replayed.partly, replayed.unresolved[0].pieces) == (0, 1, ((2, 0, NO_ENTRY),))


def test_pieces_that_were_too_many_to_list_mean_all_of_the_record(desk: Desk, audited: AuditedIndex) -> None:
    many = [(n, 0, f"reason {n}" * 9) for n in range(5000)]
    assert desk.post_letter_of(record(3, THREE), "r", many).unlisted_pieces == 5000
    assert desk.work().lines == 3
    assert texts(audited) == ["one", "two", "three"]


def test_pieces_that_are_refused_again_stay_and_only_they_are_taken_the_next_time(desk: Desk, audited: AuditedIndex) -> None:
    desk.post_letter_of(record(3, THREE), "poison", [(n, 0, "poison") for n in range(3)])
    audited.sink.rejected_texts = {"two"}
    replayed = desk.work()
    assert (replayed.done, replayed.partly, replayed.left, replayed.lines) == (0, 1, 1, 2)
    ((_, left),) = desk.marks
    assert [piece[:2] for piece in left] == [(1, 0)]
    assert desk.letters[0].is_partly_replayed
    assert "its text is refused" in desk.letters[0].reason

    audited.sink.rejected_texts = set()
    audited.sink.blocks.clear()
    assert desk.work().done == 1
    assert texts(audited) == ["two"]
    assert desk.letters[0].is_replayed


def test_a_replay_that_dies_before_it_marks_is_made_up_for_and_readers_get_nothing_twice(desk: Desk, audited: AuditedIndex) -> None:
    desk.post_letter_of(record(3, THREE), "poison", [(n, 0, "poison") for n in range(3)])
    desk.fails = True
    with pytest.raises(ReplayMarkUndelivered):
        desk.work()
    before, templates = audited.lines(), set(audited.sink.templates)
    assert (len(before), desk.letters[0].is_replayed) == (3, False)
    desk.fails = False
    replayed = desk.work()
    assert (replayed.done, replayed.held, replayed.lines) == (1, 1, 0)
    assert audited.lines() == before
    assert (audited.window().copies, set(audited.sink.templates)) == (0, templates)


def test_several_letters_of_one_record_store_each_line_once_in_a_batch(desk: Desk, audited: AuditedIndex) -> None:
    for _ in range(3):
        desk.post_letter_of(record(3, THREE), "poison", [(0, 0, "poison"), (1, 0, "poison")])
    replayed = desk.work()
    assert (replayed.done, replayed.lines, len(desk.marks)) == (3, 2, 3)
    assert (len(audited.lines()), audited.window().copies) == (2, 0)


def test_letters_without_their_record_are_counted_and_left(desk: Desk, audited: AuditedIndex) -> None:
    desk.post_letter_of(record(1, "x" * 100_000), "undecodable: r", max_bytes=1_000)
    desk.post(DeadLetter.too_large(LineTooLarge(file="a", number=1, size_bytes=9, sha256="", head=b"x"), topic="logs", time_ms=1))
    desk.post_letter_of(record(2, "disk full")._replace(key=b"k" * 2_000), "r", max_bytes=1_000)  # marked as cut, but its value is whole
    replayed = desk.work()
    assert replayed.unreplayable == {f"{CUT}, {GONE}": 1, NO_RECORD: 1}
    assert ([letter.offset for letter in replayed.gone], replayed.left) == ([1], 0)
    assert (replayed.letters, replayed.done, texts(audited)) == (3, 1, ["disk full"])


def test_a_letter_that_holds_only_the_beginning_of_its_record_is_replayed_by_what_kafka_holds(desk: Desk, audited: AuditedIndex) -> None:
    whole = record(1, "disk full " * 10_000)
    cut = desk.post_letter_of(whole, "too_large: 100000 bytes, 4 are allowed", max_bytes=1_000)
    assert cut.obstacle == CUT
    desk.kept[1] = FoundRecord(whole)
    replayed = desk.work(audited.expected_lines_of(max_record_bytes=1_024))
    assert (replayed.done, replayed.left, replayed.unresolved[0].reason) == (0, 1, "too_large: 100000 bytes, 1024 are allowed")
    replayed = desk.work()
    assert (replayed.done, replayed.left, replayed.unreplayable) == (1, 0, {})
    assert audited.lines() == lines_of(audited.expected_lines.compute_expected([whole]))
    assert desk.letters[0].is_replayed


def test_the_size_of_a_record_that_must_be_read_again_counts_towards_the_window(desk: Desk) -> None:
    for offset in range(3):
        desk.post_letter_of(record(offset, "disk full " * 10_000), "too_large: r", max_bytes=1_000)
    desk.work(window_bytes=100_000)
    assert desk.shown == [1, 2, 3]


def test_what_is_in_a_compressed_value_counts_towards_the_window(desk: Desk) -> None:
    for offset in range(6):
        desk.post_letter_of(record(offset, gzip.compress(f"line {offset} {'x' * 5_000}".encode(), mtime=0)), "poison")
    assert desk.work(window_bytes=10_000).lines == 6
    assert desk.shown == [2, 4, 6]


def test_a_replayed_letter_excuses_nothing_any_more_and_one_in_part_what_is_left(desk: Desk, audited: AuditedIndex) -> None:
    desk.post_letter_of(record(3, THREE), "poison", [(n, 0, "poison") for n in range(3)])
    desk.post_letter_of(record(4, "disk full"), "undecodable: r")
    audited.sink.rejected_texts = {"two"}
    desk.work()
    index = DeadLetterIndex({"logs": "e1"})
    for letter in desk.letters:
        index.add_letter(letter)
    dead_letters = index.excused_records("logs")
    assert dead_letters.keys() == {key_of(record(3, THREE))}
    assert [dead_letters[key_of(record(3, THREE))].excuses(n, 0) for n in range(3)] == [False, True, False]


@pytest.mark.parametrize(
    ("headers", "value"),
    [
        ((("vectail.replayed", b"1/7"),), None),
        ((("vectail.replayed", b"0/7"),), b"x"),
        ((("vectail.replayed", b"0/x"),), None),
        ((("vectail.replayed", b"7"),), None),
        *(((("vectail.replayed", b"0/7"), ("vectail.pieces", pieces)), None) for pieces in MALFORMED_PIECES),
        ((("vectail.replayed", b"0/7"), ("__connect.errors.topic", b"logs")), None),
        ((), None),
    ],
)
def test_what_is_no_mark_of_its_partition_is_none(headers: tuple[Header, ...], value: bytes | None) -> None:
    assert read_replay_mark(Record("dead", 0, 9, "", 0, None, value, headers)) is None


@pytest.mark.slow
def test_a_topic_that_takes_no_mark_is_said_and_what_that_means() -> None:
    with (
        letter_box_at_need(KafkaTable(bootstrap_servers="127.0.0.1:1"), say=lambda _line: None) as box,
        pytest.raises(ReplayMarkUndelivered, match=r"took no mark for 0\.2 s; what was replayed is stored, but not marked"),
    ):
        ReplayMarker(box, limit_s=0.2).mark_letters([(record(1, None), ())])
