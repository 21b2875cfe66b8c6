"""Tracks the epoch of each topic, which distinguishes a re-created topic from its predecessor (design: line ids).

`consumers.kafka` asks for the epoch of each record, and whether a position may still be committed. Kafka does not report that a topic
was deleted and re-created: the client continues at the old position after a pause of 0.5 s. So an answer is valid only for records that
arrive within `FRESH_S` of its question, which is less. Asking never blocks polling for long: a question may stay pending over many calls.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future, wait
from typing import NamedTuple, Protocol

from consumers.record import Partition
from consumers.source import KafkaRefused

FRESH_S = 0.4
"""How long before a record arrives its topic's id may have been asked for; less than `fetch.error.backoff.ms`."""
_ASK_AHEAD_S = FRESH_S / 2
"""How early an id is asked for again, so that a steady stream of records never waits."""
_WAIT_S = 0.1
"""How long one call waits for answers; a reachable broker needs a few milliseconds."""
_RETRY_S = 0.5
"""Pause before a failed question is repeated."""


class TopicId(Protocol):
    """The 128 bits of a topic's id."""

    def get_most_significant_bits(self) -> int:
        """Return the first 64 bits, signed."""

    def get_least_significant_bits(self) -> int:
        """Return the last 64 bits, signed."""


class DescribedTopic(Protocol):
    """What is used of the client's description of a topic."""

    @property
    def topic_id(self) -> TopicId:
        """Zero if the broker gives topics no ids."""


AskTopicIds = Callable[[Sequence[str]], Mapping[str, Future[DescribedTopic]]]
"""Asks for descriptions of topics; a failed future holds a KafkaException."""


class TopicWithoutId(KafkaRefused):
    """The broker gives a topic no id, and the settings name no epoch; one line for the user."""


class _EpochAnswer(NamedTuple):
    epoch: str
    asked_s: float


