"""What a person can do about a dead letter: the setting that decided it, and the way back where the letter alone cannot be replayed.

Read from a stored letter, so that the letters of earlier versions say it too. `/api/dead-letters` and `vectail dlq show` show it.
"""

from collections.abc import Mapping
from typing import Final

from consumers.decode.found import UNDECODABLE, UNKNOWN_SCHEMA
from worker.inspecting.stored_dead_letters import READ_AGAIN, StoredDeadLetter

SETTINGS: Final[Mapping[str, str]] = {
    UNDECODABLE: "topic.format",
    UNKNOWN_SCHEMA: "registry.url",
    "too_large": "decode.max_record_bytes",
    "too_many_chunks": "decode.max_chunks",
}
"""The setting that decides, by the heading of the reason. The other reasons are decided by none."""


def deciding_setting(letter: StoredDeadLetter) -> str:
    """Return the name of the setting that decides whether such a record is indexed; empty: none does."""
    return SETTINGS.get(letter.reason_heading, "")


def obstacle_of(obstacle: str) -> str:
    """Return why a letter cannot be replayed, given what is wrong with it; empty if it can, maybe by what Kafka still holds."""
    return "" if obstacle in READ_AGAIN else obstacle


def way_back(letter: StoredDeadLetter, obstacle: str) -> str:
    """Return how a letter with this obstacle is replayed nevertheless; empty where it needs nothing of Kafka, or cannot be replayed."""
    if obstacle not in READ_AGAIN or letter.is_replayed:
        return ""
    first = "raise decode.max_record_bytes" if letter.reason_heading == "too_large" else "remove the cause"
    own = f"{letter.letter.partition}/{letter.letter.offset}"
    return f"{obstacle}; a replay reads the record again, while Kafka holds it: {first}, then `vectail dlq replay {own}`"
