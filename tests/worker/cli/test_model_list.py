"""`vectail model ls` and `add`, and what `check` says of the models to serve."""

import json
import tomllib
from pathlib import Path

import pytest

from tests.worker.cli.conftest import RunHere
from tests.worker.cli.console import in_one_line
from tests.worker.embedding.model.tiny import Tiny, make_folder
from worker.embedding.model.prepared import prepare_model
from worker.embedding.pool.model_bytes import remember_rise
from worker.settings.serve_tables import ServeTable


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the settings name a small model and one whose folder is not there, in a cache of their own."""
    models = [
        {"name": "tiny", "folder": str(make_folder(tmp_path / "tiny")), "aliases": ["small", "smallest"], "pin": True},
        {"name": "gone", "folder": str(tmp_path / "gone")},
    ]
    monkeypatch.setenv("VECTAIL_SERVE__MODEL", json.dumps(models))
    monkeypatch.setenv("VECTAIL_MODEL__CACHE", str(tmp_path / "cache"))
    return tmp_path


def test_models_are_listed_without_being_prepared(run_here: RunHere, two: Path) -> None:
    models = json.loads(run_here("model", "ls", "--json").out)["models"]
    assert not (two / "cache").exists()
    assert [(one["name"], one["prepared"], one["pinned"], one["dim"]) for one in models] == [
        ("tiny", False, True, None),
        ("gone", False, False, None),
    ]
    prepared = prepare_model(two / "tiny", two / "cache")
    assert json.loads(run_here("model", "ls", "--json").out)["models"][0]["bytes"] is None, "it was never loaded"
    remember_rise(prepared, "llama", 512, 20_000_000)

    tiny = json.loads(run_here("model", "ls", "--json").out)["models"][0]

    assert (tiny["prepared"], tiny["dim"], tiny["max_tokens"], tiny["aliases"]) == (True, 64, 48, ["small", "smallest"])
    assert tiny["bytes"] > 20_000_000 / 2
    rows = run_here("model", "ls").out.splitlines()
    assert [row.split()[0] for row in rows] == ["model", "tiny", "gone"]
    assert "pinned" in rows[1]
    assert "gone is no folder" in rows[2]


def test_a_model_is_prepared_and_its_table_printed_as_the_settings_take_it(run_here: RunHere, two: Path) -> None:
    folder = make_folder(two / "other", Tiny(dim=32))

    ended = run_here("model", "add", str(folder), "--name", 'the "other"')

    assert (ended.exit_code, ended.err) == (0, "")
    (table,) = ServeTable.model_validate(tomllib.loads(ended.out)["serve"]).model
    assert (table.name, table.folder) == ('the "other"', folder)
    assert "# 32 dimensions, at most 48 tokens" in ended.out
    assert json.loads(run_here("model", "add", str(folder), "--json").out)["name"] == "other"


def test_a_name_that_is_taken_or_none_and_a_folder_that_is_none_are_refused(run_here: RunHere, two: Path) -> None:
    for words, said in {
        (str(two / "tiny"), "--name", "smallest"): "the settings have a model 'smallest' already",
        (str(two / "tiny"), "--name", "a\nb"): "is no name",
        (str(two / "nowhere"),): "nowhere",
    }.items():
        ended = run_here("model", "add", *words)
        assert ended.exit_code == 2
        assert said in in_one_line(ended)


def test_models_to_serve_are_checked_too_and_a_broken_one_is_named(run_here: RunHere, two: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = run_here("model", "check")
    assert (ended.exit_code, "serve.model gone: " in in_one_line(ended)) == (2, True)
    monkeypatch.setenv("VECTAIL_SERVE__MODEL", json.dumps([{"name": "tiny", "folder": str(two / "tiny")}]))

    ended = run_here("model", "check", "--json")

    assert ended.exit_code == 0
    assert [(one["model"], one["equal"], one["engine"]) for one in json.loads(ended.out)["served"]] == [("tiny", True, "llama.cpp")]
