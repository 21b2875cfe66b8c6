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


class Window:
    """What is expected of records, and what readers get (`stored`): all of it, until a test changes the list."""

    def __init__(self, audited: AuditedIndex, expected: list[Expected]) -> None:
        self.audited, self.expected, self.stored = audited, expected, lines_of(expected)

    def lose(self, *lines: Line) -> None:
        self.stored = [line for line in self.stored if line not in lines]

    def change(self, line: Line, **columns: Any) -> None:  # noqa: ANN401 - as Line
        self.stored[self.stored.index(line)] = line._replace(**columns)

    def excuse(self, pieces: dict[int, list[tuple[int, int]] | None]) -> None:
        """Let dead letters have these pieces of the records at these offsets, and no others; None: the whole record."""
        records = self.audited.records
        self.audited.dead_letters = {key_of(records[at]): Excused(None if some is None else frozenset(some)) for at, some in pieces.items()}

    def compare(self, absent: frozenset[str] = frozenset(), **about: Any) -> ComparedWindow:  # noqa: ANN401 - as comparer
        return self.audited.comparer(**about).compare_window(self.expected, self.stored, absent)

    def brief(self, **about: Any) -> list[tuple[Any, ...]]:  # noqa: ANN401 - as comparer
        return brief(self.compare(**about).findings)


@pytest.fixture
def window(audited: AuditedIndex) -> Window:
    """Records 0 to 4: a line, three entries, a long line of several chunks, a tombstone, a line."""
    return Window(audited, audited.index_records("disk full", ENTRIES, LONG, None, "login failed"))


def brief(findings: list[Finding]) -> list[tuple[Any, ...]]:
    return [(one.kind, one.offset, one.sub, one.chunk) for one in findings]


def test_a_record_of_which_nothing_is_stored_is_a_gap(window: Window) -> None:
    window.lose(*window.expected[1].lines)
    (finding,) = window.compare().findings
    assert brief([finding]) == [("gap", 1, None, None)]
    assert finding.write == window.expected[1].lines


def test_a_piece_that_is_not_stored_is_missing_and_its_record_is_written_whole(window: Window) -> None:
    window.lose(window.expected[1].lines[2], window.expected[2].lines[1])
    seen = window.compare()
    assert brief(seen.findings) == [("missing", 1, 2, 0), ("missing", 2, 0, 1)]
    assert [finding.write for finding in seen.findings] == [window.expected[1].lines, window.expected[2].lines]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("text", "disk fuller"), ("time", 1), ("kafka_time", 1), ("service", "x"), ("level", "x"), ("chunks", 2), ("cut", 3),
        ("fields", "{}"), ("records", 2),
    ],
)  # fmt: skip
def test_a_line_that_differs_is_changed_and_its_column_is_named(window: Window, column: str, value: object) -> None:
    window.change(window.expected[0].lines[0], **{column: value})
    (finding,) = window.compare().findings
    assert brief([finding]) == [("changed", 0, 0, 0)]
    assert finding.detail == f"differs in {column}"
    assert (finding.write, finding.is_surplus) == (window.expected[0].lines, False)


def test_a_line_of_a_record_whose_time_cannot_be_true_may_have_been_read_at_any_time(audited: AuditedIndex) -> None:
    far_ms = WALL_MS + DAY_MS + 1
    records = [record(0, "disk full", time_ms=far_ms), record(1, "disk full", time_ms=far_ms - 1)]
    window = Window(audited, audited.expected_lines.compute_expected(records))
    far, near = window.stored
    assert (far.time, far.kafka_time, near.time) == (WALL_MS, far_ms, far_ms - 1)
    window.stored = [far._replace(time=WALL_MS - 9_000_000), near]
    seen = window.compare()
    assert (seen.findings, seen.counts.sound_lines) == ([], 2)
    window.stored = [far._replace(kafka_time=WALL_MS), near._replace(time=WALL_MS)]
    assert [one.detail for one in window.compare().findings] == ["differs in kafka_time", "differs in time"]


def test_a_line_of_a_template_that_other_masks_made_is_as_good(window: Window) -> None:
    window.change(window.expected[0].lines[0], template_text="disk *")
    seen = window.compare()
    assert (seen.findings, seen.counts.other_masks_lines) == ([], 1)
    assert seen.counts.sound_lines == len(window.stored) - 1


def test_a_line_whose_template_is_not_stored_is_found_and_keeps_its_template(window: Window) -> None:
    window.change(window.expected[0].lines[0], template_text="disk *")
    (finding,) = window.compare(frozenset({"disk *"})).findings
    assert brief([finding]) == [("template", 0, 0, 0)]
    assert window.stored[0].template in finding.detail
    assert (finding.templates, finding.write) == ((window.stored[0],), ())


