"""Vectors cut to their first components."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.engine import FakeEngine
from worker.embedding.engine.engine import EngineDied
from worker.embedding.engine.matryoshka import TruncatingEngine, truncated
from worker.embedding.model.vectors import TokenIds, Vectors


def text(*ids: int) -> TokenIds:
    return np.array([101, *ids, 102], dtype=np.int32)


class Odd(FakeEngine):
    """Returns the vectors that it is given."""

    given: Vectors

    def embed(self, batch: Sequence[TokenIds]) -> Vectors:  # noqa: ARG002 - whatever it is given
        return self.given


@given(st.integers(0, 5), st.integers(1, 15), st.integers(0, 2**32 - 1))
def test_the_first_components_are_kept_and_scaled_to_length_1(rows: int, dims: int, seed: int) -> None:
    vectors = np.random.default_rng(seed).standard_normal((rows, 16)).astype(np.float32)
    cut = truncated(vectors.copy(), dims)
    assert cut.shape == (rows, dims)
    assert cut.dtype == np.float32
    assert np.linalg.norm(cut, axis=1) == pytest.approx(1.0, abs=1e-5)
    first = vectors[:, :dims].astype(np.float64)
    assert cut == pytest.approx(first / np.linalg.norm(first, axis=1, keepdims=True), abs=1e-5)


@pytest.mark.parametrize("rows", [1, 2])
def test_the_vectors_that_were_given_stay_as_they_are(rows: int) -> None:
    """They may be a view of the engine's own memory, or read-only."""
    vectors = np.random.default_rng(1).standard_normal((rows, 16)).astype(np.float32)
    before = vectors.copy()
    vectors.flags.writeable = False
    cut = truncated(vectors, 4)
    assert np.array_equal(vectors, before)
    assert not np.shares_memory(cut, vectors)
    assert cut.flags.c_contiguous


def test_the_engine_inside_is_what_is_seen_except_for_the_dimension() -> None:
    inside = FakeEngine(dim=16, max_tokens=100, batch_tokens=300)
    engine = TruncatingEngine(inside, 5)
    assert (engine.name, engine.dim, engine.max_tokens, engine.batch_tokens) == ("fake", 5, 100, 300)
    batch = [text(1), text(2, 3), text(4)]
    whole = inside.embed(batch)[:, :5]
    assert engine.embed(batch) == pytest.approx(whole / np.linalg.norm(whole, axis=1, keepdims=True), abs=1e-6)
    assert engine.embed([]).shape == (0, 5)


@pytest.mark.parametrize("shape", [(2, 3), (2, 5), (2, 15), (2, 17), (16,), (2, 16, 1)])
def test_what_has_not_the_columns_that_the_engine_inside_promised_comes_from_a_broken_engine(shape: tuple[int, ...]) -> None:
    inside = Odd(dim=16)
    inside.given = np.ones(shape, dtype=np.float32)
    with pytest.raises(EngineDied, match="numbers for 2 texts of 16 dimensions"):
        TruncatingEngine(inside, 5).embed([text(1), text(2)])
