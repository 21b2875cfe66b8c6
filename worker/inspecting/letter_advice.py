"""What a person can do about a dead letter: the setting that decided it, and the way back where it cannot be replayed.

Read from a stored letter, so that the letters of earlier versions say it too. `/api/dead-letters` and `vectail dlq show` show it.
"""

from collections.abc import Mapping
from typing import Final

from consumers.decode.found import UNDECODABLE, UNKNOWN_SCHEMA
from worker.inspecting.stored_dead_letters import ALTERED, CUT, StoredDeadLetter

SETTINGS: Final[Mapping[str, str]] = {
    UNDECODABLE: "topic.format",
    UNKNOWN_SCHEMA: "registry.url",
    "too_large": "decode.max_record_bytes",
    "too_many_chunks": "decode.max_chunks",
}
"""The setting that decides, by the heading of the reason. The other reasons are decided by none."""

READ_AGAIN: Final = frozenset({CUT, ALTERED})
"""Obstacles of letters whose records Kafka may still hold whole."""


def deciding_setting(letter: StoredDeadLetter) -> str:
    """Return the name of the setting that decides whether such a record is indexed; empty: none does."""
    return SETTINGS.get(letter.reason_heading, "")


def way_back(letter: StoredDeadLetter, obstacle: str) -> str:
    """Return how the record of a letter with this obstacle can still be indexed; empty where the obstacle says it, or there is none."""
    if obstacle not in READ_AGAIN or letter.is_replayed:
        return ""
    place = f"--topic {letter.topic} --partition {letter.partition} --to {letter.offset}"
    allow = "allow it by decode.max_record_bytes, " if letter.reason_heading == "too_large" else "remove the cause, "
    return (
        f"while Kafka holds the record it can be read again: {allow}stop the workers, run `vectail offsets reset {place}`, and start them "
        "(what is in the index is not stored twice)"
    )
