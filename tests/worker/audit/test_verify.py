"""Ranges are verified in windows: no offset is skipped, repaired windows are compared again, and the report is bounded."""

import json
import math

import pytest

from consumers.rejection import Rejection
from sinks.row import LineRow, row_id
from sinks.sink import SinkBroken, SinkBusy
from tests.worker.audit.audited_index import NARROW, AuditedIndex, record, rows_of
from worker.audit.dead_letter_index import Excused
from worker.audit.verify import ReadBounds
from worker.indexing.dead_letter_reasons import TOO_MANY_CHUNKS

LONG = " ".join(f"word{n} is not at all like it." for n in range(200))
LINES = [f"disk {n} full" if n % 3 else f"login {n} failed" for n in range(45)]


def left_over(row: LineRow, chunk: int) -> LineRow:
    return row._replace(id=f"{row.id.rpartition('/')[0]}/{chunk}", chunk=chunk)


def test_an_untouched_index_is_complete(audited: AuditedIndex) -> None:
    audited.index_records(*LINES)
    before = audited.snapshot()
    audited.sink.calls.clear()
    report = audited.verify()
    assert report.is_complete
    assert (report.records, report.counts.rows, report.counts.sound_rows, report.reported) == (45, 45, 45, {})
    assert audited.sink.calls.count("lines_between") == math.ceil(45 / 7)
    assert set(audited.sink.calls) == {"lines_between", "stored_templates"}
    assert audited.sink.calls.count("stored_templates") == 1, "a template is asked for once"
    assert audited.snapshot() == before


def test_each_damage_is_found_repaired_and_seen_to_be_repaired(audited: AuditedIndex) -> None:
    expected = audited.index_records(*LINES, LONG, b'[{"message": "one"}, {"message": "two"}]', "poison", "printer on fire")
    whole = audited.snapshot()
    rows = rows_of(expected)
    del audited.sink.lines[rows[3].id]
    audited.change(rows[5], text="tampered")
    audited.change(rows[6], service="nobody")
    del audited.sink.lines[expected[46].pieces[1].row.id]
    audited.add_rows(left_over(expected[45].pieces[0].row, 40))
    audited.add_rows(rows[9]._replace(id="foreign"), rows[9]._replace(id=row_id("logs", "e1", 0, 300, 0, 0), offset=48, sub=3))
    audited.sink.doubles = {rows[11].id: 1}
    del audited.sink.templates[rows[-1].template]
    damaged = audited.snapshot()

    wanted = {"gap": 1, "missing": 1, "changed": 2, "template": 1, "left_over": 1, "foreign": 2, "duplicate": 1}
    found = audited.verify()
    assert found.problems == found.left == wanted
    assert not found.is_complete
    assert audited.snapshot() == damaged, "looking changes nothing"

    repaired = audited.verify(repair=True)
    assert (repaired.problems, repaired.left.total(), repaired.is_complete) == (wanted, 0, True)
    assert all(reported.repaired for kind in repaired.reported.values() for reported in kind)
    assert audited.snapshot()[0] == whole[0]
    assert audited.sink.templates.keys() == whole[1].keys()
    assert audited.written == []
    again = audited.verify()
    assert (again.is_complete, again.problems.total(), again.counts.sound_rows) == (True, 0, len(whole[0]))


def test_a_row_whose_labels_were_stored_without_redaction_is_found_and_redacted(audited: AuditedIndex) -> None:
    (row,) = rows_of(audited.index_records(json.dumps({"message": "started", "service": "anna@example.org", "level": "info"})))
    (reported,) = audited.verify(repair=True, expected_rows=audited.expected_rows_of(redact=["email"])).reported["changed"]
    assert reported.finding.detail == "differs in service"
    assert audited.sink.lines[row.id].service == "<email>"


