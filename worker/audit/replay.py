"""Works dead letters again, in place: what their records owe now is stored under their own coordinates, then they are marked.

`vectail dlq replay` calls it with letters that were not replayed yet. Rules:
1. Of a letter that lists pieces only those are worked, of any other one all of the record. An entry that had too many chunks, or that is
   cut otherwise now, is stored whole.
2. Rows have the ids that the worker would have given them (the letter's epoch too), so that whoever replays twice changes nothing.
3. A letter is marked once its rows are stored. Pieces that are refused again stay in it, with the reason of now; so does a record that is
   refused as a whole.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from consumers.record import Record
from worker.audit.dead_letter_index import StoredDeadLetter
from worker.audit.expected import Expected, ExpectedRow, ExpectedRows
from worker.audit.marks import Pieces
from worker.audit.repair import Repairer
from worker.indexing.pieces import TOO_MANY_CHUNKS

WINDOW_RECORDS = 2_000
WINDOW_BYTES = 4 * 1024 * 1024
TOLD = 1_000
"""Letters that are kept with what they have left."""
NO_ENTRY = "its record has no such entry now"


class Unresolved(NamedTuple):
    """A letter that is bad still, with its reason of now.

    Thread: any.
    """

    letter: StoredDeadLetter
    reason: str
    pieces: Pieces
    """None: the whole record."""


@dataclass(slots=True)
class Replayed:
    """What was done so far.

    Thread: one.
    """

    letters: int = 0
    """Looked at."""
    done: int = 0
    partly: int = 0
    """Some pieces were stored, and some are left."""
    left: int = 0
    """Bad still, those of `partly` too."""
    rows: int = 0
    templates: int = 0
    impossible: Counter[str] = field(default_factory=Counter)
    """Letters that nobody can replay, by why."""
    told: list[Unresolved] = field(default_factory=list)
    """The first of `left`."""


class _Open(NamedTuple):
    """A letter with what is to be stored, and what cannot be."""

    letter: StoredDeadLetter
    pieces: list[ExpectedRow]
    bad: Pieces
    refusal: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayer:
    """A letter is marked only when all the rows that the mark speaks of are stored.

    Thread: one.
    """

    maker: ExpectedRows
    mender: Repairer
    mark: Callable[[Sequence[tuple[Record, Pieces]]], None]
    """Marks letters, each with the pieces that are left; returns when the marks are acknowledged."""
    show: Callable[[Replayed], None] = lambda _replayed: None
    """Called after each window."""
    window_records: int = WINDOW_RECORDS
    window_bytes: int = WINDOW_BYTES

    def work(self, letters: Iterable[StoredDeadLetter]) -> Replayed:
        """Replay letters, a bounded number at a time. Raises what the mender and `mark` raise; what was marked before is done."""
        replayed = Replayed()
        for window in self._windows(letter for letter in letters if not letter.is_replayed):
            self._work(window, replayed)
            self.show(replayed)
        return replayed

    def _work(self, window: Sequence[StoredDeadLetter], replayed: Replayed) -> None:
        replayed.letters += len(window)
        replayed.impossible.update(letter.obstacle for letter in window if letter.obstacle)
        possible = [(letter, letter.record) for letter in window if letter.record is not None and not letter.obstacle]
        owed = self.maker.owed([record for _, record in possible])
        opened = [_opened(letter, debt) for (letter, _), debt in zip(possible, owed, strict=True)]
        pieces = {piece.row.id: piece for one in opened for piece in one.pieces}  # a record may have several letters
        mended = self.mender.mend(list(pieces.values()))
        replayed.rows += mended.lines
        replayed.templates += mended.templates
        refused = {one.row.id: one.reason for one in mended.refused}
        marks: list[tuple[Record, Pieces]] = []
        for one in opened:
            again = [(p.row.sub, p.row.chunk, refused[p.row.id]) for p in one.pieces if p.row.id in refused]
            left = (*one.bad, *again)
            has_stored = len(again) < len(one.pieces)
            if one.refusal or left:
                self._leave(one, left, replayed)
                replayed.partly += has_stored
            else:
                replayed.done += 1
            if has_stored or not (one.refusal or left):
                marks.append((one.letter.letter, left))
        if marks:
            self.mark(marks)

    def _leave(self, one: _Open, left: Pieces, replayed: Replayed) -> None:
        replayed.left += 1
        if len(replayed.told) < TOLD:
            letter = one.letter._replace(letter=one.letter.letter._replace(value=None))
            replayed.told.append(Unresolved(letter, one.refusal or left[0][2], left))

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


def _opened(letter: StoredDeadLetter, owed: Expected) -> _Open:
    if owed.refusal:
        return _Open(letter, [], (), owed.refusal)
    if letter.is_whole or letter.unlisted_pieces:
        return _Open(letter, list(owed.pieces), owed.rejects, "")
    entries: dict[int, list[ExpectedRow]] = {}
    for piece in owed.pieces:
        entries.setdefault(piece.row.sub, []).append(piece)
    too_long = {sub: (sub, chunk, reason) for sub, chunk, reason in owed.rejects}
    chosen: dict[str, ExpectedRow] = {}
    bad: dict[tuple[int, int], tuple[int, int, str]] = {}
    for sub, chunk, reason in letter.pieces:
        entry = entries.get(sub, [])
        is_same = reason != TOO_MANY_CHUNKS and chunk < len(entry)
        chosen |= {piece.row.id: piece for piece in (entry[chunk : chunk + 1] if is_same else entry)}
        if not entry:
            found = too_long.get(sub, (sub, chunk, NO_ENTRY))
            bad[found[:2]] = found
    return _Open(letter, list(chosen.values()), tuple(bad.values()), "")
