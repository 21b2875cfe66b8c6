"""Chooses dead letters by what a person knows about them: their coordinates, or their reason, topic and age."""

import re
from dataclasses import dataclass
from typing import NamedTuple

from consumers.groupless.groupless_reader import GrouplessReader
from worker.inspecting.stored_dead_letters import DeadLetters, StoredDeadLetter
from worker.settings.tables import KafkaTable

_SELECTOR = re.compile(r"(?:([^/@\s]+)/)?(\d{1,9})[/@](\d{1,18})")


class LetterSelector(NamedTuple):
    """Selects one letter by its own coordinates, or all letters of a record by the record's coordinates."""

    topic: str | None
    """The record's topic; None: partition and offset are the letter's own."""
    partition: int
    offset: int

    def matches(self, letter: StoredDeadLetter) -> bool:
        """Return whether this selects the letter."""
        if self.topic is None:
            return (letter.letter.partition, letter.letter.offset) == self[1:]
        return (letter.topic, letter.partition, letter.offset) == self

    def __str__(self) -> str:
        """Return it as people write it."""
        return "/".join(str(part) for part in self if part is not None)


def parse_selector(text: str) -> LetterSelector:
    """Read `PARTITION/OFFSET` or `TOPIC/PARTITION/OFFSET`. Raises ValueError."""
    found = _SELECTOR.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is neither PARTITION/OFFSET nor TOPIC/PARTITION/OFFSET")
    return LetterSelector(found[1], int(found[2]), int(found[3]))


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterFilter:
    """Selects the letters that match everything the user gave."""

    selectors: tuple[LetterSelector, ...] = ()
    """Empty: any letter."""
    reason: str | None = None
    """A part of the reason, in any case."""
    topic: str | None = None
    since_ms: int | None = None
    patience_s: float = 60.0

    def matches(self, letter: StoredDeadLetter) -> bool:
        """Return whether the letter is chosen; `read_letters` has applied `since_ms` already."""
        reasons = (letter.reason, *(reason for _, _, reason in letter.pieces))
        return (
            (not self.selectors or any(one.matches(letter) for one in self.selectors))
            and (self.reason is None or any(self.reason.casefold() in reason.casefold() for reason in reasons))
            and self.topic in (None, letter.topic)
        )

    def read_letters(self, reader: GrouplessReader, kafka: KafkaTable) -> DeadLetters:
        """Return the letters to search; if all are named by their own coordinates, reading starts at the first of them."""
        own = [(one.partition, one.offset) for one in self.selectors if one.topic is None]
        named = {partition: min(o for p, o in own if p == partition) for partition, _ in own}
        is_named = bool(own) and len(own) == len(self.selectors)
        return DeadLetters(
            reader,
            kafka.dead_letter_topic,
            timeout_s=self.patience_s,
            since_ms=self.since_ms,
            first_offsets=named if is_named else None,
        )
