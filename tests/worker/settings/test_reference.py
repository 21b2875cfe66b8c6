"""`docs/settings.md` is current, describes every setting, and names variables that work."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel, SecretStr

from worker.settings.reference import settings_page
from worker.settings.settings import list_variable_of, load_settings, table_lists, tables, variable_of
from worker.settings.unknown_names import tables_in

PAGE = Path(__file__).parents[3] / "docs" / "settings.md"
SETTINGS = [(name, key) for name, table in tables() for key in table.model_fields]


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == settings_page() + "\n", "run `make docs`"


def test_every_setting_has_a_meaning() -> None:
    page = settings_page()
    for name, table in (*tables(), *table_lists()):
        for path, description in meanings(name, table):
            assert f"\n### `{path}`\n" in page
            assert (description or "").endswith("."), path


def meanings(path: str, table: type[BaseModel]) -> Iterator[tuple[str, str | None]]:
    """Return each setting of a table and of the tables in it, but not what has a section of its own."""
    for key, field in table.model_fields.items():
        yield f"{path}.{key}", field.description
        for inner in tables_in(field.annotation):
            if inner not in dict(tables()).values():
                yield from meanings(f"{path}.{key}", inner)


def test_every_variable_on_the_page_sets_its_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    page = settings_page()
    for name, key in SETTINGS:
        variable = variable_of(name, key)
        assert f" · `{variable}`\n" in page
    for name, _ in table_lists():
        assert f" · `{list_variable_of(name)}`\n" in page
    monkeypatch.setenv(list_variable_of("topic"), "a,b")
    monkeypatch.setenv(variable_of("milvus", "token"), "hidden")
    monkeypatch.setenv(variable_of("limits", "drain_timeout_s"), "2.5")
    settings = load_settings(None)
    assert (settings.milvus.token, settings.limits.drain_timeout_s) == (SecretStr("hidden"), 2.5)
    assert settings.subscription.names == ("a", "b")
