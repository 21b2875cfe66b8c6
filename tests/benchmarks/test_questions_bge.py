"""`benchmarks.questions.bge`: weights of an ONNX get their names, and a jar becomes a folder that is read as a model."""

import hashlib
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.questions.bge import NAME, ModelAbsent, bge_folder, weights_of, write_folder
from worker.embedding.model.folder import read_folder
from worker.embedding.model.weights import read_weights

BIAS = np.array([0.5, 1.5], dtype=np.float32)
MULTIPLIED = np.array([[1, 2, 3], [4, 5, 6]], dtype=np.float32)
FLOAT32, FLOAT16 = 1, 10


def wire(number: int, content: bytes | int) -> bytes:
    """Encode one field of Protocol Buffers; numbers below 128, lengths below 16,384."""
    if isinstance(content, int):
        return bytes([number << 3, content])
    return bytes([number << 3 | 2, len(content) & 127 | 128, len(content) >> 7]) + content


def tensor(name: bytes, numbers: NDArray[np.float32], number_format: int = FLOAT32) -> bytes:
    dims = b"".join(wire(1, dim) for dim in numbers.shape)
    return wire(5, dims + wire(2, number_format) + wire(8, name) + wire(9, numbers.tobytes()))


def multiplication(name: bytes, *inputs: bytes) -> bytes:
    return wire(1, b"".join(wire(1, one) for one in inputs) + wire(3, name) + wire(4, b"MatMul"))


def onnx(number_format: int = FLOAT32) -> bytes:
    nodes = multiplication(b"/layer.0/query/MatMul", b"x", b"onnx::M1") + multiplication(b"/layer.0/MatMul_1", b"x", b"y")
    return wire(7, nodes + tensor(b"layer.0.query.bias", BIAS, number_format) + tensor(b"onnx::M1", MULTIPLIED))


def write_jar(folder: Path, model: bytes) -> Path:
    jar = folder / "some.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr(f"{NAME}.onnx", model)
        archive.writestr(f"{NAME}-tokenizer.json", "{}")
    return jar


def test_a_weight_that_is_multiplied_is_named_after_its_node_and_transposed() -> None:
    weights = weights_of(onnx())
    assert list(weights) == ["layer.0.query.bias", "layer.0.query.weight"]
    np.testing.assert_array_equal(weights["layer.0.query.bias"], BIAS)
    np.testing.assert_array_equal(weights["layer.0.query.weight"], MULTIPLIED.T)


def test_other_number_formats_and_other_files_are_refused() -> None:
    with pytest.raises(ModelAbsent, match=r"layer\.0\.query\.bias is not float32"):
        weights_of(onnx(FLOAT16))
    with pytest.raises(ModelAbsent, match="no ONNX"):
        weights_of(b"\xff" * 9)


def test_the_jar_becomes_a_model_with_its_pooling_and_its_prefix(tmp_path: Path) -> None:
    jar = write_jar(tmp_path, onnx())
    write_folder(jar, tmp_path / "model", hashlib.sha256(jar.read_bytes()).hexdigest())
    folder = read_folder(tmp_path / "model")
    assert (folder.pooling, folder.max_tokens, folder.document_prefix) == ("cls", 512, "")
    assert folder.query_prefix == "Represent this sentence for searching relevant passages: "
    assert set(read_weights(folder.weights)) == {"layer.0.query.bias", "layer.0.query.weight"}


def test_a_jar_with_another_hash_is_refused_before_it_is_opened(tmp_path: Path) -> None:
    with pytest.raises(ModelAbsent, match=r"some\.jar has SHA-256 [0-9a-f]{64}, expected 844ee195"):
        write_folder(write_jar(tmp_path, onnx()), tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_without_maven_the_reason_is_one_line_and_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ModelAbsent, match="Maven is not installed"):
        bge_folder(tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_folder_that_is_there_is_used_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / NAME).mkdir()
    assert bge_folder(tmp_path) == tmp_path / NAME
