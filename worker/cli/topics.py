"""`vectail topics init`: creates the topics that vectail reads and writes; existing topics are not changed.

The dead-letter topic keeps its records for ever; if an existing one does not, a warning says so.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from consumers.source import KafkaRefused
from worker.cli.exits import user_error
from worker.cli.screen import Screen
from worker.runtime.dead_letter_topic import DEAD_LETTER_TOPIC_PROPERTIES, warn_of_expiry
from worker.runtime.kafka_admin import BROKERS_DEFAULT, BrokerAway, KafkaAdmin
from worker.settings.settings import Settings

_ANSWER_S = 3.5
_RETRY_S = 1.0
Answer = TypeVar("Answer")


def init_topics(
    settings: Settings,
    screen: Screen,
    *,
    partitions: int,
    replication_factor: int | None,
    pause: Callable[[float], object] = time.sleep,
    answer_s: float = _ANSWER_S,
) -> dict[str, object]:
    """Create missing topics and return what `--json` prints; waits for an unreachable broker. Raises CommandFailed.

    Log topics and the query topic get `partitions`, so that this many workers can share them; replies and dead letters get one. Topics of
    a pattern have no names to create.
    """
    kafka, names = settings.kafka, settings.subscription.names
    wanted = dict.fromkeys((*names, kafka.query_topic), partitions) | dict.fromkeys((kafka.reply_topic, kafka.dead_letter_topic), 1)
    results = []
    try:
        admin = KafkaAdmin(kafka.bootstrap_servers, kafka.librdkafka)
        away = f"kafka at {kafka.bootstrap_servers} is away"
        existing = _retried(lambda: admin.partition_counts(answer_s), lambda error: f"{away} ({error}); waiting for it", screen, pause)
        for topic, count in wanted.items():
            properties = DEAD_LETTER_TOPIC_PROPERTIES if topic == kafka.dead_letter_topic else {}
            replicas = replication_factor or BROKERS_DEFAULT
            create = partial(admin.create_topic, topic, partitions=count, replication_factor=replicas, properties=properties)
            complaint = partial("topic {} is not created yet ({}); trying again".format, topic)
            is_new = topic not in existing and _retried(create, complaint, screen, pause)
            results.append({"topic": topic, "created": is_new, "partitions": existing.get(topic, count)})
            state = "created" if is_new else "exists already, not changed"
            screen.say(f"{topic}: {state} (partitions: {results[-1]['partitions']})")
        warn_of_expiry(admin, kafka.dead_letter_topic, screen.warn, timeout_s=answer_s)
    except KafkaRefused as error:
        raise user_error(error) from error
    return {"topics": results}


def _retried(ask: Callable[[], Answer], complaint: Callable[[BrokerAway], str], screen: Screen, pause: Callable[[float], object]) -> Answer:
    """Ask until the broker answers; say once that it does not."""
    has_complained = False
    while True:
        try:
            return ask()
        except BrokerAway as error:
            if not has_complained:
                screen.warn(complaint(error))
                has_complained = True
            pause(_RETRY_S)
