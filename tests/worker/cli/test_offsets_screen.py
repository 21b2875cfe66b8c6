"""How `vectail lag` shows a group: spans in a fitting unit, and one table that is redrawn in place on a terminal."""

import io

import pytest
from rich.console import Console

from consumers.record import Partition
from worker.cli.offsets_screen import live_lag, shown_span
from worker.cli.screen import Screen
from worker.groups.lag import Lag, total_lag

PARTITION = Partition("logs", 0)


@pytest.mark.parametrize(
    ("seconds", "shown"), [(None, "-"), (0.0, "0.0 s"), (59.94, "59.9 s"), (60, "1.0 m"), (5_400, "1.5 h"), (864_000, "10.0 d")]
)
def test_a_span_has_the_unit_that_fits(seconds: float | None, shown: str) -> None:
    assert shown_span(seconds) == shown


def draw_twice(console: Console) -> None:
    with live_lag(Screen(console=console)) as draw:
        for rate in (100.0, 50.0):
            lags = {PARTITION: Lag(records=800, seconds=2.5, rate=rate, growth=50.0)}
            draw("vectail", lags, total_lag(lags), "no members")


def test_on_a_terminal_the_table_is_redrawn_in_place() -> None:
    written = io.StringIO()
    draw_twice(Console(file=written, force_terminal=True, width=100, _environ={"TERM": "xterm"}))
    assert "\x1b[1A" in written.getvalue()
    assert "16.0 s" in written.getvalue()
    assert "never" in written.getvalue()


def test_elsewhere_one_table_follows_the_other() -> None:
    written = io.StringIO()
    draw_twice(Console(file=written, width=100))
    assert "\x1b" not in written.getvalue()
    assert written.getvalue().count("drained in") == 2
    assert written.getvalue().count("group vectail: no members\n") == 2
