"""A replay stores exactly the entries that are missing, marks the letters, and leaves what still fails; once on a real worker."""

import gzip
import json
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial

import pytest

from consumers.decode.line_zones import DAY_MS
from consumers.groupless.reader import GrouplessReader
from consumers.record import Header, Record
from producers.dead_letters import DeadLetter
from producers.envelope import ListedPiece
from producers.lines import TooLarge
from tests.model_fixture import CACHE
from tests.worker.audit.audited_index import MALFORMED_PIECES, WALL_MS, AuditedIndex, dead_letter, lines_in, lines_of, record
from tests.worker.audit.replay_desk import Desk
from tests.worker.running import WAIT_S, World, wait_until
from worker.audit.dead_letter_index import DeadLetterIndex, key_of
from worker.audit.dead_letter_producer import DeadLetterProducer
from worker.audit.entry_writer import EntryWriter
from worker.audit.expected import open_expected_lines
from worker.audit.kept_records import FoundRecord, KeptRecords
from worker.audit.repair import Repairer
from worker.audit.replay import Replayed, Replayer
from worker.audit.replay_marks import ReplayMarker, ReplayMarkUndelivered, read_replay_mark
from worker.audit.replay_plan import NO_ENTRY
from worker.audit.stored_blocks import read_window
from worker.audit.stored_dead_letters import CUT, NO_RECORD, DeadLetters, StoredDeadLetter
from worker.audit.stored_records import read_stored_lines
from worker.embedding.loaded import LoadedModel
from worker.indexing.dead_letter_reasons import TOO_MANY_CHUNKS
from worker.settings.tables import KafkaTable, ModelTable

LONG = " ".join(f"word{n} is not at all like it." for n in range(200))
VARIED = " ".join(f"{one}{other} is not at all like it." for one in "abcdefghijklm" for other in "nopqrstuvwxyz")
"""Its chunks have different templates."""
THREE = '[{"message": "one"}, {"message": "two"}, {"message": "three"}]'
WAIT_FOR_KAFKA_S = 30.0


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


def test_what_was_replayed_is_not_taken_again(desk: Desk, audited: AuditedIndex) -> None:
    desk.post_letter_of(record(1, THREE), "poison", [(0, 0, "poison")])
    desk.work()
    audited.sink.blocks.clear()
    assert desk.work() == Replayed()
    assert not audited.sink.blocks


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


def test_an_entry_with_too_many_chunks_still_stays(desk: Desk, audited: AuditedIndex) -> None:
    value = json.dumps([{"message": "short"}, {"message": LONG}])
    desk.post_letter_of(record(3, value), TOO_MANY_CHUNKS.reason, [(1, 0, TOO_MANY_CHUNKS.reason)])
    replayed = desk.work(audited.expected_lines_of(max_chunks=2))
    assert (replayed.done, replayed.left, replayed.lines, desk.marks) == (0, 1, 0, [])
    assert replayed.unresolved[0].pieces == ((1, 0, TOO_MANY_CHUNKS.reason),)


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


def test_an_entry_that_is_cut_otherwise_now_is_stored_whole(desk: Desk, audited: AuditedIndex) -> None:
    desk.post_letter_of(record(3, LONG), "poison", [(0, 90, "poison")])
    desk.work()
    assert audited.lines() == lines_of(audited.expected_lines.compute_expected([record(3, LONG)]))


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


def test_a_letter_of_which_nothing_could_be_stored_is_not_marked(desk: Desk, audited: AuditedIndex) -> None:
    desk.post_letter_of(record(3, "poison"), "poison", [(0, 0, "poison")])
    audited.engine.raises_on = {audited.words.encode(["poison"]).text(0).tolist()[1]}
    replayed = desk.work()
    assert (replayed.left, replayed.partly, desk.marks) == (1, 0, [])
    assert replayed.unresolved[0].reason == "the engine fails on this text: asked to fail on this text"


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


def test_lines_are_stored_before_they_are_marked(desk: Desk, audited: AuditedIndex) -> None:
    desk.post_letter_of(record(3, THREE), "poison", [(0, 0, "poison")])
    audited.sink.broken = "told to break"
    with pytest.raises(Exception, match="told to break"):
        desk.work()
    assert desk.marks == []
    audited.sink.broken = ""


def test_several_letters_of_one_record_store_each_line_once_in_a_batch(desk: Desk, audited: AuditedIndex) -> None:
    for _ in range(3):
        desk.post_letter_of(record(3, THREE), "poison", [(0, 0, "poison"), (1, 0, "poison")])
    replayed = desk.work()
    assert (replayed.done, replayed.lines, len(desk.marks)) == (3, 2, 3)
    assert (len(audited.lines()), audited.window().copies) == (2, 0)


def test_lines_belong_to_the_letter_s_epoch(desk: Desk, audited: AuditedIndex) -> None:
    desk.post_letter_of(record(3, "disk full")._replace(epoch="older"), "r")
    desk.work()
    assert [line.id for line in audited.lines()] == ["logs@older/0/3/0/0"]


def test_letters_without_their_record_are_counted_and_left(desk: Desk, audited: AuditedIndex) -> None:
    desk.post_letter_of(record(1, "x" * 100_000), "undecodable: r", max_bytes=1_000)
    desk.post(DeadLetter.too_large(TooLarge(file="a", number=1, size_bytes=9, sha256="", head=b"x"), topic="logs", time_ms=1))
    desk.post_letter_of(record(2, "disk full")._replace(key=b"k" * 2_000), "r", max_bytes=1_000)  # marked as cut, but its value is whole
    replayed = desk.work()
    assert replayed.unreplayable == {CUT: 1, NO_RECORD: 1}
    assert (replayed.letters, replayed.done, texts(audited)) == (3, 1, ["disk full"])


