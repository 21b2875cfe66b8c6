"""`vectail offsets` and `run --from` on a real Kafka: what is shown, what is changed, and what is refused in one line."""

import json
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from tests.log_topics import topic_line
from tests.services.kafka import KafkaServer
from tests.services.ports import free_port
from tests.worker.cli.conftest import WAIT_S
from tests.worker.cli.console import EndedVerb, in_one_line
from worker.cli.app import run_app
from worker.cli.exits import CommandFailed
from worker.cli.offsets import open_positions, read_target
from worker.cli.offsets_commands import positions_app
from worker.cli.run import move_log_group
from worker.groups.offsets import Target
from worker.runtime.logs import configure_logs
from worker.settings.settings import load_settings

Verb = Callable[..., EndedVerb]


@pytest.fixture
def run_verb(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], config: Path) -> Verb:
    def run(*words: str) -> EndedVerb:
        monkeypatch.setattr(sys, "argv", ["vectail", *words, "-c", str(config)])
        exit_code = run_app(positions_app)
        return EndedVerb(exit_code, *capsys.readouterr())

    return run


@pytest.fixture
def topic(kafka: KafkaServer, unique: Callable[[str], str]) -> str:
    """A topic with 10 records in partition 0 and none in partition 1."""
    name = unique("logs")
    kafka.create_topic(name, partitions=2)
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
    for number in range(10):
        producer.produce(name, b"a", partition=0, timestamp=1_700_000_000_000 + 1_000 * number)
    assert producer.flush(WAIT_S) == 0
    return name


@pytest.fixture
def config(kafka: KafkaServer, topic: str, tmp_path: Path) -> Path:
    """Settings whose group is named like the topic, and whose query topic does not exist."""
    file = tmp_path / "vectail.toml"
    names = f'group = "{topic}"\nquery_topic = "{topic}-queries"\nquery_group = "{topic}-queries"\n'
    file.write_text(f'{topic_line(topic)}[kafka]\nbootstrap_servers = "{kafka.bootstrap}"\n{names}')
    return file


@pytest.fixture
def reader(kafka: KafkaServer, topic: str) -> Iterator[Consumer]:
    """A member of the group."""
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": topic, "client.id": "reader", "log_level": 0})
    consumer.subscribe([topic])
    while not consumer.assignment():
        consumer.poll(0.1)
    yield consumer
    consumer.close()


def committed(run_verb: Verb) -> list[int | None]:
    return [one["committed"] for one in json.loads(run_verb("offsets", "show", "--json").out)["partitions"]]


def test_show_says_where_the_group_stands_and_who_reads(run_verb: Verb, topic: str, reader: Consumer) -> None:
    assert reader.assignment()
    ended = run_verb("offsets", "show")
    assert (ended.exit_code, ended.err) == (0, "")
    first, second, *_ = (line for line in ended.out.splitlines() if line.startswith(topic))
    assert first.split()[1:6] == ["-", "0", "10", "10", "never"]
    assert second.split()[1:6] == ["-", "0", "0", "0", "never"]
    assert f"total lag 10; group {topic}: stable, 1 member\n  reader at 127.0.0.1: {topic}/0, {topic}/1\n" in ended.out


def test_show_as_json_is_one_object(run_verb: Verb, topic: str) -> None:
    assert json.loads(run_verb("offsets", "show", "--json").out) == {
        "group": topic,
        "state": "none",
        "members": [],
        "partitions": [
            {"topic": topic, "partition": 0, "committed": None, "first_offset": 0, "end_offset": 10, "lag_records": 10, "lost_records": 0},
            {"topic": topic, "partition": 1, "committed": None, "first_offset": 0, "end_offset": 0, "lag_records": 0, "lost_records": 0},
        ],
        "lag_records": 10,
    }


def test_reset_moves_each_partition_and_says_what_that_means(run_verb: Verb, topic: str) -> None:
    assert run_verb("offsets", "reset", "--to", "7", "--partition", "0", "--yes").exit_code == 0
    ended = run_verb("offsets", "reset", "--to", "earliest", "--yes")
    assert (ended.exit_code, ended.err) == (0, "")
    assert [line.split() for line in ended.out.splitlines() if line.startswith(topic)] == [
        [f"{topic}/0", "7", "0", "7", "0"],
        [f"{topic}/1", "-", "0", "0", "0"],
    ]
    assert f"group {topic}: 7 will be read again, 0 will never be read\ndone\n" in ended.out
    assert committed(run_verb) == [0, 0]


