"""A model folder is understood from its own files, or refused with one line that names it."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.rows import rows
from tests.worker.embedding.model.tiny import Tiny, make_folder, write_json
from worker.embedding.model.errors import ModelError
from worker.embedding.model.folder import read_folder

POOLING = "1_Pooling/config.json"
INDEX = "model.safetensors.index.json"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_folder(tmp_path / "tiny")


def change(file: Path, **changes: Any) -> None:  # noqa: ANN401 - JSON
    write_json(file, json.loads(file.read_text(encoding="utf-8")) | changes)


@pytest.mark.parametrize(
    "modes",
    [{"pooling_mode": "cls"}, {"pooling_mode_cls_token": True}, {"pooling_mode_cls_token": True, "include_prompt": False}],
    ids=["newer", "older", "a prompt is no part of it"],
)
@pytest.mark.parametrize("normalize", [False, True])
def test_pooling_comes_from_the_modules(tmp_path: Path, modes: dict[str, object], *, normalize: bool) -> None:
    folder = make_folder(tmp_path / "tiny", Tiny(normalize=normalize))
    write_json(folder / POOLING, modes)
    assert read_folder(folder).pooling == "cls"


def test_without_modules_the_vector_is_the_mean(folder: Path) -> None:
    (folder / "modules.json").unlink()
    assert read_folder(folder).pooling == "mean"


def test_prefixes_come_from_the_prompts(tmp_path: Path) -> None:
    model = read_folder(make_folder(tmp_path / "e5", Tiny(prompts={"query": "query: ", "passage": "passage: "})))
    assert (model.document_prefix, model.query_prefix) == ("passage: ", "query: ")


def test_the_token_limit_never_exceeds_the_positions(folder: Path) -> None:
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": 1000})
    assert read_folder(folder).max_tokens == 64
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": None})
    write_json(folder / "tokenizer_config.json", {"model_max_length": 40})
    assert read_folder(folder).max_tokens == 40
    (folder / "sentence_bert_config.json").unlink()
    (folder / "tokenizer_config.json").unlink()
    assert read_folder(folder).max_tokens == 64


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"no model in .*absent: there is no such folder"):
        read_folder(tmp_path / "absent")
    (tmp_path / "file").touch()
    with pytest.raises(ModelError, match=r"no model in .*file: it is not a folder"):
        read_folder(tmp_path / "file")


@pytest.mark.parametrize(("changes", "reason"), rows("model/refused_configs"))
def test_a_model_that_would_be_embedded_wrongly_is_refused(folder: Path, changes: dict[str, object], reason: str) -> None:
    change(folder / "config.json", **changes)
    with pytest.raises(ModelError, match=reason):
        read_folder(folder)


def test_what_is_given_stands_over_the_modules(folder: Path) -> None:
    assert read_folder(folder, pooling="cls").pooling == "cls"
    write_json(folder / "1_Pooling" / "config.json", {"pooling_mode_max_tokens": True})
    assert read_folder(folder, pooling="mean").pooling == "mean"
    (folder / "modules.json").unlink()
    assert read_folder(folder, pooling="cls").pooling == "cls"


@pytest.mark.parametrize(
    ("entries", "dimensions"),
    [
        ({}, ()),
        ({"is_matryoshka": False}, ()),
        ({"is_matryoshka": True}, tuple(range(1, 65))),
        ({"matryoshka_dimensions": [64, 16, 32, 16, 768]}, (16, 32, 64)),
        ({"matryoshka_dimensions": [32], "is_matryoshka": True}, (32,)),
    ],
)
def test_a_model_says_to_what_its_vectors_may_be_cut(folder: Path, entries: dict[str, object], dimensions: tuple[int, ...]) -> None:
    change(folder / "config.json", **entries)
    assert read_folder(folder).matryoshka == dimensions


def test_one_file_of_weights_stands_over_shards(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "shards", Tiny(shards=2))
    assert [file.name for file in read_folder(folder).weights] == [f"model-0000{number}-of-00002.safetensors" for number in (1, 2)]
    (folder / "model.safetensors").touch()
    assert read_folder(folder).weights == (folder / "model.safetensors",)


def test_a_missing_shard_is_named(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "shards", Tiny(shards=2))
    (folder / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(ModelError, match=r"model-00002-of-00002\.safetensors is missing, a shard of its weights"):
        read_folder(folder)


@pytest.mark.parametrize(("file", "content", "reason"), rows("model/refused_folders"))
def test_a_folder_that_cannot_be_understood_is_refused_by_name(folder: Path, file: str, content: str | None, reason: str) -> None:
    if content is None:
        (folder / file).unlink()
    else:
        (folder / file).write_text(content, encoding="utf-8")
    if file == INDEX or "pickle" in reason:
        (folder / "model.safetensors").unlink()
    with pytest.raises(ModelError, match=reason):
        read_folder(folder)
