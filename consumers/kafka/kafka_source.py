"""Kafka as a source of records: a consumer in a group. The one importer of the client in this folder.

`consumers.poller` owns a `KafkaSource` and calls it from its own thread only. Temporary errors are reported once through `say` and waited
out; a fatal client error raises SourceFatal. It commits only what the caller names, except for the start of a partition that skips records
(`consumers.kafka.offset_reset`) or whose topic was re-created (`consumers.kafka.intake`).
"""

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from functools import partial

from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    OFFSET_INVALID,
    Consumer,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from consumers.kafka.connectivity import BrokerConnectivity, fatal_line
from consumers.kafka.epochs import FRESH_S, DescribedTopic
from consumers.kafka.executor import Executor
from consumers.kafka.kafka_client import KafkaClient
from consumers.kafka.poll_budget import PollBudget
from consumers.kafka.resume_point import PartitionState, Position
from consumers.kafka.source_settings import KafkaSourceSettings, SourceMisconfigured, admin_properties, client_properties
from consumers.kafka.subscription import Subscription
from consumers.kafka.topic_watch import TopicWatch
from consumers.record import Partition, Records
from consumers.source import Rebalance, SourceFatal

_SILENT_LOGGER = logging.getLogger("vectail.librdkafka")
_SILENT_LOGGER.addHandler(logging.NullHandler())
_SILENT_LOGGER.propagate = False
TOPIC_REFRESH_S = 30.0
"""Between two looks for topics that fit a pattern."""
_EPOCH_TIMEOUT_S = 5.0
_LIST_TIMEOUT_S = 10.0
_ANY_TOPIC = "__consumer_offsets"
"""To ask about when nothing is subscribed; that it does not exist is an answer, too."""
_STATE_TIMEOUT_S = 1.0
_LAST_COMMIT_TRIES = 5
_NO_LEADER_EPOCH = -1


