"""`vectail search` when nobody answers, or somebody says no; the answers of a real worker are in `test_serve.py`."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from producers.kafka import EmbeddedBroker
from tests.services.ports import free_port
from tests.worker.cli.conftest import PARTITIONS, WAIT_S, RunHere, new_topic
from tests.worker.cli.console import in_one_line


@pytest.fixture
def config(broker: EmbeddedBroker, unique: Callable[[str], str], tmp_path: Path) -> Path:
    """Settings with topics that no other test uses."""
    file = tmp_path / "vectail.toml"
    queries, replies = (new_topic(broker, unique(name)) for name in ("queries", "replies"))
    topics = f'query_topic = "{queries}"\nreply_topic = "{replies}"\n'
    file.write_text(f'[kafka]\nbootstrap_servers = "{broker.bootstrap_servers}"\n{topics}')
    return file


@contextmanager
def answering(address: str, topic: str, answer: Mapping[str, Any], asked: list[Any]) -> Iterator[None]:
    """Give the next query in a topic that answer, as a worker would; the query goes into `asked`."""

    def reply() -> None:
        consumer = Consumer({"bootstrap.servers": address, "group.id": "answering", "auto.offset.reset": "earliest", "log_level": 0})
        consumer.assign([TopicPartition(topic, partition, 0) for partition in range(PARTITIONS)])
        query = consumer.poll(WAIT_S)
        assert query is not None
        headers = dict(query.headers() or [])
        asked.append(json.loads(query.value() or b""))
        producer = Producer({"bootstrap.servers": address, "log_level": 0})
        correlation, reply_topic = headers["kafka_correlationId"], headers["kafka_replyTopic"]
        assert isinstance(reply_topic, bytes)
        producer.produce(reply_topic.decode(), json.dumps(answer).encode(), headers=[("kafka_correlationId", correlation)])
        producer.flush(WAIT_S)
        consumer.close()

    thread = threading.Thread(target=reply)
    thread.start()
    yield
    thread.join(WAIT_S)
    assert not thread.is_alive()


def query_topic(config: Path) -> str:
    return config.read_text().partition('query_topic = "')[2].partition('"')[0]


@pytest.mark.parametrize(
    ("error", "exit_code", "said"),
    [
        ({"code": "bad_query", "field": "text", "reason": "too long"}, 2, "the worker refused the query: text: too long"),
        ({"code": "expired", "field": "deadline_ms", "reason": "the deadline has passed"}, 1, "no answer in time: the deadline has passed"),
        ({"code": "unavailable", "field": "", "reason": "the index does not answer"}, 1, "no answer in time: the index does not answer"),
    ],
)
def test_an_answer_that_is_an_error_is_one_line(
    broker: EmbeddedBroker, config: Path, run_here: RunHere, error: dict[str, str], exit_code: int, said: str
) -> None:
    with answering(broker.bootstrap_servers, query_topic(config), {"error": error}, []):
        ended = run_here("search", "disk", "-c", str(config), "--timeout", "30")

    assert ended.exit_code == exit_code
    assert in_one_line(ended) == said
    assert ended.out == ""


def test_the_words_are_one_question_and_the_worker_knows_how_long_somebody_waits(
    broker: EmbeddedBroker, config: Path, run_here: RunHere
) -> None:
    asked: list[Any] = []
    answer = {"hits": [], "complete": True, "seconds": {"wait": 0.1, "embed": 0.1, "search": 0.1}}
    with answering(broker.bootstrap_servers, query_topic(config), answer, asked):
        ended = run_here("search", "disk", "is full", "-k", "3", "-c", str(config), "--timeout", "30")

    assert asked == [{"text": "disk is full", "k": 3, "deadline_ms": 30_000}]
    assert ended.exit_code == 0
    assert ended.out.endswith("No lines found.\n")


def test_without_a_worker_it_says_so_and_what_to_do(config: Path, run_here: RunHere) -> None:
    ended = run_here("search", "disk", "-c", str(config), "--timeout", "0.5")

    assert ended.exit_code == 1
    assert in_one_line(ended) == f"no worker answered on {query_topic(config)} within 0.5 s; is `vectail run` running?"


def test_without_a_broker_it_gives_up_in_time(run_here: RunHere) -> None:
    address = f"127.0.0.1:{free_port()}"

    ended = run_here("search", "disk", "--json", "--bootstrap-servers", address, "--timeout", "0.5")

    assert (ended.exit_code, ended.out) == (1, "")
    assert in_one_line(ended).startswith(f"kafka at {address}: ")
