"""A service whose topics are patterns: new topics while it runs, topics of our own, and none at all."""

import pytest

from producers.kafka import KafkaProducer, OutgoingRecord
from tests.worker.running import WAIT_S, World, wait_until
from worker.service.samples import samples
from worker.service.shutdown import Ending
from worker.settings.settings import Settings
from worker.settings.topic_tables import TopicTable
from worker.watching import metrics


@pytest.fixture(autouse=True)
def _looks_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("consumers.kafka.kafka_source.TOPIC_REFRESH_S", 0.2)


def settings_of(world: World, *tables: TopicTable) -> Settings:
    return world.settings(topic=tables)


def send(world: World, topic: str, *lines: str) -> None:
    """Send lines to a topic, which the embedded broker creates."""
    producer = KafkaProducer(world.broker.bootstrap_servers, {}, say=world.said.append)
    for line in lines:
        producer.send(topic, OutgoingRecord(line.encode(), partition=0), delivered=lambda _reason: None)
    assert producer.flush(WAIT_S) == 0
    producer.close(0.0)


def test_topics_that_fit_are_indexed_also_those_that_come_later_and_ours_never(world: World) -> None:
    send(world, f"app-{world.topic}", "disk full")
    send(world, f"app-{world.topic}-old", "excluded")
    running = world.start(settings_of(world, TopicTable(pattern=f".*{world.topic}.*", exclude=(".*-old",), weight=3.0))).opened()
    world.send(["network down"])
    wait_until(lambda: world.stored() and world.stored(f"app-{world.topic}"), "what was there")
    send(world, f"later-{world.topic}", "battery low")
    wait_until(lambda: world.stored(f"later-{world.topic}") == ["battery low"], "what came later")
    found = {sample.labels[0]: sample.value for sample in samples(running.service, 0.0) if sample.metric is metrics.ADMITTED_TOTAL}
    assert running.stop() == Ending.DRAINED
    fitting = (world.topic, f"app-{world.topic}", f"later-{world.topic}")
    assert {topic: found[topic] for topic in fitting} == dict.fromkeys(fitting, 1)
    assert world.stored(f"app-{world.topic}-old") == []
    assert sum(world.committed(topic) for topic in fitting) == 3


def test_questions_are_answered_while_no_topic_fits_and_their_own_topics_are_not_read(world: World) -> None:
    running = world.start(settings_of(world, TopicTable(pattern=f"queries-.*|replies-.*|dead-.*|later-{world.topic}"))).opened()
    assert world.ask({"text": "disk", "k": 1})[0]["hits"] == []
    assert [line for line in world.said if line.startswith("no topic fits topic.pattern ")] != []
    assert running.service.log_source is not None
    assert running.service.log_source.topics == ()
    send(world, f"later-{world.topic}", "disk full")
    wait_until(lambda: world.stored(f"later-{world.topic}") == ["disk full"], "the first topic that fits")
    assert running.stop() == Ending.DRAINED
    assert set(running.service.pipeline.indexing.ledger.outcomes()) == {f"later-{world.topic}"}
