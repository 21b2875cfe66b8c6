"""Replays dead letters in place: stores what their records should have left in the index, then marks the letters.

`vectail dlq replay` calls it with letters that were not replayed yet. Rules:
1. If a letter lists pieces, their entries are stored, otherwise the whole record. An entry is always stored whole: copies combine only
   within an entry that is cut in one way (design: union).
2. Lines get the ids that the worker would have given them, including the letter's epoch, so replaying twice changes nothing for a reader.
3. A letter is marked once its lines are stored. Pieces that are rejected again stay in it, with the new reason; so does a record that is
   rejected as a whole.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from consumers.record import Record
from consumers.rejection import Rejection
from producers.envelope import ListedPiece
from sinks.line import Line
from worker.audit.entry_writer import Origin
from worker.audit.expected import Expected, ExpectedLines
from worker.audit.repair import Repairer
from worker.audit.replay_marks import ListedPieces
from worker.audit.stored_dead_letters import StoredDeadLetter

WINDOW_RECORDS = 2_000
WINDOW_BYTES = 4 * 1024 * 1024
REPORTED = 1_000
"""Unresolved letters that are kept for the report."""
NO_ENTRY = "its record has no such entry now"


class Unresolved(NamedTuple):
    """A letter that still fails, with its new reason."""

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
    partly: int = 0
    """Letters with some pieces stored and some left."""
    left: int = 0
    """Letters that still fail, those of `partly` included."""
    lines: int = 0
    """Stored; a chunk of a long line counts as a line."""
    templates: int = 0
    unreplayable: Counter[str] = field(default_factory=Counter)
    """Letters that cannot be replayed, by obstacle."""
    unresolved: list[Unresolved] = field(default_factory=list)
    """The first of `left`."""


class _Plan(NamedTuple):
    """What replaying a letter stores, and what it cannot."""

    letter: StoredDeadLetter
    lines: list[Line]
    failing: ListedPieces
    refusal: Rejection | None = None
    """Why the whole record is rejected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayer:
    """A letter is marked only when all lines that the mark speaks of are stored.

    Thread: one.
    """

    expected_lines: ExpectedLines
    repairer: Repairer
    origin: Callable[[], Origin]
    """What blocks that are written now say of their lines."""
    mark: Callable[[Sequence[tuple[Record, ListedPieces]]], None]
    """Marks letters, each with the pieces that still fail; returns when the marks are acknowledged."""
    show: Callable[[Replayed], None] = lambda _replayed: None
    """Called after each window."""
    window_records: int = WINDOW_RECORDS
    window_bytes: int = WINDOW_BYTES

    def replay_letters(self, letters: Iterable[StoredDeadLetter]) -> Replayed:
        """Replay letters, a bounded number at a time. Raises what the repairer and `mark` raise; letters marked before that are done."""
        replayed = Replayed()
        for window in self._windows(letter for letter in letters if not letter.is_replayed):
            self._replay_window(window, replayed)
            self.show(replayed)
        return replayed

    def _replay_window(self, window: Sequence[StoredDeadLetter], replayed: Replayed) -> None:
        replayed.letters += len(window)
        replayed.unreplayable.update(letter.obstacle for letter in window if letter.obstacle)
        possible = [(letter, letter.record) for letter in window if letter.record is not None and not letter.obstacle]
        expected = self.expected_lines.compute_expected([record for _, record in possible])
        plans = [_planned(letter, one) for (letter, _), one in zip(possible, expected, strict=True)]
        lines = {line.id: line for plan in plans for line in plan.lines}  # a record may have several letters
        repaired = self.repairer.repair_lines(list(lines.values()), self.origin())
        replayed.lines += repaired.lines
        replayed.templates += repaired.templates
        reasons = {one.line.id: one.rejection.reason for one in repaired.rejected}
        marks: list[tuple[Record, ListedPieces]] = []
        for plan in plans:
            again = [ListedPiece(line.sub, line.chunk, reasons[line.id]) for line in plan.lines if line.id in reasons]
            failing = (*plan.failing, *again)
            has_stored = any(line.id not in reasons for line in _listed_lines(plan))
            is_done = plan.refusal is None and not failing
            if is_done:
                replayed.done += 1
            else:
                self._note_unresolved(plan, failing, replayed)
                replayed.partly += has_stored
            if has_stored or is_done:
                marks.append((plan.letter.letter, failing))
        if marks:
            self.mark(marks)

    def _note_unresolved(self, plan: _Plan, failing: ListedPieces, replayed: Replayed) -> None:
        replayed.left += 1
        if len(replayed.unresolved) < REPORTED:
            letter = plan.letter._replace(letter=plan.letter.letter._replace(value=None))
            reason = failing[0].reason if plan.refusal is None else plan.refusal.reason
            replayed.unresolved.append(Unresolved(letter, reason, failing))

    def _windows(self, letters: Iterable[StoredDeadLetter]) -> Iterator[list[StoredDeadLetter]]:
        window: list[StoredDeadLetter] = []
        size_bytes = 0
        for letter in letters:
            window.append(letter)
            content_bytes = 0 if letter.record is None else self.expected_lines.content_bytes(letter.record)
            size_bytes += max(letter.letter.size_bytes(), content_bytes)
            if len(window) >= self.window_records or size_bytes >= self.window_bytes:
                yield window
                window, size_bytes = [], 0
        if window:
            yield window


def _planned(letter: StoredDeadLetter, expected: Expected) -> _Plan:
    if expected.refusal is not None:
        return _Plan(letter, [], (), expected.refusal)
    rejects = [ListedPiece(sub, chunk, rejection.reason) for sub, chunk, rejection in expected.rejects]
    if letter.is_whole or letter.unlisted_pieces:
        return _Plan(letter, list(expected.lines), tuple(rejects))
    listed = {piece.sub: piece for piece in reversed(letter.pieces)}
    lines = [line for line in expected.lines if line.sub in listed]
    stored = {line.sub for line in lines}
    too_long = {reject.sub: reject for reject in rejects}
    failing = [too_long.get(sub, piece._replace(reason=NO_ENTRY)) for sub, piece in sorted(listed.items()) if sub not in stored]
    return _Plan(letter, lines, tuple(failing))


def _listed_lines(plan: _Plan) -> list[Line]:
    """Return the lines that the letter lists; all of them if it lists none of today's."""
    places = {(sub, chunk) for sub, chunk, _ in plan.letter.pieces}
    return [line for line in plan.lines if (line.sub, line.chunk) in places] or plan.lines
