"""`vectail search` without an answer or with a refusal; the answers of a real worker are in `test_serve.py`."""

import json
import threading
import time
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
def answering(address: str, topic: str, reply_value: Mapping[str, Any], asked: list[Any]) -> Iterator[None]:
    """Answer the next query in a topic, as a worker would, and append the query to `asked`."""

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
        producer.produce(reply_topic.decode(), json.dumps(reply_value).encode(), headers=[("kafka_correlationId", correlation)])
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


def test_every_option_reaches_the_worker(broker: EmbeddedBroker, config: Path, run_here: RunHere) -> None:
    asked: list[Any] = []
    before_ms = time.time() * 1000 - 3_600_000
    nothing = {"hits": [], "complete": True, "mode": "hybrid", "seconds": {"wait": 0.1, "embed": 0.1, "search": 0.1}}
    filters = "--since 1h --until 2999-01-01 --service a --level WARN --topic logs --family 0123456789abcdef"
    more = "--mode hybrid --per-template 2 --per-family 3 -k 3 --timeout 30"
    with answering(broker.bootstrap_servers, query_topic(config), nothing, asked):
        ended = run_here("search", "disk", "is full", *more.split(), *filters.split(), "--service", "b \udcff", "-c", str(config))
    (query,) = asked
    assert before_ms - 1 <= query["filters"].pop("since_ms") <= before_ms + 60_000
    assert query.pop("filters") == {
        "until_ms": 32_472_144_000_000,
        "service": ["a", "b \ufffd"],
        "level": ["WARN"],
        "topic": ["logs"],
        "family": ["0123456789abcdef"],
    }
    assert query == {"text": "disk is full", "mode": "hybrid", "per_template": 2, "per_family": 3, "k": 3, "deadline_ms": 30_000}
    assert "Try it without --service or --level or --topic or --family, or over a longer time (--since, --until)." in ended.out


def test_where_kafka_does_not_say_who_reads_a_worker_is_waited_for(broker: EmbeddedBroker, config: Path, run_here: RunHere) -> None:
    ended = run_here("search", "disk", "-c", str(config), "--timeout", "10")

    assert ended.exit_code == 1
    where = f"{query_topic(config)} at {broker.bootstrap_servers}"
    assert in_one_line(ended) == f"no worker answered on {where} within 10 s; is `vectail run` running?"


@pytest.mark.parametrize("missing", ["query_topic", "reply_topic"])
def test_without_one_of_the_topics_it_says_which_and_what_makes_it(
    broker: EmbeddedBroker, config: Path, run_here: RunHere, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    monkeypatch.setenv(f"VECTAIL_KAFKA__{missing.upper()}", "nowhere")

    for _ in range(2):  # asking does not create it
        ended = run_here("search", "disk", "-c", str(config), "--timeout", "30")
        assert ended.exit_code == 2
        said = "topic nowhere does not exist (`vectail topics init` creates it)"
        assert in_one_line(ended) == f"kafka at {broker.bootstrap_servers}: {said}"


def test_without_a_broker_it_says_why_and_gives_up_in_time(run_here: RunHere) -> None:
    address = f"127.0.0.1:{free_port()}"

    ended = run_here("search", "disk", "--json", "--bootstrap-servers", address, "--timeout", "3")

    assert (ended.exit_code, ended.out) == (1, "")
    assert in_one_line(ended) == (
        f"kafka at {address} is away (Connect to ipv4#{address} failed: Connection refused); "
        "is it running, and is its address right (--bootstrap-servers)?"
    )
