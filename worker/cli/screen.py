"""What a person sees: lines, tables, and figures that change while work goes on.

Colours (unless NO_COLOR is set) and live figures on a terminal; elsewhere plain lines for other programs: a row is one line, and nothing is
cut, wrapped or ruled. With `--json` the screen is silent and the caller prints one object.
Warnings go to standard error, so they are seen either way. Whatever it is given, a terminal shows it and interprets nothing. The modules
named `…_screen.py` say which columns there are; only this module knows rich.
"""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import NamedTuple

from rich import box
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from worker.cli import output
from worker.cli import screen_tables as tables
from worker.cli.screen_tables import Cell, Column, Row, StyledText, shown
from worker.runtime.logs import printable, printable_lines

_PLAIN_EVERY_S = 5.0
_LONGEST_TEXT = 400
_MOST_TEXT_LINES = 6

Figures = Mapping[str, int]
"""Counts, each under the word that is shown for it."""


class TableColumn(NamedTuple):
    """How one column of a table looks."""

    title: str
    style: str = ""
    is_right: bool = False
    """Align to the right, as numbers are."""
    is_wide: bool = False
    """Takes the remaining width and wraps; the cells of other columns stay on one line."""


class Screen:
    """Writes to one console, or nothing if silent; `warn` is never silent.

    Thread: `say` and `warn`: any; the rest: main.
    """

    def __init__(self, *, silent: bool = False, console: Console | None = None) -> None:
        self._console = console or _new_console(silent=silent)

    @property
    def width(self) -> int:
        """Characters per line; without a terminal there is room for everything."""
        return self._console.width if self._console.is_terminal else sys.maxsize

    @property
    def is_terminal(self) -> bool:
        """Whether the output appears on a terminal."""
        return self._console.is_terminal and not self._console.quiet

    def say(self, line: str) -> None:
        """Write one line."""
        self.write((line, ""))

    def write(self, *parts: StyledText) -> None:
        """Write one line made of differently styled parts."""
        self._console.print(_text_of(parts), soft_wrap=True)

    def table(self, columns: Sequence[TableColumn], rows: Iterable[Sequence[Cell]]) -> None:
        """Write a table as wide as the terminal; elsewhere as wide as its cells."""
        if self._console.is_terminal:
            self._console.print(_table(columns, rows))
        else:
            named: list[Column[Sequence[Cell]]] = [
                Column(column.title, place, is_right=column.is_right) for place, column in enumerate(columns)
            ]
            self._plain_lines(tables.table(rows, named))

    def rows(self, rows: Sequence[Row], columns: Sequence[Column[Row]]) -> None:
        """Write a table: as wide as the terminal if one column is wide, else as wide as its cells."""
        if not self._console.is_terminal:
            self._plain_lines(tables.table(rows, columns))
        elif not any(column.is_wide for column in columns):
            self.lines(tables.table(rows, columns))
        else:
            cells = [[tables.cell(column.of(row)) for column in columns] for row in rows]
            self.table([TableColumn(shown(one.title), one.style, is_right=one.is_right, is_wide=one.is_wide) for one in columns], cells)

    def text(self, text: str) -> str:
        """Return a text for display: as `shown_text` on a terminal; elsewhere all of it, on one line."""
        return shown_text(text) if self._console.is_terminal else printable(text.expandtabs(4))

    def lines(self, lines: Iterable[Sequence[StyledText]]) -> None:
        """Write styled lines."""
        for line in lines:
            self.write(*line)

    def _plain_lines(self, lines: Iterable[Sequence[StyledText]]) -> None:
        """Write the lines of a table, one for each row, without blanks at their ends."""
        self.lines([(line.rstrip(), "")] for line in tables.plain(lines))

    @contextmanager
    def live_lines(self) -> Iterator[Callable[[Sequence[Sequence[StyledText]]], None]]:
        """Yield a callable that shows lines: in place on a terminal, else one look after the other."""
        if not self.is_terminal or self._console.is_dumb_terminal:
            yield self.lines
            return
        with Live(console=self._console, auto_refresh=False) as live:
            yield lambda lines: live.update(Group(*map(_text_of, lines)), refresh=True)

    def say_always(self, line: str) -> None:
        """Write one line that the user needs; to standard error if the screen is silent."""
        self.warn(line) if self._console.quiet else self.say(line)

    def warn(self, line: str) -> None:
        """Write one line to standard error."""
        output.warn(line)

    @contextmanager
    def progress(self) -> Iterator[Callable[[Figures], None]]:
        """Yield a callable that shows the latest figures: in place on a terminal, else as a line every few seconds and at the end."""
        if self.is_terminal:
            with Live(console=self._console, refresh_per_second=8) as live:
                yield lambda now: live.update(_figures_in_place(now))
            return
        next_s = time.monotonic() + _PLAIN_EVERY_S
        last: Figures = {}

        def show(now: Figures) -> None:
            nonlocal next_s, last
            last = now
            if time.monotonic() >= next_s:
                next_s = time.monotonic() + _PLAIN_EVERY_S
                self.say(_figures_in_line(now))

        yield show
        if last:
            self.say(_figures_in_line(last))


def _new_console(*, silent: bool) -> Console:
    """Return a console; where NO_COLOR is set without any style, of which rich by itself leaves out only the colours."""
    console = Console(quiet=silent, highlight=False, soft_wrap=False)
    return Console(quiet=silent, highlight=False, soft_wrap=False, color_system=None) if console.no_color else console


def shown_text(text: str) -> str:
    """Return a text for display: control characters escaped, at most 400 characters and 6 lines."""
    clipped = text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + " …"
    lines = clipped.expandtabs(4).splitlines()
    if len(lines) > _MOST_TEXT_LINES:
        lines[_MOST_TEXT_LINES:] = ["…"]
    return "\n".join(map(printable, lines))


def shown_times(times_ms: Sequence[int]) -> tuple[str, list[str]]:
    """Return the day that all times share, empty if they share none, and the times (UTC), with their day if they share none.

    Takes milliseconds since 1970; if one of them is outside the calendar, all are shown as numbers.
    """
    try:
        moments = [datetime.fromtimestamp(time_ms / 1000, tz=UTC) for time_ms in times_ms]
    except (OverflowError, ValueError, OSError):
        return "", [str(time_ms) for time_ms in times_ms]
    days = {f"{moment:%Y-%m-%d} UTC" for moment in moments}
    if len(days) == 1:
        return days.pop(), [f"{moment:%H:%M:%S}" for moment in moments]
    return "", [f"{moment:%Y-%m-%d %H:%M:%S}" for moment in moments]


def _text_of(parts: Sequence[StyledText]) -> Text:
    """Return styled text; a terminal interprets only our own styles and line ends in it."""
    return Text.assemble(*((printable_lines(text), style) for text, style in parts))


def _table(columns: Sequence[TableColumn], rows: Iterable[Sequence[Cell]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), expand=True)
    for column in columns:
        table.add_column(
            _text_of([(column.title, "")]),
            style=column.style,
            justify="right" if column.is_right else "left",
            no_wrap=not column.is_wide,
            overflow="fold" if column.is_wide else "ellipsis",
            ratio=1 if column.is_wide else None,
        )
    for row in rows:
        table.add_row(*map(_text_of, row))
    return table


def _figures_in_place(now: Figures) -> Table:
    table = Table(box=None, show_edge=False, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in now:
        table.add_column(name, no_wrap=True)
    table.add_row(*(f"{figure:,}" for figure in now.values()))
    return table


def _figures_in_line(now: Figures) -> str:
    return ", ".join(f"{name} {figure:,}" for name, figure in now.items()).replace(", of ", " of ")
