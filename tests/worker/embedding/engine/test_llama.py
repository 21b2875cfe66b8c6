"""llama.cpp beyond the contract: right vectors, its native hazards, and errors that say what to do."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from worker.embedding.engine.llama import LlamaEngine
from worker.embedding.guarded_engine import worst_cosine
from worker.embedding.model.errors import ModelError
from worker.embedding.model.golden import load_golden
from worker.embedding.model.prepared import PreparedModel


@pytest.fixture(scope="module")
def engine(prepared_model: PreparedModel) -> Iterator[LlamaEngine]:
    engine = LlamaEngine(prepared_model, threads=2)
    yield engine
    engine.close()


def test_the_vectors_are_those_of_the_float32_reference(engine: LlamaEngine, prepared_model: PreparedModel) -> None:
    assert worst_cosine(engine, load_golden(prepared_model.golden)) >= 0.9999


@pytest.mark.parametrize("batch_tokens", [300, 777, 1000])
def test_a_budget_that_llama_cpp_would_abort_on_is_usable(prepared_model: PreparedModel, batch_tokens: int) -> None:
    engine = LlamaEngine(prepared_model, threads=1, batch_tokens=batch_tokens)
    assert engine.batch_tokens == batch_tokens
    assert worst_cosine(engine, load_golden(prepared_model.golden)) >= 0.9999
    engine.close()


def test_a_budget_below_the_longest_text_is_raised_to_it(prepared_model: PreparedModel) -> None:
    engine = LlamaEngine(prepared_model, threads=1, batch_tokens=10)
    assert engine.embed([np.full(prepared_model.max_tokens, 2000, dtype=np.int32)]).shape == (1, 384)
    engine.close()


@pytest.mark.parametrize("token_id", [-1, 30_522, 2**31 - 1])
def test_an_id_outside_the_vocabulary_is_an_error_with_a_reason_and_the_engine_lives(engine: LlamaEngine, token_id: int) -> None:
    good = np.array([101, 2000, 102], dtype=np.int32)
    before = engine.embed([good])
    with pytest.raises(RuntimeError, match="failed with code -1 on 1 texts of 3 tokens: init: "):
        engine.embed([np.array([101, token_id, 102], dtype=np.int32)])
    assert engine.embed([good])[0] @ before[0] > 0.99999


def test_nothing_is_printed(prepared_model: PreparedModel, capfd: pytest.CaptureFixture[str]) -> None:
    engine = LlamaEngine(prepared_model, threads=1)
    engine.embed([np.array([101, 102], dtype=np.int32)])
    engine.close()
    assert capfd.readouterr() == ("", "")


def test_a_missing_file_is_named(prepared_model: PreparedModel, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"cannot load .*absent\.gguf"):
        LlamaEngine(replace(prepared_model, gguf=tmp_path / "absent.gguf"), threads=1)


def test_a_file_that_is_no_gguf_is_refused_with_the_reason(prepared_model: PreparedModel, tmp_path: Path) -> None:
    (tmp_path / "model.gguf").write_bytes(b"not a model")
    with pytest.raises(ModelError, match=r"cannot load .*: .*invalid magic"):
        LlamaEngine(replace(prepared_model, gguf=tmp_path / "model.gguf"), threads=1)


@pytest.mark.parametrize("changes", [{"weights_sha256": "0" * 64}, {"vocabulary_size": 5}, {"dim": 12}])
def test_a_gguf_of_another_model_is_refused(prepared_model: PreparedModel, changes: dict[str, object]) -> None:
    with pytest.raises(ModelError, match=r"model\.gguf"):
        LlamaEngine(replace(prepared_model, **changes), threads=1)  # type: ignore[arg-type]
