"""What the README and docs/ tell people to type is what the product takes; programs that they show are run."""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.worker.cli.conftest import new_topic
from tests.worker.running import World, wait_until
from worker.asking.question import Query
from worker.cli.app import app
from worker.embedding.model.prepared import PreparedModel
from worker.embedding.tokenizer import Tokenizer
from worker.querying.forms import parse_query
from worker.settings.service_tables import HttpTable
from worker.settings.settings import load_settings
from worker.settings.tables import KafkaTable

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
QUERIES = (ROOT / "docs/queries.md").read_text(encoding="utf-8")
OTHERS = ("docs/operations.md", "docs/first-hour.md", "CONTRIBUTING.md")
PAGES = "\n".join([README, QUERIES, *((ROOT / name).read_text(encoding="utf-8") for name in OTHERS)])


def fences(language: str) -> list[str]:
    every = re.findall(r"^```(.*?)\n(.*?)^```$", PAGES, re.MULTILINE | re.DOTALL)
    return [text for named, text in every if named == language]


def commands(program: str) -> list[list[str]]:
    typed = dict.fromkeys(line for fence in fences("") for line in fence.splitlines() if not line.startswith(" "))
    words = (shlex.split(line) for line in typed)
    return [line[1:] for line in words if line and Path(line[0]).name == program]


def test_what_the_readme_shows_of_a_terminal_is_as_wide_as_one() -> None:
    shown = [line for fence in re.findall(r"^```text\n(.*?)^```$", README, re.MULTILINE | re.DOTALL) for line in fence.splitlines()]
    assert max(map(len, shown)) <= 80


@pytest.mark.parametrize("arguments", commands("vectail"), ids=" ".join)
def test_every_vectail_command_is_one_that_the_command_line_takes(arguments: list[str]) -> None:
    outcome = CliRunner().invoke(app, [*arguments, "--help"])
    assert outcome.exit_code == 0, outcome.output


def test_the_verbs_in_operations_are_those_of_the_command_line() -> None:
    table = PAGES.partition("| `vectail …` | |")[2].partition("\n\n")[0]
    listed = [verb for row in table.splitlines() for verb in re.findall(r"`([a-z]+)`", row.partition(" | ")[0])]
    outcome = CliRunner().invoke(app, ["--help"])
    assert set(listed) == set(re.findall(r"^  ([a-z]+)  ", outcome.output.partition("Commands:")[2], re.MULTILINE))


def test_every_make_target_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = {arguments[0] for arguments in commands("make")} | set(re.findall(r"`(?:[A-Z]+=\S+ )?make ([a-z-]+)", PAGES))
    assert named
    assert named <= targets


@pytest.mark.parametrize("example", fences("toml"), ids=lambda example: "-".join(re.findall(r"^\[+(.*?)\]", example, re.MULTILINE)))
def test_every_example_of_settings_is_valid(example: str, tmp_path: Path) -> None:
    file = tmp_path / "vectail.toml"
    file.write_text(example, encoding="utf-8")
    load_settings(file)


def test_the_example_of_engine_settings_is_the_default(tmp_path: Path) -> None:
    file = tmp_path / "vectail.toml"
    (example,) = (text for text in fences("toml") if text.startswith("[engine]"))
    file.write_text(example, encoding="utf-8")
    assert load_settings(file).engine == load_settings(None).engine


def test_the_fields_of_a_request_are_those_that_the_worker_takes() -> None:
    listed = re.findall(r"^\| `([a-z_]+)` \|", QUERIES.partition("| field | |")[2].partition("\n\n")[0], re.MULTILINE)
    assert sorted(listed) == sorted(field.alias or name for name, field in Query.model_fields.items())


def test_the_query_over_http_is_one_that_the_worker_takes() -> None:
    (words,) = (shlex.split(line) for fence in fences("") for line in fence.splitlines() if line.startswith("curl ") and " -d " in line)
    assert words[1] == f"http://{HttpTable().host}:{HttpTable().port}/api/search"
    assert {"Authorization: Bearer $TOKEN", "Content-Type: application/json"} <= set(words)
    assert parse_query(words[-1].encode()).text == "disk is full"


@pytest.fixture
def world(prepared_model: PreparedModel) -> Iterator[World]:
    words = Tokenizer(prepared_model)
    world = World(prepared_model, words)
    yield world
    world.close()
    words.close()


def test_the_client_gets_its_answer(world: World, tmp_path: Path) -> None:
    (program,) = fences("python")
    file = tmp_path / "ask.py"
    file.write_text(program, encoding="utf-8")
    assert len(program.strip().splitlines()) <= 22
    default = KafkaTable()
    topics = {"query_topic": default.query_topic, "reply_topic": default.reply_topic}
    for topic in topics.values():
        new_topic(world.broker, topic)
    world.start(world.settings(kafka=topics)).opened()
    world.send(["disk /dev/sda1 is full"])
    wait_until(lambda: world.stored() == ["disk /dev/sda1 is full"], "the line to be stored")

    asked = [sys.executable, str(file), world.broker.bootstrap_servers, "disk /dev/sda1 is full"]
    ended = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=False)

    assert (ended.returncode, ended.stderr) == (0, "")
    answer = json.loads(ended.stdout)
    assert [hit["text"] for hit in answer["hits"]] == ["disk /dev/sda1 is full"]
    described = QUERIES.partition("The answer is ")[2].partition("\n\n")[0]
    assert set(re.findall(r'"([a-z_]+)": ', described)) == {*answer, *answer["seconds"]}
    assert set(answer["hits"][0]) <= set(re.findall(r"`([a-z_]+)`", described))
