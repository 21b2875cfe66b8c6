"""Where a record is in Kafka, as people write it: `logs/0@123`."""

import re
from typing import Final, NamedTuple, Self

_PLACE: Final = re.compile(r"([^/@]+)/(\d{1,9})@(\d{1,18})")


class RecordPlace(NamedTuple):
    """A record's topic, partition and offset.

    Thread: any.
    """

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}@{self.offset}"

    @classmethod
    def read(cls, text: str) -> Self:
        """Return the place that a text names. Raises ValueError."""
        found = _PLACE.fullmatch(text.strip())
        if found is None:
            raise ValueError(f"{text!r} is not the place of a line: give topic, partition and offset as hits show them, such as logs/0@123")
        return cls(found[1], int(found[2]), int(found[3]))
