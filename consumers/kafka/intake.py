"""Decides what becomes of a client's messages: records leave only of assigned partitions, undamaged, in order, with their topic's epoch.

`consumers.kafka.executor` passes in what polls returned and the answers of the client; what is to be done comes back as actions
(`consumers.kafka.actions`). The client is trusted as little as possible: it continues behind damaged bytes and in a re-created topic.
Nothing here calls it, asks it or waits.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from consumers.kafka.actions import Action, Assigned, CheckPosition, Lost, MovePosition, Say
from consumers.kafka.connectivity import fatal_line
from consumers.kafka.epochs import TopicEpochs
from consumers.kafka.fetch_position import DEFAULT_MAX_MESSAGE_BYTES, FetchPosition, damage_message
from consumers.kafka.kafka_client import ClientError
from consumers.kafka.leader_epochs import LeaderEpochs
from consumers.kafka.message import ClientMessage
from consumers.kafka.message_runs import MessageRun
from consumers.kafka.offset_reset import OffsetReset, PendingStartCommits
from consumers.kafka.resume_point import OffsetGone, PartitionState, Position, ResumePoint, truncation_of
from consumers.kafka.source_settings import KafkaSourceSettings
from consumers.kafka.waiting import Arrived, WaitingRecords
from consumers.record import Partition, Records
from consumers.source import SourceFatal
from consumers.waiting_place import WaitingPlace

_DAMAGED = ("_BAD_MSG", "_BAD_COMPRESSION", "_NOT_IMPLEMENTED")
_HARMLESS = ("_MAX_POLL_EXCEEDED",)
_END = "_PARTITION_EOF"
_NO_POSITION = "Failed to fetch committed offset"
"""How the client's reason begins when a broker did not say where the group stands, as after another one became its coordinator.

