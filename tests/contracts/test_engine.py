"""The contract of every engine, run on the fake, llama.cpp, ONNX Runtime, vLLM if installed, and one with cut vectors."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fakes.engine import FakeEngine
from tests.heavy import need
from worker.embedding.engine.engine import Engine, TextTooLong
from worker.embedding.engine.llama import LlamaEngine
from worker.embedding.engine.matryoshka import TruncatingEngine
from worker.embedding.engine.onnx import OnnxEngine
from worker.embedding.model.prepared import PreparedModel
from worker.embedding.model.vectors import TokenIds

MAX_TOKENS = 256
CLS, SEP = 101, 102


def _fake(_model: PreparedModel) -> Engine:
    return FakeEngine()


def _llama(model: PreparedModel) -> Engine:
    return LlamaEngine(model, threads=2)


def _onnx(model: PreparedModel) -> Engine:
    return OnnxEngine(model, threads=2)


def _truncating(model: PreparedModel) -> Engine:
    return TruncatingEngine(LlamaEngine(model, threads=1), 64)  # two would spin for each other on a busy machine


def _vllm(model: PreparedModel) -> Engine:
    need("vllm")
    from worker.embedding.engine.vllm import VllmEngine  # noqa: PLC0415 - may not be installed

    return VllmEngine(model, threads=2)


ENGINES: dict[str, Callable[[PreparedModel], Engine]] = {
    "fake": _fake,
    "llama.cpp": _llama,
    "onnx": _onnx,
    "truncating": _truncating,
    "vllm": _vllm,
}


NAMES = [pytest.param(name, marks=[pytest.mark.long] if name == "vllm" else []) for name in ENGINES]


@pytest.fixture(scope="module", params=NAMES)
def engine(request: pytest.FixtureRequest, prepared_model: PreparedModel) -> Iterator[Engine]:
    engine = ENGINES[request.param](prepared_model)
    yield engine
    engine.close()


def sequence(*words: int) -> TokenIds:
    return np.array([CLS, *words, SEP], dtype=np.int32)


texts = st.lists(st.integers(1000, 30_000), max_size=40).map(lambda words: sequence(*words))


def test_a_vector_a_text_of_length_1_and_the_right_dimension(engine: Engine) -> None:
    vectors = engine.embed([sequence(), sequence(2000), sequence(*range(3000, 3100))])
    assert vectors.shape == (3, engine.dim)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-5)


def test_different_texts_have_different_vectors(engine: Engine) -> None:
    first, second = engine.embed([sequence(2000, 3000), sequence(3000, 2000)])
    assert first @ second < 0.9999


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batch=st.lists(texts, min_size=1, max_size=12))
def test_a_text_has_the_same_vector_in_any_company_and_any_order(engine: Engine, batch: list[TokenIds]) -> None:
    together = engine.embed(batch)
    backwards = engine.embed(batch[::-1])[::-1]
    alone = np.concatenate([engine.embed([ids]) for ids in batch])
    assert (together * alone).sum(axis=1).min() > 1 - 1e-4
    assert (backwards * alone).sum(axis=1).min() > 1 - 1e-4


def test_many_short_texts_keep_their_order(engine: Engine) -> None:
    batch = [sequence(2000 + number) for number in range(engine.batch_tokens // 3)]
    vectors = engine.embed(batch)
    for number in (0, 1, 63, 64, 65, len(batch) - 1):
        assert engine.embed([batch[number]])[0] @ vectors[number] > 1 - 1e-4


def test_a_batch_may_fill_the_budget_to_the_last_token(engine: Engine) -> None:
    longest = sequence(*range(2000, 2000 + MAX_TOKENS - 2))
    assert engine.max_tokens == len(longest)
    full, rest = divmod(engine.batch_tokens, MAX_TOKENS)
    batch = [longest] * full + ([sequence(*range(5000, 5000 + rest - 2))] if rest else [])
    assert sum(map(len, batch)) == engine.batch_tokens
    assert engine.embed(batch).shape == (len(batch), engine.dim)


def test_no_texts_give_no_vectors(engine: Engine) -> None:
    assert engine.embed([]).shape == (0, engine.dim)


def test_a_text_over_the_limit_is_refused_and_the_engine_lives(engine: Engine) -> None:
    with pytest.raises(TextTooLong, match="257"):
        engine.embed([sequence(2000), sequence(*range(2000, 2000 + MAX_TOKENS - 1))])
    assert engine.embed([sequence(2000)]).shape == (1, engine.dim)


def test_a_text_without_tokens_is_refused_and_the_engine_lives(engine: Engine) -> None:
    with pytest.raises(ValueError, match="text 1 of 2 has no tokens"):
        engine.embed([sequence(2000), np.array([], dtype=np.int32)])
    assert engine.embed([sequence(2000)]).shape == (1, engine.dim)


def test_a_batch_over_the_budget_is_refused_and_the_engine_lives(engine: Engine) -> None:
    half = sequence(*range(2000, 2000 + MAX_TOKENS - 2))
    too_many = [half] * (engine.batch_tokens // MAX_TOKENS + 1)
    with pytest.raises(ValueError, match="batch"):
        engine.embed(too_many)
    assert engine.embed([sequence(2000)]).shape == (1, engine.dim)


@pytest.mark.parametrize("name", NAMES)
def test_a_closed_engine_may_be_closed_again_and_embeds_no_more(name: str, prepared_model: PreparedModel) -> None:
    engine = ENGINES[name](prepared_model)
    engine.close()
    engine.close()
    with pytest.raises(RuntimeError, match="closed"):
        engine.embed([sequence(2000)])