def test_chunks_that_a_line_no_longer_has_are_left_over(window: Window) -> None:
    window.stored = lines_of(window.audited.expected_lines_of(max_tokens=64).compute_expected(window.audited.records))
    chunks = [line for line in window.stored if line.offset == 2]
    beyond = range(len(window.expected[2].lines), len(chunks))
    assert len(beyond) > 5
    findings = window.compare().findings
    assert brief(findings) == [
        *(("changed", 2, 0, chunk) for chunk in range(beyond.start)),
        *(("left_over", 2, 0, chunk) for chunk in beyond),
    ]
    assert [finding.is_surplus for finding in findings] == [finding.kind == "left_over" for finding in findings]
    assert findings[0].detail == "differs in chunks, text, template_text, cut"


@pytest.mark.parametrize(("offset", "sub"), [(9, 0), (1, 7)], ids=["no record", "no entry"])
def test_a_line_that_no_record_has_is_foreign(window: Window, offset: int, sub: int) -> None:
    window.stored.append(window.stored[0]._replace(offset=offset, sub=sub))
    (finding,) = window.compare().findings
    assert brief([finding]) == [("foreign", offset, sub, 0)]
    assert finding.is_surplus


def test_a_line_of_another_epoch_is_counted_and_left_alone(window: Window) -> None:
    window.stored += [
        window.stored[0]._replace(epoch="e0", text="of long ago"),
        window.stored[0]._replace(epoch="e0", offset=99, sub=3, chunk=4),
    ]
    seen = window.compare()
    assert (seen.findings, seen.counts.other_epoch_lines) == ([], 2)


def test_on_a_compacted_topic_lines_without_a_record_are_left_alone(window: Window) -> None:
    window.stored.append(window.stored[0]._replace(offset=9))
    seen = window.compare(is_compacted=True)
    assert (seen.findings, seen.counts.compacted_lines) == ([], 1)
    (finding,) = window.compare(is_compacted=None).findings
    assert (finding.kind, finding.is_surplus) == ("foreign", False)


def test_what_is_a_dead_letter_need_not_be_stored(window: Window) -> None:
    window.lose(window.expected[0].lines[0], *window.expected[1].lines[1:])
    window.excuse({0: None, 1: [(1, 0)]})
    seen = window.compare()
    assert brief(seen.findings) == [("missing", 1, 2, 0)]
    assert seen.counts.dead_lettered_pieces == 2


def test_a_chunk_that_a_dead_letter_has_is_not_written_with_the_others_of_its_line(window: Window) -> None:
    long = window.expected[2].lines
    window.lose(long[0], long[2])
    window.change(long[3], text="tampered")
    window.excuse({2: [(0, 0)]})
    findings = window.compare().findings
    assert brief(findings) == [("changed", 2, 0, 3), ("missing", 2, 0, 2)]
    assert {finding.write for finding in findings} == {long[1:]}


def test_a_record_that_must_be_a_dead_letter_and_is_not_is_a_gap(audited: AuditedIndex) -> None:
    audited.expected_lines = audited.expected_lines_of(errors="strict", max_chunks=3)
    window = Window(audited, audited.index_records(b"\xff", LONG, b'[{"message": "short"}, {"message": "%s"}]' % LONG.encode(), b"\xff"))
    seen = window.compare()
    assert (seen.findings, seen.counts.dead_lettered_pieces) == ([], 4)
    window.excuse({3: None})
    findings = window.compare().findings
    assert brief(findings) == [("gap", 0, None, None), ("gap", 1, None, None), ("missing", 2, 1, 0)]
    assert [one.dead_letter and (one.dead_letter.refusal or one.dead_letter.rejects) for one in findings] == [
        Rejection("decode", "undecodable", "undecodable: not valid UTF-8"), ((0, 0, TOO_MANY_CHUNKS),), ((1, 0, TOO_MANY_CHUNKS),)
    ]  # fmt: skip
    assert all("dead letter" in one.detail for one in findings)


def test_lines_older_than_lines_are_kept_may_be_gone(window: Window) -> None:
    window.lose(window.expected[0].lines[0], window.expected[1].lines[0])
    seen = window.compare(kept_since_ms=TIME_MS + 1)
    assert (seen.findings, seen.counts.expired_lines) == ([], 2)
    assert window.brief(kept_since_ms=TIME_MS) == [("gap", 0, None, None), ("missing", 1, 0, 0)]
