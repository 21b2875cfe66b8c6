"""The client as the executor sees it: its errors, and what it can be asked and told.

`consumers.kafka.kafka_source` fills it with the real client; nothing here imports the client library.
"""

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple, Protocol

from consumers.kafka.epochs import AskTopicIds
from consumers.kafka.resume_point import PartitionState, Position
from consumers.record import Partition


class ClientError(Protocol):
    """The methods used of the client's error."""

    def name(self) -> str:
        """Return its code's name; the client's own codes begin with an underscore."""

    def str(self) -> str:
        """Return the reason."""

    def fatal(self) -> bool:
        """Return whether the client cannot go on."""


class KafkaClient(NamedTuple):
    """What the client can be asked and told; nothing blocks for long."""

    ask_topic_ids: AskTopicIds
    ask_states: Callable[[Collection[Partition]], Mapping[Partition, PartitionState]]
    """Asks what n ≥ 1 partitions hold, all at once and for a short time only; omits those without an answer."""
    ask_positions: Callable[[Collection[Partition]], Mapping[Partition, Position] | None]
    """Asks for the group's committed positions, for a short time only; omits partitions without one. None: no answer."""
    end_of: Callable[[Partition], int]
    """The log's end as of the last fetch; negative before the first."""
    move: Callable[[Partition, Position | None], bool]
    """Reads a partition from a position on, None: from its group's. False: not possible now."""
    check: Callable[[Partition, Position], bool]
    """Has the client compare a position with the log and read from there, or stop the partition; as `move` for one that it reads."""
