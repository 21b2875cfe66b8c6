"""Expected lines against stored lines and dead letters: every way in which they may differ, and those that are no problem."""

from typing import Any

import pytest

from consumers.decode.line_zones import DAY_MS
from consumers.rejection import Rejection
from sinks.line import Line
from tests.worker.inspecting.audited_index import TIME_MS, WALL_MS, AuditedIndex, lines_of, record
from worker.indexing.dead_letter_reasons import TOO_MANY_CHUNKS
from worker.inspecting.dead_letter_index import Excused, key_of
from worker.inspecting.expected import Expected
from worker.inspecting.window_comparer import ComparedWindow, Finding

ENTRIES = b'[{"message": "one"}, {"message": "two"}, {"message": "three"}]'
LONG = " ".join(f"word{n} is not at all like it." for n in range(200))


@pytest.fixture
def expected(audited: AuditedIndex) -> list[Expected]:
    """Records 0 to 4: a line, three entries, a long line of several chunks, a tombstone, a line."""
    return audited.index_records("disk full", ENTRIES, LONG, None, "login failed")


@pytest.fixture
def stored(expected: list[Expected]) -> list[Line]:
    """What readers get: all that is expected. Tests change the list."""
    return lines_of(expected)


def brief(findings: list[Finding]) -> list[tuple[Any, ...]]:
    return [(one.kind, one.offset, one.sub, one.chunk) for one in findings]


def compare(
    audited: AuditedIndex,
    expected: list[Expected],
    stored: list[Line],
    absent: frozenset[str] = frozenset(),
    **about: Any,  # noqa: ANN401
) -> ComparedWindow:
    """Compare everything in one window."""
    return audited.comparer(**about).compare_window(expected, stored, absent)


def excuse(audited: AuditedIndex, pieces: dict[int, list[tuple[int, int]] | None]) -> None:
    """Let dead letters have these pieces of the records at these offsets, and no others; None: the whole record."""
    audited.dead_letters = {
        key_of(audited.records[offset]): Excused(None if listed is None else frozenset(listed)) for offset, listed in pieces.items()
    }


def change(stored: list[Line], line: Line, **columns: Any) -> None:  # noqa: ANN401 - as Line
    stored[stored.index(line)] = line._replace(**columns)


def test_a_record_of_which_nothing_is_stored_is_a_gap(audited: AuditedIndex, expected: list[Expected], stored: list[Line]) -> None:
    (finding,) = compare(audited, expected, [line for line in stored if line.offset != 1]).findings
    assert brief([finding]) == [("gap", 1, None, None)]
    assert finding.write == expected[1].lines


def test_a_piece_that_is_not_stored_is_missing_and_its_record_is_written_whole(
    audited: AuditedIndex, expected: list[Expected], stored: list[Line]
) -> None:
    stored.remove(expected[1].lines[2])
    stored.remove(expected[2].lines[1])
    seen = compare(audited, expected, stored)
    assert brief(seen.findings) == [("missing", 1, 2, 0), ("missing", 2, 0, 1)]
    assert [finding.write for finding in seen.findings] == [expected[1].lines, expected[2].lines]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("text", "disk fuller"), ("time", 1), ("kafka_time", 1), ("service", "x"), ("level", "x"), ("chunks", 2), ("cut", 3),
        ("fields", "{}"), ("records", 2),
    ],
)  # fmt: skip
def test_a_line_that_differs_is_changed_and_its_column_is_named(
    audited: AuditedIndex, expected: list[Expected], stored: list[Line], column: str, value: object
) -> None:
    change(stored, expected[0].lines[0], **{column: value})
    (finding,) = compare(audited, expected, stored).findings
    assert brief([finding]) == [("changed", 0, 0, 0)]
    assert finding.detail == f"differs in {column}"
    assert (finding.write, finding.is_surplus) == (expected[0].lines, False)


def test_a_line_of_a_record_whose_time_cannot_be_true_may_have_been_read_at_any_time(audited: AuditedIndex) -> None:
    far_ms = WALL_MS + DAY_MS + 1
    expected = audited.expected_lines.compute_expected([record(0, "disk full", time_ms=far_ms), record(1, "disk full", time_ms=far_ms - 1)])
    far, near = lines_of(expected)
    assert (far.time, far.kafka_time, near.time) == (WALL_MS, far_ms, far_ms - 1)
    seen = compare(audited, expected, [far._replace(time=WALL_MS - 9_000_000), near])
    assert (seen.findings, seen.counts.sound_lines) == ([], 2)
    findings = compare(audited, expected, [far._replace(kafka_time=WALL_MS), near._replace(time=WALL_MS)]).findings
    assert [one.detail for one in findings] == ["differs in kafka_time", "differs in time"]


def test_a_line_of_a_template_that_other_masks_made_is_as_good(audited: AuditedIndex, expected: list[Expected], stored: list[Line]) -> None:
    change(stored, expected[0].lines[0], template_text="disk *")
    seen = compare(audited, expected, stored)
    assert (seen.findings, seen.counts.other_masks_lines) == ([], 1)
    assert seen.counts.sound_lines == len(stored) - 1


def test_a_line_whose_template_is_not_stored_is_found_and_keeps_its_template(
    audited: AuditedIndex, expected: list[Expected], stored: list[Line]
) -> None:
    change(stored, expected[0].lines[0], template_text="disk *")
    (finding,) = compare(audited, expected, stored, frozenset({"disk *"})).findings
    assert brief([finding]) == [("template", 0, 0, 0)]
    assert stored[0].template in finding.detail
    assert (finding.templates, finding.write) == ((stored[0],), ())


