"""Ranges are verified in windows: no offset is skipped, repaired windows are compared again, and the report is bounded."""

import gzip
import math
from collections import Counter
from typing import Any

import pytest

from consumers.rejection import Rejection
from sinks.line import Line
from sinks.row import TemplateText
from sinks.sink import SinkBroken, SinkBusy
from tests.worker.inspecting.audited_index import MASKS, NARROW, AuditedIndex, lines_in, lines_of
from tests.world import block
from tests.world import run as run_id
from worker.indexing.dead_letter_reasons import TOO_MANY_CHUNKS
from worker.inspecting.verify import ReadBounds

LONG = " ".join(f"word{n} is not at all like it." for n in range(200))
LINES = [f"disk {n} full" if n % 3 else f"login {n} failed" for n in range(45)]


def test_an_untouched_index_is_complete(audited: AuditedIndex) -> None:
    audited.index_records(*LINES)
    before = audited.snapshot()
    audited.sink.calls.clear()
    report = audited.verify()
    assert report.is_complete
    assert (report.records, report.counts.lines, report.counts.sound_lines, report.reported) == (45, 45, 45, {})
    assert audited.sink.calls.count("find_blocks") == math.ceil(45 / 7)
    assert set(audited.sink.calls) == {"find_blocks", "read_columns", "read_words", "templates.stored"}
    assert audited.sink.calls.count("templates.stored") == 1, "a template is asked for once"
    assert audited.snapshot() == before
    assert audited.pauses_s == []


def test_each_damage_is_found_repaired_and_seen_to_be_repaired(audited: AuditedIndex) -> None:
    expected = audited.index_records(*LINES, LONG, b'[{"message": "one"}, {"message": "two"}]', "poison", "printer on fire")
    whole, templates = audited.lines(), audited.snapshot()[1]
    lines = lines_of(expected)
    audited.remove(lines[3], expected[46].lines[1])
    audited.change(lines[5], text="tampered")
    audited.change(lines[6], service="nobody")
    audited.store(expected[45].lines[0]._replace(chunk=40), lines[9]._replace(offset=40, sub=3), lines[9]._replace(offset=47, sub=4), run=2)
    stale = audited.store(lines[11]._replace(template_text=TemplateText("an older mask")), run=0)
    unreadable, wrong_head = list(audited.sink.blocks)[2:4]
    audited.sink.blocks[unreadable] = audited.sink.blocks[unreadable]._replace(places=b"AAAA")
    audited.sink.blocks[wrong_head] = audited.sink.blocks[wrong_head]._replace(lines=99)
    lost = [line for line in lines if line.offset in range(18, 26)]
    del audited.sink.templates[lines[-1].template]
    damaged = audited.snapshot()

    hidden = 2  # true lines of the two records of which a later run has something foreign
    problems = {"gap": 1 + hidden + len(lost), "missing": 1, "changed": 2, "template": 1, "left_over": 2 + hidden, "foreign": 2}
    wanted = problems | {"damaged": 2}
    found = audited.verify()
    assert found.problems == found.left
    assert found.problems == wanted
    assert not found.is_complete
    assert audited.snapshot() == damaged, "looking changes nothing"

    repaired = audited.verify(repair=True)
    assert (repaired.problems, repaired.left.total(), repaired.is_complete) == (wanted, 0, True)
    assert all(reported.repaired for kind in repaired.reported.values() for reported in kind)
    assert audited.lines() == whole
    assert not {*stale, unreadable, wrong_head} & audited.sink.blocks.keys()
    assert audited.sink.templates.keys() == templates.keys()
    assert audited.written == []
    again = audited.verify()
    assert (again.is_complete, again.problems.total(), again.counts.sound_lines) == (True, 0, len(whole))


def test_a_repair_writes_all_that_stays_before_it_removes_anything(audited: AuditedIndex) -> None:
    lines = lines_of(audited.index_records(*LINES))
    audited.change(lines[20], text="tampered")
    texts = Counter(line.text for line in lines)
    audited.sink.calls.clear()
    (removed,) = {one for one, stored in audited.sink.blocks.items() if "tampered" in {line.text for line in lines_in(stored)}}
    assert audited.verify(repair=True).is_complete
    calls = [call for call in audited.sink.calls if call in {"write_blocks", "delete_blocks"}]
    assert calls == sorted(calls, reverse=True)
    assert set(audited.sink.deleted) == {removed}
    assert Counter(line.text for line in audited.lines()) == texts


