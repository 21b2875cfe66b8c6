"""What a verification says of lines that rules drop or sample, that bring their template, and of events of several records."""

import json
from collections import Counter

import pytest

from sinks.arrow import null_column
from sinks.block import Lines
from sinks.build import build
from sinks.lines import lines_of as columns_of
from sinks.reading.counting import CountQuery
from sinks.reading.reader import BlockReader
from tests.worker.inspecting.audited_index import MASKS, PLACE, AuditedIndex, lines_of, record
from tests.world import run as run_id
from worker.inspecting.verify import ReadBounds
from worker.inspecting.window_comparer import LineCounts
from worker.settings.rule_tables import DropTable
from worker.settings.topic_tables import MultilineTable

NO_DEBUG = (DropTable(name="no-debug", pattern="^debug"),)
READ_AGAIN = ("request failed", "java.lang.IllegalStateException: broken", "\tat a.b.C.d(C.java:1)", "all is well", "and again")
EVENT = ("disk full", "java.io.IOException: no space", "\tat org.example.Disk.write(Disk.java:7)")


def test_lines_that_todays_rules_drop_may_be_there_or_not(audited: AuditedIndex) -> None:
    lines = lines_of(audited.index_records("debug one", "disk full", "debug two"))
    audited.remove(lines[0])
    dropping = audited.expected_lines_of(drop=NO_DEBUG)
    report = audited.verify(expected_lines=dropping)
    assert report.is_complete
    assert report.counts == LineCounts(lines=2, sound_lines=1, dropped_lines=1, dropped_stored_lines=1, by_masks=Counter({MASKS: 2}))
    assert audited.verify(expected_lines=dropping, repair=True).is_complete
    assert [line.text for line in audited.lines()] == ["disk full", "debug two"]


def test_a_line_that_an_earlier_rule_may_have_dropped_is_reported_as_such(audited: AuditedIndex) -> None:
    lines = lines_of(audited.index_records("disk full"))
    audited.remove(*lines)
    comparer = audited.comparer(has_drop_rules=True)
    report = audited.verify(comparer=comparer)
    (reported,) = report.reported["gap"]
    assert reported.finding.detail == "neither stored nor a dead letter: its line is missing, or dropped by an earlier rule"


def test_a_line_without_text_is_right_if_everything_else_is(audited: AuditedIndex) -> None:
    lines = lines_of(audited.index_records("disk 1 full", "disk 2 full", "login lost"))
    audited.sink.blocks.clear()
    store_without_texts(audited, columns_of(lines))
    report = audited.verify()
    assert (report.is_complete, report.counts.sampled_lines, report.counts.sound_lines) == (True, 3, 0)
    audited.sink.blocks.clear()
    store_without_texts(audited, columns_of([lines[0]._replace(level="ERROR"), *lines[1:]]))
    assert audited.verify().problems == {"changed": 1}


def store_without_texts(audited: AuditedIndex, lines: Lines) -> None:
    (built,) = build(lines._replace(text=null_column(lines.size), fields=null_column(lines.size)), masks=MASKS, written_ms=0)
    block = built.block
    named = block._replace(id=block.id._replace(place=PLACE, run=run_id(3)))
    audited.sink.blocks[named.id] = named


@pytest.fixture
def joining(audited: AuditedIndex) -> AuditedIndex:
    audited.expected_lines = audited.expected_lines_of(multiline=MultilineTable(start="java"))
    return audited


def test_the_lines_of_an_event_are_of_its_first_record(joining: AuditedIndex) -> None:
    expected = joining.index_records("before", *EVENT, "after")
    assert [[line.offset for line in one.lines] for one in expected] == [[0], [1, 1], [], [], [4]]
    assert {line.records for line in expected[1].lines} == {3}
    assert "".join(line.text or "" for line in expected[1].lines) == "\n".join(EVENT)
    assert joining.verify().is_complete


