"""What a poller needs of the place where records come from, and what that tells it: the seam between poll loop and client.

`consumers.kafka` is the real one, `tests/fakes/source.py` the other; `tests/contracts/test_source.py` runs the same suite on both.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from consumers.record import Partition, Record


class SourceExpired(Exception):
    """Committed records are not there any more, and the settings leave it to the user what is to be done; one line."""


class SourceAway(Exception):
    """No broker has answered for as long as the settings allow; one line."""


class SourceFatal(Exception):
    """The client cannot go on (fenced, fatal error): the process must end."""


class Rebalance(Protocol):
    """What a source tells its poller, on the poller's own thread."""

    def on_assign(self, partitions: Sequence[Partition]) -> None:
        """These partitions are ours now."""

    def on_revoke(self, partitions: Sequence[Partition]) -> None:
        """These partitions will be gone when this returns; a commit is still possible."""

    def on_lost(self, partitions: Sequence[Partition]) -> None:
        """These partitions are gone already; a commit would move somebody else's position."""

    def on_committed(self, accepted: Mapping[Partition, int], refused: Mapping[Partition, tuple[int, str]]) -> None:
        """What became of a commit: next offsets, and why one was refused; maybe long after, maybe of a past assignment."""


class Source(Protocol):
    """Where records come from; see `consumers.kafka.KafkaSource` for the meaning of each call."""

    def subscribe(self, rebalance: Rebalance) -> None:
        """Join the group."""

    def fetch(self, max_records: int, timeout_s: float) -> list[Record]:
        """Poll: call `rebalance` as needed, return what has come, of partitions assigned now. Raises SourceFatal, -Expired, -Away."""

    def pause(self) -> None:
        """Stop delivery, not polling; a partition that has delivered nothing yet may still bring its first records."""

    def resume(self) -> None:
        """Deliver again."""

    def commit(self, next_offsets: Mapping[Partition, int], *, is_last: bool = False) -> dict[Partition, int]:
        """Begin to commit, before any rebalance that follows; return what was begun. `rebalance.on_committed` tells the outcome."""

    def end_offsets(self) -> dict[Partition, int]:
        """Return the log's end of each assigned partition, as last seen."""

    def reached(self) -> Mapping[Partition, int]:
        """Return the ends that were reached, of partitions assigned now: every record before them was returned by `fetch`."""

    def close(self) -> None:
        """Leave the group."""
