"""The checks of every engine before native code sees a batch, and scaling to length 1."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from worker.embedding.engine.engine import TextTooLong, checked_lengths, is_lack_of_memory, normalized
from worker.embedding.model.vectors import TokenIds, Vectors


def sequences(*tokens: int) -> list[TokenIds]:
    return [np.arange(count, dtype=np.int32) for count in tokens]


def lengths(*tokens: int) -> list[int]:
    return list(checked_lengths(sequences(*tokens), max_tokens=10, batch_tokens=24))


@given(st.lists(st.integers(0, 15), max_size=8))
def test_exactly_what_breaks_a_bound_is_refused(tokens: list[int]) -> None:
    sound = all(1 <= count <= 10 for count in tokens) and sum(tokens) <= 24
    if sound:
        assert lengths(*tokens) == tokens
        return
    with pytest.raises(ValueError, match="tokens") as refused:
        lengths(*tokens)
    assert isinstance(refused.value, TextTooLong) == any(count > 10 for count in tokens)


matrices = arrays(np.float32, array_shapes(min_dims=2, max_dims=2), elements=st.floats(-1000, 1000, width=32).filter(lambda x: x**2 > 1e-6))


@given(matrices)
def test_every_row_becomes_length_1_and_keeps_its_direction(vectors: Vectors) -> None:
    before = vectors.astype(np.float64)
    after = normalized(vectors)
    assert after is vectors
    assert np.linalg.norm(after, axis=1) == pytest.approx(1.0, abs=1e-5)
    assert after == pytest.approx(before / np.linalg.norm(before, axis=1, keepdims=True), abs=1e-5)


def test_a_row_of_zeros_stays_and_a_row_that_is_not_finite_stays_not_finite() -> None:
    vectors = np.array([[0, 0], [np.nan, 1], [np.inf, 1], [3, 4]], dtype=np.float32)
    after = normalized(vectors)
    assert after[0].tolist() == [0, 0]
    assert not np.isfinite(np.linalg.norm(after[1:3], axis=1)).any()
    assert after[3].tolist() == pytest.approx([0.6, 0.8])
    assert normalized(np.array([[3e30, 4e30]], dtype=np.float32)).tolist() == [[0, 0]], "float32 cannot hold its length"


@pytest.mark.parametrize(
    "said",
    [
        "CUDA out of memory. Tried to allocate 2.00 GiB",
        "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 24969216 bytes",
        "std::bad_alloc",
        "Failed to allocate memory for requested buffer of size 629145600",
        "could not create a memory object",
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate(handle)",
    ],
)
def test_lack_of_memory_is_told_from_other_failures(said: str) -> None:
    assert is_lack_of_memory(RuntimeError(said))
    assert is_lack_of_memory(MemoryError())
    assert not is_lack_of_memory(RuntimeError("Unsupported CPU attention configuration: head_dim=16"))
