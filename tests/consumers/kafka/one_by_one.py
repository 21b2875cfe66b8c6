"""What becomes of messages, decided one at a time: the plain reference for the intake, which decides by the run."""

from typing import NamedTuple

from consumers.kafka.leader_epochs import LeaderEpochs
from consumers.kafka.resume_point import Position
from consumers.record import NO_LEADER_EPOCH, Partition, Record
from tests.consumers.kafka.messages import Content, Message

BAD_HEADER = "the name of a header is not UTF-8; the record goes on without its headers"
DAMAGED = "damaged data"


class Spec(NamedTuple):
    partition: Partition
    offset: int
    error: str = ""
    leader_epoch: int | None = None
    content: Content = Content()
    headers: int = 0

    def message(self) -> Message:
        return Message(self.partition, self.offset, self.headers, error=self.error, leader_epoch=self.leader_epoch, content=self.content)

    def record(self, epoch: str) -> Record:
        value, key, (kind, time_ms), has_bad_header = self.content
        headers = () if has_bad_header else (("h", b""),) * self.headers
        leader_epoch = NO_LEADER_EPOCH if self.leader_epoch is None else self.leader_epoch
        return Record(*self.partition, self.offset, epoch, time_ms if kind else 0, key, value, headers, leader_epoch)


class OneByOne:
    """Every position that the client is asked for exists, and the client obeys at once."""

    def __init__(self, end_offset: int) -> None:
        self._end_offset = end_offset
        self._assigned: set[Partition] = set()
        self._next: dict[Partition, int] = {}
        self._refetching: set[Partition] = set()
        self._unchecked: set[Partition] = set()
        self._committed: dict[Partition, Position | None] = {}
        self.leader_epochs = LeaderEpochs()
        self.reached: dict[Partition, int] = {}
        self.started: set[Partition] = set()
        self.calls: list[tuple[str, Partition, Position | None]] = []
        self.said: list[str] = []
        self.records: list[Record] = []

    def begin(self, partition: Partition) -> None:
        self._assigned.add(partition)
        self._unchecked.add(partition)

    def end(self, partition: Partition) -> None:
        for places in (self._assigned, self._refetching, self._unchecked, self.started):
            places.discard(partition)
        for known in (self._next, self._committed, self.reached):
            known.pop(partition, None)
        self.leader_epochs.drop([partition])

    def take_turn(self, messages: list[Spec], positions: dict[Partition, Position] | None) -> None:
        lacking = {m.partition for m in messages if self._lacks_position(m.partition) and m.error in ("", "_PARTITION_EOF")}
        if positions is not None and lacking - self._refetching:
            self._committed |= dict.fromkeys(self._unchecked) | positions
        due, stopped, left_out = set(self._refetching), dict[Partition, Position](), set[Partition]()
        for message in messages:
            partition = message.partition
            if partition in left_out or partition not in self._assigned or partition in self._refetching or partition in stopped:
                continue
            if message.error == "_PARTITION_EOF":
                self._reach(partition, message.offset)
            elif message.error == "_AUTO_OFFSET_RESET":
                self.reached.pop(partition, None)
                stopped[partition] = self._position(partition) or Position(0, None)
            elif message.error:
                self._set_back(partition)
            elif partition in self._unchecked and not self._is_same_log(message):
                left_out.add(partition)
            else:
                self._take(message)
        for partition in due:
            self._move(partition, self._position(partition))
            self._refetching.discard(partition)
        for partition, position in stopped.items():
            self._move(partition, position)
            self._next[partition] = position.next_offset
            self.leader_epochs.start_at(partition, *position)

    def _lacks_position(self, partition: Partition) -> bool:
        return partition in self._unchecked and partition not in self._next and partition not in self._committed

    def _position(self, partition: Partition) -> Position | None:
        if partition not in self._next:
            return None
        return Position(self._next[partition], self.leader_epochs.before(partition, self._next[partition]))

    def _move(self, partition: Partition, position: Position | None) -> None:
        self.calls.append(("move", partition, position))
        self.started.discard(partition)
        self._unchecked.add(partition)

    def _reach(self, partition: Partition, offset: int) -> None:
        if offset < self._next.get(partition, 0) or self._lacks_position(partition):
            return
        if partition in self._unchecked and partition not in self._next and (position := self._committed[partition]) is not None:
            self.leader_epochs.start_at(partition, *position)
        self.reached[partition] = offset

    def _set_back(self, partition: Partition) -> None:
        self.reached.pop(partition, None)
        self._refetching.add(partition)
        self.said.append(f"{partition.topic}/{partition.partition} {DAMAGED}")

    def _is_same_log(self, message: Spec) -> bool:
        partition = message.partition
        if self._lacks_position(partition):
            self._refetching.add(partition)
            return False
        position = self._position(partition) or self._committed.get(partition)
        self._unchecked.discard(partition)
        if position is None or None in (position.leader_epoch, message.leader_epoch) or position.leader_epoch == message.leader_epoch:
            return True
        self._next[partition] = position.next_offset
        self.leader_epochs.start_at(partition, *position)
        self.calls.append(("check", partition, position))
        return False

    def _take(self, message: Spec) -> None:
        partition, offset = message.partition, message.offset
        expected = self._next.get(partition)
        if offset != expected and (offset < (expected or 0) or 0 <= self._end_offset <= offset):
            self._set_back(partition)
            return
        self._next[partition] = offset + 1
        self.started.add(partition)
        self.leader_epochs.note_records(partition, offset, offset, message.leader_epoch)
        self.records.append(message.record("e"))
        if message.content.has_bad_header:
            self.said.append(f"{partition.topic}/{partition.partition} {BAD_HEADER}")
