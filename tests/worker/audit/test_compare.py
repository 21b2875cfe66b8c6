"""Expected against stored and buried: every way in which they may differ, and those that are no problem."""

from typing import Any

import pytest

from sinks.row import row_id
from tests.worker.audit.books import PLACE, TIME_MS, Books, rows_of
from worker.audit.compare import Finding
from worker.audit.dead_letter_index import Excused
from worker.audit.expected import Expected

ENTRIES = b'[{"message": "one"}, {"message": "two"}, {"message": "three"}]'
LONG = " ".join(f"word{n} is not at all like it." for n in range(200))


@pytest.fixture
def owed(books: Books) -> list[Expected]:
    """Records 0 to 4: a line, three entries, a long line of several chunks, a tombstone, a line."""
    return books.balance("disk full", ENTRIES, LONG, None, "login failed")


def brief(findings: list[Finding]) -> list[tuple[Any, ...]]:
    return [(one.kind, one.offset, one.sub, one.chunk) for one in findings]


def test_what_is_all_there_is_no_finding(books: Books, owed: list[Expected]) -> None:
    seen = books.weigh(owed)
    assert seen.findings == []
    assert seen.sound_rows == len(books.sink.lines) == len(rows_of(owed)) > 7


def test_a_record_of_which_nothing_is_stored_is_a_gap(books: Books, owed: list[Expected]) -> None:
    for row in rows_of(owed[1:2]):
        del books.sink.lines[row.id]
    (finding,) = books.weigh(owed).findings
    assert brief([finding]) == [("gap", 1, None, None)]
    assert finding.pieces == owed[1].pieces


def test_a_piece_that_is_not_stored_is_missing(books: Books, owed: list[Expected]) -> None:
    del books.sink.lines[owed[1].pieces[2].row.id]
    del books.sink.lines[owed[2].pieces[1].row.id]
    seen = books.weigh(owed)
    assert brief(seen.findings) == [("missing", 1, 2, 0), ("missing", 2, 0, 1)]
    assert seen.findings[0].pieces == (owed[1].pieces[2],)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("text", "disk fuller"), ("time", 1), ("service", "x"), ("level", "x"), ("chunks", 2),
        ("partition", 1), ("sub", 1), ("offset", 4), ("topic", "other"),
    ],
)  # fmt: skip
def test_a_row_that_differs_is_changed_and_its_column_is_named(books: Books, owed: list[Expected], column: str, value: object) -> None:
    books.change(owed[0].pieces[0].row, **{column: value})
    (finding,) = books.weigh(owed).findings
    assert brief([finding]) == [("changed", 0, 0, 0)]
    assert finding.detail == f"differs in {column}"
    assert (finding.pieces, finding.remove) == (owed[0].pieces, "")


def test_a_row_of_a_template_that_other_masks_made_is_as_good(books: Books, owed: list[Expected]) -> None:
    books.change(owed[0].pieces[0].row, template=owed[4].pieces[0].row.template)
    seen = books.weigh(owed)
    assert (seen.findings, seen.other_masks_rows) == ([], 1)
    assert seen.sound_rows == len(rows_of(owed)) - 1


def test_a_row_of_another_template_that_is_not_stored_is_found_and_gets_todays(books: Books, owed: list[Expected]) -> None:
    books.change(owed[0].pieces[0].row, template="0" * 32)
    (finding,) = books.weigh(owed).findings
    assert brief([finding]) == [("template", 0, 0, 0)]
    assert ("0" * 32 in finding.detail, finding.pieces) == (True, owed[0].pieces)


def test_a_line_whose_template_is_not_stored_is_found(books: Books, owed: list[Expected]) -> None:
    row = owed[0].pieces[0].row
    del books.sink.templates[row.template]
    (finding,) = books.weigh(owed).findings
    assert brief([finding]) == [("template", 0, 0, 0)]
    assert row.template in finding.detail


def test_chunks_that_a_line_no_longer_has_are_left_over(books: Books, owed: list[Expected]) -> None:
    shorter = books.maker_of(max_tokens=64).owed(books.records)
    books.mender.mend(list(shorter[2].pieces))
    beyond = range(len(owed[2].pieces), len(shorter[2].pieces))
    assert len(beyond) > 5
    findings = books.weigh(owed).findings
    assert brief(findings) == [
        *(("changed", 2, 0, chunk) for chunk in range(len(owed[2].pieces))),
        *(("left_over", 2, 0, chunk) for chunk in beyond),
    ]
    assert [finding.remove for finding in findings if finding.kind == "left_over"] == [row_id(*("logs", "e1", 0, 2, 0, c)) for c in beyond]


