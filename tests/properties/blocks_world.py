"""Random histories of workers that share one partition and one index: kills, zombies, lost answers, late writes, merges, readers.

Every step of a worker is the real one (`tests.worker.chain`), and so are resume, runs, merging, deleting and reading. The sink keeps
versions, applies some calls late or never, and lets other workers go on in the middle of a call. Whatever happens, what is committed is
readable once, whole and of the right content.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from consumers.assignment import Claim, Receipt
from consumers.record import records_of
from consumers.rejection import RejectedPiece, Rejection
from sinks.block import BlockPlace
from sinks.build import DEFAULT_BOUNDS
from sinks.line import Line
from sinks.reading.counting import CountQuery
from sinks.reading.filters import LineFilter
from sinks.reading.reader import BlockReader
from sinks.sink import SinkBusy
from tests.properties.versioned_sink import GRACE_S, STALE_S, VersionedSink
from tests.worker.chain import Chain
from tests.worker.chain_values import LOGS, record, texts_of
from worker.embedding.tokenizer import Tokenizer
from worker.indexing.compaction import Compactor

BOUNDS = DEFAULT_BOUNDS._replace(lines=64)
WORDS = ("disk", "network", "login", "memory")
LOGS_PLACE = BlockPlace(LOGS.topic, "e1", LOGS.partition)
LONG = 80
"""Words of a long line; how many chunks it has depends on the worker's setting."""


class Killed(Exception):
    """A process is gone in the middle of what it did."""


class Entry(NamedTuple):
    """One record of the log: its one line. A log that was cut and grows again has others at the same offsets."""

    offset: int
    text: str


class Worker(Chain):
    """One process, on the world's clock and sink; its own clock for the time of day is off by `skew_ms`."""

    def __init__(self, world: "World", words: Tokenizer) -> None:
        self.world = world
        rng = world.rng
        self.skew_ms = rng.choice((0.0, 0.0, -600_000.0, 7_000.0))
        self.state = "up"
        """`up`, `zombie` (it does not know that it has lost the partition)."""
        self.position: int | None = None
        """The next offset that it reads; None without the partition."""
        super().__init__(
            words,
            sink=world.sink,
            bounds=BOUNDS,
            max_tokens=rng.choice((64, 64, 40)),
            mask_mode=rng.choice(("template", "template", "exact")),
            window_records=rng.choice((4, 100)),
            draw=rng,
        )
        self.ledger.revoke([LOGS])
        self.give_up_after = 10**9
        self.at = self._maybe_die
        post = self.letters

        def note(claim: Claim, rejection: Rejection, rejects: list[RejectedPiece]) -> None:
            world.dead.add((claim.record.offset, (claim.record.value or b"").decode()))
            post(claim, rejection, rejects)

        self.ledger.dead_letter = note

    @property
    def now_s(self) -> float:
        return self.world.now_s

    @now_s.setter
    def now_s(self, now_s: float) -> None:
        self.world.now_s = max(self.world.now_s, now_s)

    def wall_ms(self) -> float:
        return super().wall_ms() + self.skew_ms

    def take_over(self, position: int) -> None:
        """Begin an assignment."""
        self.state = "up"
        self.ledger.assign([LOGS])
        self.position = position

    def lose(self) -> None:
        """End it."""
        self.ledger.revoke([LOGS])
        self.position = None

    def poll(self, log: Sequence[Entry]) -> None:
        """Read some records, in one batch or two, and prepare them."""
        if self.position is None:
            return
        rng = self.world.rng
        ahead = [entry for entry in log if entry.offset >= self.position][: rng.choice((1, 1, 2, 5, 12))]
        middle = rng.randint(0, len(ahead))
        receipts: list[Receipt] = []
        for batch in (ahead[:middle], ahead[middle:]):
            if batch:
                receipt = self.ledger.admit(records_of([record(entry.offset, entry.text.encode()) for entry in batch]))
                assert receipt is not None
                receipts.append(receipt)
                self.position = batch[-1].offset + 1
        if receipts:
            self.prepare.step(receipts)

    def _maybe_die(self, _point: str) -> None:
        if not self.world.sink.is_calm and self.world.rng.random() < 0.01:
            raise Killed


