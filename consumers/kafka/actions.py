"""What the intake wants done: `consumers.kafka.executor` carries it out, in the order given."""

from collections.abc import Sequence
from typing import NamedTuple

from consumers.kafka.resume_point import Position
from consumers.record import Partition


class Say(NamedTuple):
    """Tell the user."""

    line: str


class MovePosition(NamedTuple):
    """Read a partition from a position on, None: from its group's. `Intake.moved` takes the answer."""

    partition: Partition
    position: Position | None


class CheckPosition(NamedTuple):
    """Have the client compare a position with the log and read from there, or stop the partition. `Intake.not_checked` takes a refusal."""

    partition: Partition
    position: Position


class Lost(NamedTuple):
    """Tell the poller that these partitions are lost, without a commit."""

    partitions: Sequence[Partition]


class Assigned(NamedTuple):
    """Tell the poller that these partitions are assigned."""

    partitions: Sequence[Partition]


Action = Say | MovePosition | CheckPosition | Lost | Assigned