def test_rows_of_a_record_that_owes_nothing_are_left_over(books: Books, owed: list[Expected]) -> None:
    row = owed[0].pieces[0].row
    books.add(row._replace(id=row_id("logs", "e1", 0, 3, 0, 0), offset=3))
    assert brief(books.weigh(owed).findings) == [("left_over", 3, 0, 0)]


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
def test_a_row_that_no_record_owes_is_foreign(books: Books, owed: list[Expected], id: str, offset: int, sub: int) -> None:  # noqa: A002
    books.add(owed[0].pieces[0].row._replace(id=id, offset=offset, sub=sub))
    (finding,) = books.weigh(owed).findings
    assert brief([finding]) == [("foreign", offset, sub, 0)]
    assert finding.remove == id


def test_a_row_of_another_epoch_is_counted_and_left_alone(books: Books, owed: list[Expected]) -> None:
    books.add(owed[0].pieces[0].row._replace(id=row_id("logs", "e0", 0, 99, 3, 4), offset=99, sub=3, chunk=4))
    seen = books.weigh(owed)
    assert (seen.findings, seen.other_epoch_rows) == ([], 1)


def test_on_a_compacted_topic_rows_without_a_record_are_left_alone(books: Books, owed: list[Expected]) -> None:
    books.add(owed[0].pieces[0].row._replace(id=row_id("logs", "e1", 0, 9, 0, 0), offset=9))
    seen = books.weigh(owed, is_compacted=True)
    assert (seen.findings, seen.compacted_rows) == ([], 1)
    (finding,) = books.weigh(owed, is_compacted=None).findings
    assert (finding.kind, finding.remove) == ("foreign", "")


def test_what_was_buried_need_not_be_stored(books: Books, owed: list[Expected]) -> None:
    del books.sink.lines[owed[0].pieces[0].row.id]
    del books.sink.lines[owed[1].pieces[1].row.id]
    del books.sink.lines[owed[1].pieces[2].row.id]
    books.graves = {(0, 0): Excused(None), (0, 1): Excused(frozenset({(1, 0)}))}
    seen = books.weigh(owed)
    assert brief(seen.findings) == [("missing", 1, 2, 0)]
    assert seen.dead_lettered_pieces == 2


def test_what_was_buried_and_is_stored_after_all_is_sound(books: Books, owed: list[Expected]) -> None:
    books.graves = {(0, 0): Excused(None), (0, 1): Excused(frozenset({(1, 0)}))}
    assert books.weigh(owed).findings == []


def test_a_record_that_must_be_a_dead_letter_and_is_not_is_a_gap(books: Books) -> None:
    books.maker = books.maker_of(errors="strict", max_chunks=3)
    owed = books.balance(b"\xff", LONG, b'[{"message": "short"}, {"message": "%s"}]' % LONG.encode(), b"\xff")
    assert books.weigh(owed).findings == []
    assert books.weigh(owed).dead_lettered_pieces == 4
    books.graves = {(0, 3): Excused(None)}
    findings = books.weigh(owed).findings
    assert brief(findings) == [("gap", 0, None, None), ("gap", 1, None, None), ("missing", 2, 1, 0)]
    assert [one.dead_letter and (one.dead_letter.refusal or one.dead_letter.rejects) for one in findings] == [
        "undecodable: not valid UTF-8", ((0, 0, "too_many_chunks"),), ((1, 0, "too_many_chunks"),)
    ]  # fmt: skip
    assert all("dead letter" in one.detail for one in findings)


def test_rows_older_than_rows_are_kept_may_be_gone(books: Books, owed: list[Expected]) -> None:
    del books.sink.lines[owed[0].pieces[0].row.id]
    del books.sink.lines[owed[1].pieces[0].row.id]
    seen = books.weigh(owed, kept_since_ms=TIME_MS + 1)
    assert (seen.findings, seen.expired_pieces) == ([], 2)
    assert brief(books.weigh(owed, kept_since_ms=TIME_MS).findings) == [("gap", 0, None, None), ("missing", 1, 0, 0)]


def test_a_row_that_is_there_is_compared_however_old_it_is(books: Books, owed: list[Expected]) -> None:
    books.change(owed[0].pieces[0].row, text="other")
    assert brief(books.weigh(owed, kept_since_ms=TIME_MS + 1).findings) == [("changed", 0, 0, 0)]


def test_an_id_says_its_own_columns_or_it_does_not(books: Books, owed: list[Expected]) -> None:
    row = owed[2].pieces[1].row
    assert PLACE.says(row)
    assert not PLACE.is_other_epoch(row)
    assert not PLACE.says(row._replace(chunk=2))
    assert books.records[2].offset == row.offset
