"""Weights are read as float32 under BertModel's own names, however they were saved."""

import hashlib
import subprocess
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from tests.worker.embedding.model.tiny import Tiny, make_folder
from tests.worker.embedding.model.tiny_weights import save_safetensors
from worker.embedding.model.errors import ModelError
from worker.embedding.model.folder import read_folder
from worker.embedding.model.weights import read_weights, save_weights, sha256_of


def test_old_names_of_norms_and_half_precision_are_understood(tmp_path: Path) -> None:
    saved = {"embeddings.LayerNorm.gamma": np.array([1.5], dtype=np.float16), "embeddings.LayerNorm.beta": np.array([2.0])}
    save_file(saved, tmp_path / "m.safetensors")
    weights = read_weights([tmp_path / "m.safetensors"])
    found = {name: (str(weight.dtype), weight.tolist()) for name, weight in weights.items()}
    assert found == {"embeddings.LayerNorm.weight": ("float32", [1.5]), "embeddings.LayerNorm.bias": ("float32", [2.0])}


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "m.safetensors").write_bytes(b"nonsense")
    with pytest.raises(ModelError, match=r"m\.safetensors cannot be read"):
        read_weights([tmp_path / "m.safetensors"])
    with pytest.raises(ModelError, match=r"absent cannot be read"):
        sha256_of([tmp_path / "absent"])


def test_a_bfloat16_is_the_upper_half_of_a_float32(tmp_path: Path) -> None:
    numbers = np.array([[1.0, -0.0, 3.140625], [2.0**-126, -(2.0**127), 0.0]], dtype=np.float32)
    save_safetensors(tmp_path / "m.safetensors", {"first": np.ones(3, dtype=np.float32), "second": numbers}, "BF16")
    weights = read_weights([tmp_path / "m.safetensors"])
    assert np.array_equal(weights["second"].view(np.uint32), numbers.view(np.uint32))
    assert weights["first"].tolist() == [1, 1, 1]


@pytest.mark.usefixtures("transformers_installed")
def test_a_bfloat16_file_of_torchs_is_read_as_torch_reads_it(tmp_path: Path) -> None:
    import torch  # noqa: PLC0415 - installed by `make vllm` only
    from safetensors.torch import save_file as save_torch  # noqa: PLC0415 - as above

    torch.manual_seed(3)
    saved = {"bert.a": torch.randn(5, 7).to(torch.bfloat16), "bert.b": torch.randn(3), "c": torch.randn(2, 2).to(torch.float16)}
    save_torch(saved, tmp_path / "m.safetensors")
    weights = read_weights([tmp_path / "m.safetensors"])
    assert set(weights) == {"a", "b", "c"}
    for name, tensor in saved.items():
        assert np.array_equal(weights[name.removeprefix("bert.")], tensor.float().numpy())


def test_quantised_weights_are_refused(tmp_path: Path) -> None:
    save_safetensors(tmp_path / "m.safetensors", {"a": np.ones(3, dtype=np.float32)}, "I8")
    with pytest.raises(ModelError, match=r"m\.safetensors stores a as I8; supported are F64, F32, F16, BF16"):
        read_weights([tmp_path / "m.safetensors"])


@pytest.mark.parametrize("number_format", ["F32", "F16", "BF16"])
def test_a_weight_that_is_not_finite_is_refused(tmp_path: Path, number_format: str) -> None:
    save_safetensors(tmp_path / "m.safetensors", {"a": np.array([1, np.inf], dtype=np.float32)}, number_format)
    with pytest.raises(ModelError, match=r"stores numbers in a that are not finite"):
        read_weights([tmp_path / "m.safetensors"])


@pytest.mark.process
def test_shards_are_one_model_and_their_hash_is_that_of_sha256sums_list(tmp_path: Path) -> None:
    whole = read_folder(make_folder(tmp_path / "whole")).weights
    shards = read_folder(make_folder(tmp_path / "shards", Tiny(shards=3))).weights
    assert len(shards) == 3
    together, apart = read_weights(whole), read_weights(shards)
    assert set(together) == set(apart)
    assert all(np.array_equal(together[name], apart[name]) for name in together)
    listed = subprocess.run(["sha256sum", *(file.name for file in shards)], cwd=tmp_path / "shards", capture_output=True, check=True)
    assert sha256_of(shards) == sha256_of(shards[::-1]) == hashlib.sha256(listed.stdout).hexdigest()
    assert sha256_of(whole) == hashlib.sha256(whole[0].read_bytes()).hexdigest()


def test_what_is_saved_is_read_back(tmp_path: Path) -> None:
    weights = read_weights(read_folder(make_folder(tmp_path / "tiny")).weights)
    save_weights(weights, tmp_path / "m.safetensors")
    again = read_weights([tmp_path / "m.safetensors"])
    assert set(again) == set(weights)
    assert all(np.array_equal(again[name], weights[name]) for name in weights)
    with pytest.raises(OSError, match="cannot be written"):
        save_weights(weights, tmp_path / "absent" / "m.safetensors")
