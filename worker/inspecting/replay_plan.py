"""Decides what a replay of dead letters stores: the entries that are missing, unless the index contradicts the letter. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

from consumers.record import Record
from producers.envelope import ListedPiece
from sinks.line import Line
from worker.inspecting.entry_writer import EntryKey, entry_of
from worker.inspecting.expected import Expected
from worker.inspecting.replay_marks import ListedPieces
from worker.inspecting.stored_dead_letters import StoredDeadLetter
from worker.inspecting.window_comparer import as_expected

NO_ENTRY: Final = "its record has no such entry now"
OTHER_LINES: Final = "the index holds other lines of its record, and a dead letter replaces none"


class ReplayClaim(NamedTuple):
    """A letter that may be true."""

    letter: StoredDeadLetter
    record: Record
    """Kafka's, where it still holds it."""
    is_kept: bool
    """Whether it does."""


class ReplayPlan(NamedTuple):
    """What replaying a letter stores, and what it cannot."""

    letter: StoredDeadLetter
    lines: Sequence[Line] = ()
    """Of whole entries that are not stored whole."""
    failing: ListedPieces = ()
    is_held: bool = False
    """Whether an entry that the letter lists is stored already."""
    refusal: str = ""
    """Why nothing of the record can be stored."""

    def listed_lines(self) -> Sequence[Line]:
        """Return the lines that the letter lists; all of them if it lists none of today's."""
        places = {(sub, chunk) for sub, chunk, _ in self.letter.pieces}
        return [line for line in self.lines if (line.sub, line.chunk) in places] or self.lines


_Place = tuple[str, str, int, int]
"""Topic, epoch, partition and offset of a record."""
_Held = Mapping[_Place, AbstractSet[EntryKey]]
"""The entries that are stored whole, by the place of each record that they hold something of."""


def plan_replay(
    claims: Sequence[ReplayClaim], expected: Sequence[Expected], stored: Sequence[Sequence[Line]], now_ms: float
) -> list[ReplayPlan]:
    """Plan the replay of n letters; `expected` and `stored` are what their records give, and what readers get of them, in this order."""
    known = {line.id: line for one in expected for line in (*one.lines, *one.dropped)}
    held = {_place_of(claim.record): _whole_entries(lines) for claim, lines in zip(claims, stored, strict=True)}
    disputed: set[_Place] = set()
    for claim, one, lines in zip(claims, expected, stored, strict=True):
        is_contradicted = not claim.is_kept and not all(_is_known(line, known, now_ms) for line in lines)
        if is_contradicted or any(_reaches_into(line, held) for line in one.lines):
            disputed.update([_place_of(claim.record)], *map(_places_of, one.lines))
    return [
        _planned(claim, one, lines, held, disputed) if one.refusal is None else ReplayPlan(claim.letter, refusal=one.refusal.reason)
        for claim, one, lines in zip(claims, expected, stored, strict=True)
    ]


def _planned(claim: ReplayClaim, expected: Expected, stored: Sequence[Line], held: _Held, disputed: AbstractSet[_Place]) -> ReplayPlan:
    letter, place = claim.letter, _place_of(claim.record)
    if place in disputed:
        return ReplayPlan(letter, refusal=OTHER_LINES)
    plan = _addition(letter, expected, held[place])
    entries = {line.entries for line in stored}
    if not plan.lines or not stored or entries == {line.entries for line in expected.lines}:
        return plan
    if len(entries) == 1 and len({line.sub for line in plan.lines}) < (said := min(entries)):
        return plan._replace(lines=[line._replace(entries=said) for line in plan.lines])  # added to what is stored, it is one record
    # Of so few entries, or of a block of an earlier version, what is added would be a record of its own, and hide the rest.
    added = {line.sub for line in plan.lines} | {entry.sub for entry in held[place]}
    return plan._replace(lines=[line for line in expected.lines if line.sub in added])


def _addition(letter: StoredDeadLetter, expected: Expected, held: AbstractSet[EntryKey]) -> ReplayPlan:
    subs = {line.sub for line in expected.lines}
    is_part_of_event = any(entry.offset != expected.record.offset for entry in held)
    held_subs = subs if is_part_of_event else {entry.sub for entry in held}
    rejects = {sub: ListedPiece(sub, chunk, rejection.reason) for sub, chunk, rejection in expected.rejects}
    if letter.is_whole or letter.unlisted_pieces:
        listed, failing = subs, rejects
    else:
        pieces = {piece.sub: piece for piece in reversed(letter.pieces)}
        listed = set(pieces)
        failing = {sub: rejects.get(sub, piece._replace(reason=NO_ENTRY)) for sub, piece in sorted(pieces.items()) if sub not in subs}
    return ReplayPlan(
        letter,
        lines=[line for line in expected.lines if line.sub in listed - held_subs],
        failing=tuple(piece for sub, piece in failing.items() if sub not in held_subs),
        is_held=not listed.isdisjoint(held_subs),
    )


def _place_of(record: Record) -> _Place:
    return record.topic, record.epoch, record.partition, record.offset


def _places_of(line: Line) -> list[_Place]:
    """Return the places of the records that the line's entry spans."""
    return [(line.topic, line.epoch, line.partition, offset) for offset in range(line.offset, line.offset + line.records)]


def _whole_entries(stored: Sequence[Line]) -> set[EntryKey]:
    chunks = Counter(map(entry_of, stored))
    return {entry for line in stored if chunks[entry := entry_of(line)] == line.chunks}


def _is_known(stored: Line, known: Mapping[str, Line], now_ms: float) -> bool:
    """Whether a stored line is one that the records of the letters give."""
    line = known.get(stored.id)
    return line is not None and as_expected(stored, line, now_ms) == line


def _reaches_into(line: Line, held: _Held) -> bool:
    """Whether an entry of several records would cover one of which another entry is stored."""
    return any(entry.offset != line.offset for place in _places_of(line)[1:] for entry in held.get(place, ()))
