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
from worker.embedding.loaded import chosen_engine, load_model, model_of, open_engine, space_of
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


@pytest.mark.parametrize(
    ("origin", "chosen"), [("vllm/__init__.py", "vllm"), (None, "llama")], ids=["the library", "a folder of that name"]
)
def test_where_vllm_is_installed_it_is_chosen_without_a_name_and_without_an_import(
    monkeypatch: pytest.MonkeyPatch, origin: str | None, chosen: str
) -> None:
    installed = ModuleType("vllm")
    installed.__spec__ = ModuleSpec("vllm", None, origin=origin)
    monkeypatch.setitem(sys.modules, "vllm", installed)
    assert [chosen_engine(table) for table in (EngineTable(), EngineTable(name="llama"))] == [chosen, "llama"]


@pytest.mark.usefixtures("without_vllm")
def test_vllm_that_is_not_installed_is_refused_in_one_line(prepared_model: PreparedModel) -> None:
    with pytest.raises(ModelError, match=r"^engine\.name is vllm, which is not installed here: run `make vllm`, or set it to llama$"):
        open_engine(EngineTable(name="vllm"), prepared_model, prepared_model.dim)


@pytest.mark.usefixtures("without_vllm")
@pytest.mark.parametrize("name", ["auto", "llama"])
def test_where_vllm_is_not_installed_llama_cpp_computes(prepared_model: PreparedModel, name: Literal["auto", "llama"]) -> None:
    engine = open_engine(EngineTable(name=name, threads=1, batch_tokens=300), prepared_model, prepared_model.dim)
    assert isinstance(engine, LlamaEngine)
    assert (engine.dim, engine.batch_tokens) == (384, 300)
    engine.close()


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
