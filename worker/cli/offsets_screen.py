"""What a person sees of `vectail offsets` and `vectail lag`: where a group stands, what a reset changes, and how far behind it is."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from consumers.record import Partition
from worker.cli.output import counted
from worker.cli.screen import Cell, Screen, TableColumn
from worker.groups.kafka import GroupState
from worker.groups.lag import Lag
from worker.groups.offsets import GroupPosition, Move

ShowLag = Callable[[str, Mapping[Partition, Lag], Lag, str], None]
"""Takes the group, the lag of each partition, the total, and a remark."""
_NONE = "-"
_UNITS_S = (("d", 86_400.0), ("h", 3_600.0), ("m", 60.0))


def show_positions(screen: Screen, group: str, state: GroupState, positions: Sequence[GroupPosition]) -> None:
    """Show where a group stands, and its members."""
    rows = [
        (
            *_cells(
                _name(position.partition),
                _count(position.committed),
                _count(position.first_offset),
                _count(position.end_offset),
                _count(position.lag_records),
            ),
            [(_remark(position), "red")],
        )
        for position in positions
    ]
    screen.narrow_table([*_columns("partition", "committed", "first", "end", "lag"), TableColumn("", is_wide=True)], rows)
    screen.say(f"total lag {sum(position.lag_records for position in positions):,}; group {group}: {shown_state(state)}")
    for member in state.members:
        assigned = ", ".join(_name(partition) for partition in member.partitions) or "no partition"
        screen.say(f"  {member.client} at {member.host}: {assigned}")


def show_moves(screen: Screen, group: str, moves: Sequence[Move]) -> None:
    """Show what a reset changes."""
    rows = [
        (
            *_cells(_name(move.position.partition), _count(move.position.committed), _count(move.after), _count(move.again_records)),
            [(_count(move.skipped_records), "red" if move.skipped_records else "")],
        )
        for move in moves
    ]
    screen.narrow_table(_columns("partition", "from", "to", "read again", "skipped"), rows)
    for move in moves:
        if move.inside_event is not None:
            offset, first_offset = move.inside_event
            why = f"offset {offset} is inside a stored event that begins at {first_offset}"
            screen.say(f"{_name(move.position.partition)}: {counted(offset - move.after, 'record')} earlier: {why}")
    again, skipped = sum(move.again_records for move in moves), sum(move.skipped_records for move in moves)
    screen.say(f"group {group}: {again:,} will be read again, {skipped:,} will never be read")


@contextmanager
def live_lag(screen: Screen) -> Iterator[ShowLag]:
    """Yield a callable that shows the lag of a group: in place on a terminal, else one table after the other."""
    columns = _columns("partition", "lag", "oldest", "committed/s", "new/s", "drained in")
    with screen.live_table() as show:
        yield lambda group, lags, total, remark: show(columns, _lag_rows(lags, total), f"group {group}: {remark}")


def shown_state(state: GroupState) -> str:
    """Return the group's state and the number of its members, in words."""
    words = {"none": "does not exist yet", "unknown": "unknown, this broker does not list members"}
    count = len(state.members)
    members = "no members" if not count else "1 member" if count == 1 else f"{count} members"
    return words.get(state.state, f"{state.state.replace('_', ' ')}, {members}")


def shown_span(seconds: float | None) -> str:
    """Return seconds in the unit that fits: `5.0 s`, `1.5 h`."""
    if seconds is None:
        return _NONE
    for unit, length_s in _UNITS_S:
        if seconds >= length_s:
            return f"{seconds / length_s:,.1f} {unit}"
    return f"{seconds:.1f} s"


def _lag_rows(lags: Mapping[Partition, Lag], total: Lag) -> Iterable[Sequence[Cell]]:
    for name, lag in (*((_name(partition), lag) for partition, lag in lags.items()), ("total", total)):
        drained = "never" if lag.is_never_drained else shown_span(lag.drain_s)
        yield _cells(name, _count(lag.records), shown_span(lag.seconds), _rate(lag.rate), _rate(lag.growth), drained)


def _columns(first: str, *others: str) -> list[TableColumn]:
    return [TableColumn(first), *(TableColumn(title, is_right=True) for title in others)]


def _cells(*texts: str) -> list[Cell]:
    return [[(text, "")] for text in texts]


def _remark(position: GroupPosition) -> str:
    if position.committed is None:
        return f"never committed; starts at the {position.start}"
    if position.is_beyond_end:
        return "committed beyond the end"
    return f"{position.lost_records:,} expired before they were indexed" if position.lost_records else ""


def _name(partition: Partition) -> str:
    return f"{partition.topic}/{partition.partition}"


def _count(number: int | None) -> str:
    return _NONE if number is None else f"{number:,}"


def _rate(rate: float | None) -> str:
    return _NONE if rate is None else f"{rate:,.1f}"
