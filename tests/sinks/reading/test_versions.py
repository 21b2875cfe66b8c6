"""Which copies hold where a record was read again and holds other entries, or is joined with others: the rules one by one."""

from collections.abc import Sequence

import numpy as np
import pytest

from sinks.block import BlockId, BlockPlace, Lines
from sinks.line import Line
from sinks.lines import all_lines, hollowed, lines_of, take_lines
from sinks.reading.union import Part, unite
from tests.sinks.blocks import line, run

PLACE = BlockPlace("logs", "0a0b0c0d", 0)


def entries(offset: int, *subs: int, of: int, text: str = "old") -> list[Line]:
    """Return some of the entries of a record that has `of`."""
    return [line(offset, sub=sub, entries=of, text=f"{text} {sub}") for sub in subs]


def event(offset: int, records: int, text: str = "event") -> Line:
    return line(offset, records=records, text=text)


def part(lines: Sequence[Line] | Lines, run_number: int) -> Part:
    columns = lines if isinstance(lines, Lines) else lines_of(lines)
    return Part(BlockId(PLACE, run(run_number), 0, 0), columns)


def hollow(offset: int, *, records: int = 1) -> Lines:
    """Return a hollow entry of a record that is not the one which `line` and `event` have there."""
    return hollowed(lines_of([line(offset, records=records, kafka_time=77)]))


def held(*runs: Sequence[Line] | Lines) -> list[list[Line]]:
    """Return what holds of each run's lines; the latest run comes last."""
    parts = [part(lines, number) for number, lines in enumerate(runs, start=1)]
    return [all_lines(PLACE, take_lines(one.lines, np.flatnonzero(mask))) for one, mask in zip(parts, unite(parts), strict=True)]


def test_a_record_that_was_read_again_holds_what_it_holds_now() -> None:
    three, one = entries(5, 0, 1, 2, of=3), entries(5, 0, of=1, text="new")
    assert held(three, one) == [[], one]
    assert held(one, three) == [[], three]
    assert held([*entries(4, 0, of=1), *three], one) == [entries(4, 0, of=1), one]


def test_other_subs_of_as_many_entries_are_another_record() -> None:
    """As when another rule drops another entry."""
    assert held(entries(5, 0, 1, of=2), entries(5, 1, 2, of=2, text="new")) == [[], entries(5, 1, 2, of=2, text="new")]


def test_a_record_of_which_a_run_wrote_only_a_part_hides_no_whole_one() -> None:
    whole, torn = entries(5, 0, 1, 2, of=3), entries(5, 0, 3, of=4, text="new")
    assert held(whole, torn) == [whole, []]
    assert held(whole, torn, entries(5, 0, of=1)) == [[], [], entries(5, 0, of=1)]


def test_a_record_is_whole_when_several_runs_wrote_it_between_them() -> None:
    """As when a block was refused, and its lines went on under another run."""
    first, second = entries(5, 0, 3, of=4, text="new"), entries(5, 1, 2, of=4, text="new")
    assert held(entries(5, 0, 1, of=2), first, second) == [[], first, second]


def test_of_torn_records_every_entry_holds_in_its_latest_copy() -> None:
    first, second = entries(5, 0, 1, of=9), entries(5, 1, 2, of=8, text="new")
    assert held(first, second) == [first[:1], second]


def test_a_block_that_does_not_say_how_many_entries_there_are_has_all_up_to_its_last() -> None:
    before = entries(5, 0, 1, 2, of=0)
    assert held(before, entries(5, 0, of=0, text="new")) == [[], entries(5, 0, of=0, text="new")]
    later = entries(5, 3, 4, of=0, text="new")
    assert held(before, later) == [before, later]  # an earlier version wrote what was missing


def test_an_event_hides_whatever_earlier_runs_have_of_its_records() -> None:
    apart = [line(offset) for offset in range(6)]
    assert held(apart, [event(1, 3)]) == [[apart[0], apart[4], apart[5]], [event(1, 3)]]
    assert held([event(0, 3), event(3, 3)], [event(0, 6)]) == [[], [event(0, 6)]]


