"""What a person sees of `vectail offsets` and `vectail lag`: where a group stands, what a reset changes, and how far behind it is."""

from collections.abc import Mapping, Sequence
from typing import Any

from worker.cli.screen import Screen
from worker.cli.screen_tables import NONE, Column, StyledText, cell, table
from worker.runtime.wording import counted
from worker.watching.group_offsets import GroupPosition, OffsetMove, place_of
from worker.watching.group_positions import GroupState

_UNITS_S = (("d", 86_400.0), ("h", 3_600.0), ("m", 60.0))


def _remark(position: GroupPosition) -> str:
    if position.committed is None:
        return f"never committed; starts at the {position.start}"
    if position.is_beyond_end:
        return "committed beyond the end"
    return f"{position.lost_records:,} expired before they were indexed" if position.lost_records else ""


_POSITIONS: Sequence[Column[GroupPosition]] = (
    Column("partition", place_of),
    Column("committed", "committed", is_right=True),
    Column("first", "first_offset"),
    Column("end", "end_offset"),
    Column("lag", "lag_records"),
    Column("", _remark, "red"),
)
_MOVES: Sequence[Column[OffsetMove]] = (
    Column("partition", lambda move: place_of(move.position)),
    Column("from", lambda move: move.position.committed, is_right=True),
    Column("to", "after"),
    Column("read again", "again_records"),
    Column("skipped", lambda move: cell(move.skipped_records, "red" if move.skipped_records else ""), is_right=True),
)
_LAG: Sequence[Column[Mapping[str, Any]]] = (
    Column("partition", lambda one: f"{one['topic']}/{one['partition']}" if "topic" in one else "total"),
    Column("lag", "lag_records"),
    Column("oldest", lambda one: shown_span(one["lag_s"]), is_right=True),
    Column("committed/s", "rate", is_right=True),
    Column("new/s", "growth", is_right=True),
    Column("outlook", "outlook_text"),
)


def show_positions(screen: Screen, group: str, state: GroupState, positions: Sequence[GroupPosition]) -> None:
    """Show where a group stands, and its members."""
    screen.rows(positions, _POSITIONS)
    screen.say(f"total lag {sum(position.lag_records for position in positions):,}; group {group}: {shown_state(state)}")
    for member in state.members:
        assigned = ", ".join(f"{one.topic}/{one.partition}" for one in member.partitions) or "no partition"
        screen.say(f"  {member.client} at {member.host}: {assigned}")


def show_moves(screen: Screen, group: str, moves: Sequence[OffsetMove]) -> None:
    """Show what a reset changes."""
    screen.rows(moves, _MOVES)
    for move in moves:
        if move.inside_event is not None:
            offset, first_offset = move.inside_event
            why = f"offset {offset} is inside a stored event that begins at {first_offset}"
            screen.say(f"{place_of(move.position)}: {counted(offset - move.after, 'record')} earlier: {why}")
    again, skipped = sum(move.again_records for move in moves), sum(move.skipped_records for move in moves)
    screen.say(f"group {group}: {again:,} will be read again, {skipped:,} will never be read")


def lag_lines(document: Mapping[str, Any], remark: str) -> list[list[StyledText]]:
    """Return what one look at the lag shows."""
    return [*table([*document["partitions"], document["total"]], _LAG), [(f"group {document['group']}: {remark}", "")]]


def shown_state(state: GroupState) -> str:
    """Return the group's state and the number of its members, in words."""
    words = {"none": "does not exist yet", "unknown": "unknown, this broker does not list members"}
    count = len(state.members)
    members = "no members" if not count else "1 member" if count == 1 else f"{count} members"
    return words.get(state.state, f"{state.state.replace('_', ' ')}, {members}")


def shown_span(seconds: float | None) -> str:
    """Return seconds in the unit that fits: `5.0 s`, `1.5 h`."""
    if seconds is None:
        return NONE
    for unit, length_s in _UNITS_S:
        if seconds >= length_s:
            return f"{seconds / length_s:,.1f} {unit}"
    return f"{seconds:.1f} s"
