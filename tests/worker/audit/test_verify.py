"""Ranges are walked in windows: nothing between two records is skipped, what is mended is looked at again, and what is told is bounded."""

import math

import pytest

from sinks.row import LineRow, row_id
from sinks.sink import SinkBroken, SinkBusy
from tests.worker.audit.books import NARROW, Books, record, rows_of
from worker.audit.dead_letter_index import Excused
from worker.audit.verify import ReadBounds

LONG = " ".join(f"word{n} is not at all like it." for n in range(200))
LINES = [f"disk {n} full" if n % 3 else f"login {n} failed" for n in range(45)]


def left_over(row: LineRow, chunk: int) -> LineRow:
    return row._replace(id=f"{row.id.rpartition('/')[0]}/{chunk}", chunk=chunk)


def test_an_untouched_index_is_complete(books: Books) -> None:
    books.balance(*LINES)
    before = books.snapshot()
    books.sink.calls.clear()
    account = books.verify()
    assert account.is_complete
    assert (account.records, account.rows, account.sound_rows, account.told) == (45, 45, 45, {})
    assert books.sink.calls.count("lines_between") == math.ceil(45 / 7)
    assert set(books.sink.calls) == {"lines_between", "stored_templates"}
    assert books.sink.calls.count("stored_templates") == 1, "a template is asked for once"
    assert books.snapshot() == before


def test_each_damage_is_found_and_mended_and_seen_to_be_mended(books: Books) -> None:
    owed = books.balance(*LINES, LONG, b'[{"message": "one"}, {"message": "two"}]', "buried", "printer on fire")
    whole = books.snapshot()
    rows = rows_of(owed)
    del books.sink.lines[rows[3].id]
    books.change(rows[5], text="tampered")
    books.change(rows[6], service="nobody")
    del books.sink.lines[owed[46].pieces[1].row.id]
    books.add(left_over(owed[45].pieces[0].row, 40))
    books.add(rows[9]._replace(id="foreign"), rows[9]._replace(id=row_id("logs", "e1", 0, 300, 0, 0), offset=48, sub=3))
    books.sink.doubles = {rows[11].id: 1}
    del books.sink.templates[rows[-1].template]
    damaged = books.snapshot()

    wanted = {"gap": 1, "missing": 1, "changed": 2, "template": 1, "left_over": 1, "foreign": 2, "duplicate": 1}
    found = books.verify()
    assert found.problems == found.left == wanted
    assert not found.is_complete
    assert books.snapshot() == damaged, "looking changes nothing"

    mended = books.verify(repair=True)
    assert (mended.problems, mended.left.total(), mended.is_complete) == (wanted, 0, True)
    assert all(told.repaired for kind in mended.told.values() for told in kind)
    assert books.snapshot()[0] == whole[0]
    assert books.sink.templates.keys() == whole[1].keys()
    assert books.buried == []
    again = books.verify()
    assert (again.is_complete, again.problems.total(), again.sound_rows) == (True, 0, len(whole[0]))


def test_a_finding_says_where_it_is(books: Books) -> None:
    rows = rows_of(books.balance(*LINES))
    books.change(rows[20], text="tampered")
    (told,) = books.verify().told["changed"]
    assert (told.place.topic, told.place.partition, told.place.epoch) == ("logs", 0, "e1")
    assert told.finding[:5] == ("changed", 20, 0, 0, rows[20].id)
    assert not told.repaired


@pytest.mark.parametrize("offset", [5, 17, 39, 60], ids=["before the first", "between two", "behind the last", "at the end"])
def test_rows_at_offsets_without_records_are_found(books: Books, offset: int) -> None:
    row = books.balance(*LINES)[0].pieces[0].row
    books.records = [one for one in books.records if 10 <= one.offset < 30 and one.offset != 17]
    books.sink.lines = {one.id: one for one in books.sink.lines.values() if 10 <= one.offset < 30 and one.offset != 17}
    stranger = row._replace(id=row_id("logs", "e1", 0, offset, 0, 0), offset=offset)
    books.add(stranger)
    account = books.verify(end=60)
    assert account.problems == ({"foreign": 1} if offset < 60 else {})
    assert books.verify(first=18, end=39).is_complete
    books.verify(end=60, repair=True)
    assert (stranger.id in books.sink.lines) == (offset == 60)


