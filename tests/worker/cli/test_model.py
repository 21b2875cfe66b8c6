"""`vectail model`."""

import json
import sys
from pathlib import Path

import pytest

from tests.worker.cli.conftest import RunHere
from worker.embedding.engine.cpu_count import cpu_count
from worker.embedding.fastest_engine import SpeedRecord
from worker.embedding.model.prepared import PreparedModel


def test_show_says_what_the_model_is(run_here: RunHere, prepared_model: PreparedModel) -> None:
    ended = run_here("model", "show")

    facts = {line[:17].strip(): line[17:] for line in ended.out.splitlines()}
    assert (ended.exit_code, ended.err) == (0, "")
    assert facts["name"] == "all-MiniLM-L6-v2-logs"
    assert facts["vectors"] == "384 dimensions, length 1"
    assert facts["longest text"] == "256 tokens"
    assert facts["pooling"] == "mean"
    assert facts["prepared in"] == str(prepared_model.folder)
    assert facts["engine"] == "llama"


def test_as_json_it_is_one_object(run_here: RunHere, prepared_model: PreparedModel) -> None:
    facts = json.loads(run_here("model", "show", "--json").out)

    assert facts["gguf"] == str(prepared_model.gguf)
    assert facts["gguf_bytes"] == prepared_model.gguf.stat().st_size
    assert (facts["dim"], facts["max_tokens"]) == (384, 256)
    assert (facts["document_prefix"], facts["query_prefix"]) == ("", "")
    assert len(facts["space"]) == 16


def test_show_says_which_engine_was_measured_as_fastest_and_measures_nothing_itself(
    run_here: RunHere, prepared_model: PreparedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VECTAIL_ENGINE__NAME")
    monkeypatch.setitem(sys.modules, "vllm", None)
    monkeypatch.setenv("VECTAIL_MODEL__FOLDER", str(prepared_model.folder))
    monkeypatch.setenv("VECTAIL_MODEL__CACHE", str(tmp_path))
    assert "the fastest one, which the first start measures" in run_here("model", "show").out
    assert json.loads(run_here("model", "show", "--json").out)["engine"] is None
    SpeedRecord(tmp_path, prepared_model, cpu_count()).write({"llama": 270.4, "onnx": 385.2})
    shown = run_here("model", "show").out
    assert "measured here    llama 270, onnx 385 golden texts a second" in shown
    assert json.loads(run_here("model", "show", "--json").out)["engine"] == "onnx"


def test_a_prepared_folder_is_a_model_folder_too(run_here: RunHere, prepared_model: PreparedModel, tmp_path: Path) -> None:
    ended = run_here("model", "prepare", str(prepared_model.folder), "--cache", str(tmp_path), "--json")

    assert json.loads(ended.out)["folder"] == str(prepared_model.folder)
    assert list(tmp_path.iterdir()) == []
