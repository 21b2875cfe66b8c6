"""What is checked before anything is read or created, and the messages for the user."""

import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import numpy as np
import pytest
from structlog.testing import capture_logs

from tests.model_fixture import CACHE
from tests.worker.embedding.model.tiny import Tiny, make_folder
from worker.embedding.engine.llama import LlamaEngine
from worker.embedding.engine.matryoshka import TruncatingEngine
from worker.embedding.loaded import load_model, model_of, open_engine, space_of, speed_record, uses_vllm
from worker.embedding.model.errors import ModelError
from worker.embedding.model.prepared import PreparedModel
from worker.runtime.logs import configure_logs
from worker.settings.settings import Settings
from worker.settings.tables import EngineTable, ModelTable


@pytest.fixture(autouse=True)
def _logs() -> None:
    """Log to the standard error of this test, not to that of an earlier one."""
    configure_logs()


def settings(**model: Any) -> Settings:  # noqa: ANN401 - as ModelTable takes them
    return Settings(model=ModelTable(**{"cache": CACHE} | model), engine=EngineTable(name="llama", threads=1))


def with_engine(**engine: Any) -> Settings:  # noqa: ANN401 - as EngineTable takes them
    return Settings(model=ModelTable(cache=CACHE), engine=EngineTable(**{"threads": 1} | engine))


@pytest.fixture
def without_vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make `vllm` impossible to import, whether or not it is installed."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "vllm"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "vllm", None)


def test_the_default_model_is_loaded_and_passes_its_golden_texts(prepared_model: PreparedModel) -> None:
    model = load_model(settings())
    tokenizer = model.new_tokenizer()
    try:
        assert model.prepared == prepared_model
        assert model.space == space_of(prepared_model)
        assert model.engine.embed([tokenizer.encode(["disk full"]).text(0)]).shape == (1, model.space.dim)
    finally:
        tokenizer.close()
        model.engine.close()


def test_prefixes_and_token_limit_may_be_set(prepared_model: PreparedModel) -> None:
    model = model_of(settings(document_prefix="passage: ", query_prefix="", max_tokens=64))
    assert (model.document_prefix, model.query_prefix, model.max_tokens) == ("passage: ", "", 64)
    assert space_of(model).id != space_of(prepared_model).id
    assert space_of(model_of(settings(max_tokens=64))).id == space_of(prepared_model).id, "the limit is no part of the space"


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ({"max_tokens": 257}, r"^model\.max_tokens is 257; all-MiniLM-L6-v2-logs takes at most 256$"),
        ({"dims": 385}, r"^model\.dims is 385; the vectors of all-MiniLM-L6-v2-logs have 384 components$"),
    ],
)
def test_more_than_the_model_has_is_refused(table: dict[str, int], reason: str) -> None:
    with pytest.raises(ModelError, match=reason):
        model_of(settings(**table))


def test_the_plain_model_is_a_space_of_its_own_and_still_the_one_of_older_indexes(
    prepared_model: PreparedModel, plain_model: PreparedModel
) -> None:
    assert model_of(settings(name="all-MiniLM-L6-v2")) == plain_model
    assert model_of(settings(name="all-MiniLM-L6-v2-logs")) == prepared_model
    assert space_of(plain_model).id == "608ddf1391903187"
    assert space_of(plain_model).id != space_of(prepared_model).id
    assert space_of(prepared_model).parts["words"] == "split"


def test_a_folder_and_a_name_are_not_both_taken() -> None:
    with pytest.raises(ValueError, match=r"model\.folder and model\.name both name a model"):
        settings(folder="/models/other", name="all-MiniLM-L6-v2")


@pytest.mark.parametrize("name", ["document_prefix", "query_prefix"])
def test_a_prefix_that_leaves_no_room_for_a_text_is_refused(name: str) -> None:
    with pytest.raises(ModelError, match=rf"^model\.{name} takes 253 of 256 tokens; at least 6 are for the text$"):
        load_model(settings(**{name: "=" * 251}))