class World:
    """One partition, its committed offset, two or three workers and what has happened to them."""

    def __init__(self, seed: int, words: Tokenizer, *, faults: Collection[str] = ("kill", "freeze", "cut", "tool", "refuse")) -> None:
        self.rng = random.Random(seed)
        self.now_s = 100.0
        self.words = words
        self.faults = faults
        self.sink = VersionedSink(self.rng, lambda: self.now_s)
        self.sink.interrupt = self._interrupt
        self.sink.rejects = lambda block: "refuse" in faults and any("refused" in text for text in texts_of(block))
        self.log: list[Entry] = []
        self.next_offset = 0
        self.committed = 0
        self.was_cut = 0
        """How often the log was cut."""
        self.dead: set[tuple[int, str]] = set()
        self.reader = BlockReader(self.sink, clock=lambda: self.now_s)
        self.history: list[tuple[float, frozenset[Entry], int]] = []
        self.depth = 0
        self.busy: list[Worker] = []
        """Whose steps are under way, the innermost last."""
        self.counts: dict[str, int] = defaultdict(int)
        self.workers = [Worker(self, words) for _ in range(self.rng.choice((2, 3)))]
        self.owner = self.workers[0]
        self.owner.take_over(0)

    def run(self, steps: int) -> None:
        """Take random steps; after each, everything must hold."""
        for _ in range(steps):
            self.now_s += self.rng.choice((0.01, 0.1, 0.6, 2.0, 2.0, 9.0, 25.0))
            self.step()
            self.check()
        self.end()

    def step(self) -> None:
        """Take one random step of a worker, of the log, or of fate."""
        draw = self.rng.random()
        worker = self.rng.choice([one for one in self.workers if one.position is not None])
        if draw < 0.12:
            self.produce()
        elif draw < 0.80:
            self.work(worker)
        elif draw < 0.88:
            self.commit(worker)
        elif draw < 0.92 and self.sink.late:
            self.sink.late.pop(self.rng.randrange(len(self.sink.late)))()
            self.counts["late"] += 1
        elif draw < 0.95:
            self.read()
        else:
            self.fault(self.rng.choice(self.workers))

    def produce(self) -> None:
        """Append records; some offsets are left out, as compaction does."""
        for _ in range(self.rng.randint(1, 8)):
            offset = self.next_offset + (self.rng.random() < 0.1)
            word, number = self.rng.choice(WORDS), self.rng.randint(0, 9)
            text = f"{word} {number} failed, cut {self.was_cut}"
            if self.rng.random() < 0.15:
                text += "".join(f" {self.rng.choice(WORDS)}" for _ in range(LONG))
            if self.rng.random() < 0.01:
                text += " refused"
            self.log.append(Entry(offset, text))
            self.next_offset = offset + 1

    def work(self, worker: Worker) -> None:
        """Let a worker take one of its steps, and die in it if it must."""
        if worker in self.busy or worker.position is None:
            return
        steps: list[Callable[[], object]] = [
            lambda: worker.poll(self.log),
            lambda: worker.poll(self.log),
            worker.embed,
            worker.take_to_store,
            worker.take_to_store,
            worker.store_step.flush,
            lambda: worker.store_step.flush(everything=True),
            lambda: self.index_some(worker),
            lambda: self.index_some(worker),
            lambda: self.index_some(worker),
            lambda: self.index_some(worker),
            worker.store_step.upkeep.turn,
            worker.store_step.upkeep.turn,
        ]
        chosen = self.rng.choice(steps)
        self.busy.append(worker)
        try:
            chosen()
        except Killed:
            self.kill(worker)
        finally:
            self.busy.remove(worker)

    def index_some(self, worker: Worker) -> None:
        """Let a worker take all its steps, so that small blocks come one after the other."""
        for _ in range(self.rng.randint(1, 6)):
            if worker.position is not None:
                worker.poll(self.log)
                worker.run()

    def commit(self, worker: Worker) -> None:
        """Commit what a worker may; the broker takes half of a zombie's commits."""
        committable = worker.ledger.committable().get(LOGS)
        if committable is None or (worker is not self.owner and (worker.state != "zombie" or self.rng.random() < 0.5)):
            return
        self.committed = committable
        worker.ledger.mark_committed(LOGS, committable)
        self.counts["commits"] += 1

    def fault(self, worker: Worker) -> None:
        """Do one of the things that must not matter."""
        fault = self.rng.choice([*self.faults, "move"])
        if fault == "kill" and worker not in self.busy:
            self.kill(worker)
        elif fault == "freeze" and worker is self.owner:
            worker.state = "zombie"
            self._assign(self.rng.choice([one for one in self.workers if one is not worker]))
            self.counts["zombies"] += 1
        elif fault == "move":
            for zombie in [one for one in self.workers if one.state == "zombie" and self.rng.random() < 0.5]:
                if zombie is not self.owner:
                    zombie.lose()  # it hears that it has lost everything
                zombie.state = "up"
            if self.rng.random() < 0.5:
                self.owner.lose()
                self._assign(worker)
        elif fault == "cut" and self.next_offset > 2 and self.rng.random() < 0.4:
            self.cut()
        elif fault == "tool" and not self.busy:
            self.sink.interrupt()
            tool = Compactor(self.sink, clock=lambda: self.now_s, date_ms=self.owner.wall_ms, bounds=BOUNDS)
            try:
                done = tool.compact(LOGS_PLACE)
                self.counts["tool merges"] += done.merged
                self.now_s += GRACE_S
                self.counts["tool deletes"] += tool.delete_due()
            except SinkBusy:
                self.counts["tool busy"] += 1

    def kill(self, worker: Worker) -> None:
        """End a process; another one begins in its place, with settings of its own."""
        worker.lose()
        fresh = Worker(self, self.words)
        self.workers[self.workers.index(worker)] = fresh
        if worker is self.owner:
            self._assign(self.rng.choice([one for one in self.workers if one not in self.busy] or [fresh]))
        self.counts["kills"] += 1

    def cut(self) -> None:
        """Truncate the log; what is appended then has the same offsets and another content."""
        end = self.rng.randint(max(self.next_offset - 6, 0), self.next_offset)
        self.log = [entry for entry in self.log if entry.offset < end]
        self.next_offset = end
        self.was_cut += 1
        self.committed = min(self.committed, end)
        for worker in self.workers:
            if worker is not self.owner and worker.position is not None:
                worker.lose()  # its commits carry the old leader epoch, and are refused
                worker.state = "up"
        self.owner.lose()
        self._assign(self.owner)
        self.counts["cuts"] += 1

    def owed(self) -> frozenset[Entry]:
        """Return what is committed and is no dead letter."""
        return frozenset(entry for entry in self.log if entry.offset < self.committed and entry not in self.dead)

    def check(self) -> None:
        """Everything that is committed is read at Strong once and whole, and counted once."""
        was_calm, self.sink.is_calm = self.sink.is_calm, True
        lines = self.reader.lines_between(LOGS.topic, LOGS.partition, 0, 1 << 40, strong=True)
        assert lines.complete
        self._check_holds(lines.lines, self.owed())
        counts = self.reader.count(CountQuery(LineFilter()))
        assert counts.complete
        assert sum(row.lines for row in counts.rows) == len({(line.offset, line.sub) for line in lines.lines})
        self.sink.is_calm = was_calm
        self.history.append((self.now_s, self.owed(), self.was_cut))

    def read(self) -> None:
        """Read as a query does, at Bounded, while others go on: what was committed long enough ago is there."""
        old = [owed for at_s, owed, cuts in self.history if at_s <= self.now_s - STALE_S and cuts == self.was_cut]
        if self.sink.is_calm or not old:
            return
        cuts = self.was_cut
        try:
            found = self.reader.lines_between(LOGS.topic, LOGS.partition, 0, 1 << 40)
        except SinkBusy:
            return
        if found.complete and cuts == self.was_cut:
            self._check_holds(found.lines, old[-1] & self.owed())
            self.counts["reads"] += 1

    def end(self) -> None:
        """When all is calm for some minutes, everything is indexed and committed, and few blocks stand."""
        self.sink.is_calm = True
        self.sink.late.clear()
        for worker in self.workers:
            if worker.position is not None:
                worker.lose()
        owner = self.owner
        self._assign(owner)
        self.produce()
        self.now_s += 1.0
        while owner.position is not None and any(entry.offset >= owner.position for entry in self.log):
            owner.poll(self.log)
        owner.run()
        for _ in range(400):
            self.now_s += 1.0
            owner.store_step.upkeep.turn()
        assert owner.ledger.open_records == 0
        self.commit(owner)
        assert self.owed() == frozenset(entry for entry in self.log if entry not in self.dead)
        self.check()
        ids = list(self.sink.now())
        inside = [str(one) for one in ids if any(one.is_inside(other) for other in ids)]
        assert not inside, f"{inside} were left over"

    def _assign(self, worker: Worker) -> None:
        self.owner = worker
        worker.take_over(self.committed)

    def _interrupt(self) -> None:
        """Let others go on in the middle of somebody's call; the time of a call is part of it."""
        if self.sink.is_calm or self.depth >= 2:
            return
        self.now_s += self.rng.choice((0.0, 0.01, 0.3, 3.0))
        if self.rng.random() > 0.3:
            return
        self.depth += 1
        try:
            for _ in range(self.rng.randint(1, 4)):
                worker = self.rng.choice(self.workers)
                draw = self.rng.random()
                if draw < 0.7:
                    self.work(worker)
                elif draw < 0.85:
                    self.commit(worker)
                elif self.busy and self.busy[-1] is self.owner and "freeze" in self.faults:
                    self.fault(self.owner)
        finally:
            self.depth -= 1

    def _check_holds(self, lines: Sequence[Line], owed: Collection[Entry]) -> None:
        found: dict[int, list[Line]] = defaultdict(list)
        for line in lines:
            found[line.offset].append(line)
        for entry in owed:
            pieces = found.get(entry.offset, [])
            assert pieces, f"{entry} is committed and not there"
            assert [piece.chunk for piece in pieces] == list(range(pieces[0].chunks)), f"{entry} is torn: {pieces}"
            assert "".join(piece.text or "" for piece in pieces) == entry.text, f"{entry} is there with another content: {pieces}"
