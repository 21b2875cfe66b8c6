"""Replays dead letters in place: stores what their records should have left in the index, then marks the letters.

`vectail dlq replay` calls it with letters that were not replayed yet. Rules:
1. If a letter lists pieces, only those are stored, otherwise the whole record. An entry that had too many chunks, or that is chunked
   differently now, is stored whole.
2. Rows get the ids that the worker would have given them, including the letter's epoch, so replaying twice changes nothing.
3. A letter is marked once its rows are stored. Pieces that are rejected again stay in it, with the new reason; so does a record that is
   rejected as a whole.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from consumers.record import Record
from consumers.rejection import Rejection
from producers.envelope import ListedPiece
from worker.audit.expected import Expected, ExpectedRow, ExpectedRows
from worker.audit.repair import Repairer
from worker.audit.replay_marks import ListedPieces
from worker.audit.stored_dead_letters import StoredDeadLetter, has_too_many_chunks

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
    rows: int = 0
    templates: int = 0
    unreplayable: Counter[str] = field(default_factory=Counter)
    """Letters that cannot be replayed, by obstacle."""
    unresolved: list[Unresolved] = field(default_factory=list)
    """The first of `left`."""


class _Plan(NamedTuple):
    """What replaying a letter stores, and what it cannot."""

    letter: StoredDeadLetter
    pieces: list[ExpectedRow]
    failing: ListedPieces
    refusal: Rejection | None = None
    """Why the whole record is rejected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayer:
    """A letter is marked only when all rows that the mark speaks of are stored.

    Thread: one.
    """

    expected_rows: ExpectedRows
    repairer: Repairer
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
        expected = self.expected_rows.compute_expected([record for _, record in possible])
        plans = [_planned(letter, one) for (letter, _), one in zip(possible, expected, strict=True)]
        pieces = {piece.row.id: piece for plan in plans for piece in plan.pieces}  # a record may have several letters
        repaired = self.repairer.repair_rows(list(pieces.values()))
        replayed.rows += repaired.lines
        replayed.templates += repaired.templates
        reasons = {one.row.id: one.rejection.reason for one in repaired.rejected}
        marks: list[tuple[Record, ListedPieces]] = []
        for plan in plans:
            again = [ListedPiece(p.row.sub, p.row.chunk, reasons[p.row.id]) for p in plan.pieces if p.row.id in reasons]
            failing = (*plan.failing, *again)
            has_stored = len(again) < len(plan.pieces)
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
            size_bytes += letter.letter.size_bytes()
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
        return _Plan(letter, list(expected.pieces), tuple(rejects))
    entries: dict[int, list[ExpectedRow]] = {}
    for piece in expected.pieces:
        entries.setdefault(piece.row.sub, []).append(piece)
    too_long = {reject.sub: reject for reject in rejects}
    chosen: dict[str, ExpectedRow] = {}
    failing: dict[tuple[int, int], ListedPiece] = {}
    for listed in letter.pieces:
        entry = entries.get(listed.sub, [])
        is_same = not has_too_many_chunks(listed) and listed.chunk < len(entry)
        chosen |= {piece.row.id: piece for piece in (entry[listed.chunk : listed.chunk + 1] if is_same else entry)}
        if not entry:
            found = too_long.get(listed.sub, listed._replace(reason=NO_ENTRY))
            failing[found.sub, found.chunk] = found
    return _Plan(letter, list(chosen.values()), tuple(failing.values()))