def test_chunks_that_a_line_no_longer_has_are_left_over(audited: AuditedIndex, expected: list[Expected]) -> None:
    shorter = lines_of(audited.expected_lines_of(max_tokens=64).compute_expected(audited.records))
    chunks = [line for line in shorter if line.offset == 2]
    beyond = range(len(expected[2].lines), len(chunks))
    assert len(beyond) > 5
    findings = compare(audited, expected, shorter).findings
    assert brief(findings) == [
        *(("changed", 2, 0, chunk) for chunk in range(len(expected[2].lines))),
        *(("left_over", 2, 0, chunk) for chunk in beyond),
    ]
    assert [finding.is_surplus for finding in findings] == [finding.kind == "left_over" for finding in findings]
    assert findings[0].detail == "differs in chunks, text, template_text, cut"


@pytest.mark.parametrize(("offset", "sub"), [(9, 0), (1, 7)], ids=["no record", "no entry"])
def test_a_line_that_no_record_has_is_foreign(
    audited: AuditedIndex, expected: list[Expected], stored: list[Line], offset: int, sub: int
) -> None:
    stored.append(stored[0]._replace(offset=offset, sub=sub))
    (finding,) = compare(audited, expected, stored).findings
    assert brief([finding]) == [("foreign", offset, sub, 0)]
    assert finding.is_surplus


def test_a_line_of_another_epoch_is_counted_and_left_alone(audited: AuditedIndex, expected: list[Expected], stored: list[Line]) -> None:
    stored += [stored[0]._replace(epoch="e0", text="of long ago"), stored[0]._replace(epoch="e0", offset=99, sub=3, chunk=4)]
    seen = compare(audited, expected, stored)
    assert (seen.findings, seen.counts.other_epoch_lines) == ([], 2)


def test_on_a_compacted_topic_lines_without_a_record_are_left_alone(
    audited: AuditedIndex, expected: list[Expected], stored: list[Line]
) -> None:
    stored.append(stored[0]._replace(offset=9))
    seen = compare(audited, expected, stored, is_compacted=True)
    assert (seen.findings, seen.counts.compacted_lines) == ([], 1)
    (finding,) = compare(audited, expected, stored, is_compacted=None).findings
    assert (finding.kind, finding.is_surplus) == ("foreign", False)


def test_what_is_a_dead_letter_need_not_be_stored(audited: AuditedIndex, expected: list[Expected], stored: list[Line]) -> None:
    for line in (expected[0].lines[0], *expected[1].lines[1:]):
        stored.remove(line)
    excuse(audited, {0: None, 1: [(1, 0)]})
    seen = compare(audited, expected, stored)
    assert brief(seen.findings) == [("missing", 1, 2, 0)]
    assert seen.counts.dead_lettered_pieces == 2


def test_a_chunk_that_a_dead_letter_has_is_not_written_with_the_others_of_its_line(
    audited: AuditedIndex, expected: list[Expected], stored: list[Line]
) -> None:
    long = expected[2].lines
    stored.remove(long[0])
    stored.remove(long[2])
    change(stored, long[3], text="tampered")
    excuse(audited, {2: [(0, 0)]})
    findings = compare(audited, expected, stored).findings
    assert brief(findings) == [("changed", 2, 0, 3), ("missing", 2, 0, 2)]
    assert {finding.write for finding in findings} == {long[1:]}


def test_a_dead_letter_of_other_bytes_excuses_nothing(audited: AuditedIndex, expected: list[Expected], stored: list[Line]) -> None:
    stored.remove(expected[0].lines[0])
    audited.dead_letters = {key_of(audited.records[0]._replace(value=b"nothing happened here")): Excused(None)}
    assert brief(compare(audited, expected, stored).findings) == [("gap", 0, None, None)]


def test_a_record_that_must_be_a_dead_letter_and_is_not_is_a_gap(audited: AuditedIndex) -> None:
    audited.expected_lines = audited.expected_lines_of(errors="strict", max_chunks=3)
    expected = audited.index_records(b"\xff", LONG, b'[{"message": "short"}, {"message": "%s"}]' % LONG.encode(), b"\xff")
    stored = lines_of(expected)
    assert compare(audited, expected, stored).findings == []
    assert compare(audited, expected, stored).counts.dead_lettered_pieces == 4
    excuse(audited, {3: None})
    findings = compare(audited, expected, stored).findings
    assert brief(findings) == [("gap", 0, None, None), ("gap", 1, None, None), ("missing", 2, 1, 0)]
    assert [one.dead_letter and (one.dead_letter.refusal or one.dead_letter.rejects) for one in findings] == [
        Rejection("decode", "undecodable", "undecodable: not valid UTF-8"), ((0, 0, TOO_MANY_CHUNKS),), ((1, 0, TOO_MANY_CHUNKS),)
    ]  # fmt: skip
    assert all("dead letter" in one.detail for one in findings)


def test_lines_older_than_lines_are_kept_may_be_gone(audited: AuditedIndex, expected: list[Expected], stored: list[Line]) -> None:
    stored.remove(expected[0].lines[0])
    stored.remove(expected[1].lines[0])
    seen = compare(audited, expected, stored, kept_since_ms=TIME_MS + 1)
    assert (seen.findings, seen.counts.expired_lines) == ([], 2)
    assert brief(compare(audited, expected, stored, kept_since_ms=TIME_MS).findings) == [("gap", 0, None, None), ("missing", 1, 0, 0)]
