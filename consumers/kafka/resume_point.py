"""The decision where a partition resumes: a pure function of what the group committed, what the partition holds, and the settings.

`consumers.kafka.offset_reset` asks for the state, calls `choose_resume_point` and carries its answer out.
"""

import re
from typing import Literal, NamedTuple

from consumers.record import Partition
from consumers.source import SourceExpired

StartPolicy = Literal["earliest", "latest"]
ExpiredPolicy = Literal["stop", "earliest", "latest"]
_BROKER_END = re.compile(r"broker end offset is (\d+) \(offset leader epoch (\d+)\)")


class Position(NamedTuple):
    """Where a partition is read from."""

    next_offset: int
    leader_epoch: int | None
    """Of the record before `next_offset`, by which the client recognises a truncated log (KIP-320); None: not known."""


class PartitionState(NamedTuple):
    """What a partition holds, and what its group has committed."""

    committed: int | None
    first_offset: int
    end_offset: int
    leader_epoch: int | None = None
    """What was committed as the leader epoch of the record before `committed`; None: nothing."""


class Truncation(NamedTuple):
    """A log that has lost its end: records from `end_offset` on are not the ones that were read."""

    end_offset: int | None
    """Where the history that was read ends; None: the broker has nothing of it."""
    leader_epoch: int | None
    """Of the last record before `end_offset`."""


class OffsetGone(NamedTuple):
    """Why the client has stopped a partition, and where."""

    position: Position | None
    """Where it was read; None: none of this assignment has arrived."""
    truncation: Truncation | None = None


class ResumePoint(NamedTuple):
    """Where a partition resumes."""

    offset: int
    message: str
    """One line about the records that are skipped or read again; empty if none are."""
    expired_records: int = 0
    """How many expired before they were read, or are skipped because of that."""
    leader_epoch: int | None = None
    """Of the record before `offset`, so that the client checks the log there; None: not known."""
    must_commit: bool = False
    """Whether to commit it at once, because a restart would begin elsewhere."""
    is_behind: bool = False
    """Whether records that this assignment has delivered come again: a ledger only advances, so the assignment must begin again."""


def truncation_of(reason: str) -> Truncation | None:
    """Return what the client's reason for stopping a partition says about a truncated log; None if it has another reason.

    The client has no error code for it: auto.offset.reset=error turns each reason into one error with a text (librdkafka 2.16).
    """
    if "log truncation detected" not in reason:
        return None
    found = _BROKER_END.search(reason)
    return Truncation(int(found[1]), int(found[2])) if found else Truncation(None, None)


def choose_resume_point(
    partition: Partition, state: PartitionState, gone: OffsetGone, *, start: StartPolicy, expired: ExpiredPolicy
) -> ResumePoint:
    """Return where the partition resumes: where it stood if that still exists, else where the setting says. Raises SourceExpired.

    It stood at `gone.position`, or at its committed offset. Where records come again, it goes back to the committed offset at least,
    as those after it may not be indexed yet.
    """
    committed, first_offset, end_offset, leader_epoch = state
    position = committed
    if gone.position is not None:
        position, leader_epoch = gone.position
    name = f"{partition.topic}/{partition.partition}"
    if position is None:
        offset, skipped = (first_offset, 0) if start == "earliest" else (end_offset, end_offset - first_offset)
        said = f"{name}: nothing committed yet; starting at {offset}, skipping {_records(skipped)} (kafka.offset_reset = latest)"
        return ResumePoint(offset, said if skipped else "")
    truncation = Truncation(None, None) if gone.truncation is None and position > end_offset else gone.truncation
    cut = position if truncation is None else first_offset if truncation.end_offset is None else truncation.end_offset
    if first_offset <= position <= cut:
        return ResumePoint(position, "", leader_epoch=leader_epoch if truncation is None else None)
    oldest = max(min(position, cut), first_offset)

    def begin_at(offset: int) -> int:
        return offset if offset >= position else max(min(offset, first_offset if committed is None else committed), first_offset)

    lost = f"{name}: {_loss(position, state, truncation)}"
    if expired == "stop":
        offset = begin_at(oldest)
        to, there = ("earliest", "with the oldest record left") if offset == first_offset else (str(offset), "there")
        command = f"vectail offsets reset --to {to} --topic {partition.topic} --partition {partition.partition}"
        raise SourceExpired(f"{lost}; `{command}` continues {there} (kafka.on_expired_offset decides it in future)")
    offset = begin_at(oldest if expired == "earliest" else end_offset)
    skipped = max(offset - oldest, 0)
    gone_records = skipped + max(first_offset - min(position, cut), 0)
    also = f", skipping {skipped:,} more" if skipped else ""
    message = f"{lost}; resuming at {offset}{also} (kafka.on_expired_offset = {expired})"
    leader_epoch = truncation.leader_epoch if truncation is not None and offset == truncation.end_offset else None
    return ResumePoint(offset, message, gone_records, leader_epoch)


def _loss(position: int, state: PartitionState, truncation: Truncation | None) -> str:
    if truncation is None:
        gone = _records(state.first_offset - position)
        return f"offset {position} is next, but the oldest record left is {state.first_offset}: {gone} expired before they were indexed"
    if truncation.end_offset is None:
        held = f"it holds offsets from {state.first_offset} and ends at {state.end_offset}"
        return f"offset {position} is next, but the topic was truncated or re-created: {held}"
    other = " with other records" if state.end_offset > truncation.end_offset else ""
    return f"offset {position} is next, but the log was truncated at {truncation.end_offset} and ends at {state.end_offset} now{other}"


def _records(count: int) -> str:
    return f"{count:,} record" if count == 1 else f"{count:,} records"