@pytest.mark.parametrize("records", range(1, 8))
def test_an_event_is_never_cut_by_a_window(joining: AuditedIndex, records: int) -> None:
    joining.index_records(*("before", *EVENT) * 4, "after")
    report = joining.verify(bounds=ReadBounds(window_records=records))
    assert (report.is_complete, report.records) == (True, 17)
    assert report.counts.sound_lines == len(joining.lines())


@pytest.mark.parametrize("first", range(1, 5))
def test_a_range_that_begins_within_an_event_begins_behind_it(joining: AuditedIndex, first: int) -> None:
    joining.index_records("before", *EVENT, "after")
    assert joining.verify(first=first).is_complete


def test_a_missing_event_is_one_problem_and_is_written_again_whole(joining: AuditedIndex) -> None:
    lines = lines_of(joining.index_records("before", *EVENT, "after"))
    joining.remove(*(line for line in lines if line.offset == 1))
    assert joining.verify().problems == {"gap": 1}
    assert joining.verify(repair=True).is_complete
    assert joining.lines() == lines


LINE = tuple(f"2026-11-18T11:06:40Z stdout {tag} {text}" for tag, text in (("P", "disk "), ("P", "very "), ("F", "full")))


@pytest.mark.parametrize("records", range(1, 8))
def test_a_line_that_came_in_pieces_is_never_cut_by_a_window(audited: AuditedIndex, records: int) -> None:
    expected = audited.index_records(*("before", *LINE) * 4, *LINE, "after")
    assert [[line.text for line in one.lines] for one in expected[:5]] == [["before"], ["disk very full"], [], [], ["before"]]
    report = audited.verify(bounds=ReadBounds(window_records=records))
    assert (report.is_complete, report.records, report.counts.sound_lines) == (True, 20, 10)


def test_records_that_are_joined_now_are_counted_once_and_a_repair_removes_what_they_were_before(audited: AuditedIndex) -> None:
    joining = audited.expected_lines_of(multiline=MultilineTable(start="java"))
    audited.records = [record(offset, text) for offset, text in enumerate(READ_AGAIN)]
    apart = lines_of(audited.expected_lines.compute_expected(audited.records))
    together = lines_of(joining.compute_expected(audited.records))
    for lines, run in ((apart, 1), (together, 2)):
        audited.repairer.repair_templates(lines)
        audited.store(*lines, run=run)

    def counted() -> int:
        return sum(row.lines for row in BlockReader(audited.sink).count(CountQuery()).rows)

    assert counted() == 3
    report = audited.verify(expected_lines=joining)
    assert set(report.problems) == {"left_over"}, "copies that differ from those that hold"
    report = audited.verify(expected_lines=joining, repair=True)
    assert (report.is_complete, counted()) == (True, 3)


EVENTS = [
    json.dumps({"@t": "2026-05-28T20:10:00Z", "@mt": "{User} left {Room}", "User": user, "Room": room, "SourceContext": "Shop.Door"})
    for user, room in (("ann", "kitchen"), ("bob", "hall"), ("eve", "one that is a very long way off"))
]


def test_lines_with_source_templates_are_as_expected(audited: AuditedIndex) -> None:
    audited.index_records(*EVENTS, "a line")
    assert {line.template_text for line in audited.lines()} == {"Shop.Door: {User} left {Room}", "a line"}
    report = audited.verify()
    assert (report.is_complete, report.problems) == (True, {})
    assert report.counts == LineCounts(lines=4, sound_lines=4, by_masks=Counter({MASKS: 4}))


def test_lines_from_before_the_switch_are_counted_as_of_other_masks_and_left_alone(audited: AuditedIndex) -> None:
    audited.index_records(*EVENTS)
    switched_off = audited.expected_lines_of(source_templates=False)
    before = audited.snapshot()
    report = audited.verify(expected_lines=switched_off, repair=True)
    assert report.is_complete
    assert report.counts == LineCounts(lines=3, other_masks_lines=3, by_masks=Counter({MASKS: 3}))
    assert audited.snapshot() == before
