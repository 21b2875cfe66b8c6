"""Which copies hold where a record was read again and holds other entries, or is joined with others: the rules one by one."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sinks.block import BlockId, BlockPlace, Lines
from sinks.line import Line
from sinks.lines import all_lines, hollowed, lines_of, take_lines
from sinks.reading.union import UnionPart, unite
from tests import world
from tests.world import run

PLACE = BlockPlace("logs", "0a0b0c0d", 0)


def line(offset: int, *, leaders: tuple[int, int] = (3, 3), **values: Any) -> Line:  # noqa: ANN401
    """Return a line; `leaders` are those of the first and of the last of its records."""
    return world.line(offset, leader_epoch=leaders[0], last_leader_epoch=leaders[1], **values)


def entries(offset: int, *subs: int, of: int, text: str = "old") -> list[Line]:
    return [line(offset, sub=sub, entries=of, text=f"{text} {sub}") for sub in subs]


def event(offset: int, records: int, *, leaders: tuple[int, int] = (3, 3)) -> Line:
    return line(offset, records=records, text="event", leaders=leaders)


def part(lines: Sequence[Line] | Lines, run_number: int) -> UnionPart:
    columns = lines if isinstance(lines, Lines) else lines_of(lines)
    return UnionPart(BlockId(PLACE, run(run_number), 0, 0), columns)


def hollow(offset: int, *, records: int = 1) -> Lines:
    """Return a hollow entry of records that came to a later leader than those which `line` and `event` have there."""
    return hollowed(lines_of([line(offset, records=records, leaders=(8, 8))]))


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


def test_an_event_is_hidden_if_what_holds_nothing_of_it_is_known_to_hold_nothing() -> None:
    """As an empty line that was a line of the event."""
    apart, nothing = [line(0), line(2)], hollowed(lines_of([line(1)]))
    assert held([event(0, 3)], apart) == [[event(0, 3)], []], "another block of the run may be missing"
    assert held([event(0, 3)], apart, nothing) == [[], apart, []]
    assert held(apart, nothing, [event(0, 3)]) == [[], [], [event(0, 3)]]


def test_what_a_later_run_would_have_hidden_is_back_when_that_is_hidden_itself() -> None:
    assert held([line(0), event(1, 4)], [event(0, 2)]) == [[line(0), event(1, 4)], []]
    assert held([event(0, 3)], [event(2, 3)], [event(4, 2)]) == [[event(0, 3)], [], [event(4, 2)]]


def test_a_late_write_of_an_event_hides_nothing_that_others_have_written_around_what_was_there() -> None:
    """The third run has passed over its first record, for the first run had stored it; the second one joins otherwise."""
    assert held([line(5)], [event(5, 3)], [event(6, 5)]) == [[line(5)], [], [event(6, 5)]]
    assert held([line(5), event(6, 5)], [event(5, 3)]) == [[line(5), event(6, 5)], []]


def test_an_event_of_a_log_that_was_cut_is_hidden_though_the_log_has_grown_less_far() -> None:
    grown = line(2, text="new", leaders=(4, 4))
    assert held([event(0, 4)], [grown]) == [[], [grown]]
    assert held([line(0), event(1, 4)], [grown]) == [[line(0)], [grown]]
    longer = event(0, 3, leaders=(3, 4))
    assert held([event(0, 4)], [longer]) == [[], [longer]]
    assert held([line(4)], [longer]) == [[line(4)], [longer]], "nothing is known of what is at that offset now"


def test_whatever_the_runs_say_the_later_leader_is_right() -> None:
    """As of a write that comes late: its worker has read a log that was cut before the others began."""
    cut, grown = line(2), line(2, text="new", leaders=(4, 4))
    assert held([grown], [cut]) == [[grown], []]
    assert held([grown], [event(1, 3)]) == [[grown], []]
    assert held([line(1), line(3, leaders=(4, 4))], [cut]) == [[line(1), line(3, leaders=(4, 4))], [cut]]
    assert held([line(1, leaders=(4, 4)), line(3, leaders=(4, 4))], [cut]) == [[line(1, leaders=(4, 4)), line(3, leaders=(4, 4))], []]


def test_a_new_leader_that_has_lost_nothing_hides_nothing() -> None:
    straddling = event(0, 3, leaders=(3, 4))
    assert held([straddling], [line(2, leaders=(4, 4))]) == [[straddling], []]
    apart = [line(0), line(1), line(2, leaders=(4, 4))]
    assert held([straddling], apart) == [[], apart]
    assert held(apart, [straddling]) == [[], [straddling]]


def test_where_leaders_are_not_known_the_latest_run_holds() -> None:
    unknown = line(2, text="unknown", leaders=(-1, -1))
    assert held([unknown], [line(2)]) == [[], [line(2)]]
    assert held([line(2)], [unknown]) == [[], [unknown]]


def test_a_hollow_entry_hides_what_was_there_before_the_log_was_cut_and_is_not_shown() -> None:
    apart = [line(offset) for offset in range(4)]
    grown = line(2, text="new", leaders=(8, 8))
    assert held(apart, hollow(2)) == [[*apart[:2], apart[3]], []]
    assert held(apart, hollow(1, records=2)) == [[apart[0], apart[3]], []]
    assert held([event(0, 4)], hollow(2)) == [[], []]
    assert held(apart, hollow(2), [grown]) == [[*apart[:2], apart[3]], [], [grown]]
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
