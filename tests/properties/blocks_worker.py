"""A worker of `tests.properties.blocks_world`: one process with settings, a clock and a position of its own."""

import random
from collections.abc import Collection, Sequence
from typing import Final, Protocol

from consumers.assignment import Claim, Receipt
from consumers.decode.rules import Format
from consumers.record import records_of
from consumers.rejection import RejectedPiece, Rejection
from sinks.build import DEFAULT_BOUNDS
from tests.properties.source_log import WALL_MS, LogRecord
from tests.properties.versioned_sink import VersionedSink
from tests.worker.chain import Chain
from tests.worker.chain_values import LOGS, record
from worker.embedding.tokenizer import Tokenizer
from worker.settings.topic_tables import MultilineTable

BOUNDS = DEFAULT_BOUNDS._replace(lines=64)
_DAY_MS = 86_400_000.0
_NEVER = 10**9
_WINDOW = 24
"""No log has so many offsets in a row of which nothing is stored, with something behind them: reading back ends at an empty window."""
_FORMS: Final[tuple[Format, ...]] = ("auto", "auto", "auto", "text", "text", "json")
"""`json` makes a dead letter of every other line."""


class Killed(Exception):
    """A process is gone in the middle of what it did."""


class Surroundings(Protocol):
    """What a worker sees of the world."""

    rng: random.Random
    now_s: float
    allowed: Collection[str]
    sink: VersionedSink

    def give_up(self, value: bytes, subs: Collection[int], *, is_array: bool) -> None:
        """Note a dead letter."""

    def begin_again(self, worker: "Worker", offset: int) -> None:
        """Let a worker read again from an earlier offset."""


class Worker(Chain):
    """One process, on the world's sink and on its clock for lengths of time; its time of day is off by `skew_ms`."""

    def __init__(self, world: Surroundings, words: Tokenizer) -> None:
        self.world = world
        rng, allowed = world.rng, world.allowed
        self.skew_ms = rng.choice((0.0, 0.0, -600_000.0, 7_000.0))
        self.state = "up"
        """`up`, `zombie` (it does not know that it has lost the partition)."""
        self.position: int | None = None
        """The next offset that it reads; None without the partition."""
        self.began = 0
        """Where its assignment began."""
        self.form: Format = rng.choice(_FORMS) if "formats" in allowed else "auto"
        joins = [MultilineTable(start="java") if "traces" in allowed else None]
        if "multiline" in allowed:
            joins += (None, MultilineTable(start="java", max_lines=3), MultilineTable(pattern=r"^\S"))
        super().__init__(
            words,
            sink=world.sink,
            bounds=BOUNDS,
            max_tokens=rng.choice((64, 64, 40)),
            mask_mode=rng.choice(("template", "template", "exact")),
            window_records=rng.choice((_WINDOW, 10_000)),
            draw=rng,
            form=self.form,
            strict="undecodable" in allowed and rng.random() < 0.5,
            multiline=rng.choice(joins),
            cap_records=rng.choice((8, 24, 10_000)) if "small-caps" in allowed else 10_000,
            most_undecodable=_NEVER,
            most_rejected=_NEVER,
            most_refused=_NEVER,
        )
        self.ledger.revoke([LOGS])
        self.give_up_after = _NEVER
        self.at = self._maybe_die
        post = self.letters

        def note(claim: Claim, rejection: Rejection, rejects: list[RejectedPiece]) -> None:
            subs = {piece.sub for piece in rejects}
            world.give_up(claim.record.value or b"", subs, is_array=self.form != "text")
            post(claim, rejection, rejects)

        self.ledger.dead_letter = note

    @property
    def now_s(self) -> float:
        return self.world.now_s

    @now_s.setter
    def now_s(self, now_s: float) -> None:
        self.world.now_s = max(self.world.now_s, now_s)

    def wall_ms(self) -> float:
        return WALL_MS + self.now_s * 1000 + self.skew_ms

    def set_clock(self) -> None:
        """Let the time of day jump, forward or backward, by seconds to days."""
        self.skew_ms += self.world.rng.choice((-1, 1)) * self.world.rng.choice((7_000.0, 60_000.0, 3_600_000.0, 3 * _DAY_MS))

    def take_over(self, position: int) -> None:
        self.ledger.assign([LOGS])
        self.position = self.began = position

    def lose(self) -> None:
        self.ledger.revoke([LOGS])
        self.position = None

    def poll(self, log: Sequence[LogRecord]) -> None:
        """Read some records, in one batch or two, and prepare them; begin again at an earlier offset if that is asked for."""
        if self.position is None:
            return
        rng, position = self.world.rng, self.position
        ahead = [one for one in log if one.offset >= position][: rng.choice((1, 1, 2, 5, 12))]
        middle = rng.randint(0, len(ahead))
        receipts: list[Receipt] = []
        for batch in filter(None, (ahead[:middle], ahead[middle:])):
            records = [record(one.offset, one.value)._replace(time_ms=one.time_ms, leader_epoch=one.leader_epoch) for one in batch]
            receipt = self.ledger.admit(records_of(records))
            if receipt is None:
                break
            receipts.append(receipt)
            self.position = batch[receipt.records.size - 1].offset + 1
            if receipt.records.size < len(batch):
                break
        if receipts:
            self.prepare.step(receipts)
            asked = self.ledger.asked_to_begin_again()
            if LOGS in asked:
                self.world.begin_again(self, asked[LOGS])

    def begin_again(self, position: int) -> None:
        """Begin another assignment in place of the one that has asked for it."""
        self.ledger.begin_again(LOGS)
        self.position = self.began = position

    def _maybe_die(self, _point: str) -> None:
        if not self.world.sink.is_calm and self.world.rng.random() < 0.01:
            raise Killed
