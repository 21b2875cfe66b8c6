"""`docs/settings.md` is current and describes every setting."""

from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel

from worker.settings.settings import table_lists, tables
from worker.settings.settings_reference import settings_page
from worker.settings.unknown_names import tables_in

PAGE = Path(__file__).parents[3] / "docs" / "settings.md"


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