def test_an_earlier_event_is_hidden_once_later_runs_have_all_of_its_records() -> None:
    assert held([event(0, 3), line(3)], [event(0, 2), line(2)]) == [[line(3)], [event(0, 2), line(2)]]
    assert held([event(0, 4)], [event(0, 2)], [event(2, 2)]) == [[], [event(0, 2)], [event(2, 2)]]


def test_until_then_it_hides_what_a_later_run_has_of_it() -> None:
    """As of one that joins otherwise and was killed in the middle: of the event nothing is lost."""
    assert held([event(0, 4)], [line(2, text="new")]) == [[event(0, 4)], []]
    assert held([event(0, 3), line(3)], [event(0, 2)]) == [[event(0, 3), line(3)], []]
    assert held([event(0, 3), event(3, 3)], [event(2, 3)]) == [[event(0, 3), event(3, 3)], []]


def test_what_lies_between_two_records_of_a_block_was_passed_over() -> None:
    """As an empty line that was a line of the event, or an offset that a log which was cut does not hold any more."""
    assert held([event(0, 3)], [line(0), line(2)]) == [[], [line(0), line(2)]]
    parts = [part([event(0, 3)], 1), part([line(0)], 2), Part(BlockId(PLACE, run(2), 1, 1), lines_of([line(2)]))]
    assert [mask.tolist() for mask in unite(parts)] == [[True], [False], [False]], "another block may be missing in between"


def test_what_a_later_run_would_have_hidden_is_back_when_that_is_hidden_itself() -> None:
    assert held([line(0), event(1, 4)], [event(0, 2)]) == [[line(0), event(1, 4)], []]
    assert held([event(0, 3)], [event(2, 3)], [event(4, 2)]) == [[event(0, 3)], [], [event(4, 2)]]


def test_an_event_is_hidden_by_what_a_log_holds_that_was_cut_and_has_grown_less_far() -> None:
    grown = line(0, text="new", time=77)
    assert held([event(0, 4)], [grown]) == [[], [grown]]
    assert held([line(0), event(1, 4)], [grown], [event(1, 2)._replace(kafka_time=78)]) == [
        [],
        [grown],
        [event(1, 2)._replace(kafka_time=78)],
    ]


def test_a_hollow_entry_hides_and_is_not_shown() -> None:
    apart = [line(offset) for offset in range(4)]
    assert held(apart, hollow(2)) == [[*apart[:2], apart[3]], []]
    assert held(apart, hollow(1, records=2)) == [[apart[0], *apart[2:]], []]
    assert held([event(0, 4)], hollow(0, records=4)) == [[], []]
    assert held([event(0, 4)], hollow(2)) == [[event(0, 4)], []]
    assert held(apart, hollow(2), [line(2, text="new")]) == [[*apart[:2], apart[3]], [], [line(2, text="new")]]
    assert held(hollow(2)) == [[]]


def test_a_hollow_entry_hides_nothing_of_the_same_record() -> None:
    """Another run may have skipped it, for it is stored."""
    same = hollowed(lines_of([line(2)]))
    assert held([line(1), line(2)], same) == [[line(1), line(2)], []]
    assert held(same, [line(1), line(2)]) == [[], [line(1), line(2)]]


def test_a_hollow_entry_makes_its_record_whole() -> None:
    """As one that the sink refused: what is stored of its record hides what was there before."""
    rest = entries(5, 0, 2, of=3, text="new")
    refused = hollowed(lines_of(entries(5, 1, of=3)))
    assert held(entries(5, 0, 1, of=2), rest, refused) == [[], rest, []]


@pytest.mark.parametrize("partition", [0, 1])
def test_records_of_another_partition_have_nothing_to_do_with_it(partition: int) -> None:
    one, other = line(5, text="one"), line(5, text="other", partition=partition)
    parts = [part([one], 1), Part(BlockId(PLACE._replace(partition=partition), run(2), 0, 0), lines_of([other]))]
    assert [mask.tolist() for mask in unite(parts)] == [[partition == 1], [True]]
