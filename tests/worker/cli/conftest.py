"""Fixtures for the command line: a prepared model, an embedded broker, a screen whose output can be read."""

import io
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition
from rich.console import Console

from producers.kafka import EmbeddedBroker
from tests.model_fixture import CACHE
from tests.services.kafka import KafkaServer
from tests.worker.cli.console import EndedVerb
from tests.worker.cli.indexed import indexed, verify
from tests.worker.cli.log_group import LogGroup
from worker.cli import absent_server
from worker.cli.app import run_app
from worker.cli.screen import Screen
from worker.embedding.model.prepared import PreparedModel

__all__ = ["indexed", "verify"]

WAIT_S = 30.0
PARTITIONS = 4
"""Of every topic of the embedded broker."""

ReadTopic = Callable[[str, str, int], list[Message]]
RunHere = Callable[..., EndedVerb]
NewScreen = Callable[[int], tuple[Screen, io.StringIO]]


def new_topic(broker: EmbeddedBroker, name: str) -> str:
    """Create a topic, which the embedded broker does when a producer asks for it, and return its name."""
    found = Producer({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0}).list_topics(name, timeout=WAIT_S)
    assert len(found.topics[name].partitions) == PARTITIONS
    return name


@pytest.fixture(scope="session", autouse=True)
def _model_is_prepared(prepared_model: PreparedModel) -> None:
    pass


@pytest.fixture(autouse=True)
def _own_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith("VECTAIL_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("VECTAIL_MODEL__CACHE", str(CACHE))
    monkeypatch.setenv("VECTAIL_ENGINE__NAME", "llama")  # with vLLM, every start would take 20 s
    monkeypatch.setenv("VECTAIL_HTTP__PORT", "0")  # any free port: tests run in parallel
    monkeypatch.setattr(absent_server, "SLOW_S", 600.0)  # on a busy machine every verb is slow


@pytest.fixture
def run_here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[RunHere]:
    """Run a verb in this process, which loads the libraries only once; takes the words after `vectail`."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def run(*words: str) -> EndedVerb:
        monkeypatch.setattr(sys, "argv", ["vectail", *words])
        exit_code = run_app()
        out, err = capsys.readouterr()
        return EndedVerb(exit_code, out, err)

    yield run
    for number, taken in before.items():
        signal.signal(number, taken)


@pytest.fixture
def group(kafka: KafkaServer, unique: Callable[[str], str], tmp_path: Path, run_here: RunHere) -> LogGroup:
    return LogGroup(kafka, unique("logs"), tmp_path, run_here)


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    embedded = EmbeddedBroker()
    yield embedded
    embedded.close()


@pytest.fixture
def topic(broker: EmbeddedBroker, unique: Callable[[str], str]) -> str:
    """A new topic of the embedded broker."""
    return new_topic(broker, unique("logs"))


@pytest.fixture
def new_screen() -> NewScreen:
    """Return a function that makes a screen of the given width and the stream that it writes to."""

    def make(width: int) -> tuple[Screen, io.StringIO]:
        written = io.StringIO()
        return Screen(console=Console(file=written, width=width, highlight=False)), written

    return make


@pytest.fixture
def new_terminal() -> NewScreen:
    """Return a function like `new_screen`, whose screens are on a terminal without colours."""

    def make(width: int) -> tuple[Screen, io.StringIO]:
        written = io.StringIO()
        return Screen(console=Console(file=written, width=width, highlight=False, force_terminal=True, color_system=None)), written

    return make


@pytest.fixture
def read_topic() -> ReadTopic:
    """Read the first `count` records of a topic, oldest first in each partition; takes address, topic and count."""

    def read(address: str, topic: str, count: int) -> list[Message]:
        consumer = Consumer({"bootstrap.servers": address, "group.id": "reader", "auto.offset.reset": "earliest", "log_level": 0})
        try:
            partitions = consumer.list_topics(topic, timeout=WAIT_S).topics[topic].partitions
            consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
            found: list[Message] = []
            while len(found) < count:
                more = consumer.consume(count - len(found), WAIT_S)
                assert more, f"{len(found)} of {count} records in {topic}"
                found += more
            return found
        finally:
            consumer.close()

    return read
