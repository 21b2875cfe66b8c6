"""`vectail topics init`, against a real Kafka: missing topics are created, existing ones are not changed.

It and `vectail run` warn of a dead-letter topic that does not keep its records.
"""

import json
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, ConfigResource, ConfigSource  # type: ignore[attr-defined]  # public, but not in the stubs

from tests.log_topics import topic_line
from tests.services.kafka import KafkaServer
from tests.worker.cli.conftest import WAIT_S, RunHere
from tests.worker.cli.console import RunningVerb, in_one_line
from tests.worker.running import wait_until
from worker.runtime.dead_letter_topic import DEAD_LETTER_TOPIC_PROPERTIES
from worker.runtime.kafka_admin import KafkaAdmin

DAY_MS = 86_400_000


@pytest.fixture
def names(unique: Callable[[str], str]) -> dict[str, str]:
    return {name: unique(name) for name in ("logs", "queries", "replies", "letters")}


@pytest.fixture
def config(kafka: KafkaServer, names: dict[str, str], tmp_path: Path) -> Path:
    """Settings of a Kafka that has none of the topics."""
    file = tmp_path / "vectail.toml"
    topics = f'query_topic = "{names["queries"]}"\n'
    more = f'reply_topic = "{names["replies"]}"\ndead_letter_topic = "{names["letters"]}"\n'
    file.write_text(f'{topic_line(names["logs"])}[kafka]\nbootstrap_servers = "{kafka.bootstrap}"\n{topics}{more}')
    return file


def partitions(kafka: KafkaServer, topic: str) -> int:
    return topics_of(kafka)[topic]


def topics_of(kafka: KafkaServer) -> dict[str, int]:
    """Return every topic with its number of partitions."""
    found = admin_of(kafka).list_topics(timeout=WAIT_S).topics
    return {name: len(topic.partitions) for name, topic in found.items()}


def own_properties(kafka: KafkaServer, topic: str) -> dict[str, str | None]:
    """Return the properties that are set for this topic itself."""
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    admin = admin_of(kafka)  # an answer does not come to a client that is gone
    found = admin.describe_configs([resource], request_timeout=WAIT_S)[resource].result()
    return {name: entry.value for name, entry in found.items() if entry.source == ConfigSource.DYNAMIC_TOPIC_CONFIG.value}


def admin_of(kafka: KafkaServer) -> AdminClient:
    return AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0})


def test_all_four_are_made_and_the_second_time_left_alone(
    kafka: KafkaServer, config: Path, names: dict[str, str], run_here: RunHere
) -> None:
    first = run_here("topics", "init", "-c", str(config), "--partitions", "3")
    second = run_here("topics", "init", "-c", str(config), "--partitions", "5")

    wanted = {names["logs"]: 3, names["queries"]: 3, names["replies"]: 1, names["letters"]: 1}
    assert (first.exit_code, first.err) == (second.exit_code, second.err) == (0, "")
    assert first.out == "".join(f"{topic}: created (partitions: {count})\n" for topic, count in wanted.items())
    assert second.out == "".join(f"{topic}: exists already, not changed (partitions: {count})\n" for topic, count in wanted.items())
    assert {topic: partitions(kafka, topic) for topic in wanted} == wanted


def test_topics_of_a_pattern_have_no_names_to_create(kafka: KafkaServer, config: Path, names: dict[str, str], run_here: RunHere) -> None:
    config.write_text("[[topic]]\npattern = '.*'\n" + config.read_text().partition("\n")[2])
    ended = run_here("topics", "init", "-c", str(config), "--json")
    made = [one["topic"] for one in json.loads(ended.out)["topics"] if one["created"]]
    assert made == [names["queries"], names["replies"], names["letters"]]
    assert names["logs"] not in topics_of(kafka)


def test_the_dead_letter_topic_keeps_its_records_for_ever_and_only_that_one(
    kafka: KafkaServer, config: Path, names: dict[str, str], run_here: RunHere
) -> None:
    assert run_here("topics", "init", "-c", str(config)).exit_code == 0

    wait_until(lambda: {*names.values()} <= topics_of(kafka).keys(), "the broker to know its new topics")
    assert own_properties(kafka, names["letters"]) == DEAD_LETTER_TOPIC_PROPERTIES
    assert own_properties(kafka, names["logs"]) == {}, "the broker's defaults"


def test_an_existing_dead_letter_topic_that_loses_records_is_one_warning(
    kafka: KafkaServer, config: Path, names: dict[str, str], run_here: RunHere
) -> None:
    kafka.create_topic(names["letters"], settings={"retention.ms": str(7 * DAY_MS)})

    ended = run_here("topics", "init", "-c", str(config))

    assert ended.exit_code == 0
    assert f"{names['letters']}: exists already, not changed" in ended.out
    assert "before they are replayed (retention.ms=604800000, 7 d): set retention.ms=-1" in ended.err
    assert ended.err.count("\n") == 1


def test_a_worker_warns_of_a_dead_letter_topic_that_loses_records(
    kafka: KafkaServer, config: Path, names: dict[str, str], tmp_path: Path
) -> None:
    kafka.create_topic(names["letters"], settings={"retention.ms": str(DAY_MS)})
    with config.open("a") as file:
        file.write(f'[milvus]\nuri = "{tmp_path / "index"}"\n')
    with RunningVerb(["run", "-c", str(config)]) as running:
        running.wait_for(f"kafka may delete dead letters of {names['letters']} before they are replayed (retention.ms=86400000, 1 d)")
        running.send(signal.SIGTERM)
        assert running.end().err.count("kafka may delete dead letters") == 1


def test_what_the_broker_refuses_is_one_line(config: Path, run_here: RunHere, names: dict[str, str]) -> None:
    ended = run_here("topics", "init", "-c", str(config), "--replication-factor", "3")

    assert ended.exit_code == 2
    assert in_one_line(ended).startswith(f"topic {names['logs']} cannot be created: ")


def test_a_topic_that_somebody_else_has_just_made_is_not_made_again(kafka: KafkaServer, unique: Callable[[str], str]) -> None:
    admin, topic = KafkaAdmin(kafka.bootstrap, {}), unique("logs")

    assert admin.create_topic(topic, partitions=2, replication_factor=1)
    assert not admin.create_topic(topic, partitions=2, replication_factor=1)