def test_a_block_that_reaches_beyond_the_range_keeps_its_other_lines(audited: AuditedIndex) -> None:
    lines = lines_of(audited.index_records(*LINES))
    audited.sink.blocks.clear()
    audited.store(lines[0]._replace(text="tampered"), *lines[1:], size=45)
    old = line_of_epoch("e0", lines[3])
    audited.store(old)
    assert audited.verify(repair=True, end=1).is_complete
    assert audited.lines() == sorted([*lines, old])
    assert len(audited.sink.deleted) == 1


def test_what_a_wrong_range_hides_is_kept_too(audited: AuditedIndex) -> None:
    lines = lines_of(audited.index_records(*LINES))
    audited.sink.blocks.clear()
    (stored,) = audited.store(*lines, size=45)
    audited.sink.blocks[stored] = audited.sink.blocks[stored]._replace(last_offset=2)
    assert audited.verify(repair=True, end=3).is_complete
    assert audited.lines() == lines


def line_of_epoch(epoch: str, line: Line) -> Line:
    return line._replace(epoch=epoch, text="of long ago")


def test_a_template_is_made_again_from_the_text_in_the_block_without_the_masks_of_then(audited: AuditedIndex) -> None:
    (line,) = lines_of(audited.index_records("disk full"))
    audited.change(line, template_text="disk *")
    assert audited.verify().problems == {"template": 1}
    assert audited.verify(repair=True).is_complete
    assert {row.text for row in audited.sink.templates.values()} == {"disk full", "disk *"}
    assert audited.verify().counts.other_masks_lines == 1


def test_lines_are_counted_by_the_version_of_the_masks_that_their_blocks_name(audited: AuditedIndex) -> None:
    lines = lines_of(audited.index_records(*LINES))
    audited.sink.blocks.clear()
    audited.store(*lines[:30])
    older = block(lines[30:], run_id(1), 99, masks="2")
    copies = block(lines[28:32], run_id(0), 99, masks="1")
    audited.sink.blocks |= {one.id: one for one in (older, copies)}
    counts = audited.verify().counts
    assert counts.by_masks == {MASKS: 30, "2": 15}
    assert (counts.copies, counts.by_masks.total()) == (4, counts.lines)


def test_a_merge_from_memory_that_brings_a_removed_line_back_is_repaired_at_the_next_look(audited: AuditedIndex) -> None:
    lines = lines_of(audited.index_records(*LINES))
    stray = lines[2]._replace(sub=5)
    first, second = audited.store(stray, lines[2], run=9, size=1)
    merged = block([lines[2], stray], first.run, first.first, second.last)

    def merge(_seconds: float) -> None:
        if len(audited.pauses_s) <= 2:
            audited.sink.blocks[merged.id] = merged

    audited.on_pause = merge
    report = audited.verify(repair=True)
    assert report.is_complete
    assert audited.lines() == lines
    assert [round(seconds) for seconds in audited.pauses_s] == [20, 20, 20]
    assert (report.problems, report.left.total()) == ({"foreign": 2, "left_over": 1}, 0)


def test_what_comes_back_again_and_again_is_left(audited: AuditedIndex) -> None:
    lines = lines_of(audited.index_records(*LINES))
    (first,) = audited.store(lines[2]._replace(sub=5), run=9, size=1)
    back = audited.sink.blocks[first]
    audited.on_pause = lambda _seconds: audited.sink.blocks.update({back.id: back})
    report = audited.verify(repair=True)
    assert len(audited.pauses_s) == 3
    assert report.problems == {"foreign": 1, "gap": 1, "left_over": 4}, "at first it hides the true line, and then it is an older copy"
    assert report.is_complete, "when it was last looked at, it was gone"


