"""Turns client messages into records: only assigned partitions, undamaged, in order, with their topic's epoch.

`consumers.kafka.source` passes in every message and error of the client, and the calls that it allows (`consumers.kafka.client`). The
client is trusted as little as possible: it continues behind damaged bytes and in a re-created topic. Nothing here imports its library.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from consumers.kafka.client import Client, ClientError
from consumers.kafka.connectivity import fatal_line
from consumers.kafka.epochs import TopicEpochs
from consumers.kafka.fetch_position import DEFAULT_MAX_MESSAGE_BYTES, FetchPosition, damage_message
from consumers.kafka.leader_epochs import LeaderEpochs
from consumers.kafka.message import ClientMessage, make_record, partition_of
from consumers.kafka.offset_reset import OffsetReset, PendingStartCommits
from consumers.kafka.poll_budget import BUDGET_BYTES
from consumers.kafka.resume_point import OffsetGone, Position, ResumePoint, truncation_of
from consumers.kafka.settings import KafkaSourceSettings
from consumers.record import Partition, Record
from consumers.source import Rebalance, SourceFatal

_DAMAGED = ("_BAD_MSG", "_BAD_COMPRESSION", "_NOT_IMPLEMENTED")
_HARMLESS = ("_MAX_POLL_EXCEEDED",)


class PendingMessage(NamedTuple):
    """A message that waits for its topic's epoch or for room, and when it came."""

    at_s: float
    message: ClientMessage
    partition: Partition


