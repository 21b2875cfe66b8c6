"""Weights are read as float32 under BertModel's own names, whatever they were saved as."""

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from tests.worker.model.tiny import make_folder
from worker.model.folder import ModelError
from worker.model.weights import read_weights, sha256_of


def test_prefixes_go_and_training_heads_are_left_out(tmp_path: Path) -> None:
    weights = read_weights(make_folder(tmp_path / "tiny") / "model.safetensors")
    assert "embeddings.word_embeddings.weight" in weights
    assert not any(name.startswith(("bert.", "pooler.")) for name in weights)


def test_old_names_of_norms_and_half_precision_are_understood(tmp_path: Path) -> None:
    saved = {"embeddings.LayerNorm.gamma": np.array([1.5], dtype=np.float16), "embeddings.LayerNorm.beta": np.array([2.0])}
    save_file(saved, tmp_path / "m.safetensors")
    weights = read_weights(tmp_path / "m.safetensors")
    found = {name: (str(weight.dtype), weight.tolist()) for name, weight in weights.items()}
    assert found == {"embeddings.LayerNorm.weight": ("float32", [1.5]), "embeddings.LayerNorm.bias": ("float32", [2.0])}


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "m.safetensors").write_bytes(b"nonsense")
    with pytest.raises(ModelError, match=r"m\.safetensors cannot be read"):
        read_weights(tmp_path / "m.safetensors")
    with pytest.raises(ModelError, match=r"absent cannot be read"):
        sha256_of(tmp_path / "absent")
