"""The GGUF holds the vocabulary in llama.cpp's form, the weights, and their SHA-256."""

from pathlib import Path

import gguf
import numpy as np
import pytest

from tests.worker.embedding.model.tiny import make_folder
from worker.embedding.model.errors import ModelError
from worker.embedding.model.folder import ModelFolder, read_folder
from worker.embedding.model.gguf_file import NumberFormat, write_gguf
from worker.embedding.model.reference_tokenizer import read_tokenizer_json
from worker.embedding.model.weights import Weights, read_weights
from worker.embedding.model.wordpiece import WordPiece, read_wordpiece

Parts = tuple[ModelFolder, WordPiece, Weights]


@pytest.fixture
def parts(tmp_path: Path) -> Parts:
    folder = read_folder(make_folder(tmp_path / "tiny"))
    return folder, read_wordpiece(read_tokenizer_json(folder.path), "tiny"), read_weights([folder.path / "model.safetensors"])


def written(file: Path, parts: Parts, number_format: NumberFormat) -> gguf.GGUFReader:
    write_gguf(file, *parts, "abc", number_format)
    return gguf.GGUFReader(file)


@pytest.mark.parametrize(("number_format", "tolerance"), [("f32", 0.0), ("f16", 1e-3), ("bf16", 8e-3)])
def test_the_weights_are_those_of_the_folder(tmp_path: Path, parts: Parts, number_format: NumberFormat, tolerance: float) -> None:
    reader = written(tmp_path / "m.gguf", parts, number_format)
    stored = {tensor.name: gguf.quants.dequantize(tensor.data, tensor.tensor_type) for tensor in reader.tensors}
    assert len(stored) == 5 + 2 * 16
    wide = parts[2]["encoder.layer.1.output.dense.weight"]
    assert np.abs(stored["blk.1.ffn_down.weight"] - wide).max() <= tolerance * np.abs(wide).max()
    assert np.array_equal(stored["blk.1.ffn_down.bias"], parts[2]["encoder.layer.1.output.dense.bias"])
    assert np.array_equal(stored["position_embd.weight"], parts[2]["embeddings.position_embeddings.weight"])


def test_a_missing_weight_is_named(tmp_path: Path, parts: Parts) -> None:
    folder, vocabulary, weights = parts
    without = {name: weight for name, weight in weights.items() if name != "embeddings.LayerNorm.bias"}
    with pytest.raises(ModelError, match=r"tiny lack embeddings\.LayerNorm\.bias"):
        write_gguf(tmp_path / "m.gguf", folder, vocabulary, without, "abc")


@pytest.mark.parametrize(
    "name", ["embeddings.word_embeddings.weight", "encoder.layer.0.intermediate.dense.bias", "encoder.layer.0.output.dense.weight"]
)
def test_a_weight_of_another_shape_is_named(tmp_path: Path, parts: Parts, name: str) -> None:
    folder, vocabulary, weights = parts
    with pytest.raises(ModelError, match=f"{name} .* has the shape"):
        write_gguf(tmp_path / "m.gguf", folder, vocabulary, {**weights, name: weights[name][1:]}, "abc")
