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


def test_each_setting_says_where_it_is_from_and_what_is_shown_still_reads_back(
    run_here: RunHere, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token, given, shown = (tmp_path / name for name in ("token", "given.toml", "shown.toml"))
    token.write_text("hush")
    given.write_text(
        """kafka.group = "mine"
[[topic]]
name = "a"
[[topic]]
name = "b"
fields.text = [
    "x",

    "y",
]
[http]
port = 1
""",
        encoding="utf-8",
    )
    monkeypatch.setenv("VECTAIL_HTTP__PORT", "8791")
    monkeypatch.setenv("VECTAIL_HTTP__TOKEN_FILE", str(token))
    words = ("config", "show", "--origin", "-c", str(given), "--bootstrap-servers", "kafka:9092")

    ended = run_here(*words)

    origins = dict(line.rsplit("  # ", 1) for line in ended.out.splitlines() if "  # " in line)
    assert ended.err == ""
    assert origins['bootstrap_servers = "kafka:9092"'] == "command line"
    assert origins['group = "mine"'] == f"{given}:1"
    assert [origins[f'name = "{name}"'] for name in "ab"] == [f"{given}:3", f"{given}:5"]
    assert origins['text = ["x", "y"]'] == f"{given}:6"
    assert origins["port = 8791"] == "VECTAIL_HTTP__PORT"
    assert origins['token = "**********"'] == "VECTAIL_HTTP__TOKEN_FILE"
    assert origins['group_protocol = "classic"'] == "default"
    shown.write_text(ended.out, encoding="utf-8")
    assert load_settings(shown).topic == load_settings(given).topic
    found = json.loads(run_here(*words, "--json").out)["origins"]
    assert (found["topic.1.fields.text"], found["kafka.bootstrap_servers"], "kafka.group_protocol" in found) == (
        f"{given}:6",
        "command line",
        False,
    )


def test_a_list_in_the_environment_takes_the_place_of_the_file_s(
    run_here: RunHere, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = tmp_path / "given.toml"
    given.write_text(topic_line("a", "b"))
    monkeypatch.setenv("VECTAIL_TOPIC", "c")
    found = json.loads(run_here("config", "show", "--origin", "--json", "-c", str(given)).out)["origins"]
    assert {path: origin for path, origin in found.items() if path.startswith("topic")} == {"topic.0.name": "VECTAIL_TOPIC"}


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