def test_a_range_without_any_record_is_looked_at(books: Books) -> None:
    row = books.balance("disk full")[0].pieces[0].row
    books.records = []
    assert books.verify(end=1).problems == {"foreign": 1}
    assert books.verify(end=0).rows == 0
    assert books.sink.lines[row.id] == row


def test_nothing_outside_of_the_range_is_told_or_mended(books: Books) -> None:
    rows = rows_of(books.balance(*LINES))
    for offset in (9, 10, 29, 30):
        del books.sink.lines[rows[offset].id]
    account = books.verify(first=10, end=30, repair=True)
    assert account.problems == {"gap": 2}
    assert {row.offset for row in rows} - {row.offset for row in books.sink.lines.values()} == {9, 30}


def test_large_records_make_narrower_windows(books: Books) -> None:
    books.balance(*["a line of fifty-one bytes, which is too many of them"] * 6)
    books.sink.calls.clear()
    assert books.verify(bounds=ReadBounds(window_bytes=50)).is_complete
    assert books.sink.calls.count("lines_between") == 6


@pytest.mark.parametrize(("single", "offsets"), [(64, [(2, 1), (3, 2), (20, 1)]), (1, [(0, 3), (20, 1)])])
def test_rows_stored_twice_are_found_at_their_offsets_and_mended(books: Books, single: int, offsets: list[tuple[int, int]]) -> None:
    bounds = NARROW._replace(single_doubles=single)
    rows = rows_of(books.balance(*LINES))
    books.sink.doubles = {rows[2].id: 1, rows[3].id: 2, rows[20].id: 1}
    account = books.verify(bounds=bounds)
    assert account.problems == {"duplicate": 4}
    assert [(told.finding.offset, told.finding.number) for told in account.told["duplicate"]] == offsets
    assert books.verify(bounds=bounds, repair=True).is_complete
    assert books.sink.doubles == {}
    assert books.verify().problems == {}


def test_a_row_of_another_epoch_that_is_stored_twice_is_kept_once(books: Books) -> None:
    row = books.balance("disk full")[0].pieces[0].row
    old = row._replace(id=row_id("logs", "e0", 0, 0, 0, 0), text="of long ago")
    books.add(old)
    books.sink.doubles = {old.id: 1}
    assert books.verify(repair=True).is_complete
    assert books.sink.lines == {row.id: row, old.id: old}
    assert books.verify().other_epoch_rows == 1


def test_another_chunk_size_leaves_chunks_over_and_they_are_removed(books: Books) -> None:
    whole = books.balance("disk full", LONG)
    shorter = books.maker_of(max_tokens=64)
    again = books.verify(maker=shorter, repair=True)
    assert again.is_complete
    assert len(books.sink.lines) > len(rows_of(whole))
    account = books.verify()
    assert account.problems["left_over"] == len(books.sink.lines) - len(rows_of(whole))
    assert books.verify(repair=True).is_complete
    assert sorted(books.sink.lines.values()) == sorted(rows_of(whole))


def test_a_piece_that_cannot_be_stored_is_buried_and_then_accounted_for(books: Books) -> None:
    owed = books.balance("disk full", b'[{"message": "one"}, {"message": "poison"}, {"message": "two"}]', "poison")
    for piece in (*owed[1].pieces, *owed[2].pieces):
        books.sink.lines.pop(piece.row.id, None)
    for debt in owed[1:]:
        books.sink.templates.pop(debt.pieces[-1].row.template, None)
    books.sink.templates.pop(owed[1].pieces[1].row.template, None)
    books.engine.raises_on = {books.words.encode(["poison"]).text(0).tolist()[1]}
    account = books.verify(repair=True)
    assert account.is_complete
    assert [(debt.record.offset, debt.rejects) for debt in books.buried] == [
        (1, ((1, 0, "the engine fails on this text: asked to fail on this text"),)),
        (2, ((0, 0, "the engine fails on this text: asked to fail on this text"),)),
    ]
    assert {row.text for row in books.sink.lines.values()} == {"disk full", "one", "two"}


