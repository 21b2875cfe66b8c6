"""The reference model computes BERT's formulas."""

import math
from pathlib import Path

import numpy as np
import pytest

from tests.worker.embedding.model.tiny import Tiny, make_folder
from worker.embedding.model.errors import ModelError
from worker.embedding.model.folder import read_folder
from worker.embedding.model.reference_model import ReferenceModel
from worker.embedding.model.weights import read_weights


def reference(folder: Path) -> ReferenceModel:
    return ReferenceModel(read_folder(folder), read_weights([folder / "model.safetensors"]))


def test_a_vector_has_length_1_and_depends_on_the_order_of_tokens(tmp_path: Path) -> None:
    model = reference(make_folder(tmp_path / "tiny"))
    first, second = (model.embed(np.array(ids, dtype=np.int32)) for ids in ([2, 40, 41, 42, 3], [2, 42, 41, 40, 3]))
    assert np.linalg.norm(first) == pytest.approx(1, abs=1e-6)
    assert first.dtype == np.float32
    assert first @ second < 0.999


def test_a_single_token_needs_no_attention_scores(tmp_path: Path) -> None:
    """One token attends only to itself, so pooling does not matter and a plain formula must agree."""
    by_mean, by_cls = (reference(make_folder(tmp_path / pooling, Tiny(pooling=pooling))) for pooling in ("mean", "cls"))
    ids = np.array([2], dtype=np.int32)
    assert np.allclose(by_mean.embed(ids), by_cls.embed(ids), atol=1e-6)
    assert np.allclose(by_mean.embed(ids), _one_token(tmp_path / "mean", 2), atol=1e-5)


def test_the_activation_matters_a_little(tmp_path: Path) -> None:
    exact, by_tanh = (reference(make_folder(tmp_path / name, Tiny(activation=name))) for name in ("gelu", "gelu_new"))
    ids = np.array([2, 40, 41, 42, 3], dtype=np.int32)
    assert 5e-5 < np.linalg.norm(exact.embed(ids) - by_tanh.embed(ids)) < 1e-2  # in float32 their cosine is 1


@pytest.mark.process
def test_weights_that_give_no_direction_are_refused(tmp_path: Path) -> None:
    folder = read_folder(make_folder(tmp_path / "tiny"))
    silent = {name: np.zeros_like(weight) for name, weight in read_weights(folder.weights).items()}
    with pytest.raises(ModelError, match=r"the weights in .*tiny give vectors of length 0\.0"):
        ReferenceModel(folder, silent).embed(np.array([2, 3], dtype=np.int32))


def _one_token(folder: Path, token: int) -> list[float]:
    """BERT on a sequence of one token in float64, written independently of the reference."""
    w = {name: weight.astype(np.float64) for name, weight in read_weights([folder / "model.safetensors"]).items()}

    def norm(name: str, x: np.ndarray) -> np.ndarray:
        return np.asarray((x - x.mean()) / math.sqrt(x.var() + 1e-12) * w[f"{name}.weight"] + w[f"{name}.bias"])

    def linear(name: str, x: np.ndarray) -> np.ndarray:
        return np.asarray(w[f"{name}.weight"] @ x + w[f"{name}.bias"])

    x = sum(w[f"embeddings.{name}_embeddings.weight"][row] for name, row in (("word", token), ("position", 0), ("token_type", 0)))
    x = norm("embeddings.LayerNorm", np.asarray(x))
    for layer in range(2):
        name = f"encoder.layer.{layer}"
        x = norm(
            f"{name}.attention.output.LayerNorm", x + linear(f"{name}.attention.output.dense", linear(f"{name}.attention.self.value", x))
        )
        wide = linear(f"{name}.intermediate.dense", x)
        wide = np.array([value * (1 + math.erf(value / math.sqrt(2))) / 2 for value in wide.tolist()])
        x = norm(f"{name}.output.LayerNorm", x + linear(f"{name}.output.dense", wide))
    return list(x / np.linalg.norm(x))
