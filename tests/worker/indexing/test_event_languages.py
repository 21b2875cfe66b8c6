"""Events of each language as their runtimes print them: none is torn, and none is joined with another."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.worker.indexing.language_events import BLOCKS, LINES
from tests.worker.indexing.test_events import events, found, join
from worker.indexing.event_languages import Start
from worker.settings.topic_tables import MultilineTable


def sizes(text: str) -> list[tuple[int, int]]:
    """Return the first line of each block and how many it has; a block of one blank line is no event."""
    found: list[tuple[int, int]] = []
    row = 0
    for block in text.split("====\n"):
        lines = block.splitlines()
        found += [(row, len(lines))] if block.strip() else []
        row += len(lines)
    return found


@pytest.mark.parametrize("start", BLOCKS)
def test_every_event_is_whole_and_by_itself(start: Start) -> None:
    assert events(LINES[start], start=start) == sizes(BLOCKS[start])


@pytest.mark.parametrize("start", BLOCKS)
def test_events_are_the_same_when_each_record_comes_by_itself(start: Start) -> None:
    assert in_batches([line.encode() for line in LINES[start]], start, range(1, len(LINES[start]))) == sizes(BLOCKS[start])


def test_a_bound_cuts_no_event_before_it_is_known_which_lines_are_its_own() -> None:
    values = [b"failed", b"\tat a.B.c(B.java:1)", b"java.lang.Error: no frame follows", b"a line", b"INFO next"]
    assert in_batches(values, "java", range(1, 5), max_lines=3) == in_batches(values, "java", (), max_lines=3) == [
        (0, 2), (2, 1), (3, 1), (4, 1),
    ]  # fmt: skip


def in_batches(values: Sequence[bytes], start: Start, cuts: Sequence[int], *, max_lines: int = 500) -> list[tuple[int, int]]:
    """Return the row of each entry and of how many records it is, where the records come in batches that end at the cuts."""
    parts: list[tuple[int, int]] = []
    begin = 0
    for end in (*cuts, len(values)):
        joined = join(values[begin:end], table=MultilineTable(start=start, max_lines=max_lines), is_over=end == len(values))
        parts += [(begin + row, records) for row, records, _ in found(joined)]
        begin += joined.held[0]
    return parts


@settings(deadline=None, max_examples=150)
@given(start=st.sampled_from(sorted(BLOCKS)), data=st.data())
def test_lines_in_any_order_join_the_same_wherever_batches_end(start: Start, data: st.DataObject) -> None:
    lines = data.draw(st.lists(st.sampled_from([*LINES[start], "", "plain"]), min_size=1, max_size=16))
    cuts = sorted(data.draw(st.sets(st.integers(1, len(lines)))) - {len(lines)})
    values = [line.encode() for line in lines]
    assert in_batches(values, start, cuts) == in_batches(values, start, ())
