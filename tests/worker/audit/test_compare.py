"""Expected rows against stored rows and dead letters: every way in which they may differ, and those that are no problem."""

from typing import Any

import pytest

from consumers.rejection import Rejection
from sinks.row import row_id
from tests.worker.audit.audited_index import PLACE, TIME_MS, AuditedIndex, rows_of
from worker.audit.compare import Finding
from worker.audit.dead_letter_index import Excused
from worker.audit.expected import Expected
from worker.indexing.dead_letter_reasons import TOO_MANY_CHUNKS

ENTRIES = b'[{"message": "one"}, {"message": "two"}, {"message": "three"}]'
LONG = " ".join(f"word{n} is not at all like it." for n in range(200))


@pytest.fixture
def expected(audited: AuditedIndex) -> list[Expected]:
    """Records 0 to 4: a line, three entries, a long line of several chunks, a tombstone, a line."""
    return audited.index_records("disk full", ENTRIES, LONG, None, "login failed")


def brief(findings: list[Finding]) -> list[tuple[Any, ...]]:
    return [(one.kind, one.offset, one.sub, one.chunk) for one in findings]


def test_what_is_all_there_is_no_finding(audited: AuditedIndex, expected: list[Expected]) -> None:
    seen = audited.compare_all(expected)
    assert seen.findings == []
    assert seen.counts.sound_rows == len(audited.sink.lines) == len(rows_of(expected)) > 7


def test_a_record_of_which_nothing_is_stored_is_a_gap(audited: AuditedIndex, expected: list[Expected]) -> None:
    for row in rows_of(expected[1:2]):
        del audited.sink.lines[row.id]
    (finding,) = audited.compare_all(expected).findings
    assert brief([finding]) == [("gap", 1, None, None)]
    assert finding.pieces == expected[1].pieces


def test_a_piece_that_is_not_stored_is_missing(audited: AuditedIndex, expected: list[Expected]) -> None:
    del audited.sink.lines[expected[1].pieces[2].row.id]
    del audited.sink.lines[expected[2].pieces[1].row.id]
    seen = audited.compare_all(expected)
    assert brief(seen.findings) == [("missing", 1, 2, 0), ("missing", 2, 0, 1)]
    assert seen.findings[0].pieces == (expected[1].pieces[2],)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("text", "disk fuller"), ("time", 1), ("service", "x"), ("level", "x"), ("chunks", 2),
        ("partition", 1), ("sub", 1), ("offset", 4), ("topic", "other"),
    ],
)  # fmt: skip
def test_a_row_that_differs_is_changed_and_its_column_is_named(
    audited: AuditedIndex, expected: list[Expected], column: str, value: object
) -> None:
    audited.change(expected[0].pieces[0].row, **{column: value})
    (finding,) = audited.compare_all(expected).findings
    assert brief([finding]) == [("changed", 0, 0, 0)]
    assert finding.detail == f"differs in {column}"
    assert (finding.pieces, finding.remove) == (expected[0].pieces, "")


def test_a_row_of_a_template_that_other_masks_made_is_as_good(audited: AuditedIndex, expected: list[Expected]) -> None:
    audited.change(expected[0].pieces[0].row, template=expected[4].pieces[0].row.template)
    seen = audited.compare_all(expected)
    assert (seen.findings, seen.counts.other_masks_rows) == ([], 1)
    assert seen.counts.sound_rows == len(rows_of(expected)) - 1


def test_a_row_of_another_template_that_is_not_stored_is_found_and_gets_todays(audited: AuditedIndex, expected: list[Expected]) -> None:
    audited.change(expected[0].pieces[0].row, template="0" * 32)
    (finding,) = audited.compare_all(expected).findings
    assert brief([finding]) == [("template", 0, 0, 0)]
    assert ("0" * 32 in finding.detail, finding.pieces) == (True, expected[0].pieces)


def test_a_line_whose_template_is_not_stored_is_found(audited: AuditedIndex, expected: list[Expected]) -> None:
    row = expected[0].pieces[0].row
    del audited.sink.templates[row.template]
    (finding,) = audited.compare_all(expected).findings
    assert brief([finding]) == [("template", 0, 0, 0)]
    assert row.template in finding.detail


def test_chunks_that_a_line_no_longer_has_are_left_over(audited: AuditedIndex, expected: list[Expected]) -> None:
    shorter = audited.expected_rows_of(max_tokens=64).compute_expected(audited.records)
    audited.repairer.repair_rows(list(shorter[2].pieces))
    beyond = range(len(expected[2].pieces), len(shorter[2].pieces))
    assert len(beyond) > 5
    findings = audited.compare_all(expected).findings
    assert brief(findings) == [
        *(("changed", 2, 0, chunk) for chunk in range(len(expected[2].pieces))),
        *(("left_over", 2, 0, chunk) for chunk in beyond),
    ]
    assert [finding.remove for finding in findings if finding.kind == "left_over"] == [row_id(*("logs", "e1", 0, 2, 0, c)) for c in beyond]


def test_rows_of_a_record_with_nothing_to_index_are_left_over(audited: AuditedIndex, expected: list[Expected]) -> None:
    row = expected[0].pieces[0].row
    audited.add_rows(row._replace(id=row_id("logs", "e1", 0, 3, 0, 0), offset=3))
    assert brief(audited.compare_all(expected).findings) == [("left_over", 3, 0, 0)]


