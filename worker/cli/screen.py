"""What a person sees: figures while lines go through, and a table of hits for each query.

Colours and live figures on a terminal, plain lines otherwise; with `--json` the screen is silent and the caller prints one
object. Faults of the world go to standard error, so that they are seen in either case.
"""

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, NamedTuple

from rich import box
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from worker.cli.output import counted

_PLAIN_EVERY_S = 5.0
_LONGEST_TEXT = 400
_MOST_TEXT_LINES = 6
_LINE_SHARE = 0.55
"""A line gets at least so much of the width; else what is known about it goes under it and not beside it."""

Figures = Mapping[str, int]
"""What is counted, by the word that is shown for it."""


class Fact(NamedTuple):
    """One thing known about each hit, beside its line."""

    title: str
    style: str
    values: Sequence[str]

    def width(self) -> int:
        """Return how many columns it takes, with its margin."""
        return max(len(one) for one in (self.title, *self.values)) + 2


class Screen:
    """Writes to one console, or nothing at all; `warn` is never silent.

    Thread: any may `say` and `warn`; main shows.
    """

    def __init__(self, *, silent: bool = False, console: Console | None = None) -> None:
        self._console = console or Console(quiet=silent, highlight=False, soft_wrap=False)

    def say(self, line: str) -> None:
        """Write one line."""
        self._console.print(Text(line), soft_wrap=True)

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
        if self._console.is_terminal and not self._console.quiet:
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

    def result(self, result: Mapping[str, Any]) -> None:
        """Show the figures of a demo run, then each query with its hits."""
        total = result["tokens_embedded"] + result["tokens_saved"]
        share = 100 * result["tokens_saved"] / total if total else 0.0
        rate = result["records"] / result["seconds"] if result["seconds"] else 0.0
        self._console.print()
        self.say(f"{counted(result['records'], 'line')} in {result['seconds']:.1f} s ({rate:,.0f} a second) on {result['engine']}.")
        self.say(
            f"In the index: {counted(result['rows'], 'row')} of {counted(result['templates'], 'template')}; "
            f"dead letters: {result['dead_letters']:,}; dropped: {result['dropped']:,}."
        )
        self.say(f"{share:.1f} % of the tokens did not have to be embedded.")
        for answer in result["queries"]:
            self.answer(answer)

    def answer(self, answer: Mapping[str, Any]) -> None:
        """Show one query (`text`, `seconds`, `complete`, `hits`) with its hits as a table."""
        hits: Sequence[Mapping[str, Any]] = answer["hits"]
        day, times = shown_times([hit["time"] for hit in hits])
        self._console.print()
        about = " · ".join(part for part in (f"{answer['seconds'] * 1000:.0f} ms", day) if part)
        self._console.print(Text.assemble((_clean(answer["text"]), "bold cyan"), (f"  · {about}", "dim")), soft_wrap=True)
        if hits:
            self._console.print(self._table(hits, times))
        else:
            self.say("No lines found.")
        if not answer["complete"]:
            self.say("The search was cut short by a bound or its deadline; there may be more.")

    def kinds(self, answer: Mapping[str, Any]) -> None:
        """Show kinds of lines (`templates`, `complete`), each with its figures and an example."""
        kinds: Sequence[Mapping[str, Any]] = answer["templates"]
        if not kinds:
            self.say("No lines in this span; `--since all` looks at all of them.")
        else:
            day, times = shown_times([kind[end] for kind in kinds for end in ("first", "last")])
            if day:
                self._console.print(Text(day, "dim"))
            table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), expand=True)
            if "score" in kinds[0]:
                table.add_column("score", justify="right", style="green", no_wrap=True)
            table.add_column("lines", justify="right", style="cyan", no_wrap=True)
            table.add_column("first", style="dim", no_wrap=True)
            table.add_column("last", style="dim", no_wrap=True)
            table.add_column("example", overflow="fold", ratio=1)
            for row, kind in enumerate(kinds):
                score = [f"{kind['score']:.3f}"] if "score" in kind else []
                example = kind["text"] if kind["example"] is None else kind["example"]
                table.add_row(*score, f"{kind['lines']:,}", times[2 * row], times[2 * row + 1], Text(shown_text(example)))
            self._console.print(table)
        if not answer["complete"]:
            self.say("Not everything was counted: a bound or the time-out cut it short.")

    def _table(self, hits: Sequence[Mapping[str, Any]], times: Sequence[str]) -> Table:
        places = [f"{hit['topic']}/{hit['partition']}@{hit['offset']}" for hit in hits]
        facts = [
            Fact("time", "dim", times),
            Fact("service", "magenta", [_clean(hit["service"]) for hit in hits]),
            Fact("level", "yellow", [_clean(hit["level"]) for hit in hits]),
            Fact("where", "dim", places),
        ]
        facts = [fact for fact in facts if any(fact.values)]
        beside = self._console.width - 7 - sum(fact.width() for fact in facts) >= _LINE_SHARE * self._console.width
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), expand=True)
        table.add_column("score", justify="right", style="green", no_wrap=True)
        for fact in facts if beside else ():
            table.add_column(fact.title, style=fact.style, no_wrap=True)
        table.add_column("line", overflow="fold", ratio=1)
        for row, hit in enumerate(hits):
            line = Text(shown_text(hit["text"]))
            if beside:
                table.add_row(f"{hit['score']:.3f}", *(Text(fact.values[row]) for fact in facts), line)
                continue
            under = [(fact.values[row], fact.style) for fact in facts if fact.values[row]]
            table.add_row(f"{hit['score']:.3f}", Text("\n").join((line, Text("  ").join(Text(*one) for one in under))))
        return table


def shown_text(text: str) -> str:
    """Return a line as it may be shown: no control characters, not endless."""
    clipped = text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + " …"
    lines = clipped.expandtabs(4).splitlines()
    if len(lines) > _MOST_TEXT_LINES:
        lines[_MOST_TEXT_LINES:] = ["…"]
    return "\n".join(_clean(line) for line in lines)


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


def _clean(text: str) -> str:
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def _figures_in_place(now: Figures) -> Table:
    table = Table(box=None, show_edge=False, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in now:
        table.add_column(name, no_wrap=True)
    table.add_row(*(f"{figure:,}" for figure in now.values()))
    return table


def _figures_in_line(now: Figures) -> str:
    return ", ".join(f"{name} {figure:,}" for name, figure in now.items())
