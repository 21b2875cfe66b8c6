"""`docs/settings.md` is current, describes every setting, and names variables that work."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from worker.settings.reference import settings_page
from worker.settings.settings import load_settings, tables, variable_of

PAGE = Path(__file__).parents[3] / "docs" / "settings.md"
SETTINGS = [(name, key) for name, table in tables() for key in table.model_fields]


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == settings_page() + "\n", "run `make docs`"


@pytest.mark.parametrize(("name", "key"), SETTINGS, ids=[".".join(setting) for setting in SETTINGS])
def test_every_setting_has_a_meaning(name: str, key: str) -> None:
    meaning = dict(tables())[name].model_fields[key].description
    assert meaning is not None
    assert meaning.endswith(".")


def test_every_variable_on_the_page_sets_its_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    page = settings_page()
    for name, key in SETTINGS:
        variable = variable_of(name, key)
        assert f" · `{variable}`\n" in page
    monkeypatch.setenv(variable_of("kafka", "topics"), "a,b")
    monkeypatch.setenv(variable_of("milvus", "token"), "hidden")
    monkeypatch.setenv(variable_of("limits", "drain_timeout_s"), "2.5")
    settings = load_settings(None)
    assert (settings.kafka.topics, settings.milvus.token, settings.limits.drain_timeout_s) == (("a", "b"), SecretStr("hidden"), 2.5)


def test_types_bounds_and_defaults_are_on_the_page() -> None:
    page = settings_page()
    for facts in (
        "### `limits.drain_timeout_s`\n\nnumber, more than 0 · default `25.0` · ",
        "### `milvus.writers`\n\ninteger, at least 1, at most 16 · default `1` · ",
        '### `milvus.bm25`\n\none of `"auto"`, `"on"`, `"off"` · default `"auto"` · ',
        '### `kafka.topics`\n\nlist of strings · default `["logs"]` · ',
        '### `http.token`\n\nsecret string · default `""` · ',
        "### `model.folder`\n\npath · not set by default · ",
        "### `mask.add`\n\nlist of tables · default `[]` · ",
        "### `mask.add.name`\n\nstring, matching `^[a-z][a-z0-9_-]{0,63}$` · required\n",
    ):
        assert facts in page
