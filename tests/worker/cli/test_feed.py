"""`vectail feed`: every line arrives unchanged, or one line of output says why not."""

import json
import re
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Message

from producers.kafka import EmbeddedBroker
from tests.log_topics import topic_line
from tests.services.kafka import KafkaServer
from tests.services.ports import free_port
from tests.services.proxy import Proxy, kafka_proxy
from tests.worker.cli.conftest import WAIT_S, ReadTopic, RunHere, new_topic
from tests.worker.cli.console import RunningVerb, in_one_line


def values(records: list[Message]) -> list[bytes | str | None]:
    """Return the values in the order in which they were sent."""
    return [record.value() for record in sorted(records, key=lambda one: (one.offset() or 0, one.partition() or 0))]


def test_lines_of_several_files_arrive_in_order_and_untouched(
    broker: EmbeddedBroker, topic: str, run_here: RunHere, read_topic: ReadTopic, tmp_path: Path
) -> None:
    first, second = tmp_path / "first.log", tmp_path / "second.log"
    first.write_bytes(b"one\r\n\xff\x00\n\nfour")
    second.write_bytes(b"five\n")

    ended = run_here("feed", str(first), str(second), "--topic", topic, "--bootstrap-servers", broker.bootstrap_servers)

    assert (ended.exit_code, ended.err) == (0, "")
    assert f"Sent to {topic}: 5 lines in " in ended.out
    assert values(read_topic(broker.bootstrap_servers, topic, 5)) == [b"one", b"\xff\x00", b"", b"four", b"five"]


def test_as_json_it_is_one_object(broker: EmbeddedBroker, topic: str, run_here: RunHere, tmp_path: Path) -> None:
    file = tmp_path / "app.log"
    file.write_text("one\ntwo\n")

    ended = run_here("feed", str(file), "--json", "--topic", topic, "--bootstrap-servers", broker.bootstrap_servers)

    figures = json.loads(ended.out)
    assert figures.pop("seconds") > 0
    assert figures == {"topic": topic, "lines": 2, "sent": 2, "too_large": 0}


def test_a_line_that_is_too_large_becomes_a_dead_letter_with_its_head(
    broker: EmbeddedBroker, topic: str, run_here: RunHere, read_topic: ReadTopic, tmp_path: Path
) -> None:
    letters, file, config = new_topic(broker, f"{topic}-letters"), tmp_path / "app.log", tmp_path / "vectail.toml"
    file.write_bytes(b"before\n" + b"x" * 5_000 + b"\nafter\n")
    config.write_text(f'{topic_line(topic)}[kafka]\ndead_letter_topic = "{letters}"\n[decode]\nmax_record_bytes = 2_000\n')

    ended = run_here("feed", str(file), "-c", str(config), "--bootstrap-servers", broker.bootstrap_servers)

    assert ended.exit_code == 0
    assert f"Sent to {topic}: 2 lines" in ended.out
    assert f"Too large, sent to {letters} instead: 1 line." in ended.out
    assert values(read_topic(broker.bootstrap_servers, topic, 2)) == [b"before", b"after"]
    letter = read_topic(broker.bootstrap_servers, letters, 1)[0]
    headers = dict(letter.headers() or [])
    assert letter.value() == b"x" * 1024
    assert headers["vectail.size"] == b"5000"
    assert headers["vectail.reason"] == f"too_large: line 2 of {file} has 5000 bytes".encode()


def test_a_topic_that_is_not_there_is_one_line(kafka: KafkaServer, run_here: RunHere, unique: Callable[[str], str], tmp_path: Path) -> None:
    file = tmp_path / "app.log"
    file.write_text("one\n")
    topic = unique("absent")

    ended = run_here("feed", str(file), "--topic", topic, "--bootstrap-servers", kafka.bootstrap)

    assert ended.exit_code == 2
    assert topic in in_one_line(ended)


