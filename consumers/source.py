"""The interface between the poll loop and the Kafka client: what a poller calls, and what it is told.

`consumers.kafka` is the real source, `tests/fakes/source.py` the fake; `tests/contracts/test_source.py` runs the same suite on both.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from consumers.record import Partition, Records


class SourceExpired(Exception):
    """A committed offset has expired, and the settings leave the decision to the user; one line."""


class SourceAway(Exception):
    """No broker has answered for longer than the settings allow; one line."""


class KafkaRefused(Exception):
    """The broker refuses, or no client can be made with these properties; one line for the user."""


class SourceFatal(Exception):
    """The client cannot go on (fenced, or a fatal error); the process must end."""


class Rebalance(Protocol):
    """What a source reports to its poller, on the poller's own thread."""

    def on_assign(self, partitions: Sequence[Partition]) -> None:
        """These partitions are assigned now."""

    def on_revoke(self, partitions: Sequence[Partition]) -> None:
        """These partitions are revoked when this returns; until then, they can be committed."""

    def on_lost(self, partitions: Sequence[Partition]) -> None:
        """These partitions are lost already; a commit would move the position of their new owner."""

    def on_committed(self, accepted: Mapping[Partition, int], refused: Mapping[Partition, tuple[int, str]]) -> None:
        """Report a commit's outcome: next offsets, with the reason of a refusal. May come late, even after the assignment has ended."""


class Source(Protocol):
    """Where records come from; `consumers.kafka.kafka_source.KafkaSource` describes each call."""

    def subscribe(self, rebalance: Rebalance) -> None:
        """Join the group."""

    def fetch(self, max_records: int, timeout_s: float) -> list[Records]:
        """Poll: call `rebalance` as needed and return records of partitions assigned now, at most `max_records` in all.

        Each element is of one partition and epoch and not empty; those of one partition are in the order of their offsets.

        Raises SourceFatal, SourceExpired, SourceAway, KafkaRefused.
        """

    def pause(self) -> None:
        """Stop delivery, not polling; a partition that has delivered nothing yet may still deliver its first records."""

    def resume(self) -> None:
        """Start delivery again."""

    def commit(self, next_offsets: Mapping[Partition, int], *, is_last: bool = False) -> dict[Partition, int]:
        """Begin to commit, before any later rebalance; return what was begun. `rebalance.on_committed` reports the outcome."""

    def begin_again(self, next_offsets: Mapping[Partition, int]) -> Mapping[Partition, int]:
        """Read partitions again from these offsets, or from the first that Kafka holds; return where each begins.

        Leaves out those for which that cannot be done now. What was fetched of the others and not returned is dropped. Their new position
        is committed before a record of them is returned: a restart never begins behind it.
        """

    def end_offsets(self) -> dict[Partition, int]:
        """Return the end offset of each assigned partition, as last seen."""

    def reached(self) -> Mapping[Partition, int]:
        """Return the end offset of each assigned partition read to its end: `fetch` has returned every record before it."""

    def close(self) -> None:
        """Leave the group."""