def test_a_record_that_holds_nothing_now_is_done(desk: Desk, audited: AuditedIndex) -> None:
    desk.post_letter_of(record(1, ""), "undecodable: r")
    assert desk.work().done == 1
    assert (len(desk.marks), len(audited.sink.blocks)) == (1, 0)


def test_what_is_in_a_compressed_value_counts_towards_the_window(desk: Desk) -> None:
    for offset in range(6):
        desk.post_letter_of(record(offset, gzip.compress(f"line {offset} {'x' * 5_000}".encode(), mtime=0)), "poison")
    assert desk.work(window_bytes=10_000).lines == 6
    assert desk.shown == [2, 4, 6]


def test_letters_are_worked_a_window_at_a_time(desk: Desk, audited: AuditedIndex) -> None:
    for offset in range(10):
        desk.post_letter_of(record(offset, f"disk {offset} full"), "r")
    audited.sink.calls.clear()
    assert desk.work(window_records=4).lines == 10
    assert audited.sink.calls.count("write_blocks") == 3
    assert [one.letter.offset for one in desk.letters if not one.is_replayed] == []


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


@pytest.fixture
def marker(world: World) -> Iterator[ReplayMarker]:
    producer = DeadLetterProducer(world.kafka, say=world.said.append)
    yield ReplayMarker(producer, limit_s=WAIT_FOR_KAFKA_S)
    producer.close()


def read_letters(world: World) -> list[StoredDeadLetter]:
    with closing(GrouplessReader(world.broker.bootstrap_servers, {}, topic_epoch="")) as reader:
        return list(DeadLetters(reader, world.kafka.dead_letter_topic, timeout_s=WAIT_S))


def test_three_of_two_thousand_entries_are_one_letter_and_their_replay_adds_three_lines(
    world: World, audited: AuditedIndex, marker: ReplayMarker
) -> None:
    settings = world.settings(model=ModelTable(cache=CACHE))
    bad = {f"entry {n} of many is bad" for n in (7, 500, 1999)}
    entries = [f"entry {n} of many is bad" if n in (7, 500, 1999) else f"entry {n} of many" for n in range(2000)]
    world.fake_sink.rejects = lambda stored: not bad.isdisjoint(line.text for line in lines_in(stored))
    world.send([json.dumps([{"message": text} for text in entries])], partition=1)
    running = world.start(settings).opened()
    wait_until(lambda: sum(running.service.pipeline.log_ledger.committed().values()) == 1, "the record to be committed")
    assert running.stop() == 0
    world.fake_sink.open()
    assert len(world.stored()) == 1997
    (letter,) = read_letters(world)
    assert (letter.stage, sorted(piece[:2] for piece in letter.pieces)) == ("store", [(7, 0), (500, 0), (1999, 0)])

    world.fake_sink.rejects = lambda _block: False
    writer = EntryWriter(sink=world.fake_sink, busy_retry=audited.busy_retry, wall_ms=lambda: round(time.time() * 1000))
    repairer = Repairer(sink=world.fake_sink, load=_no_model, entry_writer=writer)  # the templates are there
    expected_lines = open_expected_lines(settings)
    with closing(GrouplessReader(world.broker.bootstrap_servers, {}, topic_epoch="e1")) as reader:
        replayer = Replayer(
            expected_lines=expected_lines,
            find_records=KeptRecords(reader, timeout_s=WAIT_S).find_records,
            stored_lines=partial(read_stored_lines, world.fake_sink, audited.busy_retry),
            repairer=repairer,
            origin=audited.origin,
            mark=marker.mark_letters,
        )
        replayed = replayer.replay_letters([letter])
        assert (replayed.done, replayed.lines) == (1, 3)
        stored = read_window(world.fake_sink, audited.busy_retry, world.topic, 1, range(1))
        assert ([line.text for line in sorted(stored.lines)], stored.copies) == (entries, 0)
        (marked,) = read_letters(world)
        assert marked.is_replayed
        assert replayer.replay_letters([marked]) == Replayed()
    expected_lines.close()


def _no_model() -> LoadedModel:
    raise AssertionError


def test_the_last_mark_holds_but_done_stays_done(world: World, marker: ReplayMarker) -> None:
    letter = dead_letter(record(3, THREE), "poison", [(0, 0, "poison"), (1, 0, "poison")])
    connections = world.connections(world.settings())
    try:
        for _ in range(2):
            connections.dead_letters.send(letter, delivered=lambda: None)
        wait_until(lambda: not connections.dead_letters.open_letters, "two letters")
        first, second = read_letters(world)
        marker.mark_letters([(first.letter, (ListedPiece(0, 0, "a"), ListedPiece(1, 0, "a"))), (second.letter, ())])
        marker.mark_letters([(first.letter, (ListedPiece(1, 0, "b"),)), (second.letter, (ListedPiece(1, 0, "b"),))])
    finally:
        connections.dead_letter_producer.close(1.0)
        connections.reply_producer.close(1.0)
    again, done = read_letters(world)
    assert (again.pieces, again.reason, again.is_replayed, again.is_partly_replayed) == (((1, 0, "b"),), "b", False, True)
    assert (done.is_replayed, done.pieces) == (True, second.pieces)


def test_a_topic_that_takes_no_mark_is_said_and_what_that_means() -> None:
    producer = DeadLetterProducer(KafkaTable(bootstrap_servers="127.0.0.1:1"), say=lambda _line: None)
    marker = ReplayMarker(producer, limit_s=0.2)
    with pytest.raises(ReplayMarkUndelivered, match=r"took no mark for 0\.2 s; what was replayed is stored, but not marked"):
        marker.mark_letters([(record(1, None), ())])
    producer.close()
