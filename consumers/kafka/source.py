"""Kafka as a source of records: the one file that imports the client on the consuming side.

`consumers.poller` owns a `KafkaSource` and is the only thread that calls it. Errors that pass by themselves are said once
through `say` and waited out; a fatal client error raises SourceFatal. Nothing is committed that the caller did not name, but for the
place where a partition begins that skips records (`consumers.kafka.offset_reset`) or whose topic was made anew (`consumers.kafka.intake`).
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any

from confluent_kafka import OFFSET_INVALID, Consumer, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient

from consumers.kafka.connectivity import BrokerConnectivity, fatal_line
from consumers.kafka.epochs import FRESH_S
from consumers.kafka.intake import Client, Intake
from consumers.kafka.offset_reset import PartitionState
from consumers.kafka.poll_budget import PollBudget
from consumers.kafka.settings import KafkaSourceSettings, SourceMisconfigured, admin_properties, client_properties
from consumers.record import Partition, Record
from consumers.source import Rebalance, SourceFatal

_QUIET = logging.getLogger("vectail.librdkafka")
_QUIET.addHandler(logging.NullHandler())
_QUIET.propagate = False
_EPOCH_TIMEOUT_S = 5.0
_STANDING_TIMEOUT_S = 1.0
_TRIES_TO_BE_SURE = 5


class KafkaSource:
    """A consumer in a group; the assignment is exactly what the `Rebalance` callbacks have said.

    Thread: one, the poller's; the callbacks run inside `fetch` and `close`.
    """

    def __init__(self, settings: KafkaSourceSettings, *, say: Callable[[str], None]) -> None:
        """`say` takes one line about a fault of the world, and what happens next. Raises SourceMisconfigured."""
        self._settings = settings
        self._say = say
        self._fatal: str | None = None
        self._contact = BrokerConnectivity(settings.bootstrap_servers, settings.librdkafka, down_exit_s=settings.down_exit_s)
        self._consumer = consumer_of(client_properties(settings) | {"error_cb": self._on_error, "on_commit": self._on_commit})
        self._rebalance: Rebalance | None = None
        self._stopped = False
        self._paused: set[Partition] = set()
        self._portions = PollBudget()
        self._admin: AdminClient | None = None
        self._sign: Future[Any] | None = None
        """A question that is asked only to see whether a broker answers."""
        self._intake = Intake(settings, Client(self._ask_topic_ids, self._ask_standing, self._end_of, self._move), say=say)

    def subscribe(self, rebalance: Rebalance) -> None:
        """Join the group; from now on `fetch` also calls `rebalance`."""
        self._rebalance = rebalance
        self._intake.subscribe(rebalance)

        def on_assign(_consumer: Consumer, partitions: list[TopicPartition]) -> None:
            arrived = _names(partitions)
            self._intake.begin(arrived, time.monotonic())
            rebalance.on_assign(arrived)

        def ends(tell: Callable[[Sequence[Partition]], None]) -> Callable[[Consumer, list[TopicPartition]], None]:
            return lambda _consumer, partitions: self._end(_names(partitions), tell)

        on_revoke, on_lost = ends(rebalance.on_revoke), ends(rebalance.on_lost)
        self._consumer.subscribe(list(self._settings.topics), on_assign=on_assign, on_revoke=on_revoke, on_lost=on_lost)

    def fetch(self, max_records: int, timeout_s: float) -> list[Record]:
        """Return up to `max_records` records as soon as there is one, none after `timeout_s`.

        Each is of a partition that is assigned when this returns. Raises SourceFatal, SourceExpired, SourceAway.
        """
        first = self._consumer.poll(timeout_s)
        messages = [] if first is None else self._portions.take(first, max_records, partial(self._consumer.consume, timeout=0))
        if self._fatal is not None:
            raise SourceFatal(self._fatal)
        now_s = time.monotonic()
        self._look_for_a_broker(now_s, came=any(message.error() is None for message in messages))
        self._intake.take(messages, now_s)
        placed = self._intake.place(now_s, is_stopped=self._stopped)
        self._send(self._intake.owed.due())
        self._match_pause()
        return placed

    def pause(self) -> None:
        """Stop delivery, polling goes on; a partition that has delivered nothing yet still brings its first records.

        Pausing one before its first record can lose its position or stop it for good (librdkafka issues 2190 and 5591).
        """
        self._stopped = True
        self._match_pause()

    def resume(self) -> None:
        """Deliver again."""
        self._stopped = False
        self._match_pause()

    def commit(self, next_offsets: Mapping[Partition, int], *, is_last: bool = False) -> dict[Partition, int]:
        """Begin to commit and return what was begun; `Rebalance.on_committed` tells the outcome, inside a later `fetch` or `close`.

        It is on its way before this returns, and the client lets a rebalance wait for it. Left out is a partition whose topic may have
        been made anew since we read it; `is_last`: no later commit will follow, so a moment is waited to be sure of it.
        """
        now_s = time.monotonic()
        came_s = now_s + FRESH_S if is_last else now_s  # the last one rests on nothing that was asked before
        sure = self._intake.sure(next_offsets, came_s, now_s)
        for _ in range(_TRIES_TO_BE_SURE if is_last else 0):
            if len(sure) < len(next_offsets):
                sure = self._intake.sure(next_offsets, came_s, time.monotonic())
        self._intake.owed.forget(sure)
        self._send(sure)
        return sure

    def end_offsets(self) -> dict[Partition, int]:
        """Return the log's end of each assigned partition as last seen by the client; partitions not yet seen are left out."""
        ends = {partition: self._end_of(partition) for partition in self._intake.assigned}
        return {partition: end for partition, end in ends.items() if end >= 0}

    def reached(self) -> dict[Partition, int]:
        """Return the ends that were reached; behind the last record may be markers of transactions, which no record tells of."""
        return self._intake.reached()

    @property
    def records_without_headers(self) -> int:
        """How many records were taken in without their headers, because the name of one was not UTF-8."""
        return self._intake.records_without_headers

    @property
    def expired_records(self) -> Mapping[str, int]:
        """How many records were gone before they were read, by topic."""
        return self._intake.gone

    @property
    def paused_partitions(self) -> int:
        """How many partitions deliver nothing until they are resumed."""
        return len(self._paused)

    def close(self) -> None:
        """Leave the group; calls `Rebalance.on_revoke` for what is still assigned."""
        self._consumer.close()
        self._admin = None

    def _end_of(self, partition: Partition) -> int:
        _, end = self._consumer.get_watermark_offsets(TopicPartition(*partition), cached=True)
        return int(end)

    def _end(self, partitions: Sequence[Partition], tell: Callable[[Sequence[Partition]], None]) -> None:
        tell(partitions)
        self._intake.end(partitions)
        self._match_pause()  # the client keeps a pause over a revocation: a partition that came back would stand still

    def _match_pause(self) -> None:
        waiting = self._intake.waiting_topics()
        wanted = {partition for partition in self._intake.started if self._stopped or partition.topic in waiting}
        if fresh := wanted - self._paused:
            self._consumer.pause([TopicPartition(*partition) for partition in fresh])
        if over := self._paused - wanted:
            self._consumer.resume([TopicPartition(*partition) for partition in over])
        self._paused = wanted

    def _move(self, partition: Partition, offset: int | None) -> bool:
        """Assign the partition anew: the client refuses to seek where it has let a partition stand (_STATE)."""
        self._intake.started.discard(partition)
        self._match_pause()
        try:
            self._consumer.incremental_unassign([TopicPartition(*partition)])
            self._consumer.incremental_assign([TopicPartition(*partition, OFFSET_INVALID if offset is None else offset)])
        except KafkaException:  # lost a moment ago; the callback comes
            return False
        return True

    def _send(self, next_offsets: Mapping[Partition, int]) -> None:
        if next_offsets:
            places = [TopicPartition(*partition, next_offset) for partition, next_offset in next_offsets.items()]
            self._consumer.commit(offsets=places, asynchronous=True)

    def _on_commit(self, error: KafkaError | None, places: list[TopicPartition]) -> None:
        """Sort an outcome: the broker names each place that it refuses; an error that names none is about all of them."""
        if error is None or error.code() > 0:
            self._contact.heard()
        whole = error if not any(place.error for place in places) else None
        accepted: dict[Partition, int] = {}
        refused: dict[Partition, tuple[int, str]] = {}
        for place in places:
            partition, reason = Partition(place.topic, place.partition), place.error or whole
            if self._intake.owed.settles(partition, place.offset, is_accepted=reason is None):
                continue
            if reason is None:
                accepted[partition] = place.offset
            else:
                refused[partition] = (place.offset, str(reason.str()))
        if self._rebalance is not None and (accepted or refused):
            self._rebalance.on_committed(accepted, refused)

    def _on_error(self, error: KafkaError) -> None:
        if error.fatal():
            self._fatal = fatal_line(str(error.name()), str(error.str()))
        elif line := self._contact.complaint(str(error.name()), str(error.str())):
            self._say(line)

    def _look_for_a_broker(self, now_s: float, *, came: bool) -> None:
        if came:
            self._contact.heard()
        if self._sign is not None and self._sign.done():
            error = self._sign.exception()
            if error is None or error.args[0].code() > 0:
                self._contact.heard()
            self._sign = None
        self._contact.polled(now_s)
        if self._sign is None and self._contact.needs_probe():
            self._sign = next(iter(self._ask_topic_ids(self._settings.topics[:1]).values()))

    def _ask_standing(self, partition: Partition) -> PartitionState | None:
        place = TopicPartition(*partition)
        try:
            (found,) = self._consumer.committed([place], timeout=_STANDING_TIMEOUT_S)
            if found.error is not None:
                raise KafkaException(found.error)  # noqa: TRY301 - one answer for both
            first_offset, end_offset = self._consumer.get_watermark_offsets(place, timeout=_STANDING_TIMEOUT_S)
        except KafkaException as error:
            self._say(f"kafka does not say what {partition.topic}/{partition.partition} holds ({error.args[0].str()}); trying again")
            return None
        return PartitionState(found.offset if found.offset >= 0 else None, first_offset, end_offset)

    def _ask_topic_ids(self, topics: Sequence[str]) -> dict[str, Future[Any]]:
        if self._admin is None:
            properties = admin_properties(self._settings.bootstrap_servers, self._settings.librdkafka)
            # Nobody polls it for its log. It must not be away for longer than the consumer is.
            self._admin = AdminClient({**properties, "log_level": 0, "reconnect.backoff.max.ms": 1000})
        return self._admin.describe_topics(TopicCollection(list(topics)), request_timeout=_EPOCH_TIMEOUT_S)


def consumer_of(properties: dict[str, object]) -> Consumer:
    """Make a client of librdkafka. Raises SourceMisconfigured."""
    try:
        return Consumer(properties, logger=_QUIET)
    except KafkaException as error:
        raise SourceMisconfigured(f"kafka: {error.args[0].str()}") from None


def _names(partitions: Sequence[TopicPartition]) -> list[Partition]:
    return [Partition(partition.topic, partition.partition) for partition in partitions]
