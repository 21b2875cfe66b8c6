"""Random histories of workers that share one partition and one index: kills, zombies, lost answers, late writes, merges, readers.

Every step of a worker is the real one (`tests.worker.chain`), and so are resume, runs, merging, deleting and reading. The sink keeps
versions, applies some calls late or never, and lets other workers go on in the middle of a call. The log is cut and grows again, the
committed offset is reset, settings differ from worker to worker and clocks jump. Whatever happens, what is committed is readable once and
whole, and nothing else is.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Collection
from typing import Final

from sinks.block import Block, BlockPlace
from sinks.reading.between import RecordRange
from sinks.reading.reader import BlockReader
from sinks.sink import SinkBusy
from tests.properties.blocks_look import (
    check_counts,
    check_export,
    check_nothing_else,
    check_search,
    check_template_search,
    find_owed,
    shown_entries,
)
from tests.properties.blocks_worker import BOUNDS, Killed, Worker
from tests.properties.source_log import LogRecord, SourceLine, SourceLog, Token, tokens_in, tokens_of
from tests.properties.versioned_sink import GRACE_S, STALE_S, VersionedSink
from tests.worker.chain_values import LOGS, texts_of
from worker.embedding.tokenizer import Tokenizer
from worker.indexing.compaction import Compactor
from worker.runtime.surroundings import Surroundings

LOGS_PLACE = BlockPlace(LOGS.topic, "e1", LOGS.partition)
RECORDS: Final = ("arrays", "traces", "pieces", "empty", "undecodable")
"""Kinds of records besides those of one plain line."""
SETTINGS: Final = ("multiline", "small-caps", "formats")
"""What differs from worker to worker besides masks and chunk sizes. Where joining does not differ, all join traces if there are any."""
FAULTS: Final = ("kill", "freeze", "cut", "tool", "refuse", "reset", "clock")
CHECKS: Final = ("template-searches",)
"""What is compared besides lines, counts, searches for a text and exports."""
EVERYTHING: Final = (*RECORDS, *SETTINGS, *FAULTS, *CHECKS)
_SEARCH_EVERY, _EXPORT_EVERY = 3, 12
_MOST_TURNS = 2_000


class World:
    """One partition, its committed offset, two or three workers and what has happened to them."""

    def __init__(self, seed: int, words: Tokenizer, *, allowed: Collection[str] = EVERYTHING) -> None:
        self.rng = random.Random(seed)
        self.now_s = 100.0
        self.words = words
        self.allowed = allowed
        self.faults = [fault for fault in FAULTS if fault in allowed]
        self.sink = VersionedSink(self.rng, lambda: self.now_s)
        self.sink.interrupt = self._interrupt
        self.sink.note_written = self._note_written
        self.sink.rejects = lambda block: "refuse" in allowed and any("refused" in (text or "") for text in texts_of(block))
        self.log = SourceLog(self.rng, allowed)
        self.committed = 0
        self.settled: set[int] = set()
        """Offsets of the records below `committed` that whoever committed has read, and not only passed over."""
        self.age = 0
        """How often `committed` moved back or the log was cut."""
        self.dead: set[Token] = set()
        """Source lines that went into dead letters."""
        self.overdue: set[Token] = set()
        """Source lines of a log that was cut, written after the records that are there now were read: nothing knows of those any more if
        they hold no line, so the old one is shown."""
        self.reader = BlockReader(self.sink, clock=lambda: self.now_s)
        self.history: list[tuple[float, frozenset[SourceLine], int]] = []
        self.depth = 0
        self.busy: list[Worker] = []
        """Whose steps are under way, the innermost last."""
        self.counts: dict[str, int] = defaultdict(int)
        self.workers = [Worker(self, words) for _ in range(self.rng.choice((2, 3)))]
        self.owner = self.workers[0]
        self._assign(self.owner)

    def run(self, steps: int) -> None:
        """Take random steps; after each, everything must hold."""
        for _ in range(steps):
            self.now_s += self.rng.choice((0.01, 0.1, 0.6, 2.0, 2.0, 9.0, 25.0))
            self.step()
            self.counts["steps"] += 1
            self.check()
        self.end()

    def step(self) -> None:
        """Take one random step of a worker, of the log, or of fate."""
        draw = self.rng.random()
        worker = self.rng.choice([one for one in self.workers if one.position is not None])
        if draw < 0.12:
            self.log.grow()
        elif draw < 0.80:
            self.work(worker)
        elif draw < 0.88:
            self.commit(worker)
        elif draw < 0.92 and self.sink.late:
            self.sink.late.pop(self.rng.randrange(len(self.sink.late)))()
            self.counts["late writes"] += 1
        elif draw < 0.95:
            self.read()
        else:
            self.fault(self.rng.choice(self.workers))

    def work(self, worker: Worker) -> None:
        """Let a worker take one of its steps, and die in it if it must."""
        if worker in self.busy or worker.position is None:
            return
        steps: list[Callable[[], object]] = [
            lambda: worker.poll(self.log.records),
            lambda: worker.poll(self.log.records),
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
                worker.poll(self.log.records)
                worker.run()

    def commit(self, worker: Worker) -> None:
        """Commit what a worker may; the broker refuses the commits of zombies."""
        committable = worker.ledger.committable().get(LOGS)
        if committable is not None and worker is self.owner:
            self._move_committed(committable)
            self.settled |= {one.offset for one in self.log.records if worker.began <= one.offset < committable}
            worker.ledger.mark_committed(LOGS, committable)
            self.counts["commits"] += 1

    def fault(self, worker: Worker) -> None:
        """Do one of the things that must not matter."""
        fault = self.rng.choice([*self.faults, "move"])
        if fault == "kill" and worker not in self.busy:
            self.kill(worker)
        elif fault == "freeze" and worker is self.owner:
            self.freeze(worker)
        elif fault == "move":
            self.move(worker)
        elif fault in ("cut", "reset") and self.rng.random() < 0.4:
            self.cut() if fault == "cut" else self.reset(worker)
        elif fault == "clock":
            worker.set_clock()
        elif fault == "tool" and not self.busy:
            self.compact()

    def move(self, worker: Worker) -> None:
        """Let some zombies hear that they have lost everything, and now and then give the partition to a worker."""
        for zombie in [one for one in self.workers if one.state == "zombie" and self.rng.random() < 0.5]:
            if zombie is not self.owner:
                zombie.lose()
            zombie.state = "up"
        if self.rng.random() < 0.5:
            self.owner.lose()
            self._assign(worker)

    def compact(self) -> None:
        """Merge and delete as the command line does."""
        self.sink.interrupt()
        tool = Compactor(self.sink, Surroundings(clock=lambda: self.now_s), BOUNDS)
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

    def freeze(self, owner: Worker) -> None:
        """Give the partition to another worker while its owner goes on; its last commit may have gone through just before."""
        if self.rng.random() < 0.5:
            self.commit(owner)
        owner.state = "zombie"
        self._assign(self.rng.choice([one for one in self.workers if one is not owner]))
        self.counts["zombies"] += 1

    def cut(self) -> None:
        """Truncate the log; what is appended then has the same offsets and another content."""
        end = self.rng.randint(max(self.log.next_offset - 6, 0), self.log.next_offset)
        self.log.cut(end)
        self._move_committed(min(self.committed, end))
        self.age += 1
        self._stop_all()  # commits of the others carry the old leader epoch, and are refused
        self._assign(self.owner)
        self.counts["cuts"] += 1

    def reset(self, worker: Worker) -> None:
        """Move the committed offset while the group has no members. What zombies have sent may still arrive; their commits are refused."""
        self._stop_all()
        self._move_committed(self.rng.randint(0, self.log.next_offset))
        self._assign(worker)
        self.counts["resets"] += 1

    def begin_again(self, worker: Worker, offset: int) -> None:
        """Let a worker read again from an earlier offset, which is committed before a record leaves; a zombie's commit is refused."""
        if worker is not self.owner:
            worker.lose()
            return
        assert offset <= self.committed, f"lost: {worker.began} was asked to begin again at {offset}, and {self.committed} is committed"
        self._move_committed(offset)
        worker.begin_again(offset)
        self.counts["begun again"] += 1

    def give_up(self, value: bytes, subs: Collection[int], *, is_array: bool) -> None:
        """Note that a record, or those of its entries that are named, became a dead letter."""
        self.dead |= tokens_of(value, subs, is_array=is_array)

    def owed(self) -> frozenset[SourceLine]:
        """Return the source lines of what is committed, without dead letters."""
        return frozenset(
            line for record in self.log.records if record.offset in self.settled for line in record.lines if line.token not in self.dead
        )

    def check(self) -> None:
        """Look at the whole index at Strong: what is owed is there once and whole and nothing else is, and all answers agree."""
        was_calm, self.sink.is_calm = self.sink.is_calm, True
        owed = self.owed()
        found = self.reader.lines_between(RecordRange(LOGS.topic, LOGS.partition, 0, 1 << 40), strong=True)
        assert found.complete
        shown = shown_entries(found.lines)
        tokens = find_owed(shown, owed)
        settled = {offset: record for offset, record in self.log.at().items() if offset in self.settled}
        check_nothing_else(shown, settled, {token for token in self.overdue if self._is_bare(settled.get(token.offset))})
        check_counts(self.reader, found.lines, self.rng)
        looks = self.counts["looks"] = self.counts["looks"] + 1
        if looks % _SEARCH_EVERY == 0:
            newest = [line.token for record in self.log.records[-3:] for line in record.lines]
            check_search(self.reader, found.lines, [*tokens, *newest], self.rng)
            if "template-searches" in self.allowed:
                check_template_search(self.reader, found.lines, self.rng)
        if looks % _EXPORT_EVERY == 0:
            check_export(self.reader, found.lines, self.rng)
        self.sink.is_calm = was_calm
        self.history.append((self.now_s, owed, self.age))

    def read(self) -> None:
        """Read as a query does, at Bounded, while others go on: what was committed long enough ago is there."""
        old = [owed for at_s, owed, age in self.history if at_s <= self.now_s - STALE_S and age == self.age]
        if self.sink.is_calm or not old:
            return
        age = self.age
        try:
            found = self.reader.lines_between(RecordRange(LOGS.topic, LOGS.partition, 0, 1 << 40))
        except SinkBusy:
            return
        if found.complete and age == self.age:
            owed = old[-1] & self.owed()
            wanted = {line.token for line in owed}
            find_owed([one for one in shown_entries(found.lines) if one.holds_any(wanted)], owed)
            self.counts["reads"] += 1

    def end(self) -> None:
        """When all is calm for some minutes, everything is indexed and committed, and few blocks stand."""
        self.sink.is_calm = True
        self.sink.late.clear()
        self._stop_all()
        owner = self.owner
        self._assign(owner)
        self.log.grow(kind="plain")
        self.now_s += 1.0
        for _ in range(_MOST_TURNS):
            if owner.position is None or owner.position >= self.log.next_offset:
                break
            owner.poll(self.log.records)
            owner.run()
        assert owner.position == self.log.next_offset, f"the owner does not get past {owner.position}"
        for _ in range(400):
            self.now_s += 1.0
            owner.store_step.upkeep.turn()
        self.commit(owner)
        assert all(one.offset < self.committed for one in self.log.records[:-1]), "more than the last record is open"
        self.check()
        ids = list(self.sink.now())
        inside = [str(one) for one in ids if any(one.is_inside(other) for other in ids)]
        assert not inside, f"{inside} were left over"

    def _is_bare(self, record: LogRecord | None) -> bool:
        """Whether a record holds no line that is shown."""
        return record is not None and all(line.token in self.dead for line in record.lines)

    def _note_written(self, block: Block) -> None:
        log, read = self.log.at(), max(self.committed, self.owner.position or 0)
        for token in (token for text in texts_of(block) for token in tokens_in(text)):
            if token.offset < read and token.offset in log and log[token.offset].cuts != token.cuts:
                self.overdue.add(token)

    def _assign(self, worker: Worker) -> None:
        self.owner = worker
        worker.state = "up"
        worker.take_over(self.committed)
        self.overdue = {token for token in self.overdue if token.offset < self.committed}

    def _stop_all(self) -> None:
        for worker in self.workers:
            if worker.position is not None:
                worker.lose()
            worker.state = "up"

    def _move_committed(self, offset: int) -> None:
        self.age += offset < self.committed
        self.committed = offset
        self.settled = {one for one in self.settled if one < offset}

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
                elif self.busy and self.busy[-1] is self.owner and "freeze" in self.allowed:
                    self.fault(self.owner)
        finally:
            self.depth -= 1
