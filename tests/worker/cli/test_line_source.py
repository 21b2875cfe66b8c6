"""Where `peek` and `templates --suggest` read from when a word could be a file or a topic; without a broker, who asks it says so."""

import json
from pathlib import Path

import pytest

from tests.log_topics import topic_line
from tests.services.ports import free_port
from tests.worker.cli.conftest import RunHere
from tests.worker.cli.console import in_one_line

VERBS = ("peek", "templates --suggest")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder: its settings name the topics `logs` and `web`, it has a folder `logs` and a file `app`."""
    (tmp_path / "logs").mkdir()
    for name in ("logs/one.log", "app"):
        (tmp_path / name).write_text("disk full\n")
    (tmp_path / "vectail.toml").write_text(f'{topic_line("logs", "web")}[kafka]\nbootstrap_servers = "127.0.0.1:{free_port()}"\n')
    monkeypatch.setenv("VECTAIL_CONFIG", str(tmp_path / "vectail.toml"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("words", "topic"),
    [("app", "logs"), ("./logs", "logs"), ("--file logs", "logs"), ("--file app --topic web", "web"), ("app --topic web", "web")],
)
@pytest.mark.usefixtures("here")
def test_a_file_is_read_with_the_settings_of_a_topic(run_here: RunHere, verb: str, words: str, topic: str) -> None:
    ended = run_here(*verb.split(), *words.split(), "--json")
    assert (ended.exit_code, ended.err) == (0, "")
    assert json.loads(ended.out)["topic"] == topic


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("words", "exit_code", "said"),
    [
        ("--topic app", 1, "kafka at 127.0.0.1:"),
        ("nofile", 1, "there is no file nofile, so it was taken for a topic: kafka at 127.0.0.1:"),
        (
            "logs",
            1,
            "logs is a topic of the settings and a folder here: reading the topic (--file logs reads the folder)\nvectail: kafka at ",
        ),
        ("logs/two.log", 2, "logs/two.log: no such file\n"),
        ("--file two.log", 2, "two.log: no such file\n"),
        ("app --file logs", 2, "app and --file logs: give one of them\n"),
        ("", 2, "name a file or a topic, or use --file or --topic\n"),
    ],
)
@pytest.mark.usefixtures("here")
def test_what_a_word_was_taken_for_is_said(run_here: RunHere, verb: str, words: str, exit_code: int, said: str) -> None:
    ended = run_here(*verb.split(), *words.split())
    assert (ended.exit_code, ended.out) == (exit_code, "")
    assert ended.err.startswith(f"vectail: {said}")


@pytest.mark.usefixtures("here")
def test_a_source_without_suggest_is_refused(run_here: RunHere) -> None:
    ended = run_here("templates", "app")
    assert ended.exit_code == 2
    assert in_one_line(ended).startswith("app: add --suggest")
