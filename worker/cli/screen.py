"""What a person sees: progress while lines are indexed, a table of hits for each query.

Colours and live progress on a terminal, plain lines otherwise; with `--json` the screen is silent and the caller prints one
object.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, NamedTuple

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

_PLAIN_EVERY_S = 5.0
_LONGEST_TEXT = 400


class Progress(NamedTuple):
    """Counters of a run so far."""

    records: int
    rows: int
    templates: int
    tokens_embedded: int
    tokens_saved: int
    lag: int


class Screen:
    """Writes to one console, or nothing at all.

    Thread: any may `say`; main shows.
    """

    def __init__(self, *, silent: bool = False) -> None:
        self._console = Console(quiet=silent, highlight=False, soft_wrap=False)

    def say(self, line: str) -> None:
        """Write one line."""
        self._console.print(Text(line), soft_wrap=True)

    @contextmanager
    def progress(self) -> Iterator[Callable[[Progress], None]]:
        """Give a callable that shows the latest counters in place, or a line now and then where there is no terminal."""
        if self._console.is_terminal and not self._console.quiet:
            with Live(console=self._console, refresh_per_second=8) as live:
                yield lambda now: live.update(_progress_line(now))
            return
        next_s = time.monotonic() + _PLAIN_EVERY_S
        last: Progress | None = None

        def show(now: Progress) -> None:
            nonlocal next_s, last
            last = now
            if time.monotonic() >= next_s:
                next_s = time.monotonic() + _PLAIN_EVERY_S
                self._console.print(_progress_line(now))

        yield show
        if last is not None:
            self._console.print(_progress_line(last))

    def result(self, result: dict[str, Any]) -> None:
        """Show the figures of a demo run, then each query with its hits."""
        total = result["tokens_embedded"] + result["tokens_saved"]
        share = 100 * result["tokens_saved"] / total if total else 0.0
        rate = result["records"] / result["seconds"] if result["seconds"] else 0.0
        self._console.print()
        self._console.print(
            f"[bold]{result['records']:,}[/] lines in {result['seconds']:.1f} s ({rate:,.0f} a second) on {result['engine']}: "
            f"{result['rows']:,} rows, {result['templates']:,} templates in the index. "
            f"{share:.1f} % of the tokens did not have to be embedded. "
            f"{result['dead_letters']} dead letters, {result['dropped']} dropped."
        )
        for answer in result["queries"]:
            self.answer(answer["text"], answer["hits"], answer["seconds"], complete=answer["complete"])

    def answer(self, query: str, hits: Sequence[dict[str, Any]], seconds: float, *, complete: bool) -> None:
        """Show one query's hits as a table."""
        table = Table(title=Text(f"{query}  ·  {seconds * 1000:.0f} ms"), title_justify="left", title_style="bold cyan", expand=False)
        table.add_column("score", justify="right", style="green", no_wrap=True)
        table.add_column("time (UTC)", no_wrap=True, style="dim")
        table.add_column("service", style="magenta")
        table.add_column("level", style="yellow")
        table.add_column("line", overflow="fold", ratio=1)
        table.add_column("where", style="dim", no_wrap=True)
        for hit in hits:
            table.add_row(
                f"{hit['score']:.3f}",
                shown_time(hit["time"]),
                Text(hit["service"]),
                Text(hit["level"]),
                Text(shown_text(hit["text"])),
                Text(f"{hit['topic']}/{hit['partition']}@{hit['offset']}"),
            )
        self._console.print()
        self._console.print(table)
        if not hits:
            self.say("No lines found.")
        elif not complete:
            self.say("The search was cut short by a bound or its deadline; there may be more.")


def shown_text(text: str) -> str:
    """Return a line as it may be shown: no control characters, not endless."""
    clipped = text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + " …"
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode("ascii") for c in clipped)


def shown_time(time_ms: int) -> str:
    """Return milliseconds since 1970 as a time of day and date, UTC."""
    try:
        return datetime.fromtimestamp(time_ms / 1000, tz=UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, ValueError, OSError):
        return str(time_ms)


def _progress_line(now: Progress) -> Text:
    return Text(
        f"records {now.records:,}  rows {now.rows:,}  templates {now.templates:,}  "
        f"tokens embedded {now.tokens_embedded:,}  saved {now.tokens_saved:,}  lag {now.lag:,}"
    )
