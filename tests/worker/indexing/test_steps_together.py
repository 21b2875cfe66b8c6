"""All log steps in any order, with a busy sink, bad records, late dead letters and rebalances: the promise against an oracle.

The oracle is the topic itself: whatever is committed is stored with its template, or is an acknowledged dead letter, or held nothing.
"""

import json

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from consumers.assignment import Receipt
from sinks.arrow import as_texts
from sinks.codec import decode_texts
from sinks.line import Line
from tests.consumers.records import admit_batch
from tests.worker.chain import Chain
from tests.worker.chain_values import LOGS, record
from worker.embedding.tokenizer import Tokenizer

LONG = " ".join(f"word{'x' * (n % 5)}" for n in range(300))
VALUES = (
    "disk 1 full",
    "disk 2 full",
    "network 3 down",
    "login 4 failed",
    "poison 5",
    "refused 6",
    "",
    json.dumps([{"message": "disk 7 full"}, {"message": "refused 6"}, {"message": "poison 8"}]),
    json.dumps([{"message": "disk 9 full"}, {"message": "camera 1 lost"}]),
    LONG,
    "\udcff",
)
BAD = ("poison 5", "refused 6", "poison 8")


def texts_of(value: str) -> list[str]:
    """Return the entries of one record."""
    return [entry["message"] for entry in json.loads(value)] if value.startswith("[") else [value] * bool(value)


class Steps(RuleBasedStateMachine):
    """A topic of one partition, its group's committed offset, and the worker's steps between them."""

    def __init__(self, words: Tokenizer) -> None:
        super().__init__()
        self.chain = Chain(words, strict=True)
        self.chain.engine.nan_on = {self.chain.id_of("poison")}
        self.chain.sink.rejects = lambda block: "refused 6" in as_texts(decode_texts(block.texts))
        self.chain.letters.held = True
        self.topic: list[str] = []
        self.committed = 0
        self.next_offset = 0
        self.lane: list[Receipt] = []
        self.acknowledged: set[int] = set()
        self.delivered = 0

    @rule(values=st.lists(st.sampled_from(VALUES), min_size=1, max_size=6))
    def produce(self, values: list[str]) -> None:
        self.topic += values

    @precondition(lambda self: self.next_offset < len(self.topic))
    @rule(most=st.integers(1, 6))
    def poll(self, most: int) -> None:
        values = self.topic[self.next_offset : self.next_offset + most]
        polled = [record(offset, value.encode("utf-8", "surrogateescape")) for offset, value in enumerate(values, start=self.next_offset)]
        receipt = admit_batch(self.chain.ledger, *polled)
        self.lane.append(receipt)
        self.next_offset += len(polled)

    @precondition(lambda self: bool(self.lane))
    @rule(most=st.integers(1, 6))
    def prepare(self, most: int) -> None:
        taken, self.lane = self.lane[:most], self.lane[most:]
        self.chain.prepare.step(taken)

    @rule()
    def embed(self) -> None:
        """The embed stage, when it has something to do, else the engine stage."""
        self.chain.embed_turn()

    @rule()
    def compute(self) -> None:
        self.chain.embedder.compute_batch(wait=False)

    @precondition(lambda self: len(self.chain.store_lane) > 0)
    @rule(most=st.integers(1, 6))
    def store(self, most: int) -> None:
        self.chain.store(most)

    @precondition(lambda self: len(self.chain.store_lane) > 0)
    @rule(most=st.integers(1, 6))
    def take_to_store(self, most: int) -> None:
        """Let lines wait for their block to fill."""
        self.chain.take_to_store(most)

    @rule(most=st.integers(1, 4))
    def deliver_dead_letters(self, most: int) -> None:
        for claim, _, _ in self.chain.letters.posted[self.delivered : self.delivered + most]:
            self.delivered += 1
            self.acknowledged.add(claim.record.offset)
            claim.dead_letter_delivered()

    @rule(calls=st.integers(1, 3), lost=st.booleans())
    def make_the_sink_busy(self, calls: int, *, lost: bool) -> None:
        if lost:
            self.chain.sink.lost_acknowledgements = calls
        else:
            self.chain.sink.busy_calls = calls

    @rule()
    def commit(self) -> None:
        next_offset = self.chain.committable()
        if next_offset is not None:
            self.committed = next_offset
            self.chain.ledger.mark_committed(LOGS, next_offset)

    @rule()
    def rebalance(self) -> None:
        """The partition goes and comes back; what was not committed is read again, while old receipts are still on their way."""
        self.chain.ledger.revoke([LOGS])
        self.chain.ledger.assign([LOGS])
        self.next_offset = self.committed

    @invariant()
    def nothing_is_committed_that_is_not_stored_or_a_dead_letter(self) -> None:
        done = max(self.committed, self.chain.committable() or 0)
        lines = self.read_lines() if done else []
        for offset in range(done):
            self.check(offset, [line for line in lines if line.offset == offset])

    def read_lines(self) -> list[Line]:
        """Return what readers get once the sink is no longer busy."""
        sink = self.chain.sink
        busy_calls, sink.busy_calls = sink.busy_calls, 0
        lines = self.chain.lines()
        sink.busy_calls = busy_calls
        return lines

    def check(self, offset: int, lines: list[Line]) -> None:
        """Check that one record is done; `lines` are what readers get of it."""
        value = self.topic[offset]
        if value == "\udcff":
            assert offset in self.acknowledged
            return
        texts = texts_of(value)
        for sub, text in enumerate(texts):
            whole = "".join(line.text or "" for line in lines if line.sub == sub)
            assert whole == ("" if text in BAD else text)
        if any(text in BAD for text in texts):
            assert offset in self.acknowledged
        assert {line.template for line in lines} <= self.chain.sink.templates.keys()

    def teardown(self) -> None:
        """Finish everything; then all is committed, and nothing is open."""
        if self.next_offset < len(self.topic):
            self.poll(len(self.topic))
        self.prepare(len(self.lane))
        self.chain.run()
        self.deliver_dead_letters(len(self.chain.letters.posted))
        self.commit()
        assert self.committed == len(self.topic)
        self.nothing_is_committed_that_is_not_stored_or_a_dead_letter()
        ledger = self.chain.ledger
        assert ledger.open_records == ledger.open_bytes == ledger.decoded_bytes == 0


def test_whatever_is_committed_is_stored_or_a_dead_letter_in_any_order_of_steps(words: Tokenizer) -> None:
    run_state_machine_as_test(
        lambda: Steps(words),  # type: ignore[arg-type]
        settings=settings(max_examples=120, stateful_step_count=40, deadline=None),
    )
