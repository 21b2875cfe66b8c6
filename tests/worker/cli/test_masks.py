"""`vectail masks`: the list of masks, and what a change of them does to the lines of files."""

import json
from pathlib import Path

import pytest

from consumers.text.mask import MASKS, MASKS_VERSION
from tests.worker.cli.conftest import NewScreen, RunHere
from worker.cli.masks_list import EXAMPLES, masked_example
from worker.cli.masks_screen import show_difference, show_masks

LINES = (
    *(f"paint the door {colour} at once" for colour in ("red", "green", "blue")),
    "disk full",
    "disk full",
    "contact ada@example.org",
)


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    file = tmp_path / "lines.log"
    file.write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    return file


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    file = tmp_path / "new.toml"
    file.write_text(
        "[mask]\ndisabled = ['email']\n\n[[mask.add]]\nname = 'door'\npattern = '(the \\w+ )\\S+'\nreplacement = '\\1*'\n", encoding="utf-8"
    )
    return file


@pytest.mark.parametrize("mask", MASKS, ids=lambda mask: mask.name)
def test_every_built_in_mask_is_explained_with_an_example_that_it_changes(mask: object) -> None:
    name = getattr(mask, "name", "")
    example = EXAMPLES[name]
    assert masked_example(example, {name, *example.needs}) != masked_example(example, set(example.needs))
    assert example.removes


def test_no_mask_is_explained_that_does_not_exist() -> None:
    assert set(EXAMPLES) == {mask.name for mask in MASKS}


def test_the_list_says_which_masks_are_on_and_has_the_users_own(run_here: RunHere, settings: Path) -> None:
    listed = json.loads(run_here("masks", "list", "--config", str(settings), "--json").out)
    assert [mask["name"] for mask in listed["masks"]] == [mask.name for mask in MASKS]
    assert {mask["name"] for mask in listed["masks"] if not mask["on"]} == {"email"}
    assert listed["version"].startswith(f"{MASKS_VERSION}+"), "settings change the set"
    assert listed["added"] == [{"name": "door", "pattern": r"(the \w+ )\S+", "replacement": r"\1*", "on": True}]


def test_in_mode_exact_no_mask_is_on(run_here: RunHere, tmp_path: Path) -> None:
    file = tmp_path / "exact.toml"
    file.write_text('[mask]\nmode = "exact"\n', encoding="utf-8")
    listed = json.loads(run_here("masks", "list", "--config", str(file), "--json").out)
    assert not any(mask["on"] for mask in listed["masks"])


def test_a_person_sees_the_list_in_80_columns(run_here: RunHere, settings: Path, new_terminal: NewScreen) -> None:
    screen, written = new_terminal(80)
    show_masks(screen, json.loads(run_here("masks", "list", "--config", str(settings), "--json").out))
    out = written.getvalue()
    assert max(map(len, out.splitlines())) <= 80
    assert r"your own: (the \w+ )\S+ → \1*" in out


def test_what_a_change_merges_and_splits_is_told_with_its_lines(run_here: RunHere, lines: Path, settings: Path) -> None:
    told = json.loads(run_here("masks", "diff", "default", str(settings), str(lines), "--json").out)
    assert (told["basis"], told["lines"], told["entries"]) == ("all", 6, 6)
    assert (told["old"]["templates"], told["new"]["templates"]) == (5, 3)
    colours = [{"template": f"paint the door {colour} at once", "lines": 1} for colour in ("blue", "green", "red")]
    group = {"template": "paint the door * at once", "lines": 3, "parts": 3, "largest": colours}
    assert told["merged"] == {"templates": 1, "parts": 3, "lines": 3, "groups": [group]}
    assert told["split"] == {"templates": 0, "parts": 0, "lines": 0, "groups": []}
    assert (told["changed_lines"], told["renamed_templates"]) == (4, 1)


def test_the_masks_of_version_2_can_be_compared_with_those_of_today(run_here: RunHere, tmp_path: Path) -> None:
    file = tmp_path / "paths.log"
    file.write_text("".join(f"read /srv/shop/{name}/main.conf again\n" for name in "abc"), encoding="utf-8")
    told = json.loads(run_here("masks", "diff", "2", "default", str(file), "--json").out)
    assert (told["old"]["templates"], told["new"]["templates"]) == (3, 1)


def test_what_the_mask_of_fields_merges_is_told(run_here: RunHere, tmp_path: Path) -> None:
    file, new = tmp_path / "hosts.log", tmp_path / "new.toml"
    file.write_text("".join(f'{{"message": "gw-{name} went away", "host": "gw-{name}"}}\n' for name in "abc"), encoding="utf-8")
    new.write_text("[mask]\ndisabled = ['field']\n", encoding="utf-8")
    told = json.loads(run_here("masks", "diff", str(new), "default", str(file), "--json").out)
    assert (told["old"]["templates"], told["new"]["templates"]) == (3, 1)


def test_without_a_difference_that_is_said(run_here: RunHere, lines: Path) -> None:
    ended = run_here("masks", "diff", "default", "default", str(lines))
    assert (ended.exit_code, "No line gets another template." in ended.out) == (0, True)


def test_only_the_largest_groups_are_shown_and_the_others_counted(run_here: RunHere, tmp_path: Path, settings: Path) -> None:
    file = tmp_path / "many.log"
    file.write_text(
        "".join(f"paint the {what} {colour} at once\n" for what in ("door", "box") for colour in ("red", "blue")), encoding="utf-8"
    )
    told = json.loads(run_here("masks", "diff", "default", str(settings), str(file), "-k", "1", "--json").out)
    assert (told["merged"]["templates"], len(told["merged"]["groups"])) == (2, 1)
    assert "… and 1 more" in run_here("masks", "diff", "default", str(settings), str(file), "-k", "1").out


def test_a_person_sees_where_long_templates_differ(new_terminal: NewScreen) -> None:
    screen, written = new_terminal(80)
    start = "the same long beginning " * 8
    parts = [{"template": f"{start}{name} and the rest", "lines": 1} for name in ("ada", "bob")]
    group = {"template": f"{start}and the rest", "lines": 2, "parts": 9, "largest": parts}
    found = {"templates": 1, "parts": 9, "lines": 2, "groups": [group]}
    nothing = {"templates": 0, "parts": 0, "lines": 0, "groups": []}
    sides = {side: {"name": f"{side}.toml\x1b", "masks": "3", "templates": 9} for side in ("old", "new")}
    show_difference(
        screen,
        {"files": 1, "lines": 9, "entries": 9, "left_out": 1, "basis": "first", "changed_lines": 2, "renamed_templates": 0}
        | sides
        | {"merged": found, "split": nothing},
    )
    out = written.getvalue()
    assert max(map(len, out.splitlines())) <= 80
    assert "ada and the rest" in out
    assert "… and 7 more" in out
    assert "\x1b" not in out


def test_what_cannot_be_read_is_one_line_and_exit_code_2(run_here: RunHere, lines: Path, tmp_path: Path) -> None:
    for words in (("nowhere.toml", "default", str(lines)), ("default", "2", str(tmp_path / "nowhere.log"))):
        ended = run_here("masks", "diff", *words)
        assert (ended.exit_code, ended.out) == (2, "")
        assert ended.err.count("\n") == 1
        assert "nowhere" in ended.err