class KafkaSource:
    """A consumer in a group; its assignment is exactly what the `Rebalance` callbacks have reported.

    Thread: one, the poller's; the callbacks run inside `fetch` and `close`.
    """

    def __init__(self, settings: KafkaSourceSettings, subscription: Subscription, *, say: Callable[[str], None]) -> None:
        """`say` takes one line about an external fault and what happens next. Raises SourceMisconfigured."""
        self._settings = settings
        self._say = say
        self._fatal: str | None = None
        self._connectivity = BrokerConnectivity(settings.bootstrap_servers, settings.librdkafka, down_exit_s=settings.down_exit_s)
        self._consumer = consumer_of(client_properties(settings) | {"error_cb": self._on_error, "on_commit": self._on_commit})
        self._rebalance: Rebalance | None = None
        self._is_paused = False
        self._paused: set[Partition] = set()
        self._poll_budget = PollBudget()
        self._admin: AdminClient | None = None
        self._probe: Future[DescribedTopic] | None = None
        """A request that is sent only to see whether a broker answers."""
        self._executor = Executor(settings, self._client(), say=say)
        self._intake = self._executor.intake
        self._subscription = subscription
        self._watch = TopicWatch(subscription, self._list_topics, refresh_s=TOPIC_REFRESH_S, say=say)
        self._subscribe: Callable[[list[str]], None] = lambda _topics: None

    def subscribe(self, rebalance: Rebalance) -> None:
        """Join the group; from now on `fetch` also calls `rebalance`. With patterns a `fetch` joins, once the topics that fit are known."""
        self._rebalance = rebalance
        self._executor.subscribe(rebalance)

        def on_assign(_consumer: Consumer, partitions: list[TopicPartition]) -> None:
            assigned = _partitions_of(partitions)
            self._intake.begin(assigned, time.monotonic())
            rebalance.on_assign(assigned)

        def ending(notify: Callable[[Sequence[Partition]], None]) -> Callable[[Consumer, list[TopicPartition]], None]:
            return lambda _consumer, partitions: self._end_assignment(_partitions_of(partitions), notify)

        on_revoke, on_lost = ending(rebalance.on_revoke), ending(rebalance.on_lost)
        self._subscribe = partial(self._consumer.subscribe, on_assign=on_assign, on_revoke=on_revoke, on_lost=on_lost)
        if self._subscription.patterns:
            self._admin_client()  # which looks on other threads find ready
        self._watch.turn(time.monotonic())
        if self._watch.topics:
            self._match_topics()

    def fetch(self, max_records: int, timeout_s: float) -> list[Records]:
        """Return up to `max_records` records as soon as there is one, or none after `timeout_s`: those of a partition together.

        Every record is of a partition that is assigned when this returns. Raises SourceFatal, SourceExpired, SourceAway, TopicWithoutId.
        """
        first = self._consumer.poll(timeout_s)
        more = partial(self._consumer.consume, timeout=0)
        messages = [] if first is None else self._poll_budget.collect_messages(first, max_records, more)
        if self._fatal is not None:
            raise SourceFatal(self._fatal)
        now_s = time.monotonic()
        if self._watch.turn(now_s):
            self._match_topics()
        self._track_connectivity(now_s, has_records=any(message.error() is None for message in messages))
        placed = self._executor.take_turn(messages, now_s, is_paused=self._is_paused)
        self._send_commit(self._intake.start_commits.take_unsent())
        self._sync_paused()
        return placed

    def pause(self) -> None:
        """Stop delivery but keep polling; a partition that has delivered nothing yet still delivers its first records.

        Pausing a partition before its first record can lose its position or stop it permanently (librdkafka issues 2190 and 5591).
        """
        self._is_paused = True
        self._sync_paused()

    def resume(self) -> None:
        """Start delivery again."""
        self._is_paused = False
        self._sync_paused()

    def commit(self, next_offsets: Mapping[Partition, int], *, is_last: bool = False) -> dict[Partition, int]:
        """Begin to commit and return what was begun; `Rebalance.on_committed` reports the outcome, inside a later `fetch` or `close`.

        The request is sent before this returns, and the client delays a rebalance until it is answered. A partition whose topic may have
        been re-created since it was read is omitted; with `is_last`, no commit follows, so this waits a short time to make sure.
        """
        now_s = time.monotonic()
        needed_s = now_s + FRESH_S if is_last else now_s  # the last commit relies on no earlier answer
        sure = self._executor.sure(next_offsets, needed_s, now_s)
        for _ in range(_LAST_COMMIT_TRIES if is_last else 0):
            if len(sure) < len(next_offsets):
                sure = self._executor.sure(next_offsets, needed_s, time.monotonic())
        self._intake.start_commits.drop(sure)
        self._send_commit(sure)
        return sure

    def begin_again(self, next_offsets: Mapping[Partition, int]) -> dict[Partition, int]:
        """Read partitions again from these offsets, or from the first that Kafka holds; return where each begins.

        Leaves out those of which Kafka does not say what they hold, and those that the client has stopped: try again after a `fetch`.
        """
        return self._executor.begin_again(next_offsets, time.monotonic())

    def end_offsets(self) -> dict[Partition, int]:
        """Return the end offset of each assigned partition as the client last saw it; omits partitions it has not seen yet."""
        ends = {partition: self._end_of(partition) for partition in self._intake.assigned}
        return {partition: end for partition, end in ends.items() if end >= 0}

    def reached(self) -> dict[Partition, int]:
        """Return the end offset of each partition read to its end; transaction markers after the last record count as read."""
        return self._intake.reached()

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics that it has subscribed to, those that do not exist yet included; from any thread."""
        return self._watch.topics

    @property
    def records_without_headers(self) -> int:
        """How many records lost their headers because a header's name was not UTF-8."""
        return self._intake.records_without_headers

    @property
    def expired_records(self) -> Mapping[str, int]:
        """How many records expired before they were read, by topic."""
        return self._intake.expired_records

    @property
    def paused_partitions(self) -> int:
        """How many partitions are paused."""
        return len(self._paused)

    def close(self) -> None:
        """Leave the group; calls `Rebalance.on_revoke` for the partitions still assigned."""
        self._consumer.close()
        self._admin = None

    def _match_topics(self) -> None:
        """Subscribe to what the watch says: partitions of topics in both lists stay, under either group protocol."""
        if self._watch.topics:
            self._subscribe(list(self._watch.topics))
        else:
            self._consumer.unsubscribe()

    def _client(self) -> KafkaClient:
        return KafkaClient(self._ask_topic_ids, self._ask_partition_states, self._ask_positions, self._end_of, self._move, self._check)

    def _end_of(self, partition: Partition) -> int:
        _, end = self._consumer.get_watermark_offsets(TopicPartition(*partition), cached=True)
        return int(end)

    def _end_assignment(self, partitions: Sequence[Partition], notify: Callable[[Sequence[Partition]], None]) -> None:
        notify(partitions)
        self._intake.end(partitions)
        self._sync_paused()  # the client keeps a pause across a revocation: a partition that comes back would stay paused

    def _sync_paused(self) -> None:
        to_pause = self._intake.to_pause(everything=self._is_paused)
        if fresh := to_pause - self._paused:
            self._consumer.pause([TopicPartition(*partition) for partition in fresh])
        if over := self._paused - to_pause:
            self._consumer.resume([TopicPartition(*partition) for partition in over])
        self._paused = to_pause

    def _move(self, partition: Partition, position: Position | None) -> bool:
        """Assign the partition again, because the client refuses to seek in a partition that it has stopped (_STATE)."""
        self._sync_paused()  # resumes it
        try:
            self._consumer.incremental_unassign([TopicPartition(*partition)])
            self._consumer.incremental_assign([_place(partition, position or Position(OFFSET_INVALID, None))])
        except KafkaException:  # just lost; the callback follows
            return False
        return True

    def _check(self, partition: Partition, position: Position) -> bool:
        try:
            self._consumer.seek(_place(partition, position))
        except KafkaException:  # just stopped or lost
            return False
        return True

    def _send_commit(self, next_offsets: Mapping[Partition, int]) -> None:
        if next_offsets:
            places = [
                _place(partition, Position(next_offset, self._intake.leader_epochs.before(partition, next_offset)))
                for partition, next_offset in next_offsets.items()
            ]
            self._consumer.commit(offsets=places, asynchronous=True)

    def _on_commit(self, error: KafkaError | None, places: list[TopicPartition]) -> None:
        """Sort an outcome: the broker names each position that it refuses; an error that names none applies to all of them."""
        if error is None or error.code() > 0:
            self._connectivity.on_response()
        whole = error if not any(place.error for place in places) else None
        accepted: dict[Partition, int] = {}
        refused: dict[Partition, tuple[int, str]] = {}
        for place in places:
            partition, reason = Partition(place.topic, place.partition), place.error or whole
            if self._intake.start_commits.on_outcome(partition, place.offset, is_accepted=reason is None):
                if reason is not None and self._intake.start_commits.comes_first(partition):
                    self._say(f"{place.topic}/{place.partition} cannot commit where it begins ({reason.str()}); trying again")
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
        elif line := self._connectivity.error_line(str(error.name()), str(error.str())):
            self._say(line)

    def _track_connectivity(self, now_s: float, *, has_records: bool) -> None:
        if has_records:
            self._connectivity.on_response()
        if self._probe is not None and self._probe.done():
            error = self._probe.exception()
            if error is None or error.args[0].code() > 0:
                self._connectivity.on_response()
            self._probe = None
        self._connectivity.on_poll(now_s)
        if self._probe is None and self._connectivity.needs_probe():
            self._probe = next(iter(self._ask_topic_ids(self._watch.topics[:1] or (_ANY_TOPIC,)).values()))

    def _ask_partition_states(self, partitions: Collection[Partition]) -> dict[Partition, PartitionState]:
        if (committed := self._ask_positions(partitions)) is None:
            return {}
        firsts, ends = (self._listed_offsets(partitions, which) for which in (OFFSET_BEGINNING, OFFSET_END))
        states: dict[Partition, PartitionState] = {}
        for partition in [one for one in partitions if one in firsts and one in ends]:
            next_offset, leader_epoch = committed.get(partition, (None, None))
            states[partition] = PartitionState(next_offset, firsts[partition], ends[partition], leader_epoch)
        return states

    def _listed_offsets(self, partitions: Collection[Partition], which: int) -> dict[Partition, int]:
        """Return the first or the end offset of each partition; omits, and says, those that the broker does not tell."""
        try:
            found = self._consumer.offsets_for_times([TopicPartition(*partition, which) for partition in partitions], _STATE_TIMEOUT_S)
        except KafkaException as error:
            self._say_untold(next(iter(partitions)), error.args[0])
            return {}
        for place in found:
            if place.error is not None:
                self._say_untold(Partition(place.topic, place.partition), place.error)
                break  # one line is enough
        return {Partition(place.topic, place.partition): int(place.offset) for place in found if place.error is None}

    def _say_untold(self, partition: Partition, error: KafkaError) -> None:
        self._say(f"kafka does not say what {partition.topic}/{partition.partition} holds ({error.str()}); trying again")

    def _ask_positions(self, partitions: Collection[Partition]) -> dict[Partition, Position] | None:
        try:
            return self._committed(partitions)
        except KafkaException as error:
            self._say(f"kafka does not say where group {self._settings.group} stands ({error.args[0].str()}); trying again")
            return None

    def _committed(self, partitions: Collection[Partition]) -> dict[Partition, Position]:
        """Return the group's positions; omits partitions without one. Raises KafkaException."""
        found = self._consumer.committed([TopicPartition(*partition) for partition in partitions], timeout=_STATE_TIMEOUT_S)
        for place in found:
            if place.error is not None:
                raise KafkaException(place.error)
        return {Partition(place.topic, place.partition): Position(place.offset, place.leader_epoch) for place in found if place.offset >= 0}

    def _ask_topic_ids(self, topics: Sequence[str]) -> dict[str, Future[DescribedTopic]]:
        return self._admin_client().describe_topics(TopicCollection(list(topics)), request_timeout=_EPOCH_TIMEOUT_S)

    def _list_topics(self) -> Collection[str] | None:
        """List every topic that is visible to us. Called on other threads: the client allows that, and this is all they touch."""
        admin = self._admin
        try:
            return None if admin is None else admin.list_topics(timeout=_LIST_TIMEOUT_S).topics.keys()
        except KafkaException:  # the consumer's own connections say what is wrong
            return None

    def _admin_client(self) -> AdminClient:
        if self._admin is None:
            properties = admin_properties(self._settings.bootstrap_servers, self._settings.librdkafka)
            # Its log is never polled. It must reconnect as soon as the consumer does.
            self._admin = AdminClient({**properties, "log_level": 0, "reconnect.backoff.max.ms": 1000})
        return self._admin


def consumer_of(properties: dict[str, object]) -> Consumer:
    """Create a consumer. Raises SourceMisconfigured."""
    try:
        return Consumer(properties, logger=_SILENT_LOGGER)
    except KafkaException as error:
        raise SourceMisconfigured(f"kafka: {error.args[0].str()}") from None


def _place(partition: Partition, position: Position) -> TopicPartition:
    next_offset, leader_epoch = position
    return TopicPartition(*partition, next_offset, leader_epoch=_NO_LEADER_EPOCH if leader_epoch is None else leader_epoch)


def _partitions_of(partitions: Sequence[TopicPartition]) -> list[Partition]:
    return [Partition(partition.topic, partition.partition) for partition in partitions]
