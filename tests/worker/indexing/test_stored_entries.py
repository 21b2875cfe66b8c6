"""What is stored of an entry counts with everything in it, and at its own place only."""

import struct

import numpy as np
import pytest

from sinks.line import Line
from sinks.lines import lines_of
from sinks.row import TemplateText
from tests.rows import rows
from tests.world import TEMPLATE_TEXT, line
from worker.indexing.stored_entries import StoredEntries, hash_entries, hash_stored

CHANGES: dict[str, dict[str, object]] = dict(rows("stored_entry_changes"))


def stored(*lines: Line, first_offset: int = 0, end_offset: int = 100) -> StoredEntries:
    return StoredEntries(first_offset, end_offset, [hash_stored(lines, {TemplateText(TEMPLATE_TEXT)})])


def held(entries: StoredEntries, *lines: Line) -> list[bool]:
    """Return of each line whether it is held."""
    is_held: list[bool] = entries.holds(lines_of(lines)).tolist()
    return is_held


def test_of_many_records_each_is_held_or_not_by_itself() -> None:
    lines = [line(offset, sub=sub) for offset in range(40) for sub in (0, 1)]
    entries = stored(*(one for one in lines if one.offset % 3 == 0))
    asked = [one._replace(level="WARN") if one.offset % 5 == 0 and one.sub else one for one in lines]
    assert held(entries, *asked) == [one.offset % 3 == 0 and one.offset % 5 != 0 for one in lines]
    assert held(entries) == []
    assert held(stored(), *lines) == [False] * 80


def test_what_was_read_in_parts_is_held_together() -> None:
    parts = [hash_stored([line(offset)], {TemplateText(TEMPLATE_TEXT)}) for offset in (9, 2, 5)]
    assert held(StoredEntries(0, 100, parts), line(2), line(3), line(5), line(9)) == [True, False, True, True]


@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES)
def test_an_entry_that_differs_in_anything_is_not_held(changes: dict[str, object]) -> None:
    assert held(stored(line(7)), line(7)._replace(**changes)) == [False]  # type: ignore[arg-type]


def test_another_template_of_the_same_text_makes_no_difference() -> None:
    assert held(stored(line(7)), line(7, template_text="another mask")) == [True]


def test_the_same_line_at_another_offset_or_sub_is_another_entry() -> None:
    assert held(stored(line(7)), line(7, sub=1), line(8, text="line 7", time=7_000)) == [False, False]


def chunks(*texts: str, offset: int = 7, cut: int = 5, **values: object) -> list[Line]:
    return [line(offset, chunk=number, chunks=len(texts), text=text, cut=cut, **values) for number, text in enumerate(texts)]


def test_an_entry_is_held_with_all_its_chunks_only() -> None:
    entries = stored(*chunks("one ", "two ", "three"))
    assert held(entries, *chunks("one ", "two ", "three")) == [True] * 3
    assert held(entries, *chunks("one ", "two ", "three")[:2]) == [False] * 2
    assert held(entries, *chunks("one ", "two three")) == [False] * 2
    assert held(entries, line(7, text="one two three")) == [False]
    assert held(stored(*chunks("one ", "two ", "three")[:2]), *chunks("one ", "two ", "three")) == [False] * 3


def test_fields_that_look_like_the_next_chunk_make_another_entry() -> None:
    first, second = chunks("one ", "two", fields="{}")
    looks_like_second = struct.pack("<5qQ3I", 1, 2, second.time, second.kafka_time, 1, 5, 3, 4, 4) + b"twosshdINFO+{}"
    assert held(stored(first, second), first._replace(fields="{}" + looks_like_second.decode())) == [False]


def test_a_record_is_held_with_all_its_entries_and_no_others_only() -> None:
    two = [line(7), line(7, sub=1)]
    assert held(stored(*two), *two) == [True, True]
    assert held(stored(*two), two[0]) == held(stored(*two), two[1]) == [False]
    assert held(stored(two[0]), *two) == [False, False]
    assert held(stored(*two), two[0], two[1]._replace(text="other")) == [False, False]


def test_an_entry_of_several_records_is_held_with_nothing_else_of_them_only() -> None:
    event = line(5, records=3)
    assert held(stored(event), event, line(8)) == [True, False]
    assert held(stored(event, line(7)), event) == [False]
    entries = stored(line(4), event, line(8))
    assert held(entries, *(line(offset) for offset in range(4, 9))) == [True, False, False, False, True]
    first, end = np.array([3, 4, 6, 7, 8, 9]), np.array([4, 5, 7, 8, 9, 12])
    assert entries.touch(first, end).tolist() == [False, True, True, True, True, False]
    assert stored(line(8, records=9), end_offset=10).reach == 17


def test_an_entry_without_the_row_of_one_of_its_templates_is_not_held() -> None:
    first, second = chunks("one ", "two")
    entry = [first, second._replace(template_text=TemplateText("lost"))]
    assert hash_stored(entry, {TemplateText(TEMPLATE_TEXT)}).is_known.tolist() == [False]
    assert held(stored(*entry), *entry) == [False, False]
    found, wanted = (
        hash_stored([*entry, line(8)], {TemplateText(TEMPLATE_TEXT), TemplateText("lost")}),
        hash_entries(lines_of([*entry, line(8)])),
    )
    assert [column.tolist() for column in found] == [column.tolist() for column in wanted]
    assert (found.offset.tolist(), found.sub.tolist()) == ([7, 8], [0, 0])


def test_outside_of_its_offsets_nothing_is_held() -> None:
    entries = stored(line(7, time=0), first_offset=5, end_offset=10)
    asked = [line(offset, time=0, text="line 7") for offset in (-1, 0, 4, 7, 10, 11, 2**44 + 7, 2**62)]
    assert held(entries, *asked) == [False] * 3 + [True] + [False] * 4
    assert held(stored(first_offset=5, end_offset=5), line(5)) == [False]


def test_large_offsets_and_subs_keep_apart() -> None:
    first = 2**62
    lines = [line(first + offset, sub=sub, time=0) for offset in (0, 1, 2**39) for sub in (0, 2**20 - 1)]
    entries = stored(*lines, first_offset=first, end_offset=first + 2**40)
    assert held(entries, *lines) == [True] * 6
    too_many = line(first, sub=2**20, time=0)
    assert held(entries, too_many) == [False], "nor can it be mistaken for sub 0 of the next offset"
    assert len(stored(too_many, first_offset=first, end_offset=first + 2**40)) == 0


def test_a_text_that_cannot_be_stored_as_it_is_counts_as_it_is_stored() -> None:
    asked = line(7, text="disk \ud800", service="\ud800", fields="\ud800")
    assert held(stored(line(7, text="disk ?", service="?", fields="?")), asked) == [True]
