"""The embed step and the batch cap: the cap learns the time of each batch, and limits those that reach the engine."""

from collections.abc import Sequence

from tests.varied_words import varied
from tests.worker.chain import Chain
from worker.embedding.batcher import Batcher
from worker.embedding.compute import Compute
from worker.embedding.embed import Embed

WORDS = ("disk", "network", "water", "memory", "battery", "garden", "camera")
"""Words of one token each."""


class Timed:
    """A chain whose engine takes `took_s` for each batch in turn, then no time.

    Thread: the test's.
    """

    def __init__(self, chain: Chain, took_s: Sequence[float]) -> None:
        self.chain = chain
        self._steps_s = [step_s for one_s in took_s for step_s in (0.0, one_s)]
        """Seconds that pass before each reading of the clock: one when a batch begins, one when it ends."""
        self.compute = Compute(handoff=chain.handoff, engine=chain.guarded_engine, clock=self._clock)
        batcher = Batcher(budget_tokens=512, log_floor_tokens=64, target_s=0.5)  # type: ignore[var-annotated]
        self.embed: Embed = chain.embed_step
        self.embed.batcher = batcher

    def batches(self, count: int) -> list[int]:
        """Let the engine compute `count` batches; returns the tokens of each."""
        calls = len(self.chain.engine.calls)
        for _ in range(count):
            self._embed()
            assert self.compute.turn(wait=False)
        self._embed()
        return [sum(call) for call in self.chain.engine.calls[calls:]]

    def _embed(self) -> None:
        """Let the embed stage do what it can without waiting."""
        chain = self.chain
        while len(chain.embed_lane) or chain.handoff.has_results or (len(self.embed.batcher) and chain.handoff.has_room):
            self.embed.turn()

    def _clock(self) -> float:
        self.chain.now_s += self._steps_s.pop(0) if self._steps_s else 0.0
        return self.chain.now_s


def lines(count: int) -> list[str]:
    """Return different lines of 52 tokens."""
    return [" ".join([varied(WORDS[n % 7], 20), varied(WORDS[n // 7 % 7], 20), varied(WORDS[n // 49 % 7], 10)]) for n in range(count)]


def test_a_query_is_followed_by_batches_that_take_the_target_as_the_ones_before_it_taught(chain: Chain) -> None:
    timed = Timed(chain, [1.0, 1.0])
    chain.feed(*lines(80))
    assert timed.batches(3) == [468] * 3, "no queries"
    assert timed.embed.batcher.capped_tokens == 256
    chain.ask({"text": "what is slow"})
    asked = chain.tokens("what is slow")
    assert timed.batches(3) == [asked + 52, 208, 208], "what stood ready was taken back"


def test_a_query_that_came_too_late_teaches_nothing(chain: Chain) -> None:
    """Its tokens were never in the engine: without them the batches are too small to count as slow."""
    timed = Timed(chain, [1.0, 1.0])
    for line, deadline_ms in zip(lines(2), (2000, 4500), strict=True):
        chain.ask({"text": " ".join(WORDS * 34), "deadline_ms": deadline_ms})
        chain.feed(line)
        chain.now_s += 1.5
        assert timed.batches(1) == [52]
    assert timed.embed.batcher.capped_tokens == 512
