"""`vectail topics init`: makes the topics that vectail reads and writes; those that exist stay as they are."""

import time
from collections.abc import Callable
from typing import Any

from worker.cli.exits import must_change
from worker.cli.screen import Screen
from worker.runtime.kafka_admin import BROKERS_DEFAULT, BrokerAway, KafkaAdmin, KafkaRefused
from worker.settings.tables import KafkaTable

_ASK_S = 5.0
_AGAIN_S = 1.0


def init_topics(
    kafka: KafkaTable,
    screen: Screen,
    *,
    partitions: int,
    replication_factor: int | None,
    pause: Callable[[float], object] = time.sleep,
    ask_s: float = _ASK_S,
) -> dict[str, Any]:
    """Make what is missing, waiting for a broker that is away; returns what `--json` prints. Raises CommandFailed.

    Log topics and the query topic get `partitions`, so that as many workers can share them; replies and dead letters get one.
    """
    wanted = dict.fromkeys((*kafka.topics, kafka.query_topic), partitions) | dict.fromkeys((kafka.reply_topic, kafka.dead_letter_topic), 1)
    made = []
    try:
        admin = KafkaAdmin(kafka.bootstrap_servers, kafka.librdkafka)
        there = _ask(admin, kafka.bootstrap_servers, screen, pause, ask_s)
        for topic, count in wanted.items():
            is_new = topic not in there and _create(admin, topic, count, replication_factor, screen, pause)
            made.append({"topic": topic, "created": is_new, "partitions": there.get(topic, count)})
            state = "created" if is_new else "exists already, left as it is"
            screen.say(f"{topic}: {state} (partitions: {made[-1]['partitions']})")
    except KafkaRefused as error:
        raise must_change(error) from error
    return {"topics": made}


def _ask(admin: KafkaAdmin, address: str, screen: Screen, pause: Callable[[float], object], ask_s: float) -> dict[str, int]:
    has_complained = False
    while True:
        try:
            return admin.partition_counts(ask_s)
        except BrokerAway as error:
            if not has_complained:
                screen.warn(f"kafka at {address} is away ({error}); waiting for it")
                has_complained = True
            pause(_AGAIN_S)


def _create(
    admin: KafkaAdmin, topic: str, partitions: int, replication_factor: int | None, screen: Screen, pause: Callable[[float], object]
) -> bool:
    while True:
        try:
            return admin.create(topic, partitions=partitions, replication_factor=replication_factor or BROKERS_DEFAULT)
        except BrokerAway as error:
            screen.warn(f"topic {topic} is not made yet ({error}); trying again")
            pause(_AGAIN_S)
