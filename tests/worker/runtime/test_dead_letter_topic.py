"""Whether Kafka keeps dead letters: what each set of topic properties means, and that asking never fails."""

from collections.abc import Callable, Mapping

import pytest

from tests.services.kafka import KafkaServer
from tests.services.ports import free_port
from worker.runtime.dead_letter_topic import DEAD_LETTER_TOPIC_PROPERTIES, expiry_warning, warn_of_expiry
from worker.runtime.kafka_admin import KafkaAdmin

WEEK = {"retention.ms": "604800000", "retention.bytes": "-1", "cleanup.policy": "delete"}


@pytest.mark.parametrize(
    "properties",
    [
        DEAD_LETTER_TOPIC_PROPERTIES,
        {"retention.ms": "-1", "retention.bytes": "-1", "cleanup.policy": "delete"},
        {},  # a broker that hides them
    ],
)
def test_a_topic_that_keeps_everything_needs_no_warning(properties: Mapping[str, str]) -> None:
    assert expiry_warning("dead", properties) is None


@pytest.mark.parametrize(
    ("properties", "risk"),
    [
        (WEEK, "retention.ms=604800000, 7 d"),
        (WEEK | {"retention.ms": "0"}, "retention.ms=0, 0 d"),
        (WEEK | {"retention.ms": "-1", "retention.bytes": "1000"}, "retention.bytes=1000"),
        (WEEK | {"cleanup.policy": "compact"}, "cleanup.policy=compact"),
        (WEEK | {"cleanup.policy": "compact,delete"}, "cleanup.policy=compact,delete; retention.ms=604800000, 7 d"),
    ],
)
def test_what_removes_dead_letters_is_named_with_what_to_set(properties: Mapping[str, str], risk: str) -> None:
    wanted = "set retention.ms=-1, retention.bytes=-1 and cleanup.policy=delete"
    assert expiry_warning("dead", properties) == f"kafka may delete dead letters of dead before they are replayed ({risk}): {wanted}"


def test_a_broker_that_does_not_answer_or_refuses_the_question_is_no_failure(kafka: KafkaServer, unique: Callable[[str], str]) -> None:
    said: list[str] = []
    warn_of_expiry(KafkaAdmin(f"127.0.0.1:{free_port()}", {}), "dead", said.append, timeout_s=0.2)
    warn_of_expiry(KafkaAdmin(kafka.bootstrap, {}), unique("never-created"), said.append, timeout_s=10.0)
    assert said == []
