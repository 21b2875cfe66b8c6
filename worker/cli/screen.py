"""What a person sees: lines, tables, and figures that change while lines go through.

Colours and live figures on a terminal, plain lines otherwise; with `--json` the screen is silent and the caller prints one
object. Faults of the world go to standard error, so that they are seen in either case. What stands in the tables is decided in the
files named `…_screen.py`; this one alone knows rich.
"""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import NamedTuple

from rich import box
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

_PLAIN_EVERY_S = 5.0
_LONGEST_TEXT = 400
_MOST_TEXT_LINES = 6

Figures = Mapping[str, int]
"""What is counted, by the word that is shown for it."""
Part = tuple[str, str]
"""Some text, and rich's name of its style; empty for none."""


class Column(NamedTuple):
    """How one column of a table looks.

    Thread: any.
    """

    title: str
    style: str = ""
    is_right: bool = False
    """Flush right, as numbers stand."""
    is_wide: bool = False
    """Gets all the width that is left, and goes on in the next row; the others stay in one."""


class Screen:
    """Writes to one console, or nothing at all; `warn` is never silent.

    Thread: any may `say` and `warn`; main shows.
    """

    def __init__(self, *, silent: bool = False, console: Console | None = None) -> None:
        self._console = console or Console(quiet=silent, highlight=False, soft_wrap=False)

    @property
    def width(self) -> int:
        """How many characters a line has."""
        return self._console.width

    @property
    def is_terminal(self) -> bool:
        """Whether somebody looks at it."""
        return self._console.is_terminal and not self._console.quiet

    def say(self, line: str) -> None:
        """Write one line."""
        self.write((line, ""))

    def write(self, *parts: Part) -> None:
        """Write one line of several styles."""
        self._console.print(Text.assemble(*parts), soft_wrap=True)

    def table(self, columns: Sequence[Column], rows: Iterable[Sequence[Sequence[Part]]]) -> None:
        """Write a table over the whole width: rows of cells of parts."""
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), expand=True)
        for column in columns:
            table.add_column(
                column.title,
                style=column.style,
                justify="right" if column.is_right else "left",
                no_wrap=not column.is_wide,
                overflow="fold" if column.is_wide else "ellipsis",
                ratio=1 if column.is_wide else None,
            )
        for row in rows:
            table.add_row(*(Text.assemble(*cell) for cell in row))
        self._console.print(table)

    def tell(self, line: str) -> None:
        """Write one line that the user needs, to standard error where the screen is silent."""
        self.warn(line) if self._console.quiet else self.say(line)

    def warn(self, line: str) -> None:
        """Write one line to standard error."""
        sys.stderr.write(f"vectail: {line}\n")
        sys.stderr.flush()

    @contextmanager
    def progress(self) -> Iterator[Callable[[Figures], None]]:
        """Give a callable that shows the latest figures in place, or a line now and then where there is no terminal."""
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


def shown_text(text: str) -> str:
    """Return a line as it may be shown: no control characters, not endless."""
    clipped = text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + " …"
    lines = clipped.expandtabs(4).splitlines()
    if len(lines) > _MOST_TEXT_LINES:
        lines[_MOST_TEXT_LINES:] = ["…"]
    return "\n".join(shown_word(line) for line in lines)


def shown_word(text: str) -> str:
    """Return a text in one line, however long it is: no control characters."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def shown_times(times_ms: Sequence[int]) -> tuple[str, list[str]]:
    """Return milliseconds since 1970 as times (UTC); when all are of one day it comes first, else it is empty."""
    try:
        moments = [datetime.fromtimestamp(time_ms / 1000, tz=UTC) for time_ms in times_ms]
    except (OverflowError, ValueError, OSError):
        return "", [str(time_ms) for time_ms in times_ms]
    days = {f"{moment:%Y-%m-%d} UTC" for moment in moments}
    if len(days) == 1:
        return days.pop(), [f"{moment:%H:%M:%S}" for moment in moments]
    return "", [f"{moment:%Y-%m-%d %H:%M:%S}" for moment in moments]


def _figures_in_place(now: Figures) -> Table:
    table = Table(box=None, show_edge=False, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in now:
        table.add_column(name, no_wrap=True)
    table.add_row(*(f"{figure:,}" for figure in now.values()))
    return table


def _figures_in_line(now: Figures) -> str:
    return ", ".join(f"{name} {figure:,}" for name, figure in now.items())
