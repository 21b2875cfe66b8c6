"""A desk at which dead letters are replayed into an audited index, with what Kafka still holds of their records."""

from collections.abc import Sequence
from functools import partial

from consumers.record import Record
from producers.envelope import DeadLetter, envelope, mark_headers
from tests.worker.inspecting.audited_index import AuditedIndex, dead_letter
from worker.inspecting.expected import ExpectedLines
from worker.inspecting.kept_records import FoundRecord
from worker.inspecting.replay import WINDOW_BYTES, Replayed, Replayer
from worker.inspecting.replay_marks import ListedPieces, ReplayMarkUndelivered, read_replay_mark
from worker.inspecting.stored_dead_letters import StoredDeadLetter, read_dead_letter
from worker.inspecting.stored_records import read_stored_lines


class Desk:
    """Replays letters into the audited index and keeps the marks; `work` reads letters as the marks have left them.

    Thread: the test's.
    """

    def __init__(self, audited: AuditedIndex) -> None:
        self.audited = audited
        self.letters: list[StoredDeadLetter] = []
        self.marks: list[tuple[Record, ListedPieces]] = []
        self.shown: list[int] = []
        """How many letters were done after each window."""
        self.kept: dict[int, FoundRecord] = {}
        """What Kafka holds, by offset."""
        self.fails = False
        """Whether marking fails, after the lines are stored."""

    def post_letter_of(
        self, one: Record, reason: str, pieces: Sequence[tuple[int, int, str]] = (), *, max_bytes: int = 1_000_000
    ) -> StoredDeadLetter:
        """Make the dead letter of a record as it comes back from Kafka."""
        return self.post(dead_letter(one, reason, pieces), max_bytes=max_bytes)

    def post(self, letter: DeadLetter, *, max_bytes: int = 1_000_000) -> StoredDeadLetter:
        shaped = envelope(letter, version="1", max_bytes=max_bytes)
        stored = read_dead_letter(Record("dead", 0, len(self.letters), "", 5, shaped.key, shaped.value, tuple(shaped.headers)))
        assert stored is not None
        self.letters.append(stored)
        return stored

    def work(
        self, expected_lines: ExpectedLines | None = None, *, window_records: int = 2_000, window_bytes: int = WINDOW_BYTES
    ) -> Replayed:
        replayer = Replayer(
            expected_lines=expected_lines or self.audited.expected_lines,
            find_records=lambda letters: [self.kept.get(-1 if one.offset is None else one.offset, FoundRecord()) for one in letters],
            stored_lines=partial(read_stored_lines, self.audited.sink, self.audited.busy_retry),
            repairer=self.audited.repairer,
            origin=self.audited.origin,
            mark=self._mark,
            window_records=window_records,
            window_bytes=window_bytes,
            show=lambda replayed: self.shown.append(replayed.letters),
        )
        return replayer.replay_letters(self.letters)

    def _mark(self, letters: Sequence[tuple[Record, ListedPieces]]) -> None:
        if self.fails:
            raise ReplayMarkUndelivered("told to fail")
        for letter, left in letters:
            mark = read_replay_mark(Record("dead", 0, 0, "", 0, None, None, tuple(mark_headers(0, letter.offset, left, version="1"))))
            self.letters[letter.offset] = self.letters[letter.offset].after_replay(mark)
        self.marks += letters
