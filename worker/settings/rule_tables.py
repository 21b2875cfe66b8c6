"""The tables of the settings file that say which entries are dropped, and which are stored without their texts: `[[drop]]`, `[[sample]]`.

`worker.indexing.entry_rules` applies them, in the order of the file. All conditions of a table must hold; one that is not set always holds.
Patterns are RE2. That of a topic must fit its whole name; the others are searched for.
"""

from typing import Literal, Self

from pydantic import Field, model_validator

from worker.settings.tables import Table
from worker.settings.topic_tables import Pattern

LevelName = Literal["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"]


class RuleTable(Table):
    """Which entries a rule is about."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_-]{0,63}$")
    """Name of the rule, for metrics and messages."""
    topic: Pattern | None = None
    """Topics whose whole name fits this. Not set: all."""
    service: tuple[str, ...] = ()
    """Services, as they are stored. Empty: any."""
    level: tuple[LevelName, ...] = ()
    """Levels. Empty: any, and entries without one."""
    field: str | None = Field(default=None, min_length=1, max_length=256)
    """A kept field that the entry must have."""
    value: Pattern | None = None
    """What must be found in the value of `field`."""
    pattern: Pattern | None = None
    """What must be found in the text."""

    @model_validator(mode="after")
    def _check_value(self) -> Self:
        if self.value is not None and self.field is None:
            raise ValueError(f"rule {self.name!r}: value needs a field")
        return self


class DropTable(RuleTable):
    """Entries that are dropped before any work: not embedded, not stored, only counted."""

    @model_validator(mode="after")
    def _check_conditions(self) -> Self:
        if self.service == () and self.level == () and self.field is self.pattern is self.topic is None:
            raise ValueError(f"rule {self.name!r} has no condition and would drop everything")
        return self


class SampleTable(RuleTable):
    """Entries of which only some keep text and fields while there are many; the others are found and counted, but show their template."""

    above_per_s: int = Field(ge=0)
    """Entries of a partition that keep their texts in each second of Kafka's time."""
    keep: int = Field(default=10, ge=1, le=1_000_000)
    """Keep the text of one in this many entries above the limit."""