def test_a_dead_letter_that_is_missing_is_written(books: Books) -> None:
    books.maker = books.maker_of(errors="strict", max_chunks=3)
    books.balance("disk full", b"\xff", b'[{"message": "short"}, {"message": "%s"}]' % LONG.encode())
    books.graves.clear()
    assert books.verify().problems == {"gap": 1, "missing": 1}
    assert books.verify(repair=True).is_complete
    assert [(debt.record.offset, debt.refusal, debt.rejects) for debt in books.buried] == [
        (1, "undecodable: not valid UTF-8", ()),
        (2, "", ((1, 0, "too_many_chunks"),)),
    ]
    assert books.verify().is_complete


def test_what_repair_leaves_is_still_a_problem(books: Books) -> None:
    row = books.balance("disk full", "login failed")[0].pieces[0].row
    books.add(row._replace(id=row_id("logs", "e1", 0, 5, 0, 0), offset=5))
    books.change(row, text="tampered")
    account = books.verify(end=9, repair=True, scales=books.scales(is_compacted=None))
    assert (account.problems, account.left) == ({"foreign": 1, "changed": 1}, {"foreign": 1})
    assert [account.told[kind][0].repaired for kind in ("foreign", "changed")] == [False, True]
    assert not account.is_complete


def test_findings_are_counted_beyond_those_that_are_kept(books: Books) -> None:
    books.balance(*LINES)
    books.sink.lines.clear()
    account = books.verify(bounds=NARROW._replace(told=4))
    assert (account.problems, len(account.told["gap"])) == ({"gap": 45}, 4)
    assert [told.finding.offset for told in account.told["gap"]] == [0, 1, 2, 3]
    assert account.told["gap"][0].finding.pieces == (), "what is kept is small"


def test_figures_are_shown_after_each_window(books: Books) -> None:
    books.balance(*LINES)
    shown: list[int] = []
    books.verify(show=lambda account: shown.append(account.records))
    assert shown == [7, 14, 21, 28, 35, 42, 45]


def test_dead_letters_and_tombstones_owe_no_rows(books: Books) -> None:
    owed = books.balance("disk full", None, "", "login failed")
    del books.sink.lines[owed[3].pieces[0].row.id]
    books.graves[0, 3] = Excused(None)
    account = books.verify()
    assert (account.is_complete, account.dead_lettered_pieces, account.sound_rows) == (True, 1, 1)


def test_a_sink_that_is_busy_for_a_moment_is_waited_for_and_one_that_stays_so_is_not(books: Books) -> None:
    books.balance("disk full")
    books.sink.busy_calls = 2
    assert books.verify().is_complete
    books.sink.busy_calls = 10_000
    with pytest.raises(SinkBusy):
        books.verify()
    books.sink.busy_calls = 0
    books.sink.broken = "disk"
    with pytest.raises(SinkBroken):
        books.verify()


@pytest.mark.parametrize(("remembered", "questions"), [(100, 3), (13, 4)])
def test_templates_beyond_those_that_are_remembered_are_asked_for_again(books: Books, remembered: int, questions: int) -> None:
    kinds = [f"{one} {other}" for one in ("disk", "login", "door") for other in ("full", "failed", "open", "shut", "gone", "hot", "lost")]
    books.balance(*kinds, *kinds[:7])
    books.sink.calls.clear()
    assert books.verify(bounds=NARROW._replace(present_templates=remembered)).is_complete
    assert books.sink.calls.count("stored_templates") == questions


def test_a_record_without_a_time_is_judged_like_any_other(books: Books) -> None:
    books.records = [record(0, "disk full", time_ms=0)]
    assert books.verify().problems == {"gap": 1}
    assert books.verify(repair=True).is_complete
