"""`vectail config`: shows the settings in effect, and no secret."""

import json
from pathlib import Path

import pytest

from tests.log_topics import topic_line
from tests.worker.cli.conftest import RunHere
from worker.settings.settings import load_settings
from worker.settings.tables import MaskTable


def test_good_settings_are_said_to_be_valid(run_here: RunHere) -> None:
    assert run_here("config", "check") == (0, "settings are valid\n", "")


def test_what_is_shown_reads_back_as_the_same_settings(run_here: RunHere, tmp_path: Path) -> None:
    given = tmp_path / "given.toml"
    given.write_text(topic_line("a", "b") + '[kafka.librdkafka]\n"client.rack" = "r\\"1"\n[model]\ndocument_prefix = "x: "\n')

    ended = run_here("config", "show", "-c", str(given))

    shown = tmp_path / "shown.toml"
    shown.write_text(ended.out, encoding="utf-8")
    assert (ended.exit_code, ended.err) == (0, "")
    assert load_settings(shown) == load_settings(given)
    assert load_settings(shown).subscription.names == ("a", "b")


def test_lists_of_tables_and_the_tables_in_them_read_back_too(run_here: RunHere, tmp_path: Path) -> None:
    given, shown = tmp_path / "given.toml", tmp_path / "shown.toml"
    given.write_text(
        """
        [[topic]]
        name = "a"
        [topic.fields]
        text = ["x.y"]
        [topic.mask]
        disabled = ["unit"]
        [[topic.mask.add]]
        name = "one"
        pattern = "A+"
        [[topic.mask.add]]
        name = "two"
        pattern = 'B\\d'
        [[topic]]
        pattern = 'app\\..*'
        exclude = ["app[.]old"]
        [topic.multiline]
        start = "java"
        [[mask.add]]
        name = "own"
        pattern = "C+"
        """
    )

    ended = run_here("config", "show", "-c", str(given))

    shown.write_text(ended.out, encoding="utf-8")
    assert (ended.exit_code, ended.err) == (0, "")
    assert load_settings(shown) == load_settings(given)
    assert [one.name for one in (load_settings(shown).topic[0].mask or MaskTable()).add] == ["one", "two"]


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_secrets_are_hidden(run_here: RunHere, tmp_path: Path, words: tuple[str, ...]) -> None:
    given = tmp_path / "given.toml"
    given.write_text('[milvus]\ntoken = "hush-1"\npassword = "hush-2"\n[kafka.librdkafka]\n"sasl.password" = "hush-3"\n')

    ended = run_here("config", "show", "-c", str(given), *words)

    assert ended.exit_code == 0
    assert "hush" not in ended.out
    assert ended.out.count("**********") == 3


def test_as_json_it_is_one_object(run_here: RunHere, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VECTAIL_KAFKA__GROUP", "müde")

    shown = json.loads(run_here("config", "show", "--json").out)

    assert shown["kafka"]["group"] == "müde"
    assert shown["model"]["folder"] is None
