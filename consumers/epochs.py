"""The epoch of each topic: what tells a re-created topic from its predecessor (design: row ids).

`consumers.kafka` asks for the epoch of every topic whose records it holds. Asking never blocks polling: a question may stay
open over many calls, and one that failed is asked again.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, wait
from typing import Any

_WAIT_S = 0.1
"""How long one call waits for answers; a broker that is there needs a few milliseconds."""

AskTopicIds = Callable[[Sequence[str]], Mapping[str, Future[Any]]]
"""Asks for descriptions of topics (`topic_id` is used); a future that fails holds a KafkaException."""


class TopicEpochs:
    """Holds an epoch only from an answer that was asked for after the topic's last assignment, or the fixed one.

    Thread: one, its source's.
    """

    def __init__(self, *, fixed: str | None, ask: AskTopicIds, say: Callable[[str], None]) -> None:
        """`fixed` stands for every topic; None: the first 8 hex digits of Kafka's topic id."""
        self.known: dict[str, str] = {}
        self._fixed = fixed
        self._ask = ask
        self._say = say
        self._asked: dict[str, Future[Any]] = {}

    def forget(self, topics: Iterable[str]) -> None:
        """A new assignment: what was known of these topics may be over."""
        for topic in topics:
            self.known.pop(topic, None)
            self._asked.pop(topic, None)

    def read(self, topics: set[str]) -> None:
        """Ask for what is not known of `topics` and wait a little for the answers; what is missing then, the next call waits for."""
        unknown = topics - self.known.keys()
        if self._fixed is not None:
            self.known |= dict.fromkeys(unknown, self._fixed)
            return
        if new := sorted(unknown - self._asked.keys()):
            self._asked |= self._ask(new)
        wait([self._asked[topic] for topic in unknown], _WAIT_S)
        for topic in unknown:
            if self._asked[topic].done():
                self._note(topic, self._asked.pop(topic))

    def _note(self, topic: str, answer: Future[Any]) -> None:
        error = answer.exception()
        if error is None:
            self.known[topic] = epoch_of(answer.result().topic_id)
        else:
            self._say(f"the id of topic {topic} cannot be read ({error.args[0].str()}); trying again (or set kafka.topic_epoch)")


def epoch_of(topic_id: Any) -> str:  # noqa: ANN401 - the client's Uuid
    """Return the first 8 hex digits of a topic's id."""
    return f"{(topic_id.get_most_significant_bits() >> 32) & 0xFFFFFFFF:08x}"