def test_a_finding_says_where_it_is(audited: AuditedIndex) -> None:
    rows = rows_of(audited.index_records(*LINES))
    audited.change(rows[20], text="tampered")
    (reported,) = audited.verify().reported["changed"]
    assert (reported.place.topic, reported.place.partition, reported.place.epoch) == ("logs", 0, "e1")
    assert reported.finding[:5] == ("changed", 20, 0, 0, rows[20].id)
    assert not reported.repaired


@pytest.mark.parametrize("offset", [5, 17, 39, 60], ids=["before the first", "between two", "behind the last", "at the end"])
def test_rows_at_offsets_without_records_are_found(audited: AuditedIndex, offset: int) -> None:
    row = audited.index_records(*LINES)[0].pieces[0].row
    audited.records = [one for one in audited.records if 10 <= one.offset < 30 and one.offset != 17]
    audited.sink.lines = {one.id: one for one in audited.sink.lines.values() if 10 <= one.offset < 30 and one.offset != 17}
    stranger = row._replace(id=row_id("logs", "e1", 0, offset, 0, 0), offset=offset)
    audited.add_rows(stranger)
    report = audited.verify(end=60)
    assert report.problems == ({"foreign": 1} if offset < 60 else {})
    assert audited.verify(first=18, end=39).is_complete
    audited.verify(end=60, repair=True)
    assert (stranger.id in audited.sink.lines) == (offset == 60)


def test_a_range_without_any_record_is_looked_at(audited: AuditedIndex) -> None:
    row = audited.index_records("disk full")[0].pieces[0].row
    audited.records = []
    assert audited.verify(end=1).problems == {"foreign": 1}
    assert audited.verify(end=0).counts.rows == 0
    assert audited.sink.lines[row.id] == row


def test_nothing_outside_of_the_range_is_reported_or_repaired(audited: AuditedIndex) -> None:
    rows = rows_of(audited.index_records(*LINES))
    for offset in (9, 10, 29, 30):
        del audited.sink.lines[rows[offset].id]
    report = audited.verify(first=10, end=30, repair=True)
    assert report.problems == {"gap": 2}
    assert {row.offset for row in rows} - {row.offset for row in audited.sink.lines.values()} == {9, 30}


def test_large_records_make_narrower_windows(audited: AuditedIndex) -> None:
    audited.index_records(*["a line of fifty-one bytes, which is too many of them"] * 6)
    audited.sink.calls.clear()
    assert audited.verify(bounds=ReadBounds(window_bytes=50)).is_complete
    assert audited.sink.calls.count("lines_between") == 6


@pytest.mark.parametrize(("single", "offsets"), [(64, [(2, 1), (3, 2), (20, 1)]), (1, [(0, 3), (20, 1)])])
def test_rows_stored_twice_are_found_at_their_offsets_and_repaired(
    audited: AuditedIndex, single: int, offsets: list[tuple[int, int]]
) -> None:
    bounds = NARROW._replace(located_duplicates=single)
    rows = rows_of(audited.index_records(*LINES))
    audited.sink.doubles = {rows[2].id: 1, rows[3].id: 2, rows[20].id: 1}
    report = audited.verify(bounds=bounds)
    assert report.problems == {"duplicate": 4}
    assert [(reported.finding.offset, reported.finding.number) for reported in report.reported["duplicate"]] == offsets
    assert audited.verify(bounds=bounds, repair=True).is_complete
    assert audited.sink.doubles == {}
    assert audited.verify().problems == {}


def test_a_row_of_another_epoch_that_is_stored_twice_is_kept_once(audited: AuditedIndex) -> None:
    row = audited.index_records("disk full")[0].pieces[0].row
    old = row._replace(id=row_id("logs", "e0", 0, 0, 0, 0), text="of long ago")
    audited.add_rows(old)
    audited.sink.doubles = {old.id: 1}
    assert audited.verify(repair=True).is_complete
    assert audited.sink.lines == {row.id: row, old.id: old}
    assert audited.verify().counts.other_epoch_rows == 1