The client never asks again (librdkafka issue 5586): whichever partition waits for the answer would never be read.
"""


class Intake:
    """Every record that leaves is of a partition that is assigned, and comes behind the one before it.

    Thread: one, its source's.
    """

    def __init__(self, settings: KafkaSourceSettings, epochs: TopicEpochs) -> None:
        """`epochs` is read here; whoever calls `place` refreshes it before."""
        self.assigned: set[Partition] = set()
        self._started: set[Partition] = set()
        """Those of the assigned that have delivered a record: only they can be paused."""
        self.start_commits = PendingStartCommits()
        self.records_without_headers = 0
        """Records taken in without their headers, because the name of one was not UTF-8."""
        self.leader_epochs = LeaderEpochs()
        self._waiting = WaitingRecords()
        """Their topics are paused meanwhile."""
        self._reached: dict[Partition, int] = {}
        self._most_batch_bytes = settings.librdkafka.get("receive.message.max.bytes", DEFAULT_MAX_MESSAGE_BYTES)
        self._fetch_position = FetchPosition()
        self._unchecked: set[Partition] = set()
        """Partitions of which no record has arrived since they were last assigned or moved."""
        self._committed: dict[Partition, Position | None] = {}
        """Where the group stands in those that were assigned, as far as it was asked; None: nothing is committed."""
        self._epochs = epochs
        self._offset_reset = OffsetReset(start=settings.offset_reset, expired=settings.on_expired_offset)
        self.expired_records: Mapping[str, int] = self._offset_reset.expired_records
        """How many records were gone before they were read, by topic."""
        self._resuming: dict[Partition, ResumePoint] = {}
        """Stopped partitions that are being moved; their `moved` is still to come."""
        self._actions: list[Action] = []
        self.places: tuple[WaitingPlace[Partition], ...] = (
            self._waiting,
            self._fetch_position,
            self.leader_epochs,
            self._offset_reset,
            self.start_commits,
        )
        """What waits, or is known, of the partitions assigned now."""

    def begin(self, partitions: Sequence[Partition], now_s: float) -> None:
        """Start an assignment of these partitions."""
        self._epochs.begin_assignment(partitions, now_s)
        self.assigned.update(partitions)
        self._unchecked.update(partitions)

    def end(self, partitions: Sequence[Partition]) -> None:
        """End the assignment of these partitions."""
        gone = set(partitions)
        self.assigned -= gone
        self._epochs.drop(gone)
        self._drop(gone)

    def to_pause(self, *, everything: bool) -> set[Partition]:
        """Return the partitions whose delivery stops for now: those of topics of which records wait, or all; of those that have started."""
        waiting = self.waiting_topics()
        return {partition for partition in self._started if everything or partition.topic in waiting}

    def waiting_topics(self) -> dict[str, float]:
        """Return the topics of which records wait, and when the newest of each came."""
        return self._waiting.topics()

    def positions_wanted(self, runs: Sequence[MessageRun]) -> set[Partition]:
        """Return the partitions whose committed positions `take` needs of these runs, and of which they are not known."""
        is_wanted = any(
            run.partition in self._unchecked
            and run.partition not in self._committed
            and self._counts(run.partition)
            and self._position(run.partition) is None
            and (run.error is None or run.error.name() == _END)
            for run in runs
        )
        return set(self._unchecked) if is_wanted else set()

    def note_positions(self, positions: Mapping[Partition, Position]) -> None:
        """Note where the group stands in all partitions that `positions_wanted` named; those left out have no position."""
        self._committed = {**self._committed, **dict.fromkeys(self._unchecked), **positions}

    def take(self, runs: Sequence[MessageRun], ends: Mapping[Partition, int], now_s: float) -> list[Action]:
        """Take in what a poll returned. Raises SourceFatal.

        `ends`: each log's end as of the last fetch, negative before the first.
        """
        read_again: set[Partition] = set()
        for partition, messages, error in runs:
            if partition in read_again:
                continue
            if error is not None:
                self._take_error(partition, messages[0], error, now_s)
                continue
            # A rebalance while they were fetched may have taken the partition of what came before it.
            if not self._counts(partition):
                continue
            if partition in self._unchecked and not self._is_same_log(partition, messages[0], now_s):
                read_again.add(partition)  # with what follows in this batch, its end included
                continue
            self._take_records(partition, messages, ends[partition], now_s)
        return self._take_actions()

    def not_checked(self, partition: Partition, now_s: float) -> None:
        """Note that the client refused a `CheckPosition`: just stopped or lost."""
        self._fetch_position.schedule_refetch(partition, now_s)

    def begin_recreated(self, now_s: float) -> list[Action]:
        """Give partitions of re-created topics a new assignment, from the first record; the old one ends without a commit."""
        partitions = self._epochs.recreated_partitions()
        if not partitions:
            return []
        for topic in sorted({partition.topic for partition in partitions}):
            self._say(
                f"topic {topic} was deleted and re-created; uncommitted records of the old topic are abandoned; "
                "the new one is read from its beginning"
            )
        self._drop(set(partitions))
        self._epochs.begin_assignment(partitions, now_s)
        for partition in partitions:
            self._offset_reset.note_recreated(partition)
        self._actions += [Lost(partitions), Assigned(partitions)]
        return self._take_actions()

    def fetch_again(self, now_s: float) -> list[Action]:
        """Fetch damaged data again where it is time."""
        return [self._move(partition, self._position(partition)) for partition in self._fetch_position.due_refetches(now_s)]

    def begin_again(self, partition: Partition, offset: int, now_s: float) -> None:
        """Fetch an assigned partition again from this offset; nothing of it leaves before that is committed."""
        self._drop({partition})
        self._fetch_position.start_at(partition, offset)
        self._fetch_position.schedule_refetch(partition, now_s)
        self.start_commits.add_start(partition, offset, comes_first=True)

    def stopped_partitions(self) -> list[Partition]:
        """Return the partitions that the client has stopped and that may resume."""
        return [partition for partition in self._offset_reset.pending_partitions() if not self._is_in_doubt(partition)]

    def has_stopped(self, partition: Partition) -> bool:
        """Whether the client has stopped the partition."""
        return self._offset_reset.is_pending(partition)

    def resume(self, partition: Partition, state: PartitionState) -> list[Action]:
        """Resume a stopped partition. Raises SourceExpired."""
        point = self._resuming[partition] = self._offset_reset.resume_point(partition, state)
        return [self._move(partition, Position(point.offset, point.leader_epoch))]

    def moved(self, partition: Partition, *, is_done: bool) -> list[Action]:
        """Take the answer to a `MovePosition`; one that is refused, as the partition was just lost, is tried again."""
        point = self._resuming.pop(partition, None)
        if point is not None:
            self._on_resumed(partition, point, is_done=is_done)
        elif is_done:
            self._fetch_position.on_refetch(partition)
            self._unchecked.add(partition)
        return self._take_actions()

    def place(self, *, is_paused: bool) -> tuple[list[Records], list[Action]]:
        """Return records whose epoch is known, at most a budget of them; while it `is_paused`, what the last budget has left."""
        records, unreadable = self._waiting.release(self._epoch_to_leave, is_paused=is_paused)
        for partition in unreadable.elements():
            self.records_without_headers += 1
            self._say(f"{partition.topic}/{partition.partition}: the name of a header is not UTF-8; the record goes on without its headers")
        return records, self._take_actions()

    def reached(self) -> dict[Partition, int]:
        """Return the end of each partition that was read to its end and of which nothing waits; it may have grown since."""
        waiting = self._waiting.partitions()
        return {partition: offset for partition, offset in self._reached.items() if partition not in waiting}

    def sure(self, next_offsets: Mapping[Partition, int], came_s: float) -> dict[Partition, int]:
        """Keep the offsets whose topic is known not to have been re-created by `came_s`; unassigned partitions pass unchecked."""
        return {
            partition: next_offset
            for partition, next_offset in next_offsets.items()
            if partition not in self.assigned or self._epochs.epoch(partition, came_s) is not None
        }

    def _take_actions(self) -> list[Action]:
        actions, self._actions = self._actions, []
        return actions

    def _say(self, line: str) -> None:
        self._actions.append(Say(line))

    def _move(self, partition: Partition, position: Position | None) -> MovePosition:
        self._started.discard(partition)  # what has no position yet cannot be paused
        return MovePosition(partition, position)

    def _epoch_to_leave(self, partition: Partition, came_s: float) -> str | None:
        return None if self.start_commits.comes_first(partition) else self._epochs.epoch(partition, came_s)

    def _take_records(self, partition: Partition, messages: Sequence[ClientMessage], end_offset: int, now_s: float) -> None:
        offset = np.fromiter([message.offset() or 0 for message in messages], np.int64, len(messages))
        accepted = self._fetch_position.accept_offsets(partition, offset, end_offset)
        wrong = None if accepted == len(offset) else int(offset[accepted])
        if accepted:
            if wrong is not None:
                offset, messages = offset[:accepted], messages[:accepted]
            self.leader_epochs.note_messages(partition, offset, messages)
            self._started.add(partition)
            self._offset_reset.note_delivered(partition)
            self._waiting.add(Arrived(now_s, partition, offset, messages))
        if wrong is not None:
            self._set_back(partition, f"offset {wrong} cannot be next", now_s)

    def _take_error(self, partition: Partition, message: ClientMessage, error: ClientError, now_s: float) -> None:
        name = error.name()
        if error.fatal() or name == "_FATAL":  # `fatal` does not know this one
            raise SourceFatal(fatal_line(name, str(error.str())))
        if name in _DAMAGED:
            self._set_back(partition, error.str(), now_s)
        elif name == _END:
            self._reach(partition, int(message.offset() or 0))
        elif name == "_AUTO_OFFSET_RESET":
            self._stand(partition, str(error.str()), now_s)
        elif name == "UNKNOWN_TOPIC_OR_PART":
            self._say(f"topic {message.topic()} does not exist yet; waiting for it (`vectail topics init` creates it)")
        elif name not in _HARMLESS:
            self._say(f"kafka: {error.str()}; waiting")
            if str(error.str()).startswith(_NO_POSITION):
                self._start_again(now_s)

    def _counts(self, partition: Partition) -> bool:
        """Whether what comes of a partition is ours, and from where we wanted to read."""
        is_elsewhere = self._offset_reset.is_pending(partition) or self._fetch_position.is_refetching(partition)
        return partition in self.assigned and not is_elsewhere

    def _reach(self, partition: Partition, offset: int) -> None:
        """The client has reached the end: an offset before it that has not arrived is no record (a transaction's marker)."""
        if not self._counts(partition) or offset < (self._fetch_position.next_offset(partition) or 0):
            return
        if partition in self._unchecked and self._position(partition) is None:
            if partition not in self._committed:
                return
            if (position := self._committed[partition]) is not None:  # else a commit of the same offset would lose its leader epoch
                self.leader_epochs.start_at(partition, *position)
        self._reached[partition] = offset

    def _set_back(self, partition: Partition, reason: str, now_s: float) -> None:
        if self._counts(partition):
            self._reached.pop(partition, None)
            tries, next_offset = self._fetch_position.schedule_refetch(partition, now_s), self._fetch_position.next_offset(partition)
            self._say(damage_message(partition, next_offset, reason, tries=tries, max_message_bytes=self._most_batch_bytes))

    def _start_again(self, now_s: float) -> None:
        """Assign the partitions again that may wait for the position of their group: those that nothing has come of."""
        for partition in self.assigned:
            if self._counts(partition) and partition not in self._reached and self._position(partition) is None:
                self._fetch_position.schedule_refetch(partition, now_s)

    def _stand(self, partition: Partition, reason: str, now_s: float) -> None:
        """The client has stopped the partition. The offset that it names may be garbage, so ours counts."""
        if self._counts(partition):
            self._reached.pop(partition, None)
            self._offset_reset.note_offset_gone(partition, OffsetGone(self._position(partition), truncation_of(reason)))
            self._epochs.invalidate_epoch(partition, now_s)

    def _position(self, partition: Partition) -> Position | None:
        """Return where the partition goes on; None: where its group stands."""
        next_offset = self._fetch_position.next_offset(partition)
        return None if next_offset is None else Position(next_offset, self.leader_epochs.before(partition, next_offset))

    def _is_same_log(self, partition: Partition, message: ClientMessage, now_s: float) -> bool:
        """Whether the first record of a start may be accepted; if not, the partition is read again.

        The client checks positions when the leader changes and when it is told to seek, but not where it starts (librdkafka 2.16). A
        record of the same leader epoch as the one before it proves that the log was not truncated in between; else the client checks.
        """
        position = self._position(partition)
        if position is None:
            if partition not in self._committed:
                self._fetch_position.schedule_refetch(partition, now_s)
                return False
            position = self._committed[partition]
        self._unchecked.discard(partition)
        leader_epoch = message.leader_epoch()
        if position is None or None in (position.leader_epoch, leader_epoch) or position.leader_epoch == leader_epoch:
            return True
        self._fetch_position.start_at(partition, position.next_offset)
        self.leader_epochs.start_at(partition, *position)
        self._actions.append(CheckPosition(partition, position))
        return False

    def _is_in_doubt(self, partition: Partition) -> bool:
        return self._epochs.is_epoch_known(partition) and self._epochs.epoch(partition, 0.0) is None

    def _on_resumed(self, partition: Partition, point: ResumePoint, *, is_done: bool) -> None:
        if not is_done:
            self._say(f"{partition.topic}/{partition.partition} cannot resume at {point.offset} yet; trying again")
            return
        if point.is_behind:
            self._drop({partition})
            self._actions += [Lost([partition]), Assigned([partition])]
        self._offset_reset.note_resumed(partition, point)
        self._fetch_position.start_at(partition, point.offset)
        self.leader_epochs.start_at(partition, point.offset, point.leader_epoch)
        self._unchecked.add(partition)
        if point.must_commit:
            self.start_commits.add_start(partition, point.offset)
        if point.message:
            self._say(point.message)

    def _drop(self, gone: set[Partition]) -> None:
        """Forget how far these were read, and what of them is held."""
        self._started -= gone
        self._unchecked -= gone
        for partition in gone:
            self._reached.pop(partition, None)
            self._committed.pop(partition, None)
        for place in self.places:
            place.drop(gone)