class Intake:
    """Every record that leaves is of a partition that is assigned, and comes behind the one before it.

    Thread: one, its source's.
    """

    def __init__(self, settings: KafkaSourceSettings, client: Client, *, say: Callable[[str], None]) -> None:
        self._say = say
        self._client = client
        self._rebalance: Rebalance | None = None
        self.assigned: set[Partition] = set()
        self.started: set[Partition] = set()
        """Those of the assigned that have delivered a record: only they can be paused."""
        self.start_commits = PendingStartCommits()
        self._waiting: list[PendingMessage] = []
        """Their topics are paused meanwhile."""
        self._room_bytes = BUDGET_BYTES
        self._reached: dict[Partition, int] = {}
        self.records_without_headers = 0
        """Records taken in without their headers, because the name of one was not UTF-8."""
        self._most_batch_bytes = settings.librdkafka.get("receive.message.max.bytes", DEFAULT_MAX_MESSAGE_BYTES)
        self._fetch_position = FetchPosition()
        self.leader_epochs = LeaderEpochs()
        self._unchecked: set[Partition] = set()
        """Partitions of which no record has arrived since they were last assigned or moved."""
        self._committed: dict[Partition, Position | None] = {}
        """Where the group stands in those that were assigned, as far as it was asked; None: nothing is committed."""
        self._epochs = TopicEpochs(fixed=settings.topic_epoch, ask=client.ask_topic_ids, say=say)
        self._offset_reset = OffsetReset(
            start=settings.offset_reset, expired=settings.on_expired_offset, ask_state=client.ask_state, resume_at=self._resume_at, say=say
        )
        self.expired_records: Mapping[str, int] = self._offset_reset.expired_records
        """How many records were gone before they were read, by topic."""

    def subscribe(self, rebalance: Rebalance) -> None:
        """Tell `rebalance` when a topic was re-created or a log truncated: its partitions are lost, and assigned again."""
        self._rebalance = rebalance

    def begin(self, partitions: Sequence[Partition], now_s: float) -> None:
        """Start an assignment of these partitions."""
        self._epochs.begin_assignment(partitions, now_s)
        self.assigned.update(partitions)
        self._unchecked.update(partitions)

    def end(self, partitions: Sequence[Partition]) -> None:
        """End the assignment of these partitions."""
        gone = set(partitions)
        self.assigned -= gone
        self._epochs.end_assignment(gone)
        self._drop(gone)

    def waiting_topics(self) -> set[str]:
        """Return the topics of which records wait for their epoch."""
        return {came.partition.topic for came in self._waiting}

    def take(self, messages: Sequence[ClientMessage], now_s: float) -> None:
        """Take in messages and errors of the client. Raises SourceFatal."""
        ends: dict[Partition, int] = {}
        read_again: set[Partition] = set()
        for message in messages:
            partition = partition_of(message)
            if partition in read_again:
                continue
            # A rebalance while they were fetched may have taken the partition of what came before it.
            if not self._is_record(message, partition, now_s) or partition not in self.assigned or not self._counts(partition):
                continue
            if partition in self._unchecked and not self._is_same_log(partition, message, now_s):
                read_again.add(partition)  # with what follows in this batch, its end included
                continue
            if partition not in ends:
                ends[partition] = self._client.end_of(partition)
            offset = int(message.offset() or 0)
            if self._fetch_position.accept_offset(partition, offset, ends[partition]):
                self.leader_epochs.note_record(partition, offset, message.leader_epoch())
                self.started.add(partition)
                self._offset_reset.note_delivered(partition)
                self._waiting.append(PendingMessage(now_s, message, partition))
            else:
                self._set_back(partition, f"offset {offset} cannot be next", now_s)

    def place(self, now_s: float, *, is_stopped: bool) -> list[Record]:
        """Resume stopped partitions, fetch damaged data again, and return records whose epoch is known, at most `BUDGET_BYTES`.

        While it `is_stopped`, at most what the last budget has left. Raises SourceExpired, TopicWithoutId.
        """
        self._epochs.refresh_epochs({came.partition.topic: came.at_s for came in self._waiting}, now_s)
        self._begin_anew(self._epochs.recreated_partitions(), now_s)
        for partition in self._fetch_position.due_refetches(now_s):
            if self._client.move(partition, self._position(partition)):
                self._fetch_position.on_refetch(partition)
                self._unchecked.add(partition)
        self._offset_reset.resume_partitions(self.assigned, must_wait=self._is_in_doubt)
        if not is_stopped:
            self._room_bytes = BUDGET_BYTES
        arrived, self._waiting = self._waiting, []
        placed: list[Record] = []
        for number, came in enumerate(arrived):
            if self._room_bytes <= 0:
                self._waiting += arrived[number:]
                break
            if (record := self._record_of(came)) is not None:
                placed.append(record)
                self._room_bytes -= record.size_bytes()
        return placed

    def reached(self) -> dict[Partition, int]:
        """Return the end of each partition that was read to its end and of which nothing waits; it may have grown since."""
        waiting = {came.partition for came in self._waiting}
        return {partition: offset for partition, offset in self._reached.items() if partition not in waiting}

    def sure(self, next_offsets: Mapping[Partition, int], came_s: float, now_s: float) -> dict[Partition, int]:
        """Keep the offsets whose topic is known not to have been re-created by `came_s`; unassigned partitions pass unchecked."""
        self._epochs.refresh_epochs(dict.fromkeys({partition.topic for partition in next_offsets}, came_s), now_s, is_quiet=True)
        return {
            partition: next_offset
            for partition, next_offset in next_offsets.items()
            if partition not in self.assigned or self._epochs.epoch(partition, came_s) is not None
        }

    def _record_of(self, came: PendingMessage) -> Record | None:
        epoch = self._epochs.epoch(came.partition, came.at_s)
        if epoch is None:
            self._waiting.append(came)
            return None
        record, has_headers = make_record(came.message, epoch)
        if not has_headers:
            self.records_without_headers += 1
            self._say(f"{record.topic}/{record.partition}: the name of a header is not UTF-8; the record goes on without its headers")
        return record

    def _is_record(self, message: ClientMessage, partition: Partition, now_s: float) -> bool:
        error: ClientError | None = message.error()
        if error is None:
            return True
        name = error.name()
        if error.fatal() or name == "_FATAL":  # `fatal` does not know this one
            raise SourceFatal(fatal_line(name, str(error.str())))
        if name in _DAMAGED:
            self._set_back(partition, error.str(), now_s)
        elif name == "_PARTITION_EOF":
            self._reach(partition, int(message.offset() or 0))
        elif name == "_AUTO_OFFSET_RESET":
            self._stand(partition, str(error.str()), now_s)
        elif name == "UNKNOWN_TOPIC_OR_PART":
            self._say(f"topic {message.topic()} does not exist yet; waiting for it (`vectail topics init` creates it)")
        elif name not in _HARMLESS:
            self._say(f"kafka: {error.str()}; waiting")
        return False

    def _counts(self, partition: Partition) -> bool:
        """Whether what comes of a partition is from where we wanted to read."""
        return not self._offset_reset.is_pending(partition) and not self._fetch_position.is_refetching(partition)

    def _reach(self, partition: Partition, offset: int) -> None:
        """The client has reached the end: an offset before it that has not arrived is no record (a transaction's marker)."""
        if partition not in self.assigned or not self._counts(partition) or offset < (self._fetch_position.next_offset(partition) or 0):
            return
        if partition in self._unchecked and self._position(partition) is None:
            if not self._knows_group_position(partition):
                return
            if (position := self._committed[partition]) is not None:  # else a commit of the same offset would lose its leader epoch
                self.leader_epochs.start_at(partition, *position)
        self._reached[partition] = offset

    def _set_back(self, partition: Partition, reason: str, now_s: float) -> None:
        if partition in self.assigned and self._counts(partition):
            self._reached.pop(partition, None)
            tries, next_offset = self._fetch_position.schedule_refetch(partition, now_s), self._fetch_position.next_offset(partition)
            self._say(damage_message(partition, next_offset, reason, tries=tries, max_message_bytes=self._most_batch_bytes))

    def _stand(self, partition: Partition, reason: str, now_s: float) -> None:
        """The client has stopped the partition. The offset that it names may be garbage, so ours counts."""
        if partition in self.assigned and self._counts(partition):
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
            if not self._knows_group_position(partition):
                self._fetch_position.schedule_refetch(partition, now_s)
                return False
            position = self._committed[partition]
        self._unchecked.discard(partition)
        leader_epoch = message.leader_epoch()
        if position is None or None in (position.leader_epoch, leader_epoch) or position.leader_epoch == leader_epoch:
            return True
        self._fetch_position.start_at(partition, position.next_offset)
        self.leader_epochs.start_at(partition, *position)
        if not self._client.check(partition, position):
            self._fetch_position.schedule_refetch(partition, now_s)
        return False

    def _knows_group_position(self, partition: Partition) -> bool:
        """Whether `_committed` holds the partition; asks for all that lack it at once."""
        if partition not in self._committed and (positions := self._client.ask_positions(self._unchecked)) is not None:
            self._committed = {**self._committed, **dict.fromkeys(self._unchecked), **positions}
        return partition in self._committed

    def _begin_anew(self, partitions: Sequence[Partition], now_s: float) -> None:
        """Their topics were re-created: the assignment ends without a commit, and another begins at the first record."""
        if not partitions or self._rebalance is None:
            return
        for topic in sorted({partition.topic for partition in partitions}):
            self._say(
                f"topic {topic} was deleted and made anew: what was read of the old one and is not committed is given up; "
                "the new one is read from its beginning"
            )
        self._rebalance.on_lost(partitions)
        self._drop(set(partitions))
        self._epochs.begin_assignment(partitions, now_s)
        self._rebalance.on_assign(partitions)
        for partition in partitions:
            self._offset_reset.note_recreated(partition)

    def _is_in_doubt(self, partition: Partition) -> bool:
        return self._epochs.is_epoch_known(partition) and self._epochs.epoch(partition, 0.0) is None

    def _resume_at(self, partition: Partition, point: ResumePoint) -> bool:
        position = Position(point.offset, point.leader_epoch)
        if not self._client.move(partition, position):
            return False
        if point.is_behind and self._rebalance is not None:
            self._rebalance.on_lost([partition])
            self._drop({partition})
            self._rebalance.on_assign([partition])
        self._fetch_position.start_at(partition, point.offset)
        self.leader_epochs.start_at(partition, *position)
        self._unchecked.add(partition)
        if point.must_commit:
            self.start_commits.add_start(partition, point.offset)
        return True

    def _drop(self, gone: set[Partition]) -> None:
        """Forget how far these were read, and what of them is held."""
        self.started -= gone
        self._offset_reset.end_assignment(gone)
        self._fetch_position.end_assignment(gone)
        self.leader_epochs.end_assignment(gone)
        self._unchecked -= gone
        self.start_commits.drop_starts(gone)
        for partition in gone:
            self._reached.pop(partition, None)
            self._committed.pop(partition, None)
        self._waiting = [came for came in self._waiting if came.partition not in gone]