def test_another_chunk_size_leaves_chunks_over_and_they_are_removed(audited: AuditedIndex) -> None:
    whole = audited.index_records("disk full", LONG)
    shorter = audited.expected_rows_of(max_tokens=64)
    again = audited.verify(expected_rows=shorter, repair=True)
    assert again.is_complete
    assert len(audited.sink.lines) > len(rows_of(whole))
    report = audited.verify()
    assert report.problems["left_over"] == len(audited.sink.lines) - len(rows_of(whole))
    assert audited.verify(repair=True).is_complete
    assert sorted(audited.sink.lines.values()) == sorted(rows_of(whole))


def test_a_piece_that_cannot_be_stored_becomes_a_dead_letter_and_is_then_accounted_for(audited: AuditedIndex) -> None:
    expected = audited.index_records("disk full", b'[{"message": "one"}, {"message": "poison"}, {"message": "two"}]', "poison")
    for piece in (*expected[1].pieces, *expected[2].pieces):
        audited.sink.lines.pop(piece.row.id, None)
    for one in expected[1:]:
        audited.sink.templates.pop(one.pieces[-1].row.template, None)
    audited.sink.templates.pop(expected[1].pieces[1].row.template, None)
    audited.engine.raises_on = {audited.words.encode(["poison"]).text(0).tolist()[1]}
    report = audited.verify(repair=True)
    assert report.is_complete
    failed = Rejection("embed", "rejected", "the engine fails on this text: asked to fail on this text")
    assert [(one.record.offset, one.rejects) for one in audited.written] == [
        (1, ((1, 0, failed),)),
        (2, ((0, 0, failed),)),
    ]
    assert {row.text for row in audited.sink.lines.values()} == {"disk full", "one", "two"}


def test_a_dead_letter_that_is_missing_is_written(audited: AuditedIndex) -> None:
    audited.expected_rows = audited.expected_rows_of(errors="strict", max_chunks=3)
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
    row = audited.index_records("disk full", "login failed")[0].pieces[0].row
    audited.add_rows(row._replace(id=row_id("logs", "e1", 0, 5, 0, 0), offset=5))
    audited.change(row, text="tampered")
    report = audited.verify(end=9, repair=True, comparer=audited.comparer(is_compacted=None))
    assert (report.problems, report.left) == ({"foreign": 1, "changed": 1}, {"foreign": 1})
    assert [report.reported[kind][0].repaired for kind in ("foreign", "changed")] == [False, True]
    assert not report.is_complete


def test_findings_are_counted_beyond_those_that_are_kept(audited: AuditedIndex) -> None:
    audited.index_records(*LINES)
    audited.sink.lines.clear()
    report = audited.verify(bounds=NARROW._replace(reported_findings=4))
    assert (report.problems, len(report.reported["gap"])) == ({"gap": 45}, 4)
    assert [reported.finding.offset for reported in report.reported["gap"]] == [0, 1, 2, 3]
    assert report.reported["gap"][0].finding.pieces == (), "what is kept is small"


def test_figures_are_shown_after_each_window(audited: AuditedIndex) -> None:
    audited.index_records(*LINES)
    shown: list[int] = []
    audited.verify(show=lambda report: shown.append(report.records))
    assert shown == [7, 14, 21, 28, 35, 42, 45]


def test_dead_letters_and_tombstones_need_no_rows(audited: AuditedIndex) -> None:
    expected = audited.index_records("disk full", None, "", "login failed")
    del audited.sink.lines[expected[3].pieces[0].row.id]
    audited.dead_letters[0, 3] = Excused(None)
    report = audited.verify()
    assert (report.is_complete, report.counts.dead_lettered_pieces, report.counts.sound_rows) == (True, 1, 1)


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
    assert audited.sink.calls.count("stored_templates") == questions


def test_a_record_without_a_time_is_judged_like_any_other(audited: AuditedIndex) -> None:
    audited.records = [record(0, "disk full", time_ms=0)]
    assert audited.verify().problems == {"gap": 1}
    assert audited.verify(repair=True).is_complete