def test_inner_blocks_go_with_the_one_that_stands_for_them(audited: AuditedIndex) -> None:
    lines = lines_of(audited.index_records(*LINES))
    audited.sink.blocks.clear()
    parts = audited.store(*lines, size=15)
    merged = block([*lines[:4], lines[4]._replace(sub=1), *lines[4:]], parts[0].run, parts[0].first, parts[-1].last)
    audited.sink.blocks[merged.id] = merged
    assert audited.verify(repair=True).problems == {"foreign": 1}
    assert audited.lines() == lines
    assert not {merged.id, *parts} & audited.sink.blocks.keys()


def test_a_block_that_cannot_be_read_stays_where_not_all_of_its_records_are_verified(audited: AuditedIndex) -> None:
    lines = lines_of(audited.index_records(*LINES))
    audited.sink.blocks.clear()
    (stored,) = audited.store(*lines, size=45)
    audited.sink.blocks[stored] = audited.sink.blocks[stored]._replace(texts=b"AAAA")
    part = audited.verify(repair=True, first=10, end=20)
    assert (part.problems, part.left) == ({"gap": 10, "damaged": 1}, {"damaged": 1})
    assert "not all of its records were verified" in part.reported["damaged"][0].finding.detail
    assert stored in audited.sink.blocks
    assert audited.verify(repair=True).is_complete
    assert (audited.lines(), stored in audited.sink.blocks) == (lines, False)


def test_damaged_blocks_are_reported_once_however_many_windows_they_overlap(audited: AuditedIndex) -> None:
    lines = lines_of(audited.index_records(*LINES))
    audited.sink.blocks.clear()
    (stored,) = audited.store(*lines, size=45)
    audited.sink.blocks[stored] = audited.sink.blocks[stored]._replace(lines=1)
    for first in (0, 5):
        assert audited.verify(first=first).problems == {"damaged": 1}
    assert audited.verify(repair=True).is_complete
    assert audited.lines() == lines


@pytest.mark.parametrize("column", ["text", "template_text", "level"])
def test_an_older_copy_that_differs_is_left_over_because_a_search_finds_it(audited: AuditedIndex, column: str) -> None:
    lines = lines_of(audited.index_records(*LINES))
    other: dict[str, Any] = {column: "other"}
    (stale,) = audited.store(lines[4], lines[5]._replace(**other), run=0)
    report = audited.verify(repair=True)
    assert (report.problems, report.left.total()) == ({"left_over": 1}, 0)
    assert report.reported["left_over"][0].finding[:5] == ("left_over", 5, 0, 0, str(stale))
    assert audited.lines() == lines
    assert stale not in audited.sink.blocks


@pytest.mark.parametrize("offset", [5, 17, 39, 60], ids=["before the first", "between two", "behind the last", "at the end"])
def test_lines_at_offsets_without_records_are_found(audited: AuditedIndex, offset: int) -> None:
    lines = lines_of(audited.index_records(*LINES))
    audited.records = [one for one in audited.records if 10 <= one.offset < 30 and one.offset != 17]
    audited.remove(*(line for line in lines if not 10 <= line.offset < 30 or line.offset == 17))
    stranger = lines[0]._replace(offset=offset)
    audited.store(stranger)
    report = audited.verify(end=60)
    assert report.problems == ({"foreign": 1} if offset < 60 else {})
    assert audited.verify(first=18, end=39).is_complete
    audited.verify(end=60, repair=True)
    assert (stranger in audited.lines()) == (offset == 60)


def test_a_range_without_any_record_is_looked_at(audited: AuditedIndex) -> None:
    lines = lines_of(audited.index_records("disk full"))
    audited.records = []
    assert audited.verify(end=1).problems == {"foreign": 1}
    assert audited.verify(end=0).counts.lines == 0
    assert audited.lines() == lines


def test_what_is_in_a_compressed_value_counts_towards_the_window(audited: AuditedIndex) -> None:
    audited.index_records(*[gzip.compress(f"line {place} {'x' * 5_000}".encode(), mtime=0) for place in range(6)])
    audited.sink.calls.clear()
    assert audited.verify(bounds=ReadBounds(window_bytes=10_000)).is_complete
    assert audited.sink.calls.count("find_blocks") == 3


def test_another_chunk_size_leaves_chunks_over_and_they_are_removed(audited: AuditedIndex) -> None:
    whole = lines_of(audited.index_records("disk full", LONG))
    shorter = audited.expected_lines_of(max_tokens=64)
    again = audited.verify(expected_lines=shorter, repair=True)
    assert again.is_complete
    stored = audited.lines()
    assert len(stored) > len(whole)
    report = audited.verify()
    assert report.problems["left_over"] == len(stored) - len(whole)
    assert audited.verify(repair=True).is_complete
    assert audited.lines() == whole


