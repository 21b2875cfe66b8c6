"""The dead-letter topic keeps its records until somebody replays them: the properties it is created with, and a warning for others.

With Kafka's defaults a dead letter is deleted after 7 days; its record is then neither in the index nor anywhere else.
"""

from collections.abc import Callable, Mapping
from typing import Final

from consumers.source import KafkaRefused
from worker.runtime.kafka_admin import BrokerAway, KafkaAdmin

DEAD_LETTER_TOPIC_PROPERTIES: Final[Mapping[str, str]] = {"retention.ms": "-1", "cleanup.policy": "delete"}
_DAY_MS: Final = 86_400_000


def expiry_warning(topic: str, properties: Mapping[str, str]) -> str | None:
    """Return one line if Kafka removes dead letters by age, size or key; None if it keeps them or does not say.

    Compaction removes letters by key: a dead letter has its record's key.
    """
    risks: list[str] = []
    policy = properties.get("cleanup.policy", "delete")
    if "compact" in policy:
        risks.append(f"cleanup.policy={policy}")
    if "delete" in policy:
        retention_ms = int(properties.get("retention.ms", "-1"))
        if retention_ms >= 0:
            risks.append(f"retention.ms={retention_ms}, {retention_ms / _DAY_MS:.3g} d")
        retention_bytes = int(properties.get("retention.bytes", "-1"))
        if retention_bytes >= 0:
            risks.append(f"retention.bytes={retention_bytes}")
    if not risks:
        return None
    wanted = "retention.ms=-1, retention.bytes=-1 and cleanup.policy=delete"
    return f"kafka may delete dead letters of {topic} before they are replayed ({'; '.join(risks)}): set {wanted}"


def warn_of_expiry(admin: KafkaAdmin, topic: str, say: Callable[[str], None], *, timeout_s: float) -> None:
    """Say it in one line if Kafka removes dead letters; nothing if the broker is away, or does not allow or know the question."""
    try:
        warning = expiry_warning(topic, admin.topic_properties(topic, timeout_s))
    except (BrokerAway, KafkaRefused):
        return
    if warning is not None:
        say(warning)
