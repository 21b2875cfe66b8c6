"""Replay marks: small records in the dead-letter topic that say which letter was replayed, and which of its pieces still fail.

A mark follows its letter in the same partition, so Kafka never removes it before the letter. It has no key and no value. If a replay dies
between storing rows and marking, the next replay writes the same rows again.
"""

import json
import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple

from consumers.record import Record
from producers.dead_letters import LetterBox, LetterUndelivered
from producers.envelope import PIECES_BYTES, ListedPiece

_CONSEQUENCE = "; what was replayed is stored, but not marked: it will be replayed again"

ListedPieces = tuple[ListedPiece, ...]


class ReplayMarkUndelivered(Exception):
    """The dead-letter topic did not take a mark; one line."""


class ReplayMark(NamedTuple):
    """What a replay says about a dead letter of its partition."""

    offset: int
    """Of the letter."""
    pieces: ListedPieces
    """Those that still fail."""
    unlisted_pieces: int

    @property
    def is_done(self) -> bool:
        """Whether all of the letter is in the index."""
        return not self.pieces and not self.unlisted_pieces


class ReplayMarker:
    """Marks letters; a call returns once all of its marks are acknowledged.

    Thread: one.
    """

    def __init__(self, box: Callable[[], LetterBox], *, limit_s: float) -> None:
        """`limit_s` is how long the box may take for each mark."""
        self._box = box
        self._limit_s = limit_s

    def mark_letters(self, letters: Sequence[tuple[Record, ListedPieces]]) -> None:
        """Mark letters, each with the pieces that still fail. Raises ReplayMarkUndelivered and ProducerMisconfigured."""
        outcomes: list[str | None] = []
        acknowledged = threading.Semaphore(0)

        def delivered(reason: str | None) -> None:
            outcomes.append(reason)
            acknowledged.release()

        limit_s = self._limit_s
        for letter, failing in letters:
            try:
                self._box().mark((letter.partition, letter.offset), failing, delivered=delivered, wait_s=limit_s)
            except LetterUndelivered as error:
                raise ReplayMarkUndelivered(f"{error}{_CONSEQUENCE}") from error
        for _ in letters:
            if not acknowledged.acquire(timeout=limit_s):
                raise ReplayMarkUndelivered(f"{self._box().name} took no mark for {limit_s:g} s{_CONSEQUENCE}")
        failed = [reason for reason in outcomes if reason is not None]
        if failed:
            raise ReplayMarkUndelivered(f"{self._box().name} does not take marks ({failed[0]}){_CONSEQUENCE}")


def read_replay_mark(record: Record) -> ReplayMark | None:
    """Read one record of the dead-letter topic; None unless it is a mark of a letter of its own partition."""
    if record.value is not None:
        return None
    headers = {name: (content or b"").decode("utf-8", "replace") for name, content in record.headers}
    if "__connect.errors.topic" in headers or "vectail.replayed" not in headers:
        return None
    partition, _, offset = headers["vectail.replayed"].partition("/")
    try:
        pieces = parse_listed_pieces(headers.get("vectail.pieces", "{}"))
        mark = ReplayMark(int(offset), pieces, int(headers.get("vectail.pieces.omitted", "0")))
        return mark if int(partition) == record.partition else None
    except ValueError:
        return None


def parse_listed_pieces(text: str) -> ListedPieces:
    """Parse `{"reason": [[sub, chunk], …], …}`, at most `PIECES_BYTES`. Raises ValueError for anything else, however it is malformed."""
    if len(text) > PIECES_BYTES:
        raise ValueError(f"more than {PIECES_BYTES} bytes of pieces")
    try:
        by_reason = json.loads(text)
        return tuple(ListedPiece(int(sub), int(chunk), reason) for reason, places in by_reason.items() for sub, chunk in places)
    except (AttributeError, TypeError, OverflowError, RecursionError) as error:
        raise ValueError(f"not a list of pieces ({type(error).__name__})") from None