def test_a_piece_that_cannot_be_stored_becomes_a_dead_letter_and_is_then_accounted_for(audited: AuditedIndex) -> None:
    expected = audited.index_records("disk full", b'[{"message": "one"}, {"message": "poison"}, {"message": "two"}]', "poison")
    audited.remove(*expected[1].lines, *expected[2].lines)
    for one in expected[1:]:
        for line in one.lines:
            audited.sink.templates.pop(line.template, None)
    audited.engine.raises_on = {audited.words.encode(["poison"]).text(0).tolist()[1]}
    report = audited.verify(repair=True)
    assert report.is_complete
    failed = Rejection("embed", "rejected", "the engine fails on this text: asked to fail on this text")
    assert [(one.record.offset, one.rejects) for one in audited.written] == [
        (1, ((1, 0, failed),)),
        (2, ((0, 0, failed),)),
    ]
    assert [line.text for line in audited.lines()] == ["disk full", "one", "two"]


def test_a_dead_letter_that_is_missing_is_written(audited: AuditedIndex) -> None:
    audited.expected_lines = audited.expected_lines_of(errors="strict", max_chunks=3)
    audited.index_records("disk full", b"\xff", b'[{"message": "short"}, {"message": "%s"}]' % LONG.encode())
    audited.dead_letters.clear()
    assert audited.verify().problems == {"gap": 1, "missing": 1}
    assert audited.verify(repair=True).is_complete
    assert [(one.record.offset, one.refusal, one.rejects) for one in audited.written] == [
        (1, Rejection("decode", "undecodable", "undecodable: not valid UTF-8"), ()),
        (2, None, ((1, 0, TOO_MANY_CHUNKS),)),
    ]
    assert audited.verify().is_complete


def test_what_repair_leaves_is_still_a_problem(audited: AuditedIndex) -> None:
    line = audited.index_records("disk full", "login failed")[0].lines[0]
    audited.store(line._replace(offset=5))
    audited.change(line, text="tampered")
    report = audited.verify(end=9, repair=True, comparer=audited.comparer(is_compacted=None))
    assert (report.problems, report.left) == ({"foreign": 1, "changed": 1}, {"foreign": 1})
    assert [report.reported[kind][0].repaired for kind in ("foreign", "changed")] == [False, True]
    assert not report.is_complete


def test_findings_are_counted_beyond_those_that_are_kept(audited: AuditedIndex) -> None:
    audited.index_records(*LINES)
    audited.sink.blocks.clear()
    report = audited.verify(bounds=NARROW._replace(reported_findings=4))
    assert (report.problems, len(report.reported["gap"])) == ({"gap": 45}, 4)
    assert [reported.finding.offset for reported in report.reported["gap"]] == [0, 1, 2, 3]
    assert report.reported["gap"][0].finding.write == (), "what is kept is small"


def test_a_sink_that_is_busy_for_a_moment_is_waited_for_and_one_that_stays_so_is_not(audited: AuditedIndex) -> None:
    audited.index_records("disk full")
    audited.sink.busy_calls = 2
    assert audited.verify().is_complete
    audited.sink.busy_calls = 10_000
    with pytest.raises(SinkBusy):
        audited.verify()
    audited.sink.busy_calls = 0
    audited.sink.broken = "disk"
    with pytest.raises(SinkBroken):
        audited.verify()


@pytest.mark.parametrize(("remembered", "questions"), [(100, 3), (13, 4)])
def test_templates_beyond_those_that_are_remembered_are_asked_for_again(audited: AuditedIndex, remembered: int, questions: int) -> None:
    templates = [
        f"{one} {other}" for one in ("disk", "login", "door") for other in ("full", "failed", "open", "shut", "gone", "hot", "lost")
    ]
    audited.index_records(*templates, *templates[:7])
    audited.sink.calls.clear()
    assert audited.verify(bounds=NARROW._replace(present_templates=remembered)).is_complete
    assert audited.sink.calls.count("templates.stored") == questions
