"""`vectail doctor` on real servers: what it finds, how it is shown, and its exit codes."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sinks.milvus.milvus_settings import MilvusSettings
from sinks.milvus.milvus_sink import MilvusSink
from tests.log_topics import topic_line
from tests.services.kafka import KafkaServer
from tests.services.ports import free_port
from tests.services.redis import LocalRedis, local_redis
from tests.worker.cli.conftest import NewScreen, RunHere
from tests.worker.cli.console import EndedVerb, in_one_line
from worker.cli.doctor_screen import show_report
from worker.connections import index_space
from worker.inspecting.doctor import DoctorFinding, DoctorReport
from worker.inspecting.doctor_looks import NAMES
from worker.settings.settings import load_settings


@pytest.fixture(scope="module")
def redis() -> Iterator[LocalRedis]:
    with local_redis("--maxmemory", "64mb", "--maxmemory-policy", "allkeys-lfu") as server:
        yield server


@pytest.fixture
def config(kafka: KafkaServer, redis: LocalRedis, unique: Callable[[str], str], tmp_path: Path) -> Path:
    """A set-up with topics, an empty index in a folder, and no worker."""
    name = unique("logs")
    for topic in (name, f"{name}-q", f"{name}-r"):
        kafka.create_topic(topic)
    kafka.create_topic(f"{name}-d", settings={"retention.ms": "-1"})
    file = tmp_path / "vectail.toml"
    file.write_text(
        f'{topic_line(name)}[kafka]\nbootstrap_servers = "{kafka.bootstrap}"\ngroup = "{name}"\nquery_group = "{name}-q"\n'
        f'query_topic = "{name}-q"\nreply_topic = "{name}-r"\ndead_letter_topic = "{name}-d"\n'
        f'[redis]\nurl = "{redis.url}"\nread_budget_s = 5.0\n[milvus]\nuri = "{tmp_path / "index"}"\n'
    )
    sink = MilvusSink(MilvusSettings(uri=str(tmp_path / "index")), index_space(load_settings(file)), consumer_group=name)
    sink.open()
    sink.close()
    return file


def read(ended: EndedVerb) -> dict[tuple[str, str], dict[str, Any]]:
    document = json.loads(ended.out)
    assert document["worst"] in ("ok", "warning", "problem")
    return {(one["group"], one["name"]): one for one in document["checks"]}


def states(found: dict[tuple[str, str], dict[str, Any]], state: str) -> set[tuple[str, str]]:
    return {place for place, one in found.items() if one["state"] == state}


def test_without_a_problem_the_exit_code_is_0_and_warnings_say_what_to_do(config: Path, run_here: RunHere) -> None:
    with config.open("a") as file:
        file.write("[serve]\nenabled = true\n")
    ended = run_here("doctor", "-c", str(config), "--json")
    found = read(ended)
    assert states(found, "problem") == set()
    assert ("kafka", "group") in states(found, "warning")  # no worker runs
    assert all(one["what_to_do"] for one in found.values() if one["state"] != "ok")
    assert (ended.exit_code, ended.err) == (0, "")
    assert {group for group, _ in found} == set(NAMES) - {"registry"}
    assert len(found) == sum(map(len, NAMES.values())) - len(["registry", "suggestions"])  # which a worker would tell


def test_what_is_away_is_named_as_on_readyz_and_hides_nothing_else(config: Path, redis: LocalRedis, run_here: RunHere) -> None:
    text = config.read_text()
    gone = f"127.0.0.1:{free_port()}"
    kafka_line = next(line for line in text.splitlines() if line.startswith("bootstrap_servers"))
    config.write_text(text.replace(kafka_line, f'bootstrap_servers = "{gone}"').replace(redis.url, f"redis://{gone}"))
    with config.open("a") as file:
        file.write(f'[registry]\nurl = "http://{gone}"\n')
    ended = run_here("doctor", "-c", str(config), "--json")
    found = read(ended)
    assert states(found, "problem") == {("kafka", "kafka"), ("redis", "redis"), ("registry", "registry")}
    assert {name for group, name in found if group == "milvus"} == set(NAMES["milvus"])
    assert found["model", "engine"]["state"] == "ok"
    assert ended.exit_code == 1
    assert in_one_line(ended) == "3 problems"


def test_a_person_reads_what_was_found_and_below_it_what_to_do(config: Path, redis: LocalRedis, run_here: RunHere) -> None:
    redis.admin().config_set("maxmemory-policy", "noeviction")
    try:
        ended = run_here("doctor", "-c", str(config), "--quiet")
    finally:
        redis.admin().config_set("maxmemory-policy", "allkeys-lfu")
    lines = ended.out.splitlines()
    place = next(number for number, line in enumerate(lines) if line.startswith("  warning  eviction"))
    assert "maxmemory-policy noeviction" in lines[place]
    assert lines[place + 1].strip() == "→ set maxmemory-policy allkeys-lfu"
    assert "redis" in lines[:place]
    assert not any(line.startswith("  ok") for line in lines)
    assert "warnings: " in lines[-1]
    assert ended.exit_code == 0


def test_what_was_found_is_shown_as_one_line_whatever_it_holds(new_screen: NewScreen) -> None:
    screen, written = new_screen(60)
    hostile = DoctorFinding("kafka", "topics", "problem", "a [red]name[/red]\x1b[2J with\na line end " + "x" * 80, "rename it")
    show_report(screen, DoctorReport([hostile, DoctorFinding("redis", "redis", "ok", "it answers")], 1.25, 0))
    assert written.getvalue().splitlines() == [
        "kafka",
        f"  problem  topics                a [red]name[/red]\\x1b[2J with\\na line end {'x' * 80}",
        " " * 33 + "→ rename it",
        "redis",
        "  ok       redis                 it answers",
        "1 problem: 2 checks in 1.2 s.",
    ]


def test_when_all_is_well_it_says_so(new_screen: NewScreen) -> None:
    screen, written = new_screen(60)
    show_report(screen, DoctorReport([DoctorFinding("redis", "redis", "ok", "it answers")], 0.5, 0), with_ok=False)
    assert written.getvalue() == "All is well: 1 check in 0.5 s.\n"
