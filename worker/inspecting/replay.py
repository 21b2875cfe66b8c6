"""Replays dead letters in place: stores what their records should have left in the index, then marks the letters.

`vectail dlq replay` calls it with letters that were not replayed yet. Rules:
1. If a letter lists pieces, their entries are stored, otherwise the whole record. An entry is always stored whole: copies combine only
   within an entry that is cut in one way (design: union).
2. Lines get the ids that the worker would have given them, including the letter's epoch, so replaying twice changes nothing for a reader.
3. A letter is marked once its lines are stored. Pieces that are rejected again stay in it, with the new reason; so does a record that is
   rejected as a whole.
4. Where Kafka still holds the record, it is Kafka's record that is replayed, and a letter that names other bytes is refused. So a letter
   that holds only the beginning of its record can be replayed as well. Else the letter is believed if it is whole, unless the index holds
   something of its record that the letter's bytes do not give, or another letter says otherwise.
5. An entry that is stored whole is never written again: a letter replaces nothing. If all of its entries are, it is only marked.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from consumers.record import Record
from producers.envelope import ListedPiece
from sinks.line import Line
from worker.inspecting.entry_writer import EntryOrigin, wall_ms
from worker.inspecting.expected import ExpectedLines
from worker.inspecting.kept_records import FoundRecord
from worker.inspecting.repair import Repairer
from worker.inspecting.replay_marks import ListedPieces
from worker.inspecting.replay_plan import ReplayClaim, plan_replay
from worker.inspecting.stored_dead_letters import StoredDeadLetter

WINDOW_RECORDS = 2_000
WINDOW_BYTES = 4 * 1024 * 1024
REPORTED = 1_000
"""Unresolved letters that are kept for the report."""
GONE = "and Kafka no longer holds the record"
OTHER_LETTER = "another dead letter of its record holds something else, and Kafka no longer holds the record"


class Unresolved(NamedTuple):
    """A letter that still fails, or that is refused, with its new reason."""

    letter: StoredDeadLetter
    reason: str
    pieces: ListedPieces
    """Empty: the whole record."""


@dataclass(slots=True)
class Replayed:
    """What was done so far; only grows.

    Thread: one.
    """

    letters: int = 0
    """Letters that were looked at."""
    done: int = 0
    held: int = 0
    """Letters of `done` whose lines were all in the index already."""
    partly: int = 0
    """Letters with some pieces stored and some left."""
    left: int = 0
    """Letters that still fail or are refused, those of `partly` included."""
    lines: int = 0
    """Stored; a chunk of a long line counts as a line."""
    templates: int = 0
    unreplayable: Counter[str] = field(default_factory=Counter)
    """Letters that cannot be replayed, by obstacle."""
    gone: list[StoredDeadLetter] = field(default_factory=list)
    """The first of those that needed a record that Kafka no longer holds."""
    unresolved: list[Unresolved] = field(default_factory=list)
    """The first of `left`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayer:
    """A letter is marked only when all lines that the mark speaks of are stored.

    Thread: one.
    """

    expected_lines: ExpectedLines
    find_records: Callable[[Sequence[StoredDeadLetter]], Sequence[FoundRecord]]
    """Returns what Kafka holds of the record of each letter."""
    stored_lines: Callable[[Sequence[Record]], Sequence[Sequence[Line]]]
    """Returns what readers get of each record, also of an event that it is a part of."""
    repairer: Repairer
    origin: Callable[[], EntryOrigin]
    """What blocks that are written now say of their lines."""
    mark: Callable[[Sequence[tuple[Record, ListedPieces]]], None]
    """Marks letters, each with the pieces that still fail; returns when the marks are acknowledged."""
    show: Callable[[Replayed], None] = lambda _replayed: None
    """Called after each window."""
    wall_ms: Callable[[], float] = wall_ms
    window_records: int = WINDOW_RECORDS
    window_bytes: int = WINDOW_BYTES

    def replay_letters(self, letters: Iterable[StoredDeadLetter]) -> Replayed:
        """Replay letters, a bounded number at a time. Raises what the callables raise; letters marked before that are done."""
        replayed = Replayed()
        for window in self._windows(letter for letter in letters if not letter.is_replayed):
            self._replay_window(window, replayed)
            self.show(replayed)
        return replayed

    def _replay_window(self, window: Sequence[StoredDeadLetter], replayed: Replayed) -> None:
        replayed.letters += len(window)
        replayed.unreplayable.update(letter.obstacle for letter in window if letter.record is None)
        claims = self._find_claims(window, replayed)
        records = [claim.record for claim in claims]
        plans = plan_replay(claims, self.expected_lines.compute_expected(records), self.stored_lines(records), self.wall_ms())
        lines = {line.id: line for plan in plans for line in plan.lines}  # a record may have several letters
        repaired = self.repairer.repair_lines(list(lines.values()), self.origin())
        replayed.lines += repaired.lines
        replayed.templates += repaired.templates
        reasons = {one.line.id: one.rejection.reason for one in repaired.rejected}
        marks: list[tuple[Record, ListedPieces]] = []
        for plan in plans:
            again = [ListedPiece(line.sub, line.chunk, reasons[line.id]) for line in plan.lines if line.id in reasons]
            failing = (*plan.failing, *again)
            has_stored = plan.is_held or any(line.id not in reasons for line in plan.listed_lines())
            is_done = not plan.refusal and not failing
            if is_done:
                replayed.done += 1
                replayed.held += plan.is_held and not plan.lines
            else:
                _note_unresolved(plan.letter, plan.refusal or failing[0].reason, failing, replayed)
                replayed.partly += has_stored
            if has_stored or is_done:
                marks.append((plan.letter.letter, failing))
        if marks:
            self.mark(marks)

    def _find_claims(self, window: Sequence[StoredDeadLetter], replayed: Replayed) -> list[ReplayClaim]:
        """Return the letters that Kafka and the letters before them do not contradict, each with its record."""
        possible = [(letter, letter.record) for letter in window if letter.record is not None]
        claims: list[ReplayClaim] = []
        first_of: dict[tuple[object, ...], Record] = {}
        for (letter, record), found in zip(possible, self.find_records([letter for letter, _ in possible]), strict=True):
            refusal = found.refusal
            if found.record is None and not refusal and letter.obstacle:
                replayed.unreplayable[f"{letter.obstacle}, {GONE}"] += 1
                replayed.gone += [_without_value(letter)] * (len(replayed.gone) < REPORTED)
                continue
            if found.record is None and first_of.setdefault(record[:4], record) != record:
                refusal = refusal or OTHER_LETTER
            if refusal:
                _note_unresolved(letter, refusal, (), replayed)
            else:
                claims.append(ReplayClaim(letter, found.record or record, found.record is not None))
        return claims

    def _windows(self, letters: Iterable[StoredDeadLetter]) -> Iterator[list[StoredDeadLetter]]:
        window: list[StoredDeadLetter] = []
        size_bytes = 0
        for letter in letters:
            window.append(letter)
            content_bytes = 0 if letter.record is None else self.expected_lines.content_bytes(letter.record)
            size_bytes += max(letter.letter.size_bytes(), letter.size_bytes, content_bytes)
            if len(window) >= self.window_records or size_bytes >= self.window_bytes:
                yield window
                window, size_bytes = [], 0
        if window:
            yield window


def _note_unresolved(letter: StoredDeadLetter, reason: str, failing: ListedPieces, replayed: Replayed) -> None:
    replayed.left += 1
    if len(replayed.unresolved) < REPORTED:
        replayed.unresolved.append(Unresolved(_without_value(letter), reason, failing))


def _without_value(letter: StoredDeadLetter) -> StoredDeadLetter:
    return letter._replace(letter=letter.letter._replace(value=None))