@pytest.mark.parametrize(("to", "after"), [("latest", 10), ("2023-11-14T22:13:24", 4), ("1h", 10)])
def test_reset_takes_a_time_or_the_end(run_verb: Verb, topic: str, to: str, after: int) -> None:
    done = json.loads(run_verb("offsets", "reset", "--to", to, "--topic", topic, "--yes", "--json").out)
    assert done["changed"] is True
    assert done["partitions"][0] == {
        "topic": topic,
        "partition": 0,
        "from": None,
        "to": after,
        "again_records": 0,
        "skipped_records": after,
        "inside_event": None,
    }
    assert committed(run_verb) == [after, 0]


@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_without_yes_and_without_a_terminal_nothing_is_changed(run_verb: Verb, as_json: tuple[str, ...]) -> None:
    ended = run_verb("offsets", "reset", "--to", "latest", *as_json)
    assert ended.exit_code == 2
    assert in_one_line(ended) == "nothing was changed: --yes makes the change without asking"
    assert ended.out
    assert committed(run_verb) == [None, None]


def test_a_group_that_is_active_is_refused_with_its_members(run_verb: Verb, topic: str, reader: Consumer) -> None:
    assert reader.assignment()
    ended = run_verb("offsets", "reset", "--to", "latest", "--yes")
    assert (ended.exit_code, ended.out) == (2, "")
    assert in_one_line(ended).startswith(f"group {topic} is active: reader at 127.0.0.1 ({topic}/0, {topic}/1); stop its workers first")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--to", "12", "--partition", "0"), "offset 12 is not in TOPIC/0: it holds 0 to 9, its end is 10"),
        (("--to", "latest", "--partition", "2"), "there is no such partition in TOPIC"),
        (("--to", "latest", "--topic", "other"), "there is no such partition in TOPIC"),
        (("--to", "all"), "--to 'all': give earliest, latest, an offset, a span such as 90s or 1h, or a time such as 2026-01-31T12:00"),
        (("--to", "latest", "--queries"), "topic TOPIC-queries does not exist (`vectail topics init` creates it)"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(run_verb: Verb, topic: str, words: tuple[str, ...], line: str) -> None:
    ended = run_verb("offsets", "reset", "--yes", *words)
    assert (ended.exit_code, in_one_line(ended)) == (2, line.replace("TOPIC", topic))
    assert committed(run_verb) == [None, None]


def test_a_broker_that_is_away_is_one_line() -> None:
    address = f"127.0.0.1:{free_port()}"
    kafka = load_settings(None, {"kafka": {"bootstrap_servers": address}}).kafka
    with pytest.raises(CommandFailed, match=f"kafka at {address} is away") as failed, open_positions(kafka, answer_s=0.5) as positions:
        positions.partitions(["logs"])
    assert failed.value.exit_code == 1


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("earliest", Target("earliest")),
        ("0", Target("offset", 0)),
        ("1970-01-01T00:00:02", Target("time", 2000)),
        ("99999w", Target("time", 0)),
    ],
)
def test_a_target_is_a_word_an_offset_or_a_time(text: str, target: Target) -> None:
    assert read_target(text, option="--to") == target


def test_run_from_moves_the_group_and_logs_each_move(config: Path, topic: str, run_verb: Verb, capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs()
    move_log_group(load_settings(config), Target("latest"), threading.Event())
    logged = capsys.readouterr().err
    assert logged.count("moved by --from") == 2
    assert topic in logged
    assert committed(run_verb) == [10, 0]


def test_run_from_is_refused_while_somebody_reads(config: Path, topic: str, reader: Consumer) -> None:
    assert reader.assignment()
    with pytest.raises(CommandFailed, match=f"group {topic} is active: reader at 127.0.0.1") as failed:
        move_log_group(load_settings(config), Target("latest"), threading.Event())
    assert failed.value.exit_code == 2


def test_run_from_ends_with_a_stop_that_came_before(config: Path, run_verb: Verb) -> None:
    stop = threading.Event()
    stop.set()
    move_log_group(load_settings(config), Target("latest"), stop)
    assert committed(run_verb) == [None, None]
