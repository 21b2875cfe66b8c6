"""The compute step: how a batch is computed on the engine's thread."""

import numpy as np
import pytest

from tests.fakes.engine import FakeEngine
from tests.varied_words import varied
from tests.worker.chain import Chain
from worker.embedding.batcher import Batch
from worker.embedding.compute import Computed, EmbedBatch
from worker.embedding.guarded_engine import EngineFailed
from worker.embedding.model.vectors import EmbeddingFailed
from worker.messages import EncodedQuery, EncodedTemplate

WAIT_S = 20.0


def waiting(chain: Chain) -> EmbedBatch:
    """Return all texts that wait for the engine as one batch."""
    taken = chain.embed_lane.take(1000, wait=False) or []
    queries = [entry for entry in taken if isinstance(entry, EncodedQuery)]
    return Batch(queries, [entry for entry in taken if isinstance(entry, EncodedTemplate)])


def computed(chain: Chain, batch: EmbedBatch) -> Computed:
    chain.handoff.offer_batch(batch)
    assert chain.compute_step.turn(wait=False)
    (result,) = chain.handoff.take_results()
    return result


def test_outcomes_are_the_queries_then_the_logs(chain: Chain) -> None:
    chain.feed("disk full", "network down")
    chain.ask({"text": "what is slow"})
    chain.ask({"text": "what is hot"})
    batch = waiting(chain)
    result = computed(chain, batch)
    assert result.batch == batch
    assert len(chain.engine.calls) == 1
    texts = [query.ids for query in batch.queries] + [log.ids for log in batch.logs]
    assert len(texts) == len(result.outcomes) == 4
    for ids, outcome in zip(texts, result.outcomes, strict=True):
        assert not isinstance(outcome, EmbeddingFailed)
        assert np.array_equal(outcome, chain.engine.embed([ids])[0])


def test_a_query_that_came_too_late_is_left_out_of_the_batch_and_of_the_engine(chain: Chain) -> None:
    chain.ask({"text": "what is slow", "deadline_ms": 2000})
    chain.ask({"text": "what is hot"})
    chain.feed("disk full")
    batch = waiting(chain)
    chain.now_s += 1.0
    result = computed(chain, batch)
    assert [query.query.text for query in result.late] == ["what is slow"]
    assert [query.query.text for query in result.batch.queries] == ["what is hot"]
    assert result.batch.logs == batch.logs
    assert len(result.outcomes) == 2
    assert chain.engine.calls == [[chain.tokens("what is hot"), chain.tokens("disk full")]]


def test_a_batch_of_late_queries_only_does_not_reach_the_engine_but_comes_back(chain: Chain) -> None:
    chain.ask({"text": "what is slow", "deadline_ms": 2000})
    chain.now_s += 1.0
    result = computed(chain, waiting(chain))
    assert (result.batch, result.outcomes, len(result.late)) == (([], []), [], 1)
    assert chain.engine.calls == []


def test_when_it_began_and_ended_is_the_clocks_answer_before_and_after_the_engine(chain: Chain) -> None:
    chain.engine.dead = True
    chain.new_engines = [FakeEngine()]
    chain.feed("disk full")
    chain.engine_load_s = 7.0
    result = computed(chain, waiting(chain))
    assert (result.started_s, result.ended_s) == (100.0, 107.0)


def test_how_large_the_next_batch_may_be_comes_back_with_the_outcomes(chain: Chain) -> None:
    chain.feed(*[varied(word, 60) for word in ("disk", "network", "login", "memory", "battery", "printer")])
    batch = waiting(chain)
    assert computed(chain, batch).limit_tokens == 512
    chain.engine.memory_tokens = 300
    assert computed(chain, batch).limit_tokens == 256


def test_an_engine_that_cannot_be_repaired_gives_nothing_back(chain: Chain) -> None:
    chain.engine.dead = True
    chain.feed("disk full")
    chain.handoff.offer_batch(waiting(chain))
    with pytest.raises(EngineFailed):
        chain.compute_step.turn(wait=False)
    assert not chain.handoff.has_results
    assert not chain.handoff.is_idle
