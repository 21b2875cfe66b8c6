"""What is stored of an entry counts with everything in it, and at its own place only."""

import pytest

from sinks.line import Line
from tests.sinks.blocks import TEMPLATE_TEXT, line
from worker.indexing.stored_entries import StoredEntries, entry_hash, hash_entries

CHANGES: dict[str, dict[str, object]] = {
    "text": {"text": "another text"},
    "time": {"time": 1},
    "kafka_time": {"kafka_time": 1},
    "service": {"service": "cron"},
    "level": {"level": "WARN"},
    "fields": {"fields": "{}"},
    "empty fields": {"fields": ""},
    "records": {"records": 2},
    "cut": {"cut": 1},
    "chunk": {"chunk": 1},
    "chunks": {"chunks": 2},
    "a letter that moved over": {"text": "line 7s", "service": "shd"},
}


def stored(*lines: Line, first_offset: int = 0, end_offset: int = 100) -> StoredEntries:
    return StoredEntries(first_offset, end_offset, hash_entries(lines, {TEMPLATE_TEXT}))


def test_an_entry_that_is_stored_is_held() -> None:
    lines = [line(offset, sub=sub) for offset in (3, 7, 50) for sub in (0, 1, 4)]
    entries = stored(*lines)
    assert len(entries) == 9
    assert all(entries.holds([one]) for one in lines)
    assert not entries.holds([line(7, sub=2)])
    assert not entries.holds([line(8)])


@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES)
def test_an_entry_that_differs_in_anything_is_not_held(changes: dict[str, object]) -> None:
    entries = stored(line(7))
    assert not entries.holds([line(7)._replace(**changes)])  # type: ignore[arg-type]


def test_another_template_of_the_same_text_makes_no_difference() -> None:
    assert stored(line(7)).holds([line(7, template_text="another mask")])


def test_the_same_line_at_another_offset_or_sub_is_another_entry() -> None:
    entries = stored(line(7))
    assert not entries.holds([line(8, text="line 7", time=7_000)])
    assert not entries.holds([line(7, sub=1)])


def chunks(*texts: str, cut: int = 5) -> list[Line]:
    return [line(7, chunk=number, chunks=len(texts), text=text, cut=cut) for number, text in enumerate(texts)]


def test_an_entry_is_held_with_all_its_chunks_only() -> None:
    entries = stored(*chunks("one ", "two ", "three"))
    assert entries.holds(chunks("one ", "two ", "three"))
    assert not entries.holds(chunks("one ", "two ", "three")[:2])
    assert not entries.holds(chunks("one ", "two three"))
    assert not entries.holds([line(7, text="one two three")])
    assert not stored(*chunks("one ", "two ", "three")[:2]).holds(chunks("one ", "two ", "three"))


def test_an_entry_without_the_row_of_one_of_its_templates_is_left_out() -> None:
    first, second = chunks("one ", "two")
    entry = [first, second._replace(template_text="lost")]
    assert hash_entries(entry, {TEMPLATE_TEXT}) == []
    assert hash_entries(entry, {TEMPLATE_TEXT, "lost"}) == [(7, 0, entry_hash(entry))]


def test_outside_of_its_offsets_nothing_is_held() -> None:
    entries = stored(line(7), first_offset=5, end_offset=10)
    assert entries.holds([line(7)])
    for offset in (-1, 0, 4, 10, 11, 2**62):
        assert not entries.holds([line(offset)])
    assert not stored(first_offset=5, end_offset=5).holds([line(5)])


def test_large_offsets_and_subs_keep_apart() -> None:
    first = 2**62
    lines = [line(first + offset, sub=sub, time=0) for offset in (0, 1, 2**39) for sub in (0, 2**20 - 1)]
    entries = stored(*lines, first_offset=first, end_offset=first + 2**40)
    assert all(entries.holds([one]) for one in lines)
    assert not entries.holds([line(first, sub=2**20, time=0)]), "nor can it be mistaken for sub 0 of the next offset"


def test_a_text_that_cannot_be_stored_as_it_is_counts_as_it_is_stored() -> None:
    assert stored(line(7, text="disk ?")).holds([line(7, text="disk \ud800")])
