"""Which of the installed models is used: that of the index, for a new index the one that knows logs."""

import json
from pathlib import Path

import pytest

from sinks.milvus.fields import SPACE_PROPERTY
from tests.model_fixture import CACHE
from worker.connections import index_space, with_index_model
from worker.embedding.loaded import space_of
from worker.embedding.model.prepared import PreparedModel
from worker.settings.settings import Settings, load_settings

PLAIN, TUNED = "all-MiniLM-L6-v2", "all-MiniLM-L6-v2-logs"


def settings_for(folder: Path, space: str | None, **model: object) -> Settings:
    """Return settings of an index that was filled in that space; None: there is no index."""
    if space is not None:
        schema = folder / "collections" / "vectail" / "schema.json"
        schema.parent.mkdir(parents=True)
        schema.write_text(json.dumps({"properties": {SPACE_PROPERTY: space}}))
    return load_settings(None, {"milvus": {"uri": str(folder)}, "model": {"cache": str(CACHE), **model}})


def chosen(settings: Settings) -> tuple[str, list[str]]:
    said: list[str] = []
    return with_index_model(settings, said.append).model.name, said


def test_a_new_index_gets_the_model_that_knows_logs_without_a_word(tmp_path: Path, prepared_model: PreparedModel) -> None:
    settings = settings_for(tmp_path, None)
    assert chosen(settings) == (TUNED, [])
    assert index_space(settings).id == space_of(prepared_model).id


def test_an_index_of_the_plain_model_keeps_it_which_is_said_once(tmp_path: Path, plain_model: PreparedModel) -> None:
    settings = settings_for(tmp_path, space_of(plain_model).id)
    name, said = chosen(settings)
    assert (name, len(said)) == (PLAIN, 1)
    assert said[0].startswith("the index was filled with all-MiniLM-L6-v2 and keeps it")
    assert index_space(settings).id == space_of(plain_model).id
    assert chosen(with_index_model(settings)) == (PLAIN, []), "the settings name it then"


def test_an_index_of_the_model_that_knows_logs_is_opened_without_a_word(tmp_path: Path, prepared_model: PreparedModel) -> None:
    assert chosen(settings_for(tmp_path, space_of(prepared_model).id)) == (TUNED, [])


def test_other_settings_of_the_model_count_when_spaces_are_compared(tmp_path: Path, plain_model: PreparedModel) -> None:
    assert chosen(settings_for(tmp_path, space_of(plain_model, 64).id, dims=64))[0] == PLAIN


@pytest.mark.parametrize("name", [PLAIN, TUNED])
def test_a_model_that_the_settings_name_is_taken_whatever_the_index_says(tmp_path: Path, name: str, plain_model: PreparedModel) -> None:
    assert chosen(settings_for(tmp_path, space_of(plain_model).id, name=name)) == (name, [])


def test_an_index_of_neither_is_left_to_whoever_opens_it(tmp_path: Path) -> None:
    settings = settings_for(tmp_path, "0123456789abcdef")
    assert with_index_model(settings) == settings