class TopicEpochs:
    """Returns an epoch only from an answer that was asked for recently enough, or the fixed one.

    Thread: one, its source's.
    """

    def __init__(self, *, fixed: str | None, ask: AskTopicIds, say: Callable[[str], None]) -> None:
        """`fixed` stands for every topic; None: the first 8 hex digits of Kafka's topic id."""
        self._fixed = fixed
        self._ask = ask
        self._say = say
        self._valid_since_s: dict[Partition, float] = {}
        """For each assigned partition: only answers asked for after this count."""
        self._unconfirmed: set[Partition] = set()
        """Partitions that have no answer since then."""
        self._reading_epoch: dict[Partition, str] = {}
        """The epoch of the records that each partition has delivered since it was assigned."""
        self._answers: dict[str, _EpochAnswer] = {}
        self._retired: dict[str, set[str]] = {}
        """Epochs of deleted topics: a broker that lags behind may still return them."""
        self._pending: dict[str, tuple[Future[DescribedTopic], float]] = {}
        self._retry_at_s: dict[str, float] = {}

    def begin_assignment(self, partitions: Iterable[Partition], now_s: float) -> None:
        """Start a new assignment; nothing known about these partitions counts any more."""
        for partition in partitions:
            self._reading_epoch.pop(partition, None)
            self.invalidate_epoch(partition, now_s)

    def drop(self, gone: Collection[Partition]) -> None:
        """Forget these partitions (WaitingPlace)."""
        for partition in gone:
            self._valid_since_s.pop(partition, None)
            self._reading_epoch.pop(partition, None)
            self._unconfirmed.discard(partition)

    def partitions(self) -> Collection[Partition]:
        """Return the partitions of which it knows anything."""
        return self._valid_since_s.keys() | self._unconfirmed | self._reading_epoch.keys()

    def invalidate_epoch(self, partition: Partition, now_s: float) -> None:
        """Reject answers asked for before now, because this partition behaves as if its topic had changed."""
        self._valid_since_s[partition] = now_s
        self._unconfirmed.add(partition)

    def is_epoch_known(self, partition: Partition) -> bool:
        """Whether the epoch that this partition is read under is known."""
        return self._fixed is not None or partition in self._reading_epoch

    def epoch(self, partition: Partition, arrived_s: float) -> str | None:
        """Return the epoch of a record that arrived at `arrived_s`; None while it is unknown, or if the topic has been re-created."""
        if self._fixed is not None:
            return self._fixed
        answer = self._answers.get(partition.topic)
        if answer is None or answer.asked_s < max(self._valid_since_s[partition], arrived_s - FRESH_S):
            return None
        return answer.epoch if self._reading_epoch.get(partition) == answer.epoch else None

    def recreated_partitions(self) -> list[Partition]:
        """Return the partitions that were read under the epoch of a deleted topic."""
        return [p for p, epoch in self._reading_epoch.items() if (known := self._answers.get(p.topic)) is not None and known.epoch != epoch]

    def refresh_epochs(self, arrived_s: Mapping[str, float], now_s: float, *, is_quiet: bool = False) -> None:
        """Refresh epochs for topics with new messages and for unconfirmed partitions; wait briefly for missing answers.

        `arrived_s` holds when the newest message of each topic arrived; with `is_quiet`, a failed answer about a known topic is not logged.
        Raises TopicWithoutId.
        """
        if self._fixed is not None:
            return
        awaited = () if is_quiet else tuple(arrived_s)
        self._take_answers(awaited, now_s)
        needed_s = {topic: at_s - FRESH_S for topic, at_s in arrived_s.items()}
        wanted_s = {topic: at_s + _ASK_AHEAD_S for topic, at_s in needed_s.items()}
        for partition in self._unconfirmed:
            needed_s[partition.topic] = max(needed_s.get(partition.topic, 0.0), self._valid_since_s[partition])
        due = sorted(
            topic
            for topic, since_s in needed_s.items()
            if topic not in self._pending
            and self._asked_s(topic) < max(since_s, wanted_s.get(topic, 0.0))
            and self._retry_at_s.get(topic, 0.0) <= now_s
        )
        if due:
            self._pending |= {topic: (answer, now_s) for topic, answer in self._ask(due).items()}
        if lacking := [
            self._pending[topic][0] for topic, since_s in needed_s.items() if topic in self._pending and self._asked_s(topic) < since_s
        ]:
            wait(lacking, _WAIT_S)
            self._take_answers(awaited, now_s)

    def _asked_s(self, topic: str) -> float:
        answer = self._answers.get(topic)
        return float("-inf") if answer is None else answer.asked_s

    def _take_answers(self, awaited: Iterable[str], now_s: float) -> None:
        self._note_answers(awaited, now_s)
        self._confirm_partitions()

    def _note_answers(self, awaited: Iterable[str], now_s: float) -> None:
        for topic, (answer, asked_s) in list(self._pending.items()):
            if not answer.done():
                continue
            del self._pending[topic]
            error = answer.exception()
            if error is None:
                self._note_epoch(topic, epoch_of_topic(topic, answer.result().topic_id), asked_s)
                continue
            self._retry_at_s[topic] = now_s + _RETRY_S
            if topic in awaited or topic not in self._answers:
                self._say(f"the id of topic {topic} cannot be read ({error.args[0].str()}); trying again (or set kafka.topic_epoch)")

    def _note_epoch(self, topic: str, epoch: str, asked_s: float) -> None:
        retired = self._retired.setdefault(topic, set())
        if epoch in retired:
            return
        before = self._answers.get(topic)
        if before is not None and before.epoch != epoch:
            retired.add(before.epoch)
        self._answers[topic] = _EpochAnswer(epoch, asked_s)

    def _confirm_partitions(self) -> None:
        for partition in list(self._unconfirmed):
            if self._asked_s(partition.topic) >= self._valid_since_s[partition]:
                self._reading_epoch.setdefault(partition, self._answers[partition.topic].epoch)
                self._unconfirmed.discard(partition)


def epoch_of_topic(topic: str, topic_id: TopicId) -> str:
    """Return the first 8 hex digits of a topic's id. Raises TopicWithoutId."""
    if topic_id.get_most_significant_bits() == 0 and topic_id.get_least_significant_bits() == 0:
        raise TopicWithoutId(
            f"topic {topic} has no id (brokers before Kafka 2.8 have none), so a re-created topic cannot be told from this one; "
            "set kafka.topic_epoch"
        )
    return f"{(topic_id.get_most_significant_bits() >> 32) & 0xFFFFFFFF:08x}"
