"""Settings of earlier versions are refused with a line that says what to do."""

from pathlib import Path

import pytest

from worker.settings.moved import GONE, MOVED
from worker.settings.settings import Settings, SettingsError, load_settings, variable_of

IN_TOPICS = "topic.multiline.max_bytes"
"""A table of tables, which no variable reaches."""


@pytest.mark.parametrize(
    ("where", "name"), [(where, name) for name in (*MOVED, *GONE) for where in ("file", "environment")[: 1 if name == IN_TOPICS else 2]]
)
def test_a_former_setting_is_refused_in_one_line_that_says_what_took_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, where: str
) -> None:
    table, key = name.rsplit(".", 1)
    before = '[[topic]]\nname = "logs"\n' if name == IN_TOPICS else ""
    file = tmp_path / "vectail.toml"
    file.write_text(f"{before}[{table}]\n{key} = 1\n" if where == "file" else "", encoding="utf-8")
    if where == "environment":
        monkeypatch.setenv(variable_of(table, key), "1")
    with pytest.raises(SettingsError) as refused:
        load_settings(file)
    expected = f"it is {MOVED[name]} now" if name in MOVED else f"it is gone; {GONE[name]}"
    assert str(refused.value).endswith(f": {expected}")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(("old", "new"), MOVED.items())
def test_what_took_its_place_exists_and_the_old_name_does_not(old: str, new: str) -> None:
    settings = Settings().model_dump()
    for name, is_there in ((old, False), (new, True)):
        table, key = name.split(".")
        below = settings[table][0] if table == "topic" else settings[table]
        assert (key in below) == is_there
