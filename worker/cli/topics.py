"""`vectail topics init`: creates the topics that vectail reads and writes; existing topics are not changed.

The dead-letter topic keeps its records for ever; if an existing one does not, a warning says so.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any

from consumers.source import KafkaRefused
from worker.cli.exits import user_error
from worker.cli.screen import Screen
from worker.runtime.dead_letter_topic import DEAD_LETTER_TOPIC_PROPERTIES, warn_of_expiry
from worker.runtime.kafka_admin import BROKERS_DEFAULT, BrokerAway, KafkaAdmin
from worker.settings.settings import Settings

_ANSWER_S = 5.0
_RETRY_S = 1.0


def init_topics(
    settings: Settings,
    screen: Screen,
    *,
    partitions: int,
    replication_factor: int | None,
    pause: Callable[[float], object] = time.sleep,
    answer_s: float = _ANSWER_S,
) -> dict[str, Any]:
    """Create missing topics and return what `--json` prints; waits for an unreachable broker. Raises CommandFailed.

    Log topics and the query topic get `partitions`, so that this many workers can share them; replies and dead letters get one. Topics of
    a pattern have no names to create.
    """
    kafka, names = settings.kafka, settings.subscription.names
    wanted = dict.fromkeys((*names, kafka.query_topic), partitions) | dict.fromkeys((kafka.reply_topic, kafka.dead_letter_topic), 1)
    results = []
    try:
        admin = KafkaAdmin(kafka.bootstrap_servers, kafka.librdkafka)
        existing = _partition_counts(admin, kafka.bootstrap_servers, screen, pause, answer_s)
        for topic, count in wanted.items():
            properties = DEAD_LETTER_TOPIC_PROPERTIES if topic == kafka.dead_letter_topic else {}
            is_new = topic not in existing and _create(admin, topic, count, replication_factor, properties, screen, pause)
            results.append({"topic": topic, "created": is_new, "partitions": existing.get(topic, count)})
            state = "created" if is_new else "exists already, not changed"
            screen.say(f"{topic}: {state} (partitions: {results[-1]['partitions']})")
        warn_of_expiry(admin, kafka.dead_letter_topic, screen.warn, timeout_s=answer_s)
    except KafkaRefused as error:
        raise user_error(error) from error
    return {"topics": results}


def _partition_counts(admin: KafkaAdmin, address: str, screen: Screen, pause: Callable[[float], object], answer_s: float) -> dict[str, int]:
    has_complained = False
    while True:
        try:
            return admin.partition_counts(answer_s)
        except BrokerAway as error:
            if not has_complained:
                screen.warn(f"kafka at {address} is away ({error}); waiting for it")
                has_complained = True
            pause(_RETRY_S)


def _create(
    admin: KafkaAdmin,
    topic: str,
    partitions: int,
    replication_factor: int | None,
    properties: Mapping[str, str],
    screen: Screen,
    pause: Callable[[float], object],
) -> bool:
    replicas = replication_factor or BROKERS_DEFAULT
    while True:
        try:
            return admin.create_topic(topic, partitions=partitions, replication_factor=replicas, properties=properties)
        except BrokerAway as error:
            screen.warn(f"topic {topic} is not created yet ({error}); trying again")
            pause(_RETRY_S)
