"""The doctor's judgements of the embedding service: tokens, models, memory, and loads that failed."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.worker.inspecting.judged import judge, says
from tests.worker.serving.embeddings.embedding_server import EmbeddingServer
from worker.embedding.model.prepared import PreparedModel
from worker.inspecting.doctor import State, Verdict
from worker.inspecting.doctor_looks import NAMES, looks_of_tool
from worker.inspecting.doctor_serve import SERVE_CHECKS, ServedLook, ServeSetUp, ask_failures, look_at_serve
from worker.settings.serve_tables import ServedModelTable
from worker.settings.settings import Settings

MIB = 1024 * 1024
LONG = "0123456789abcdef"
HERE: dict[str, Any] = {"host": "127.0.0.1"}
OPEN: dict[str, Any] = {"host": "0.0.0.0", "allow_without_token": True}  # noqa: S104 - it is not opened


def facts(serve: Mapping[str, Any], http: Mapping[str, Any] = HERE, sizes: Mapping[str, int] | None = None) -> ServeSetUp:
    """Return the facts of an embedding service with these tables, whose models have so many MiB; those named `pinned` are."""
    models = [ServedLook(_table(name), size_mib * MIB, "") for name, size_mib in (sizes or {}).items()]
    return ServeSetUp(Settings.model_validate({"serve": {"enabled": True, **serve}, "http": http}), models, {})


def _table(name: str) -> ServedModelTable:
    return ServedModelTable.model_validate({"name": name, "folder": f"/models/{name}", "pin": name.startswith("pinned")})


@pytest.mark.parametrize(
    ("serve", "http", "state", "words"),
    [
        ({"enabled": False}, {"enabled": False}, "problem", "nobody can ask"),
        ({}, HERE, "ok", "only this machine"),
        ({"token": LONG}, HERE, "ok", "the logs no token"),
        ({}, OPEN, "warning", "anyone who reaches 0.0.0.0|may ask for vectors|serve.token"),
        ({"token": LONG}, OPEN, "warning", "there is no http.token|may search the logs"),
        ({"token": LONG[:-1]}, OPEN | {"token": LONG}, "warning", "15 characters"),
        ({"token": LONG}, OPEN | {"token": LONG}, "ok", "serve.token opens vectors alone"),
        ({}, OPEN | {"token": LONG}, "ok", "http.token opens vectors and logs alike"),
    ],
)
def test_a_token_that_guards_vectors_but_not_the_logs_is_said(
    serve: Mapping[str, Any], http: Mapping[str, Any], state: State, words: str
) -> None:
    says(judge(SERVE_CHECKS, "access", facts(serve, http)), state, words)


def test_the_rank_file_must_be_readable(tmp_path: Path) -> None:
    file = tmp_path / "cl100k_base.tiktoken"
    says(judge(SERVE_CHECKS, "openai-tokens", facts({})), "ok", "are refused with the reason")
    says(judge(SERVE_CHECKS, "openai-tokens", facts({"openai_tokens": str(file)})), "problem", f"{file} cannot be read|refuses to start")
    file.touch()
    says(judge(SERVE_CHECKS, "openai-tokens", facts({"openai_tokens": str(file)})), "ok", "is there")


@pytest.mark.parametrize(
    ("sizes", "state", "words"),
    [
        ({}, "ok", "0 B"),
        ({"a": 60, "b": 40}, "ok", "100 MiB"),
        ({"a": 60, "b": 41}, "ok", "they are unloaded for one another"),
        ({"a": 101}, "problem", "a can never be loaded"),
        ({"pinned": 60, "a": 40}, "ok", "100 MiB"),
        ({"pinned": 60, "a": 41, "b": 1}, "problem", "leave 40 MiB: a can never be loaded"),
        ({"pinned_a": 60, "pinned_b": 41}, "problem", "the pinned models take 101 MiB|refuses to start"),
    ],
)
def test_models_have_room_in_turns_beside_the_pinned_ones_or_never(sizes: Mapping[str, int], state: State, words: str) -> None:
    says(judge(SERVE_CHECKS, "memory", facts({"memory_bytes": 100 * MIB}, sizes=sizes)), state, words)


def test_a_model_is_prepared_or_will_be_or_cannot_be(plain_model: PreparedModel, tmp_path: Path) -> None:
    def look(*folders: Path) -> Mapping[str, Verdict]:
        models = [{"name": f"m{number}", "folder": str(folder)} for number, folder in enumerate(folders)]
        given = {"serve": {"enabled": True, "model": models}, "model": {"cache": str(tmp_path / "cache")}}
        return look_at_serve(Settings.model_validate(given), dict)

    source = tmp_path / "source"
    source.mkdir()
    says(look()["models"], "ok", "only the default model")
    says(look(plain_model.folder)["models"], "ok", "1 in [[serve.model]], all prepared")
    says(look(plain_model.folder, source)["models"], "warning", "not prepared yet: m1|vectail model add")
    says(look(tmp_path / "gone", source)["models"], "problem", f"m0: {tmp_path / 'gone'} is not a folder")
    assert not (tmp_path / "cache").exists(), "nothing is prepared"
    assert look(plain_model.folder)["memory"].found.startswith("the models take ")
    assert not look(plain_model.folder)["memory"].found.startswith("the models take 0 B")


def test_what_runs_tells_which_model_could_not_be_loaded_and_why(plain_model: PreparedModel, tmp_path: Path) -> None:
    serve = {"model": [{"name": "gone", "folder": str(tmp_path / "gone")}], "token": LONG}
    with closing(EmbeddingServer(plain_model, serve)) as server:
        http = {"host": server.http.listening.host, "port": server.http.listening.port}
        settings = Settings.model_validate({"serve": serve, "http": http})
        says(look_at_serve(settings, lambda: ask_failures(settings))["loads"], "ok")
        asked = server.ask("/v1/embeddings", {"model": "gone", "input": "x"}, Authorization=f"Bearer {LONG}")
        assert asked.status == 503
        says(look_at_serve(settings, lambda: ask_failures(settings))["loads"], "problem", "gone: |there is no such folder")


def test_without_an_embedding_service_it_is_not_looked_at_and_with_models_it_is() -> None:
    assert not [one for one in looks_of_tool(Settings()) if one.group == "serve"]
    for serve in ({"enabled": True}, {"model": [{"name": "all-MiniLM-L6-v2"}]}):
        (look,) = (one for one in looks_of_tool(Settings.model_validate({"serve": serve})) if one.group == "serve")
        assert look.names == NAMES["serve"] == [check.name for check in SERVE_CHECKS]
