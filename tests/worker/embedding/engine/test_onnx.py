"""ONNX Runtime beyond the contract: exact vectors whatever is beside a text, 8-bit weights, and errors that say what to do."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.random import Generator, default_rng

from producers.log_feed import synthetic_lines
from tests.worker.embedding.model.tiny import Tiny, make_folder
from worker.embedding.engine.engine import Engine, OutOfMemory
from worker.embedding.engine.llama import LlamaEngine
from worker.embedding.engine.onnx import OnnxEngine
from worker.embedding.guarded_engine import worst_cosine
from worker.embedding.model.errors import ModelError
from worker.embedding.model.folder import WEIGHTS, default_folder, read_folder
from worker.embedding.model.golden import load_golden
from worker.embedding.model.onnx_graph import BLOCK, quantize_blocks
from worker.embedding.model.prepared import PreparedModel, prepare_model
from worker.embedding.model.reference_model import ReferenceModel
from worker.embedding.model.vectors import TokenIds, Vectors
from worker.embedding.model.weights import read_weights
from worker.embedding.tokenizer import Tokenizer


@pytest.fixture(scope="module")
def engine(plain_model: PreparedModel) -> Iterator[OnnxEngine]:
    engine = OnnxEngine(plain_model, threads=1)
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def logged(tokenizer: Tokenizer) -> list[TokenIds]:
    """60 log lines as token ids."""
    encoded = tokenizer.encode([line.decode() for line in synthetic_lines(7, 60, 1_700_000_000_000)])
    return [encoded.text(index) for index in range(60)]


def random_text(random: Generator, tokens: int) -> TokenIds:
    return np.array([101, *random.integers(1000, 30_000, tokens - 2), 102], dtype=np.int32)


def in_batches(engine: Engine, texts: list[TokenIds], count: int) -> Vectors:
    """Embed them `count` at a time, in another order than they have."""
    order = default_rng(3).permutation(len(texts))
    vectors = np.empty((len(texts), engine.dim), dtype=np.float32)
    for first in range(0, len(texts), count):
        chosen = order[first : first + count]
        vectors[chosen] = engine.embed([texts[index] for index in chosen])
    return vectors


def lowest_cosine(some: Vectors, others: Vectors) -> float:
    return float((some.astype(np.float64) * others).sum(axis=1).min())


@pytest.mark.slow
def test_the_vectors_are_those_of_the_float32_reference_at_every_length(engine: OnnxEngine) -> None:
    folder = read_folder(default_folder())
    reference = ReferenceModel(folder, read_weights(folder.weights))
    random = default_rng(1)
    texts = [random_text(random, tokens) for tokens in (2, 3, 8, 19, 40, 100)]
    right = np.stack([reference.embed(ids) for ids in texts])
    assert lowest_cosine(in_batches(engine, texts, 3), right) >= 0.999999


@pytest.mark.slow
def test_the_vectors_are_those_of_llama_cpp_and_of_any_other_company(
    engine: OnnxEngine, plain_model: PreparedModel, logged: list[TokenIds]
) -> None:
    llama = LlamaEngine(plain_model, threads=1)
    mixed = in_batches(engine, logged, 5)
    assert lowest_cosine(mixed, in_batches(llama, logged, 5)) >= 0.9999
    assert np.abs(mixed - in_batches(engine, logged, 1)).max() <= 1e-6
    llama.close()


@pytest.mark.slow
def test_8_bit_weights_stay_near_float32_with_every_text_and_in_any_company(
    engine: OnnxEngine, plain_model: PreparedModel, logged: list[TokenIds]
) -> None:
    random = default_rng(2)
    texts = [*logged, *(random_text(random, int(tokens)) for tokens in random.integers(3, 200, 20))]
    quantized = OnnxEngine(plain_model, threads=1, quantized=True)
    alone = in_batches(quantized, texts, 1)
    assert lowest_cosine(alone, in_batches(engine, texts, 1)) >= 0.999
    assert lowest_cosine(alone, in_batches(quantized, texts, 2)) >= 0.999
    assert worst_cosine(quantized, load_golden(plain_model.golden)) < 0.99999, "they are not float32 after all"
    quantized.close()


def test_a_block_is_rounded_to_254_steps_of_its_own_largest_number() -> None:
    weight = default_rng(4).normal(size=(5, 3 * BLOCK - 7)).astype(np.float32)
    weight[1, :BLOCK] = 0
    weight[2] *= 1000
    numbers, scales = quantize_blocks(weight)
    assert numbers.shape == (5, 3, BLOCK)
    assert numbers.dtype == np.uint8
    steps = scales.reshape(5, 3, 1)
    largest = np.abs(np.pad(weight, ((0, 0), (0, 7))).reshape(5, 3, BLOCK)).max(axis=2, keepdims=True)
    assert steps == pytest.approx(largest / 127)
    again = ((numbers.astype(np.float32) - 128) * steps).reshape(5, -1)
    assert (np.abs(again[:, : weight.shape[1]] - weight) <= np.repeat(steps[:, :, 0], BLOCK, axis=1)[:, : weight.shape[1]] * 0.5001).all()
    assert not again[:, weight.shape[1] :].any()
    assert not again[1, :BLOCK].any()


@pytest.mark.parametrize("quantized", [False, True])
@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_both_poolings_and_odd_sizes_give_the_golden_vectors(tmp_path: Path, pooling: str, *, quantized: bool) -> None:
    tiny = Tiny(pooling=pooling, dim=30, heads=3, feed_forward=50, token_types=1, activation="gelu_new")
    model = prepare_model(make_folder(tmp_path / "hf", tiny), tmp_path / "cache")
    engine = OnnxEngine(model, threads=1, quantized=quantized)
    assert worst_cosine(engine, load_golden(model.golden)) >= (0.999 if quantized else 0.999999)
    engine.close()


@pytest.mark.parametrize("token_id", [-1, 30_522, 2**31 - 1])
def test_an_id_outside_the_vocabulary_is_an_error_with_a_reason_and_the_engine_lives(engine: OnnxEngine, token_id: int) -> None:
    good = np.array([101, 2000, 102], dtype=np.int32)
    before = engine.embed([good])
    with pytest.raises(RuntimeError, match=f"token {token_id} is not one of the model's 30522"):
        engine.embed([good, np.array([101, token_id, 102], dtype=np.int32)])
    assert (engine.embed([good]) == before).all()


class Failing:
    """A session that fails as ONNX Runtime does."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def run(self, _names: None, _inputs: object) -> None:
        raise self._error


