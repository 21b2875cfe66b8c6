"""`vectail offsets` and `run --from` on a real Kafka: what is shown, what is changed, and what is refused in one line."""

import json
import threading
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer

from tests.services.ports import free_port
from tests.worker.cli.console import in_one_line
from tests.worker.cli.log_group import LogGroup
from worker.cli.exits import CommandFailed
from worker.cli.offsets_verb import open_positions, read_target
from worker.cli.run import move_log_group
from worker.runtime.logs import configure_logs
from worker.settings.settings import load_settings
from worker.watching.group_offsets import Target


@pytest.fixture
def reader(group: LogGroup) -> Iterator[Consumer]:
    """A member of the group."""
    consumer = Consumer({"bootstrap.servers": group.kafka.bootstrap, "group.id": group.name, "client.id": "reader", "log_level": 0})
    consumer.subscribe([group.name])
    while not consumer.assignment():
        consumer.poll(0.1)
    yield consumer
    consumer.close()


def test_show_says_where_the_group_stands_and_who_reads(group: LogGroup, reader: Consumer) -> None:
    assert reader.assignment()
    ended = group.verb("offsets", "show")
    assert (ended.exit_code, ended.err) == (0, "")
    first, second, *_ = (line for line in ended.out.splitlines() if line.startswith(group.name))
    assert first.split()[1:6] == ["-", "0", "10", "10", "never"]
    assert second.split()[1:6] == ["-", "0", "0", "0", "never"]
    assert f"total lag 10; group {group.name}: stable, 1 member\n  reader at 127.0.0.1: {group.name}/0, {group.name}/1\n" in ended.out


def test_show_as_json_is_one_object(group: LogGroup) -> None:
    shown = json.loads(group.verb("offsets", "show", "--json").out)
    empty = {"topic": group.name, "committed": None, "first_offset": 0, "end_offset": 0, "lag_records": 0, "lost_records": 0}
    partitions = [empty | {"partition": 0, "end_offset": 10, "lag_records": 10}, empty | {"partition": 1}]
    assert shown == {"group": group.name, "state": "none", "members": [], "partitions": partitions, "lag_records": 10}


def test_reset_moves_each_partition_and_says_what_that_means(group: LogGroup) -> None:
    assert group.reset("7", "--partition", "0").exit_code == 0
    ended = group.reset("earliest")
    assert (ended.exit_code, ended.err) == (0, "")
    assert [line.split() for line in ended.out.splitlines() if line.startswith(group.name)] == [
        [f"{group.name}/0", "7", "0", "7", "0"],
        [f"{group.name}/1", "-", "0", "0", "0"],
    ]
    assert f"group {group.name}: 7 will be read again, 0 will never be read\ndone\n" in ended.out
    assert group.committed() == [0, 0]


@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_without_yes_and_without_a_terminal_nothing_is_changed(group: LogGroup, as_json: tuple[str, ...]) -> None:
    ended = group.verb("offsets", "reset", "--to", "latest", *as_json)
    assert ended.exit_code == 2
    assert in_one_line(ended) == "nothing was changed: --yes makes the change without asking"
    assert ended.out
    assert group.committed() == [None, None]


def test_a_group_that_is_active_is_refused_with_its_members(group: LogGroup, reader: Consumer) -> None:
    assert reader.assignment()
    ended = group.reset("latest")
    assert (ended.exit_code, ended.out) == (2, "")
    assert in_one_line(ended).startswith(
        f"group {group.name} is active: reader at 127.0.0.1 ({group.name}/0, {group.name}/1); stop its workers first"
    )


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
def test_what_cannot_be_is_refused_in_one_line(group: LogGroup, words: tuple[str, ...], line: str) -> None:
    ended = group.verb("offsets", "reset", "--yes", *words)
    assert (ended.exit_code, in_one_line(ended)) == (2, line.replace("TOPIC", group.name))
    assert group.committed() == [None, None]


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


def test_run_from_moves_the_group_and_logs_each_move(group: LogGroup, capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs()
    move_log_group(group.settings, Target("latest"), threading.Event())
    logged = capsys.readouterr().err
    assert logged.count("moved by --from") == 2
    assert group.name in logged
    assert group.committed() == [10, 0]


def test_run_from_is_refused_while_somebody_reads(group: LogGroup, reader: Consumer) -> None:
    assert reader.assignment()
    with pytest.raises(CommandFailed, match=f"group {group.name} is active: reader at 127.0.0.1") as failed:
        move_log_group(group.settings, Target("latest"), threading.Event())
    assert failed.value.exit_code == 2


def test_run_from_ends_with_a_stop_that_came_before(group: LogGroup) -> None:
    stop = threading.Event()
    stop.set()
    move_log_group(group.settings, Target("latest"), stop)
    assert group.committed() == [None, None]
