"""How a batch is laid out for a packed graph, and that a text's vector does not depend on what stands beside it."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.worker.embedding.model.tiny import Tiny, make_folder
from worker.embedding.engine.onnx import OnnxEngine
from worker.embedding.engine.packed_batch import packed
from worker.embedding.model.prepared import prepare_model
from worker.embedding.model.vectors import TokenIds

MOST_TOKENS = 48
"""Of `Tiny`."""
texts = st.lists(
    st.lists(st.integers(0, 60), min_size=1, max_size=MOST_TOKENS).map(lambda ids: np.array(ids, dtype=np.int32)), min_size=1, max_size=10
)


@pytest.fixture(scope="module", params=["mean", "cls"])
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OnnxEngine]:
    folder = tmp_path_factory.mktemp("packed")
    model = prepare_model(make_folder(folder / "hf", Tiny(pooling=request.param)), folder / "cache")
    engine = OnnxEngine(model, threads=1)
    yield engine
    engine.close()


@given(st.lists(st.integers(1, 40), min_size=1, max_size=60))
def test_every_token_has_one_place_and_shares_its_row_with_its_whole_text(lengths: list[int]) -> None:
    batch = [np.full(length, text, dtype=np.int32) for text, length in enumerate(lengths)]
    for pooling in ("mean", "cls"):
        laid_out = packed(batch, np.array(lengths), pooling)
        slots, owners, places = laid_out["slots"], laid_out["texts"], laid_out["places"]
        tokens, width = sum(lengths), max(lengths)
        assert len(set(places.tolist())) == tokens
        assert slots.ravel()[places].tolist() == list(range(tokens))
        assert owners.ravel()[places].tolist() == laid_out["ids"].tolist(), "as each id names its text here"
        assert (owners >= 0).sum() == tokens
        assert laid_out["positions"].tolist() == [position for length in lengths for position in range(length)]
        for text in range(len(lengths)):
            assert (owners == text).any(axis=1).sum() == 1
        assert slots.shape[1] == width
        assert slots.size <= 2 * tokens + width
        if pooling == "mean":
            assert laid_out["shares"].sum(axis=1) == pytest.approx(1)
            assert ((laid_out["shares"] > 0) == (laid_out["ids"] == np.arange(len(lengths))[:, None])).all()
        else:
            assert laid_out["ids"][laid_out["firsts"]].tolist() == list(range(len(lengths)))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batch=texts)
@example(batch=[np.arange(1, MOST_TOKENS + 1, dtype=np.int32), *[np.array([1, 2], dtype=np.int32)] * 9])
def test_a_text_has_the_same_vector_alone_and_in_any_batch(engine: OnnxEngine, batch: list[TokenIds]) -> None:
    alone = np.concatenate([engine.embed([ids]) for ids in batch])
    assert np.abs(engine.embed(batch) - alone).max() <= 1e-6
    assert np.abs(engine.embed(batch[::-1])[::-1] - alone).max() <= 1e-6
