"""The epoch of each topic: what tells a topic that was made anew from its predecessor (design: row ids).

`consumers.kafka` asks here under which epoch a record goes on, and whether a position may still be committed. Kafka tells nobody that
a topic was deleted and made anew: the client just goes on at the old position, behind a pause of 0.5 s. So an answer counts for what
comes within `FRESH_S`, which is less. Asking never blocks polling for long: a question may stay open over many calls.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, wait
from typing import Any, NamedTuple

from consumers.record import Partition

FRESH_S = 0.4
"""How much older than a record the question may be that its epoch rests on; below `fetch.error.backoff.ms`."""
_AHEAD_S = FRESH_S / 2
"""Asked again this much before it must be, so that a stream of records never waits."""
_WAIT_S = 0.1
"""How long one call waits for answers; a broker that is there needs a few milliseconds."""
_AGAIN_S = 0.5
"""Until a question that failed is asked again."""

AskTopicIds = Callable[[Sequence[str]], Mapping[str, Future[Any]]]
"""Asks for descriptions of topics (`topic_id` is used); a future that fails holds a KafkaException."""


class _Seen(NamedTuple):
    epoch: str
    asked_s: float


class TopicEpochs:
    """An epoch is given out only from an answer that was asked for late enough, or it is the fixed one.

    Thread: one, its source's.
    """

    def __init__(self, *, fixed: str | None, ask: AskTopicIds, say: Callable[[str], None]) -> None:
        """`fixed` stands for every topic; None: the first 8 hex digits of Kafka's topic id."""
        self._fixed = fixed
        self._ask = ask
        self._say = say
        self._since_s: dict[Partition, float] = {}
        """What counts for a partition that is assigned was asked later than this."""
        self._doubted: set[Partition] = set()
        self._read_as: dict[Partition, str] = {}
        """The epoch of what each partition has been delivering since it was assigned."""
        self._seen: dict[str, _Seen] = {}
        self._retired: dict[str, set[str]] = {}
        """Epochs that are over: a broker that has not heard of it yet may still name them."""
        self._open: dict[str, tuple[Future[Any], float]] = {}
        self._not_before_s: dict[str, float] = {}

    def assign(self, partitions: Iterable[Partition], now_s: float) -> None:
        """A new assignment: whatever was known of these partitions is over."""
        for partition in partitions:
            self._read_as.pop(partition, None)
            self.doubt(partition, now_s)

    def forget(self, partitions: Iterable[Partition]) -> None:
        """An assignment is over."""
        for partition in partitions:
            self._since_s.pop(partition, None)
            self._read_as.pop(partition, None)
            self._doubted.discard(partition)

    def doubt(self, partition: Partition, now_s: float) -> None:
        """Something about this partition is odd: what was asked before now does not count for it any more."""
        self._since_s[partition] = now_s
        self._doubted.add(partition)

    def is_read(self, partition: Partition) -> bool:
        """Whether it is known under which epoch this partition is being read."""
        return self._fixed is not None or partition in self._read_as

    def epoch(self, partition: Partition, came_s: float) -> str | None:
        """Return the epoch of a record that came then; None while it is not known, and when the topic is another one by now."""
        if self._fixed is not None:
            return self._fixed
        seen = self._seen.get(partition.topic)
        if seen is None or seen.asked_s < max(self._since_s[partition], came_s - FRESH_S):
            return None
        return seen.epoch if self._read_as.get(partition) == seen.epoch else None

    def recreated(self) -> list[Partition]:
        """Return the partitions that were read under an epoch which is over."""
        return [p for p, epoch in self._read_as.items() if (seen := self._seen.get(p.topic)) is not None and seen.epoch != epoch]

    def read(self, came_s: Mapping[str, float], now_s: float, *, is_quiet: bool = False) -> None:
        """Ask about topics of which something came then, and about all that is in doubt; wait a little for what is lacking."""
        if self._fixed is not None:
            return
        awaited = () if is_quiet else tuple(came_s)
        self._take_answers(awaited, now_s)
        needed_s = {topic: moment_s - FRESH_S for topic, moment_s in came_s.items()}
        wanted_s = {topic: moment_s + _AHEAD_S for topic, moment_s in needed_s.items()}
        for partition in self._doubted:
            needed_s[partition.topic] = max(needed_s.get(partition.topic, 0.0), self._since_s[partition])
        due = sorted(
            topic
            for topic, since_s in needed_s.items()
            if topic not in self._open
            and self._asked_s(topic) < max(since_s, wanted_s.get(topic, 0.0))
            and self._not_before_s.get(topic, 0.0) <= now_s
        )
        if due:
            self._open |= {topic: (answer, now_s) for topic, answer in self._ask(due).items()}
        if lacking := [
            self._open[topic][0] for topic, since_s in needed_s.items() if topic in self._open and self._asked_s(topic) < since_s
        ]:
            wait(lacking, _WAIT_S)
            self._take_answers(awaited, now_s)

    def _asked_s(self, topic: str) -> float:
        seen = self._seen.get(topic)
        return float("-inf") if seen is None else seen.asked_s

    def _take_answers(self, awaited: Iterable[str], now_s: float) -> None:
        self._note_answers(awaited, now_s)
        self._end_doubts()

    def _note_answers(self, awaited: Iterable[str], now_s: float) -> None:
        for topic, (answer, asked_s) in list(self._open.items()):
            if not answer.done():
                continue
            del self._open[topic]
            error = answer.exception()
            if error is None:
                self._note(topic, epoch_of(answer.result().topic_id), asked_s)
                continue
            self._not_before_s[topic] = now_s + _AGAIN_S
            if topic in awaited or topic not in self._seen:
                self._say(f"the id of topic {topic} cannot be read ({error.args[0].str()}); trying again (or set kafka.topic_epoch)")

    def _note(self, topic: str, epoch: str, asked_s: float) -> None:
        retired = self._retired.setdefault(topic, set())
        if epoch in retired:
            return
        before = self._seen.get(topic)
        if before is not None and before.epoch != epoch:
            retired.add(before.epoch)
        self._seen[topic] = _Seen(epoch, asked_s)

    def _end_doubts(self) -> None:
        for partition in list(self._doubted):
            if self._asked_s(partition.topic) >= self._since_s[partition]:
                self._read_as.setdefault(partition, self._seen[partition.topic].epoch)
                self._doubted.discard(partition)


def epoch_of(topic_id: Any) -> str:  # noqa: ANN401 - the client's Uuid
    """Return the first 8 hex digits of a topic's id."""
    return f"{(topic_id.get_most_significant_bits() >> 32) & 0xFFFFFFFF:08x}"
