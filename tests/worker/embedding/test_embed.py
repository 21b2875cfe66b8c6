"""The embed step with a fake engine: vectors, failing texts, limits, queries and the end of the stage."""

import numpy as np
import pytest

from tests.varied_words import varied
from tests.worker.chain import Chain
from tests.worker.conftest import NewChain
from worker.embedding.batcher import Batcher
from worker.embedding.compute import Computed
from worker.embedding.guarded_engine import EngineFailed
from worker.messages import EmbeddedTemplate, FailedQuery, ReadyQuery
from worker.runtime.limits import LimitReached

WAIT_S = 20.0


def ignore(_stage: str, _error: Exception) -> None:
    """The test checks what is left instead."""


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
        assert (one.template, one.key) == (chain.template(one.text), chain.key(one.text))
    assert {one.text for one in embedded if isinstance(one, EmbeddedTemplate)} == set(lines)


def test_batches_are_counted_by_size_tokens_and_how_long_their_first_text_had_waited(chain: Chain) -> None:
    chain.now_s = 10.0
    chain.feed("disk full", "network down")
    assert chain.embed_turn()
    chain.now_s = 13.0
    chain.embed()
    tally = chain.embed_step.tally
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
    chain.embed_step.batcher = Batcher(budget_tokens=512, log_floor_tokens=64, target_s=0.5)
    chain.feed(*[varied(word, 250) for word in ("disk", "network", "login", "memory", "battery", "printer")])
    for _ in range(2):
        chain.embed_step.turn()
        batch = chain.handoff.begin_batch(wait=False)
        assert batch is not None
        outcomes = list(chain.engine.embed([log.ids for log in batch.logs]))
        chain.handoff.finish_batch(Computed(batch, outcomes, [], 10.0, 11.0, 512))
    chain.embed_step.turn()
    assert chain.embed_step.batcher.capped_tokens == 256