@pytest.mark.parametrize(("origin", "is_chosen"), [("vllm/__init__.py", True), (None, False)], ids=["the library", "a folder of that name"])
def test_where_vllm_is_installed_it_is_chosen_without_a_name_and_without_an_import(
    monkeypatch: pytest.MonkeyPatch, origin: str | None, *, is_chosen: bool
) -> None:
    installed = ModuleType("vllm")
    installed.__spec__ = ModuleSpec("vllm", None, origin=origin)
    monkeypatch.setitem(sys.modules, "vllm", installed)
    assert uses_vllm(EngineTable()) == is_chosen
    assert not uses_vllm(EngineTable(name="llama"))


@pytest.mark.usefixtures("without_vllm")
def test_vllm_that_is_not_installed_is_refused_in_one_line(prepared_model: PreparedModel) -> None:
    with pytest.raises(ModelError, match=r"^engine\.name is vllm, which is not installed here: run `make vllm`, or set it to llama$"):
        open_engine(with_engine(name="vllm"), prepared_model, prepared_model.dim)


@pytest.fixture
def without_onnxruntime(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make `onnxruntime` impossible to import."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "onnxruntime" or name == "worker.embedding.engine.onnx"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)


@pytest.mark.usefixtures("without_vllm", "without_onnxruntime")
@pytest.mark.parametrize("name", ["auto", "llama"])
def test_where_neither_vllm_nor_onnx_runtime_is_installed_llama_cpp_computes(
    prepared_model: PreparedModel, name: Literal["auto", "llama"]
) -> None:
    engine = open_engine(with_engine(name=name, batch_tokens=300), prepared_model, prepared_model.dim)
    assert isinstance(engine, LlamaEngine)
    assert (engine.dim, engine.batch_tokens) == (384, 300)
    engine.close()


@pytest.mark.usefixtures("without_onnxruntime")
def test_onnx_runtime_that_is_not_installed_is_refused_in_one_line(prepared_model: PreparedModel) -> None:
    with pytest.raises(ModelError, match=r"^engine\.name is onnx, and onnxruntime cannot be loaded: .*; set it to llama$"):
        open_engine(with_engine(name="onnx"), prepared_model, prepared_model.dim)


@pytest.mark.usefixtures("without_vllm")
@pytest.mark.parametrize(("rates", "chosen"), [((10, 20), "onnx"), ((20, 10), "llama.cpp")])
def test_without_a_name_the_engine_that_was_measured_as_fastest_here_computes(
    prepared_model: PreparedModel, tmp_path: Path, rates: tuple[float, float], chosen: str
) -> None:
    table = with_engine(name="auto").model_copy(update={"model": ModelTable(cache=tmp_path)})
    speed_record(table, prepared_model).write({"llama": rates[0], "onnx": rates[1]})
    engine = open_engine(table, prepared_model, prepared_model.dim)
    assert engine.name == chosen
    engine.close()


@pytest.mark.slow
@pytest.mark.usefixtures("without_vllm")
def test_the_first_start_without_a_name_measures_both_engines_and_says_so_in_one_line(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "tiny")
    table = Settings(model=ModelTable(folder=folder, cache=tmp_path / "cache"), engine=EngineTable(threads=1))
    with capture_logs() as logs:
        first = load_model(table)
        second = load_model(table)
    (line,) = logs
    assert line["engine"] == max(("llama", "onnx"), key=lambda name: float(line[f"{name}_texts_per_s"]))
    assert first.engine.name == second.engine.name == {"llama": "llama.cpp", "onnx": "onnx"}[line["engine"]]
    for model in (first, second):
        model.engine.close()


@pytest.mark.parametrize("name", ["llama", "onnx"])
def test_the_space_is_the_same_with_any_engine_and_8_bit_weights_pass_the_golden_texts(name: Literal["llama", "onnx"]) -> None:
    weights: Literal["float", "q8"] = "q8" if name == "onnx" else "float"
    model = load_model(Settings(model=ModelTable(cache=CACHE), engine=EngineTable(name=name, weights=weights, threads=1)))
    assert model.space == space_of(model.prepared)
    model.engine.close()


def test_8_bit_weights_are_refused_where_they_would_not_be_used() -> None:
    for name in ("auto", "llama", "vllm"):
        with pytest.raises(ValueError, match=r"engine\.weights = 'q8' needs engine\.name = 'onnx'"):
            EngineTable(name=name, weights="q8")


def test_with_fewer_components_space_golden_texts_and_engines_are_cut(prepared_model: PreparedModel) -> None:
    whole = LlamaEngine(prepared_model, threads=1)
    model = load_model(settings(dims=64))
    another = model.new_engine()
    assert (model.space.dim, model.prepared.dim, model.engine.dim, another.dim) == (64, 384, 64, 64)
    assert model.space.id != space_of(prepared_model).id
    assert model.golden.vectors.shape == (len(model.golden.ids), 64)
    assert np.linalg.norm(model.golden.vectors, axis=1) == pytest.approx(1.0, abs=1e-5)
    batch = model.golden.ids[:3]
    first = whole.embed(batch)[:, :64]
    for engine in (model.engine, another):
        assert isinstance(engine, TruncatingEngine)
        assert engine.embed(batch) == pytest.approx(first / np.linalg.norm(first, axis=1, keepdims=True), abs=1e-4)
    for engine in (whole, model.engine, another):
        engine.close()


def test_cutting_the_vectors_of_a_model_that_was_not_trained_for_it_is_said() -> None:
    with capture_logs() as logs:
        load_model(settings(dims=64)).engine.close()
    (line,) = logs
    assert line["log_level"] == "warning"
    assert line["event"].startswith("model.dims cuts vectors of a model that does not say it was trained for it")
    assert (line["model"], line["dims"]) == ("all-MiniLM-L6-v2-logs", 64)


@pytest.mark.parametrize(
    ("says", "dims", "warned"),
    [(("is_matryoshka", True), 20, False), (("matryoshka_dimensions", [32, 16]), 16, False), (("matryoshka_dimensions", [32]), 16, True)],
)
def test_a_model_that_says_it_was_trained_for_it_is_cut_without_a_word(
    says: tuple[str, object], dims: int, tmp_path: Path, *, warned: bool
) -> None:
    folder = make_folder(tmp_path / "tiny", Tiny(config=(says,)))
    with capture_logs() as logs:
        load_model(settings(folder=folder, cache=tmp_path / "cache", dims=dims)).engine.close()
    assert bool(logs) == warned


@pytest.mark.parametrize("unigram", [True, False])
def test_a_tokenizer_that_llama_cpp_cannot_match_is_said_once_at_the_start(tmp_path: Path, unigram: bool) -> None:  # noqa: FBT001 - a case
    folder = make_folder(tmp_path / "tiny", Tiny(unigram=unigram))
    with capture_logs() as logs:
        model = load_model(settings(folder=folder, cache=tmp_path / "cache"))
    model.engine.close()
    assert [line["event"].startswith("llama.cpp does not tokenize like this model") for line in logs] == ([True] if unigram else [])
    words = model.new_tokenizer()
    assert words.uses_llama is not unigram
    assert words.count(["disk full"])[0] > 2
    words.close()


def test_pooling_that_is_set_reaches_the_model_its_space_and_its_engine(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "tiny", Tiny(pooling="mean"))
    own = load_model(settings(folder=folder, cache=tmp_path / "cache"))
    other = load_model(settings(folder=folder, cache=tmp_path / "cache", pooling="cls"))
    assert (own.prepared.pooling, other.prepared.pooling, other.space.pooling) == ("mean", "cls", "cls")
    assert own.space.id != other.space.id
    by_mean, by_cls = own.engine.embed(own.golden.ids), other.engine.embed(own.golden.ids)
    assert (by_mean * by_cls).sum(axis=1).min() < 0.95
    own.engine.close()
    other.engine.close()


def test_an_engine_that_fails_the_golden_texts_is_refused_and_closed(tmp_path: Path) -> None:
    """Golden vectors of another model have the same effect as an engine that computes wrong ones."""
    by_mean = model_of(settings(folder=make_folder(tmp_path / "mean", Tiny(pooling="mean")), cache=tmp_path / "cache"))
    by_cls = model_of(settings(folder=make_folder(tmp_path / "cls", Tiny(pooling="cls")), cache=tmp_path / "cache"))
    by_mean.golden.write_bytes(by_cls.golden.read_bytes())
    with pytest.raises(ModelError, match=r"^llama\.cpp gives wrong vectors for the golden texts \(cosine 0\.\d{4}, at least 0\.998\)$"):
        load_model(settings(folder=by_mean.folder))