@pytest.mark.parametrize(
    ("said", "error_type"),
    [
        ("Non-zero status code\n  returned: Failed to allocate memory for requested buffer of size 7", OutOfMemory),
        ("Non-zero status code\n  returned", RuntimeError),
    ],
)
def test_a_failure_is_one_line_and_lack_of_memory_is_told_from_the_rest(
    engine: OnnxEngine, said: str, error_type: type[RuntimeError], monkeypatch: pytest.MonkeyPatch
) -> None:
    from onnxruntime.capi.onnxruntime_pybind11_state import RuntimeException  # noqa: PLC0415 - its own, which is no RuntimeError

    monkeypatch.setattr(engine, "_session", Failing(RuntimeException(said)))
    with pytest.raises(error_type, match=r"ONNX Runtime failed on 1 texts of 2 tokens: Non-zero status code returned") as raised:
        engine.embed([np.array([101, 102], dtype=np.int32)])
    assert type(raised.value) is error_type


def test_its_threads_are_as_many_as_asked_for_and_do_not_spin(plain_model: PreparedModel) -> None:
    engine = OnnxEngine(plain_model, threads=3)
    options = engine._session.get_session_options()  # noqa: SLF001 - what ONNX Runtime was told
    assert (options.intra_op_num_threads, options.inter_op_num_threads) == (3, 1)
    assert options.get_session_config_entry("session.intra_op.allow_spinning") == "0"
    engine.close()


def test_nothing_is_printed(plain_model: PreparedModel, capfd: pytest.CaptureFixture[str]) -> None:
    engine = OnnxEngine(plain_model, threads=1)
    engine.embed([np.array([101, 102], dtype=np.int32)])
    engine.close()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        (WEIGHTS, None, r"model\.safetensors cannot be read: .*No such file"),
        (WEIGHTS, b"\x02\0\0\0\0\0\0\0{}", r"does not hold a BERT as it was prepared: KeyError\('embeddings\."),
        (WEIGHTS, b"not a model", r"model\.safetensors cannot be read"),
        (WEIGHTS, 1_000_000, r"model\.safetensors cannot be read: .*"),
        ("config.json", b"{}", r"does not hold a BERT as it was prepared: KeyError\('num_hidden_layers'\); prepare the model again$"),
        ("config.json", b"[]", r"config\.json does not hold a JSON object"),
    ],
)
def test_damaged_files_are_named_in_one_line(
    plain_model: PreparedModel, tmp_path: Path, name: str, content: bytes | int | None, reason: str
) -> None:
    for file in plain_model.hf.iterdir():
        (tmp_path / file.name).symlink_to(file)
    (tmp_path / name).unlink()
    if content is not None:
        (tmp_path / name).write_bytes((plain_model.hf / name).read_bytes()[:content] if isinstance(content, int) else content)
    with pytest.raises(ModelError, match=reason) as refused:
        OnnxEngine(replace(plain_model, hf=tmp_path), threads=1)
    assert "\n" not in str(refused.value)
