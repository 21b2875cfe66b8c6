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
from tests.services.proxy import Proxy, kafka_proxy
from tests.worker.cli.conftest import WAIT_S, ReadTopic, RunHere, new_topic
from tests.worker.cli.console import EndedVerb, RunningVerb, in_one_line

Feed = Callable[..., EndedVerb]


@pytest.fixture
def feed(broker: EmbeddedBroker, topic: str, run_here: RunHere) -> Feed:
    """Run the verb on the topic; takes the words after it."""
    return lambda *words: run_here("feed", *words, "--topic", topic, "--bootstrap-servers", broker.bootstrap_servers)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Twenty lines."""
    file = tmp_path / "app.log"
    file.write_text("line\n" * 20)
    return file


def running_feed(topic: str, bootstrap: str, *words: str, stdin: int = subprocess.DEVNULL) -> RunningVerb:
    return RunningVerb(["feed", *words, "--topic", topic, "--bootstrap-servers", bootstrap], stdin=stdin)


@contextmanager
def feed_of_one_line(broker: EmbeddedBroker, topic: str, read_topic: ReadTopic) -> Iterator[tuple[RunningVerb, Proxy]]:
    """Yield a feed of a pipe, one line of which is in the topic, and what stands between it and the broker."""
    with kafka_proxy(broker.bootstrap_servers) as proxy, running_feed(
        topic, f"127.0.0.1:{proxy.port}", "-", stdin=subprocess.PIPE
    ) as running:  # fmt: skip
        assert running.process.stdin is not None
        running.process.stdin.write(b"one\n")
        running.process.stdin.flush()
        read_topic(broker.bootstrap_servers, topic, 1)
        yield running, proxy


def values(records: list[Message]) -> list[bytes | str | None]:
    """Return the values in the order in which they were sent."""
    return [record.value() for record in sorted(records, key=lambda one: (one.offset() or 0, one.partition() or 0))]


def test_lines_of_several_files_arrive_in_order_and_untouched(
    broker: EmbeddedBroker, topic: str, feed: Feed, read_topic: ReadTopic, tmp_path: Path
) -> None:
    first, second = tmp_path / "first.log", tmp_path / "second.log"
    first.write_bytes(b"one\r\n\xff\x00\n\nfour")
    second.write_bytes(b"five\n")
    ended = feed(str(first), str(second))
    assert (ended.exit_code, ended.err) == (0, "")
    assert f"Sent to {topic}: 5 lines in " in ended.out
    assert values(read_topic(broker.bootstrap_servers, topic, 5)) == [b"one", b"\xff\x00", b"", b"four", b"five"]


def test_a_rate_is_kept_and_the_figures_are_one_object(feed: Feed, topic: str, file: Path) -> None:
    figures = json.loads(feed(str(file), "--rate", "50", "--json").out)
    assert figures.pop("seconds") >= 19 / 50
    assert figures == {"topic": topic, "lines": 20, "sent": 20, "too_large": 0}


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


def test_a_topic_that_is_not_there_is_one_line(kafka: KafkaServer, run_here: RunHere, unique: Callable[[str], str], file: Path) -> None:
    topic = unique("absent")
    ended = run_here("feed", str(file), "--topic", topic, "--bootstrap-servers", kafka.bootstrap)
    assert ended.exit_code == 2
    assert topic in in_one_line(ended)


def test_a_broker_that_goes_away_is_waited_for_and_said_so(broker: EmbeddedBroker, topic: str, read_topic: ReadTopic) -> None:
    with feed_of_one_line(broker, topic, read_topic) as (running, proxy):
        proxy.refuse()
        assert running.process.stdin is not None
        running.process.stdin.write(b"two\n")
        running.process.stdin.close()
        running.wait_for("trying again")
        proxy.release()
        ended = running.end()
    assert ended.exit_code == 0
    assert f"Sent to {topic}: 2 lines in " in ended.out
    assert values(read_topic(broker.bootstrap_servers, topic, 2)) == [b"one", b"two"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_on_a_silent_pipe_delivers_what_was_read(
    broker: EmbeddedBroker, topic: str, read_topic: ReadTopic, number: signal.Signals
) -> None:
    with running_feed(topic, broker.bootstrap_servers, "-", stdin=subprocess.PIPE) as running:
        assert running.process.stdin is not None
        running.process.stdin.write(b"one\ntwo\nthree has no end yet")
        running.process.stdin.flush()
        assert values(read_topic(broker.bootstrap_servers, topic, 2)) == [b"one", b"two"]
        running.send(number)
        ended = running.end()
    assert (ended.exit_code, ended.err) == (0, "")
    assert f"Stopped. Sent to {topic}: 2 lines in " in ended.out


def test_lines_that_the_broker_has_not_acknowledged_when_it_ends_are_said_to_be_missing(
    broker: EmbeddedBroker, topic: str, read_topic: ReadTopic
) -> None:
    with kafka_proxy(broker.bootstrap_servers) as proxy, subprocess.Popen(["yes"], stdout=subprocess.PIPE) as endless:
        assert endless.stdout is not None
        with running_feed(topic, f"127.0.0.1:{proxy.port}", "-", "--json", stdin=endless.stdout.fileno()) as running:
            read_topic(broker.bootstrap_servers, topic, 1)
            proxy.silence()
            assert proxy.held.wait(WAIT_S)
            running.send(signal.SIGINT)
            ended = running.end()
    assert (ended.exit_code, ended.out) == (1, "")
    assert re.search(r"stopped before the broker had acknowledged everything: [0-9,]+ lines? may be missing", ended.err)


def test_ctrl_c_while_the_broker_is_away_ends_it(broker: EmbeddedBroker, topic: str, read_topic: ReadTopic) -> None:
    with feed_of_one_line(broker, topic, read_topic) as (running, proxy):
        proxy.refuse()
        running.wait_for("trying again")
        running.send(signal.SIGINT)
        ended = running.end()
    assert ended.exit_code == 0
    assert ended.err.count("trying again") == ended.err.count("\n")
    assert f"Stopped. Sent to {topic}: 1 line in" in ended.out


def test_made_up_lines_come_without_end_until_it_is_stopped(broker: EmbeddedBroker, topic: str, read_topic: ReadTopic) -> None:
    with running_feed(topic, broker.bootstrap_servers, "--synthetic", "--rate", "500", "--json") as running:
        found = values(read_topic(broker.bootstrap_servers, topic, 150))
        running.send(signal.SIGINT)
        ended = running.end()
    assert (ended.exit_code, ended.err) == (0, "")
    assert json.loads(ended.out)["sent"] >= 150
    assert len(set(found)) > 100
