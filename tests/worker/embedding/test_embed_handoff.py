"""The embed step while the engine works: the ready batch behind the one in the engine, and how it changes until it begins.

The engine has its own thread and stops in every call until the test lets it continue; the test runs the embed step by hand.
"""

import threading
from collections.abc import Iterator

import numpy as np
import pytest

from tests.fakes.engine import FakeEngine
from tests.varied_words import varied
from tests.worker.chain import Chain
from tests.worker.conftest import NewChain
from tests.worker.running import wait_until
from worker.messages import EmbeddedTemplate, EncodedQuery, EncodedTemplate, ReadyQuery
from worker.runtime.stage import Stage

WAIT_S = 60.0
WORDS = ("disk", "network", "water", "memory", "battery", "garden", "camera")
"""Words of one token each."""


def long_lines(count: int) -> list[str]:
    """Return different lines of 102 tokens: five of them fill a batch."""
    return [" ".join([varied(WORDS[n % 7], 50), varied(WORDS[n // 7 % 7], 50)]) for n in range(count)]


def ignore(_stage: str, _error: Exception) -> None:
    """The test checks the results instead."""


class Held:
    """A chain whose engine stage runs, and holds every batch until `let_go`.

    Thread: the test's.
    """

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self.failed: list[Exception] = []
        self.gate = chain.engine.gate = threading.Event()
        chain.engine.entered.clear()
        self.stages = [Stage("engine", chain.compute_step.body, self._on_crash)]
        self.stages[0].start()

    def start_embed(self) -> None:
        """Run the embed step on its own thread."""
        self.stages.append(Stage("embed", self.chain.embed_step.body, self._on_crash))
        self.stages[1].start()

    def entered(self) -> list[int]:
        """Wait until the engine has a batch; returns the tokens of its texts."""
        assert self.chain.engine.entered.wait(WAIT_S)
        return self.chain.engine.calls[-1]

    def let_go(self) -> None:
        """Let the engine finish its batch and stop in the next."""
        self.entered()
        self.chain.engine.entered.clear()
        gate, self.gate = self.gate, threading.Event()
        self.chain.engine.gate = self.gate
        gate.set()

    def open(self) -> None:
        """Stop holding batches."""
        self.chain.engine.gate = None
        self.gate.set()

    def end(self) -> None:
        """Embed everything that waits."""
        self.open()
        self.chain.embed_lane.close()
        if len(self.stages) == 1:
            self.chain.embed_step.body()
        self.join()

    def join(self) -> None:
        for stage in self.stages:
            stage.join(WAIT_S)
            assert not stage.is_alive()
        assert self.failed == []

    def abandon(self) -> None:
        self.chain.embed_lane.abandon()
        self.chain.handoff.abandon()
        self.open()

    def _on_crash(self, _stage: str, error: Exception) -> None:
        self.failed.append(error)


@pytest.fixture
def held(chain: Chain) -> Iterator[Held]:
    held = Held(chain)
    yield held
    held.abandon()
    for stage in held.stages:
        stage.join(WAIT_S)


@pytest.mark.parametrize("closed", [False, True])
def test_the_engine_never_waits_while_texts_wait(held: Held, *, closed: bool) -> None:
    """Both stages run: while a batch is in the engine, the next one becomes ready, until no text is left."""
    held.chain.feed(*long_lines(23))
    if closed:
        held.chain.embed_lane.close()
    held.start_embed()
    sizes = []
    for _ in range(4):
        sizes.append(len(held.entered()))
        wait_until(lambda: not held.chain.handoff.has_room, "the next batch to stand ready")
        held.let_go()
    sizes.append(len(held.entered()))
    assert sizes == [5, 5, 5, 5, 3]
    held.end()
    assert len(held.chain.store_lane) == 23


def test_a_query_is_in_the_very_next_call_though_a_bulk_batch_stood_ready(held: Held) -> None:
    chain = held.chain
    chain.feed(*long_lines(12))
    chain.embed_step.turn()
    held.entered()
    chain.embed_step.turn()
    assert not chain.handoff.has_room
    chain.ask({"text": "what is slow"})
    chain.embed_step.turn()
    assert not chain.handoff.has_room
    held.let_go()
    assert held.entered()[0] == chain.tokens("what is slow")
    held.end()
    assert sum(len(call) for call in chain.engine.calls) == 13, "nothing is computed twice"
    assert len(chain.store_lane) == 12


@pytest.mark.parametrize("asked", [False, True], ids=["lines", "queries"])
def test_texts_that_arrive_while_the_engine_works_go_together_and_not_one_by_one(held: Held, *, asked: bool) -> None:
    chain = held.chain
    chain.feed("first")
    chain.embed_step.turn()
    held.entered()
    later = [f"{word} failed" for word in WORDS]
    for text in later:
        if asked:
            chain.ask({"text": text})
        else:
            chain.feed(text)
        chain.embed_step.turn()
        assert not chain.handoff.has_room
    held.end()
    assert chain.engine.calls == [[chain.tokens("first")], [chain.tokens(text) for text in later]]


def test_the_embed_stage_sleeps_until_it_is_woken(held: Held) -> None:
    """With an empty lane it wakes when the engine has begun or computed a batch, and sends the vectors on."""
    held.start_embed()
    held.chain.feed("disk full")
    held.entered()
    held.let_go()
    wait_until(lambda: len(held.chain.store_lane) == 1, "the vector")
    held.chain.feed("network down")
    held.let_go()
    wait_until(lambda: len(held.chain.store_lane) == 2, "the second vector")


@pytest.mark.parametrize("closed", [False, True])
def test_what_stands_ready_is_forgotten_when_the_service_stops_hard(held: Held, *, closed: bool) -> None:
    """Also in the middle of a drain."""
    chain = held.chain
    chain.feed(*long_lines(12))
    if closed:
        chain.embed_lane.close()
    held.start_embed()
    held.entered()
    wait_until(lambda: not chain.handoff.has_room, "a batch to stand ready")
    held.abandon()
    held.join()
    assert len(chain.engine.calls) == 1
    assert len(chain.store_lane) == 0
    assert chain.committable() is None


def test_lack_of_memory_makes_later_batches_smaller_and_is_nobodys_fault(chain: Chain) -> None:
    chain.engine.memory_tokens = 310
    lines = long_lines(23)
    chain.feed(*lines)
    chain.run()
    assert [text for _, text in chain.stored()] == lines
    assert chain.letters.posted == []
    assert chain.committable() == 23
    sizes = [sum(call) for call in chain.engine.calls]
    assert sizes[:3] == [510, 204, 306], "the first batch, then its halves"
    assert max(sizes[3:]) <= 256
    assert len([line for line in chain.said if "memory" in line]) == 1


def test_two_threads_bring_thousands_of_texts_through_once_each(new_chain: NewChain) -> None:
    """Lines and queries arrive in lists of all sizes while both stages run; some texts are bad, and engines die."""
    chain = new_chain(most_rejected=1_000_000)
    chain.ask({"text": "what is slow"})
    (example,) = chain.embed_lane.take(1, wait=False) or []
    assert isinstance(example, EncodedQuery)
    random = np.random.default_rng(11)
    poison = 29_000
    texts = {f"{n}": np.array([101, *random.integers(1000, 28_000, random.integers(1, 40)), 102], dtype=np.int32) for n in range(4_000)}
    bad = {f"{n}" for n in range(5, 4_000, 97)}
    asked = {f"{n}" for n in range(0, 4_000, 13)} - bad
    for name in bad:
        texts[name][1] = poison
    chain.new_engines = [FakeEngine() for _ in range(3)]
    for engine, deadly in zip([chain.engine, *chain.new_engines], (500, 1500, 2500, 3500), strict=True):
        engine.raises_on = {poison}
        if engine is not chain.new_engines[-1]:
            texts[f"{deadly}"][1] = deadly
            engine.dies_on = {deadly}
    held = [Stage("embed", chain.embed_step.body, ignore), Stage("engine", chain.compute_step.body, ignore)]
    for stage in held:
        stage.start()
    names = list(texts)
    while names:
        some = names[: random.integers(1, 30)]
        del names[: len(some)]
        chain.embed_lane.put([example._replace(digest=name, ids=texts[name]) for name in some if name in asked], urgent=True)
        chain.embed_lane.put([EncodedTemplate(name, f"key of {name}", name, texts[name], "logs") for name in some if name not in asked])
    chain.embed_lane.close()
    for stage in held:
        stage.join(WAIT_S)
        assert not stage.is_alive()
    lines = [one for one in chain.store_lane.take(10_000, wait=False) or [] if isinstance(one, EmbeddedTemplate)]
    answers = [one for one in chain.answer_lane.take(10_000, wait=False) or [] if isinstance(one, ReadyQuery)]
    assert [one.template for one in lines] == [name for name in texts if name not in asked | bad]
    assert len(answers) == len(asked)
    right = FakeEngine()
    for line in lines:
        assert np.array_equal(line.vector, right.embed([texts[line.template]])[0])
    for answer, name in zip(answers, (name for name in texts if name in asked), strict=True):
        assert answer.vector is not None
        assert np.array_equal(answer.vector, right.embed([texts[name]])[0])
    assert chain.embed_step.tally.templates == len(lines)
    assert chain.new_engines == []
    assert chain.handoff.is_idle
