"""Golden vectors check an engine: a right one passes, any wrong one fails."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.fakes.engine import FakeEngine
from tests.worker.embedding.model.tiny import Tiny, make_folder
from worker.embedding.guarded_engine import WORST_ALLOWED_COSINE, worst_cosine
from worker.embedding.model.errors import ModelError
from worker.embedding.model.golden import TEXTS, Golden, load_golden, save_golden
from worker.embedding.model.prepared import PreparedModel, prepare_model
from worker.embedding.model.vectors import TokenIds, Vectors


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine(batch_tokens=20, max_tokens=20)


@pytest.fixture
def golden() -> Golden:
    ids = [np.arange(101, 101 + length, dtype=np.int32) for length in (3, 20, 1, 9, 11, 1)]
    return Golden(ids, np.concatenate([FakeEngine().embed([text]) for text in ids]))


def test_a_right_engine_passes_and_its_budget_is_kept(engine: FakeEngine, golden: Golden) -> None:
    assert worst_cosine(engine, golden) == pytest.approx(1)
    assert engine.calls == [[3], [20], [1, 9], [11, 1]]


def test_a_golden_text_over_the_engines_limit_is_left_out_but_not_all_of_them(engine: FakeEngine, golden: Golden) -> None:
    engine.max_tokens = 10
    assert worst_cosine(engine, golden) == pytest.approx(1)
    assert engine.calls == [[3, 1, 9, 1]]
    engine.max_tokens = 0
    assert worst_cosine(engine, golden) == -1


def test_two_vectors_in_each_others_place_fail(engine: FakeEngine, golden: Golden) -> None:
    golden.vectors[[2, 3]] = golden.vectors[[3, 2]]
    assert worst_cosine(engine, golden) < WORST_ALLOWED_COSINE


def test_a_vector_that_is_not_finite_or_missing_fails(engine: FakeEngine, golden: Golden) -> None:
    engine.nan_on = {119}
    assert worst_cosine(engine, golden) == -1
    engine.nan_on = set()
    engine.vectors_missing = 1
    assert worst_cosine(engine, golden) == -1


class Longer(FakeEngine):
    """Does not scale its vectors to length 1."""

    def embed(self, batch: Sequence[TokenIds]) -> Vectors:
        return super().embed(batch) * np.float32(8)


def test_right_directions_of_another_length_than_1_fail(golden: Golden) -> None:
    assert worst_cosine(Longer(dim=golden.vectors.shape[1]), golden) == -1


def test_a_file_gives_back_what_was_saved(tmp_path: Path, golden: Golden) -> None:
    save_golden(golden, tmp_path / "golden.npz")
    loaded = load_golden(tmp_path / "golden.npz")
    assert [ids.tolist() for ids in loaded.ids] == [ids.tolist() for ids in golden.ids]
    assert np.array_equal(loaded.vectors, golden.vectors)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "golden.npz").write_bytes(b"nonsense")
    for name in ("golden", "absent"):
        with pytest.raises(ModelError, match=rf"{name}\.npz cannot be read"):
            load_golden(tmp_path / f"{name}.npz")


def test_the_default_model_carries_all_golden_texts(prepared_model: PreparedModel) -> None:
    golden = load_golden(prepared_model.golden)
    assert (len(golden.ids), golden.vectors.shape) == (len(TEXTS), (len(TEXTS), 384))
    assert golden.vectors.dtype == np.float32
    assert np.linalg.norm(golden.vectors, axis=1) == pytest.approx(1, abs=1e-6)
    likeness = golden.vectors @ golden.vectors.T - np.eye(len(TEXTS))
    assert likeness.max() < 0.9


def test_a_model_too_short_for_every_golden_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"the model in .*hf takes 2 tokens; the shortest golden text has 3"):
        prepare_model(make_folder(tmp_path / "hf", Tiny(positions=2)), tmp_path / "cache")
