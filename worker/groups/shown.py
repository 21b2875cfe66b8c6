"""Tables of positions and of lag as text, and text that is redrawn in place on a terminal.

`worker.cli.offsets` and `worker.cli.lag` print with it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from rich import box
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from consumers.record import Partition
from worker.groups.kafka import GroupState
from worker.groups.lag import Lag
from worker.groups.offsets import GroupPosition, Move

_NONE = "-"
_SPANS_S = (("d", 86_400.0), ("h", 3_600.0), ("m", 60.0))


class Positions:
    """Writes to one console.

    Thread: main.
    """

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False)

    def places(self, group: str, state: GroupState, places: Sequence[GroupPosition]) -> None:
        """Show where a group stands, and who reads."""
        table = _table("partition", "committed", "first", "end", "lag", "")
        for place in places:
            table.add_row(
                _name(place.partition),
                _count(place.committed),
                _count(place.first_offset),
                _count(place.end_offset),
                _count(place.lag_records),
                Text(_remark(place), "red"),
            )
        self._console.print(table)
        self._console.print(Text(f"total lag {sum(place.lag_records for place in places):,}; group {group}: {shown_state(state)}"))
        for member in state.members:
            read = ", ".join(_name(partition) for partition in member.partitions) or "no partition"
            self._console.print(Text(f"  {member.client} at {member.host}: {read}"))

    def moves(self, group: str, moves: Sequence[Move]) -> None:
        """Show what a reset changes."""
        table = _table("partition", "from", "to", "read again", "skipped")
        for move in moves:
            skipped = Text(_count(move.skipped_records), "red" if move.skipped_records else "")
            table.add_row(
                _name(move.place.partition), _count(move.place.committed), _count(move.after), _count(move.again_records), skipped
            )
        self._console.print(table)
        again, skipped_total = (sum(counts) for counts in ([m.again_records for m in moves], [m.skipped_records for m in moves]))
        self._console.print(Text(f"group {group}: {again:,} will be read again, {skipped_total:,} will never be read"))

    def say(self, line: str) -> None:
        """Write one line."""
        self._console.print(Text(line), soft_wrap=True)

    @contextmanager
    def lags(self) -> Iterator[Callable[[str, Mapping[Partition, Lag], Lag, str], None]]:
        """Give a callable that shows the lag of a group: in place on a terminal, else one table after the other."""
        if not self._console.is_terminal or self._console.is_dumb_terminal:
            yield lambda *shown: self._console.print(_lag_table(*shown))
            return
        with Live(console=self._console, auto_refresh=False) as live:
            yield lambda *shown: live.update(_lag_table(*shown), refresh=True)


def shown_state(state: GroupState) -> str:
    """Return whether anybody reads, in words."""
    words = {"none": "does not exist yet", "unknown": "unknown, this broker does not say who reads"}
    count = len(state.members)
    who = "nobody reads" if not count else "1 member" if count == 1 else f"{count} members"
    return words.get(state.state, f"{state.state.replace('_', ' ')}, {who}")


def shown_span(seconds: float | None) -> str:
    """Return seconds in the unit that fits."""
    if seconds is None:
        return _NONE
    for unit, length_s in _SPANS_S:
        if seconds >= length_s:
            return f"{seconds / length_s:,.1f} {unit}"
    return f"{seconds:.1f} s"


def _lag_table(group: str, lags: Mapping[Partition, Lag], total: Lag, remark: str) -> RenderableType:
    table = _table("partition", "lag", "oldest", "committed/s", "new/s", "drained in")
    for name, lag in (*((_name(partition), lag) for partition, lag in lags.items()), ("total", total)):
        drained = "never" if lag.is_never_drained else shown_span(lag.drain_s)
        table.add_row(name, _count(lag.records), shown_span(lag.seconds), _rate(lag.rate), _rate(lag.growth), drained)
    return Group(table, Text(f"group {group}: {remark}"))


def _table(*titles: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 2, 0, 0))
    for number, title in enumerate(titles):
        table.add_column(title, justify="right" if number and title else "left", no_wrap=bool(title))
    return table


def _remark(place: GroupPosition) -> str:
    if place.committed is None:
        return f"never committed; starts at the {place.start}"
    if place.is_beyond_end:
        return "committed beyond the end"
    return f"{place.lost_records:,} not indexed and gone" if place.lost_records else ""


def _name(partition: Partition) -> str:
    return f"{partition.topic}/{partition.partition}"


def _count(number: int | None) -> str:
    return _NONE if number is None else f"{number:,}"


def _rate(rate: float | None) -> str:
    return _NONE if rate is None else f"{rate:,.1f}"
