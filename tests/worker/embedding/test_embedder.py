"""The embedder with a fake engine: vectors, failing texts, limits and queries; `properties/test_embedder.py` has the rules."""

import threading
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count

import numpy as np
import pytest

from sinks.row import Vector
from tests.fakes.engine import FakeEngine
from tests.varied_words import varied
from tests.worker.chain import Chain
from tests.worker.conftest import NewChain
from tests.worker.running import wait_until
from worker.embedding.batcher import Batcher, Urgency
from worker.embedding.embedder import Embedder, Waiting
from worker.embedding.encoded_text import Embedded, EncodedText
from worker.embedding.guarded_engine import EngineFailed
from worker.indexing.line_batch import EmbeddedTemplate
from worker.querying.ready_query import FailedQuery, ReadyQuery
from worker.runtime.limits import LimitReached
from worker.runtime.stage import Stage

WAIT_S = 60.0
MOMENT_S = 0.2
"""Long enough for a thread that does not wait to end."""
WORDS = ("disk", "network", "water", "memory", "battery", "garden", "camera")
"""Words of one token each."""


def long_lines(count: int) -> list[str]:
    """Return different lines of 102 tokens: five of them fill a batch."""
    return [" ".join([varied(WORDS[n % 7], 50), varied(WORDS[n // 7 % 7], 50)]) for n in range(count)]


def test_every_template_leaves_with_its_own_vector(chain: Chain) -> None:
    lines = [f"{word} failed" for word in ("disk", "network", "login", "memory", "battery")]
    chain.feed(*lines)
    chain.embed()
    embedded = chain.store_lane.take(100)
    assert embedded is not None
    for one in embedded:
        assert isinstance(one, EmbeddedTemplate)
        ids = chain.words.encode([one.text]).text(0)
        assert np.array_equal(one.vector, chain.engine.embed([ids])[0])
        assert (one.tokens, one.source) == (len(ids), "engine")
        assert one.template == chain.template(one.text)
    assert {one.text for one in embedded if isinstance(one, EmbeddedTemplate)} == set(lines)


def test_batches_are_counted_by_size_tokens_and_how_long_their_first_text_had_waited(chain: Chain) -> None:
    chain.now_s = 10.0
    chain.feed("disk full", "network down")
    chain.now_s = 13.0
    chain.embed()
    tally = chain.embedder.tally
    assert tally.sizes.seen().total == tally.templates == 2
    assert tally.batch_tokens.seen().total == tally.tokens
    assert tally.waits.seen().buckets[-1][1] == tally.batches == tally.batch_seconds.seen().buckets[-1][1]
    assert tally.waits.seen().total == 3.0


@pytest.mark.parametrize("fault", ["nan_on", "raises_on"])
def test_a_text_that_fails_alone_becomes_dead_letters_and_its_batch_is_stored(chain: Chain, fault: str) -> None:
    setattr(chain.engine, fault, {chain.id_of("poison")})
    chain.feed("disk full", "poison in the well", "network down", "poison in the well")
    chain.run()
    assert chain.stored() == [(0, "disk full"), (2, "network down")]
    assert chain.letters.offsets() == [1, 3]
    assert chain.committable() == 4
    assert chain.key("poison in the well") not in chain.cache.get_many([chain.key("poison in the well")])


def test_a_wrong_number_of_vectors_stores_nothing(chain: Chain) -> None:
    chain.engine.vectors_missing = 1
    chain.feed("disk full", "network down")
    with pytest.raises(EngineFailed):
        chain.embed()
    assert (len(chain.store_lane), chain.letters.posted, chain.committable()) == (0, [], None)


def test_too_many_rejected_texts_in_a_row_stop_the_service(new_chain: NewChain) -> None:
    chain = new_chain(most_rejected=2)
    chain.engine.nan_on = {chain.id_of("poison")}
    chain.feed("poison one", "poison two", "sound", "poison three", "poison four")
    chain.embed()
    chain.feed("poison five")
    with pytest.raises(LimitReached, match="3 texts that the engine rejects in a row"):
        chain.embed()
    assert chain.letters.offsets() == [0, 1, 3, 4, 5]


def test_known_cached_and_repeated_lines_do_not_reset_the_limit(new_chain: NewChain) -> None:
    chain = new_chain(most_rejected=2)
    chain.engine.nan_on = {chain.id_of("poison")}
    chain.feed("sound")
    chain.run()
    chain.feed("poison one", "sound", "poison one", "poison two", "poison two")
    chain.run()
    chain.feed("sound", "poison three")
    with pytest.raises(LimitReached):
        chain.embed()


def test_queries_and_lines_of_one_batch_get_their_own_vectors(chain: Chain) -> None:
    chain.feed("disk full", "network down")
    chain.ask({"text": "what is slow"})
    chain.embed()
    assert len(chain.engine.calls) == 1
    answerable = (chain.answer_lane.take(10) or [])[0]
    assert isinstance(answerable, ReadyQuery)
    assert answerable.vector is not None
    vectors = {"what is slow": answerable.vector}
    vectors |= {one.text: one.vector for one in chain.store_lane.take(10) or [] if isinstance(one, EmbeddedTemplate)}
    assert len(vectors) == 3
    for text, vector in vectors.items():
        assert np.array_equal(vector, chain.engine.embed([chain.words.encode([text]).text(0)])[0])
        assert np.array_equal(vector, chain.cache.get_many([chain.key(text)])[chain.key(text)])


def test_a_query_past_its_deadline_is_answered_but_not_computed(chain: Chain) -> None:
    chain.ask({"text": "what is slow", "deadline_ms": 2000})
    chain.ask({"text": "what is hot"})
    chain.now_s += 1.5
    chain.embed()
    assert chain.engine.calls == [[chain.tokens("what is hot")]]
    chain.ask({"text": "what is dead", "deadline_ms": 3000})
    chain.now_s += 1.5
    chain.embed()
    assert len(chain.engine.calls) == 1
    answerable = chain.answer_lane.take(10)
    assert answerable is not None
    assert [type(one) for one in answerable] == [FailedQuery, ReadyQuery, FailedQuery]


def test_a_query_that_the_engine_cannot_embed_is_a_bad_query(chain: Chain) -> None:
    chain.engine.nan_on = {chain.id_of("poison")}
    receipt = chain.ask({"text": "poison"})
    chain.embed()
    assert chain.answer()[0]["error"]["field"] == "text"
    assert receipt.is_alive
    assert chain.query_ledger.open_records == 0
    assert chain.letters.posted == []


def test_the_time_of_each_batch_teaches_how_large_the_next_may_be_while_queries_arrive(chain: Chain) -> None:
    clock = count()
    batcher: Batcher[Waiting] = Batcher(budget_tokens=512, bulk_floor_tokens=64, target_s=0.5)
    embedder = Embedder(
        batcher=batcher, engine=chain.guarded_engine, cache=chain.cache, memory=chain.cache, clock=lambda: float(next(clock))
    )
    embedder.submit([EncodedText(np.full(256, 7, np.int32), None)] * 4, lambda _embedded: None)
    for _ in range(2):
        assert embedder.compute_batch(wait=False)
    assert batcher.capped_tokens == 256


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


class Running:
    """A chain whose embed and engine stages run; while `gate` is shut, the engine stops in every call."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self.gate = chain.engine.gate = threading.Event()
        chain.engine.entered.clear()
        self.failed: list[Exception] = []
        bodies = {"embed": chain.embedder.deliver, "engine": chain.embedder.compute}
        self.stages = [Stage(name, body, lambda _stage, error: self.failed.append(error)) for name, body in bodies.items()]
        for stage in self.stages:
            stage.start()

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

    def join(self) -> None:
        """Stop holding batches, and wait for the end of both stages."""
        self.open()
        for stage in self.stages:
            stage.join(WAIT_S)
            assert not stage.is_alive()
        assert self.failed == []


@pytest.fixture
def running(chain: Chain) -> Iterator[Running]:
    running = Running(chain)
    yield running
    chain.embedder.abandon()
    running.join()


def test_a_query_is_in_the_very_next_call_though_lines_came_before_it(running: Running) -> None:
    chain = running.chain
    chain.feed(*long_lines(12))
    running.entered()
    chain.ask({"text": "what is slow"})
    running.let_go()
    assert running.entered()[0] == chain.tokens("what is slow")
    chain.embedder.close()
    running.join()
    assert sum(len(call) for call in chain.engine.calls) == 13, "nothing is computed twice"
    assert len(chain.store_lane) == 12


@pytest.mark.parametrize("asked", [False, True], ids=["lines", "queries"])
def test_texts_that_arrive_while_the_engine_works_go_together_and_not_one_by_one(running: Running, *, asked: bool) -> None:
    chain = running.chain
    chain.feed("first")
    running.entered()
    later = [f"{word} failed" for word in WORDS]
    for text in later:
        if asked:
            chain.ask({"text": text})
        else:
            chain.feed(text)
    chain.embedder.close()
    running.join()
    assert chain.engine.calls == [[chain.tokens("first")], [chain.tokens(text) for text in later]]


def test_a_vector_is_delivered_while_the_engine_computes_the_next_batch(running: Running) -> None:
    """Also after a time in which both threads had nothing to do; and a `done` that waits does not hold up the engine."""
    chain = running.chain
    may_go_on = threading.Event()
    delivered: list[int] = []

    def done(embedded: Sequence[Embedded]) -> None:
        assert may_go_on.wait(WAIT_S)
        delivered.append(len(embedded))

    text = EncodedText(chain.words.encode(["disk full"]).text(0), None)
    for _ in range(2):
        chain.embedder.submit([text], done)
        running.let_go()
    chain.embedder.submit([text], done)
    running.entered()
    assert delivered == []
    may_go_on.set()
    wait_until(lambda: delivered == [1, 1], "both vectors, while the third text is in the engine")


def test_what_the_engine_holds_when_it_is_closed_is_delivered(running: Running) -> None:
    running.chain.feed("disk full")
    running.entered()
    running.chain.embedder.close()
    running.stages[0].join(MOMENT_S)
    assert running.stages[0].is_alive()
    running.join()
    assert len(running.chain.store_lane) == 1


@pytest.mark.parametrize("closed", [False, True])
def test_what_waits_is_forgotten_when_the_service_stops_hard(running: Running, *, closed: bool) -> None:
    """Also in the middle of a drain."""
    chain = running.chain
    chain.feed(*long_lines(12))
    if closed:
        chain.embedder.close()
    running.entered()
    chain.embedder.abandon()
    running.join()
    assert (len(chain.engine.calls), len(chain.store_lane), chain.committable()) == (1, 0, None)


def test_two_threads_bring_thousands_of_texts_through_once_each(new_chain: NewChain) -> None:
    """Lists of all sizes are submitted while both threads run; some texts are bad, and engines die."""
    chain = new_chain()
    random = np.random.default_rng(11)
    poison = 29_000
    texts = [np.array([101, *random.integers(1000, 28_000, random.integers(1, 40)), 102], dtype=np.int32) for _ in range(4_000)]
    bad = set(range(5, 4_000, 97))
    for number in bad:
        texts[number][1] = poison
    chain.new_engines = [FakeEngine() for _ in range(3)]
    for engine, deadly in zip([chain.engine, *chain.new_engines], (500, 1500, 2500, 3500), strict=True):
        engine.raises_on = {poison}
        if engine is not chain.new_engines[-1]:
            texts[deadly][1] = deadly
            engine.dies_on = {deadly}
    running = Running(chain)
    running.open()
    found: dict[bool, list[int]] = {True: [], False: []}
    vectors: dict[int, Vector] = {}

    def take(first: int, is_urgent: bool, embedded: Sequence[Embedded]) -> None:  # noqa: FBT001 - of `partial`
        for one in embedded:
            found[is_urgent].append(first + one.place)
            if isinstance(one.outcome, np.ndarray):
                vectors[first + one.place] = one.outcome

    first = 0
    while first < len(texts):
        end, is_urgent = min(first + int(random.integers(1, 30)), len(texts)), bool(random.random() < 0.1)
        urgency: Urgency = "query" if is_urgent else "bulk"
        new = [EncodedText(ids, None, urgency=urgency, is_template=not is_urgent) for ids in texts[first:end]]
        chain.embedder.submit(new, partial(take, first, is_urgent))
        first = end
    chain.embedder.close()
    running.join()
    assert [numbers == sorted(numbers) for numbers in found.values()] == [True, True], "queries in their order, and so lines"
    assert sorted(found[True] + found[False]) == list(range(4_000))
    assert vectors.keys() == set(range(4_000)) - bad
    right = FakeEngine()
    for number, vector in vectors.items():
        assert np.array_equal(vector, right.embed([texts[number]])[0])
    assert chain.embedder.tally.templates == len(vectors.keys() & set(found[False]))
    assert chain.new_engines == []
