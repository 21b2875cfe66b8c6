"""How `vectail lag` shows a group: spans in a fitting unit, and one table that is redrawn in place on a terminal."""

import io
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from consumers.record import Partition
from worker.cli.lag_verb import lag_document, remark_on
from worker.cli.offsets_screen import lag_lines, show_positions, shown_span
from worker.cli.screen import Screen
from worker.watching.group_offsets import GroupPosition, beyond_end
from worker.watching.group_positions import GroupState
from worker.watching.lag_history import LagHistory
from worker.watching.outlook import Outlook
from worker.watching.partition_lag import Lag, LagSnapshot, courses_of, lag_by_partition, total_lag

PARTITION = Partition("logs", 0)


@pytest.mark.parametrize(
    ("seconds", "shown"), [(None, "-"), (0.0, "0.0 s"), (59.94, "59.9 s"), (60, "1.0 m"), (5_400, "1.5 h"), (864_000, "10.0 d")]
)
def test_a_span_has_the_unit_that_fits(seconds: float | None, shown: str) -> None:
    assert shown_span(seconds) == shown


def test_a_commit_past_the_end_is_said_as_the_doctor_says_it() -> None:
    beyond = GroupPosition(partition=PARTITION, committed=900, first_offset=0, end_offset=10, start="earliest")
    now = LagSnapshot(at_s=0.0, at_ms=0, state=GroupState("empty", []), positions=[beyond], oldest_ms={})
    said = "has committed past the end of logs/0: the topic was created again or cut"
    assert said in remark_on(now)
    assert said == beyond_end([beyond])  # the doctor's words too
    lags = lag_by_partition(courses_of(LagHistory(), "vectail", now), now)
    document: dict[str, Any] = lag_document("vectail", now, lags, total_lag(lags))
    (shown,) = document["partitions"]
    assert (shown["beyond_end"], shown["lag_records"]) == (True, 0)
    sound = replace(beyond, committed=10)
    assert "past the end" not in remark_on(replace(now, positions=[sound]))


@pytest.mark.parametrize(
    ("committed", "remark"),
    [
        (None, "never committed; starts at the earliest"),
        (4, "6 expired before they were indexed"),
        (30, ""),
        (50, ""),
        (60, "committed beyond the end"),
    ],
)
def test_each_partition_has_a_remark_where_its_numbers_do_not_say_all(committed: int | None, remark: str) -> None:
    written = io.StringIO()
    position = GroupPosition(partition=PARTITION, committed=committed, first_offset=10, end_offset=50, start="earliest")
    show_positions(Screen(console=Console(file=written, width=100)), "vectail", GroupState("empty", []), [position])
    (row,) = (line for line in written.getvalue().splitlines() if line.startswith("logs/0"))
    assert row.split(maxsplit=5)[5:] == ([remark] if remark else [])


def draw_twice(console: Console) -> None:
    position = GroupPosition(partition=PARTITION, committed=200, first_offset=0, end_offset=1_000, start="earliest")
    now = LagSnapshot(at_s=0.0, at_ms=0, state=GroupState("empty", []), positions=[position], oldest_ms={})
    with Screen(console=console).live_lines() as draw:
        for outlook in (Outlook("catches_up", (170.0, 290.0), 3.5), Outlook("unknown")):
            lags = {PARTITION: Lag(records=800, seconds=25.0, rate=100.0, growth=50.0, outlook=outlook)}
            draw(lag_lines(lag_document("vectail", now, lags, total_lag(lags)), "no members"))


def test_on_a_terminal_the_table_is_redrawn_in_place() -> None:
    written = io.StringIO()
    draw_twice(Console(file=written, force_terminal=True, width=100, _environ={"TERM": "xterm"}))
    assert "\x1b[1A" in written.getvalue()
    assert "caught up in 3 to 5 min" in written.getvalue()
    assert "not known yet" in written.getvalue()


def test_elsewhere_one_table_follows_the_other() -> None:
    written = io.StringIO()
    draw_twice(Console(file=written, width=100))
    assert "\x1b" not in written.getvalue()
    assert written.getvalue().count("outlook") == 2
    assert written.getvalue().count("group vectail: no members\n") == 2