def test_a_broker_that_is_away_is_waited_for_and_said_so(broker: EmbeddedBroker, topic: str, read_topic: ReadTopic, tmp_path: Path) -> None:
    file, port = tmp_path / "app.log", free_port()
    file.write_text("patience\n")
    running = RunningVerb(["feed", str(file), "--topic", topic, "--bootstrap-servers", f"127.0.0.1:{port}"])
    try:
        running.wait_for("trying again")
        with Proxy(int(broker.bootstrap_servers.rpartition(":")[2]), at=port):
            ended = running.end()
    finally:
        running.close()

    assert ended.exit_code == 0
    assert f"Sent to {topic}: 1 line in " in ended.out
    assert values(read_topic(broker.bootstrap_servers, topic, 1)) == [b"patience"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_on_a_silent_pipe_delivers_what_was_read(
    broker: EmbeddedBroker, topic: str, read_topic: ReadTopic, number: signal.Signals
) -> None:
    running = RunningVerb(["feed", "-", "--topic", topic, "--bootstrap-servers", broker.bootstrap_servers], stdin=subprocess.PIPE)
    try:
        assert running.process.stdin is not None
        running.process.stdin.write(b"one\ntwo\nthree has no end yet")
        running.process.stdin.flush()
        assert values(read_topic(broker.bootstrap_servers, topic, 2)) == [b"one", b"two"]
        running.send(number)
        ended = running.end()
    finally:
        running.close()

    assert (ended.exit_code, ended.err) == (0, "")
    assert f"Stopped. Sent to {topic}: 2 lines in " in ended.out


@contextmanager
def endless_feed(topic: str, bootstrap: str) -> Iterator[RunningVerb]:
    """Yield a verb that is fed with lines for ever."""
    lines = subprocess.Popen(["yes"], stdout=subprocess.PIPE)
    assert lines.stdout is not None
    running = RunningVerb(["feed", "-", "--json", "--topic", topic, "--bootstrap-servers", bootstrap], stdin=lines.stdout.fileno())
    try:
        yield running
    finally:
        running.close()
        lines.stdout.close()
        lines.wait(WAIT_S)


def test_ctrl_c_in_an_endless_stream_delivers_what_was_sent(broker: EmbeddedBroker, topic: str, read_topic: ReadTopic) -> None:
    with endless_feed(topic, broker.bootstrap_servers) as running:
        read_topic(broker.bootstrap_servers, topic, 1)
        running.send(signal.SIGINT)
        ended = running.end()

    assert (ended.exit_code, ended.err) == (0, "")
    assert json.loads(ended.out)["sent"] > 0


def test_lines_that_the_broker_has_not_acknowledged_when_it_ends_are_said_to_be_missing(
    broker: EmbeddedBroker, topic: str, read_topic: ReadTopic
) -> None:
    with kafka_proxy(broker.bootstrap_servers) as proxy, endless_feed(topic, f"127.0.0.1:{proxy.port}") as running:
        read_topic(broker.bootstrap_servers, topic, 1)
        proxy.silence()
        assert proxy.held.wait(WAIT_S)
        running.send(signal.SIGINT)
        ended = running.end()

    assert (ended.exit_code, ended.out) == (1, "")
    assert re.search(r"stopped before the broker had acknowledged everything: [0-9,]+ lines? may be missing", ended.err)


def test_ctrl_c_while_the_broker_is_away_ends_it(tmp_path: Path) -> None:
    file = tmp_path / "app.log"
    file.write_text("one\n")
    running = RunningVerb(["feed", str(file), "--bootstrap-servers", f"127.0.0.1:{free_port()}"])
    try:
        running.wait_for("trying again")
        running.send(signal.SIGINT)
        ended = running.end()
    finally:
        running.close()

    assert ended.exit_code == 0
    assert ended.err.count("trying again") == ended.err.count("\n") == 1
    assert "Stopped. Sent to logs: 0 lines" in ended.out


def test_a_rate_is_kept(broker: EmbeddedBroker, topic: str, run_here: RunHere, tmp_path: Path) -> None:
    file = tmp_path / "app.log"
    file.write_text("line\n" * 20)

    ended = run_here("feed", str(file), "--rate", "50", "--json", "--topic", topic, "--bootstrap-servers", broker.bootstrap_servers)

    assert json.loads(ended.out)["seconds"] >= 19 / 50


def test_made_up_lines_come_without_end_until_it_is_stopped(broker: EmbeddedBroker, topic: str, read_topic: ReadTopic) -> None:
    running = RunningVerb(["feed", "--synthetic", "--rate", "500", "--topic", topic, "--bootstrap-servers", broker.bootstrap_servers])
    try:
        found = values(read_topic(broker.bootstrap_servers, topic, 150))
        running.send(signal.SIGINT)
        ended = running.end()
    finally:
        running.close()
    assert (ended.exit_code, ended.err) == (0, "")
    assert len(set(found)) > 100


@pytest.mark.parametrize("words", [[], ["--synthetic", "app.log"]])
def test_either_files_or_made_up_lines_are_fed(words: list[str], broker: EmbeddedBroker, topic: str, run_here: RunHere) -> None:
    ended = run_here("feed", *words, "--topic", topic, "--bootstrap-servers", broker.bootstrap_servers)
    assert ended.exit_code == 2
    assert "give either files (`-` for standard input) or --synthetic" in in_one_line(ended)
