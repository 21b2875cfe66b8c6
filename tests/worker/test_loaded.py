"""What is checked before anything is read or created, and what the user is told."""

from typing import Any

import pytest

from tests.model_fixture import CACHE
from worker.loaded import load_model, model_of, space_of
from worker.model.folder import ModelError
from worker.model.prepared import PreparedModel
from worker.settings import Settings
from worker.tables import EngineTable, ModelTable


def settings(**model: Any) -> Settings:  # noqa: ANN401 - as ModelTable takes them
    return Settings(model=ModelTable(cache=CACHE, **model), engine=EngineTable(threads=1))


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


def test_more_tokens_than_the_model_takes_are_refused() -> None:
    with pytest.raises(ModelError, match=r"^model\.max_tokens is 257; all-MiniLM-L6-v2 takes at most 256$"):
        model_of(settings(max_tokens=257))


@pytest.mark.parametrize("name", ["document_prefix", "query_prefix"])
def test_a_prefix_that_leaves_no_room_for_a_text_is_refused(name: str) -> None:
    with pytest.raises(ModelError, match=rf"^model\.{name} takes 253 of 256 tokens; at least 6 are for the text$"):
        load_model(settings(**{name: "=" * 251}))


def test_the_smallest_token_limit_leaves_room_for_a_text() -> None:
    load_model(settings(max_tokens=8)).engine.close()