@pytest.mark.parametrize(
    ("id", "offset", "sub"),
    [
        (row_id("logs", "e1", 0, 9, 0, 0), 9, 0),
        (row_id("logs", "e1", 0, 1, 7, 0), 1, 7),
        ("nobody's", 1, 0),
        ("logs@e0/0/1/0/0/more", 1, 0),
        (row_id("logs", "e0", 0, 2, 0, 0), 1, 0),
        (row_id("logs", "e1", 0, 4, 5, 0), 1, 0),
        (row_id("other", "e0", 0, 1, 0, 0), 1, 0),
        (row_id("logs", "", 0, 1, 0, 0), 1, 0),
    ],
    ids=["no record", "no entry", "no id", "longer id", "other place and epoch", "other place", "other topic", "no epoch"],
)
def test_a_row_that_no_record_has_is_foreign(audited: AuditedIndex, expected: list[Expected], id: str, offset: int, sub: int) -> None:  # noqa: A002
    audited.add_rows(expected[0].pieces[0].row._replace(id=id, offset=offset, sub=sub))
    (finding,) = audited.compare_all(expected).findings
    assert brief([finding]) == [("foreign", offset, sub, 0)]
    assert finding.remove == id


def test_a_row_of_another_epoch_is_counted_and_left_alone(audited: AuditedIndex, expected: list[Expected]) -> None:
    audited.add_rows(expected[0].pieces[0].row._replace(id=row_id("logs", "e0", 0, 99, 3, 4), offset=99, sub=3, chunk=4))
    seen = audited.compare_all(expected)
    assert (seen.findings, seen.counts.other_epoch_rows) == ([], 1)


def test_on_a_compacted_topic_rows_without_a_record_are_left_alone(audited: AuditedIndex, expected: list[Expected]) -> None:
    audited.add_rows(expected[0].pieces[0].row._replace(id=row_id("logs", "e1", 0, 9, 0, 0), offset=9))
    seen = audited.compare_all(expected, is_compacted=True)
    assert (seen.findings, seen.counts.compacted_rows) == ([], 1)
    (finding,) = audited.compare_all(expected, is_compacted=None).findings
    assert (finding.kind, finding.remove) == ("foreign", "")


def test_what_is_a_dead_letter_need_not_be_stored(audited: AuditedIndex, expected: list[Expected]) -> None:
    del audited.sink.lines[expected[0].pieces[0].row.id]
    del audited.sink.lines[expected[1].pieces[1].row.id]
    del audited.sink.lines[expected[1].pieces[2].row.id]
    audited.dead_letters = {(0, 0): Excused(None), (0, 1): Excused(frozenset({(1, 0)}))}
    seen = audited.compare_all(expected)
    assert brief(seen.findings) == [("missing", 1, 2, 0)]
    assert seen.counts.dead_lettered_pieces == 2


def test_what_is_a_dead_letter_and_is_stored_after_all_is_sound(audited: AuditedIndex, expected: list[Expected]) -> None:
    audited.dead_letters = {(0, 0): Excused(None), (0, 1): Excused(frozenset({(1, 0)}))}
    assert audited.compare_all(expected).findings == []


def test_a_record_that_must_be_a_dead_letter_and_is_not_is_a_gap(audited: AuditedIndex) -> None:
    audited.expected_rows = audited.expected_rows_of(errors="strict", max_chunks=3)
    expected = audited.index_records(b"\xff", LONG, b'[{"message": "short"}, {"message": "%s"}]' % LONG.encode(), b"\xff")
    assert audited.compare_all(expected).findings == []
    assert audited.compare_all(expected).counts.dead_lettered_pieces == 4
    audited.dead_letters = {(0, 3): Excused(None)}
    findings = audited.compare_all(expected).findings
    assert brief(findings) == [("gap", 0, None, None), ("gap", 1, None, None), ("missing", 2, 1, 0)]
    assert [one.dead_letter and (one.dead_letter.refusal or one.dead_letter.rejects) for one in findings] == [
        Rejection("decode", "undecodable", "undecodable: not valid UTF-8"), ((0, 0, TOO_MANY_CHUNKS),), ((1, 0, TOO_MANY_CHUNKS),)
    ]  # fmt: skip
    assert all("dead letter" in one.detail for one in findings)


def test_rows_older_than_rows_are_kept_may_be_gone(audited: AuditedIndex, expected: list[Expected]) -> None:
    del audited.sink.lines[expected[0].pieces[0].row.id]
    del audited.sink.lines[expected[1].pieces[0].row.id]
    seen = audited.compare_all(expected, kept_since_ms=TIME_MS + 1)
    assert (seen.findings, seen.counts.expired_pieces) == ([], 2)
    assert brief(audited.compare_all(expected, kept_since_ms=TIME_MS).findings) == [("gap", 0, None, None), ("missing", 1, 0, 0)]


def test_a_row_that_is_there_is_compared_however_old_it_is(audited: AuditedIndex, expected: list[Expected]) -> None:
    audited.change(expected[0].pieces[0].row, text="other")
    assert brief(audited.compare_all(expected, kept_since_ms=TIME_MS + 1).findings) == [("changed", 0, 0, 0)]


def test_an_id_says_its_own_columns_or_it_does_not(audited: AuditedIndex, expected: list[Expected]) -> None:
    row = expected[2].pieces[1].row
    assert PLACE.id_matches(row)
    assert not PLACE.is_of_other_epoch(row)
    assert not PLACE.id_matches(row._replace(chunk=2))
    assert audited.records[2].offset == row.offset
