"""`[[template]]`: names for templates, and what is refused."""

from pathlib import Path

import pytest

from worker.settings.settings import SettingsError, load_settings


def load(tmp_path: Path, text: str) -> list[tuple[str, str]]:
    file = tmp_path / "vectail.toml"
    file.write_text(text)
    return [(table.name, table.pattern) for table in load_settings(file).template]


def test_names_may_be_what_people_say_and_keep_their_order(tmp_path: Path) -> None:
    tables = (
        "[[template]]\nname = 'Zahlung abgelehnt (Kasse №2)'\npattern = 'payment .* declined'\n[[template]]\nname = 'a'\npattern = '^x'\n"
    )
    assert load(tmp_path, tables) == [("Zahlung abgelehnt (Kasse №2)", "payment .* declined"), ("a", "^x")]
    assert load(tmp_path, "") == []


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("name = 'a'", "template.0.pattern"),
        ("pattern = 'a'", "template.0.name"),
        ("name = ''\npattern = 'a'", "template.0.name"),
        ("name = '" + "x" * 65 + "'\npattern = 'a'", "template.0.name"),
        ('name = "a\\nb"\npattern = "a"', "printable"),
        ("name = ' a'\npattern = 'a'", "no space at either end"),
        ("name = 'a'\npattern = '('", "no RE2 pattern"),
        ("name = 'a'\npattern = '(?=a)'", "no RE2 pattern"),
        ("name = 'a'\npattern = 'a'\ntext = 'b'", "text"),
        ("name = 'a'\npattern = 'a'\n[[template]]\nname = 'a'\npattern = 'b'", "template: 'a' stands twice"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(tmp_path: Path, table: str, said: str) -> None:
    with pytest.raises(SettingsError, match=r"^[^\n]*$") as refused:
        load(tmp_path, f"[[template]]\n{table}\n")
    assert said in str(refused.value)
