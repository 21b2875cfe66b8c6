"""Queues of several topics that share one stage by weight. Pure: no clock, no lock, no thread.

`worker.runtime.lane` queues receipts in one for prepare, `worker.embedding.batcher` the texts of logs for the engine.

Theory of operation
1. Each topic has a queue, in order of arrival, and a *turn*: a number that says when its first entry may go. The lowest turn goes first.
2. An entry of size s moves the turn of its topic on by s / weight. So of two topics that both wait, each takes in proportion to its weight:
   over any stretch in which both wait, taken / weight of the two differs by at most (largest size / weight) of the one plus that of the
   other. Entries are never divided, so no order of whole ones does much better.
3. A topic that begins to wait gets the turn of the entry taken last, or its own if that is later: it gains nothing by having been away, nor
   by coming and going. Once nothing waits at all, all turns begin again at 0.
4. A topic that waits alone gets everything, and owes nothing for it later (rule 3).
5. `FairQueues` shares the stage among queues first, by the same rules in equal parts, and each queue's part among its topics.

Turns are whole numbers, so a worker that never idles for months loses no precision.

Not taken: deficit round robin, which does the same with a quantum to choose, and serves a topic in bursts of it.
"""

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

T = TypeVar("T")
N = TypeVar("N", bound=str)
"""The name of a queue."""

_SCALE = 1_000_000
"""What one unit of size moves the turn of a topic of weight 1. Weights of 0.01 to 100 are exact to 1 in 10,000."""
_MOST_ABSENT = 1_024
"""Topics that are remembered though they do not wait: requesters come and go, and their number has no bound."""


class FairQueue(Generic[T]):
    """Every entry comes out once; those of one topic in order, and topics in proportion to their weights.

    Thread: one at a time, under its owner's lock.
    """

    def __init__(
        self,
        *,
        topic_of: Callable[[T], str] = lambda _entry: "",
        size_of: Callable[[T], int] = lambda _entry: 1,
        weight_of: Callable[[str], float] = lambda _topic: 1.0,
    ) -> None:
        """`size_of`: 1 or more; `weight_of`: above 0, asked when a topic comes up. Without arguments it is one plain queue."""
        self.topic_of = topic_of
        self._size_of = size_of
        self._weight_of = weight_of
        self._waiting: dict[str, deque[T]] = {}
        """By topic; never empty ones."""
        self._turns: dict[str, int] = {}
        """Of topics that wait, and of those that have waited since nothing did."""
        self._now = 0
        """The turn of the entry taken last."""
        self._strides: dict[str, int] = {}
        self._length = 0
        self._order: list[tuple[int, str]] = []
        """A heap: turn and name of each topic that waits."""

    def __len__(self) -> int:
        return self._length

    def append(self, entry: T) -> None:
        """Add an entry behind the others of its topic."""
        topic = self.topic_of(entry)
        queue = self._waiting.get(topic)
        if queue is None:
            queue = self._waiting[topic] = deque()
            turn = self._turns[topic] = max(self._turns.get(topic, 0), self._now)
            heapq.heappush(self._order, (turn, topic))
        queue.append(entry)
        self._length += 1

    def extend(self, entries: Iterable[T]) -> None:
        """Add entries behind the others of their topics."""
        for entry in entries:
            self.append(entry)

    @property
    def first(self) -> T:
        """The entry that `popleft` takes next. Raises LookupError if there is none."""
        return self._waiting[self._order[0][1]][0]

    def popleft(self) -> T:
        """Take the first entry of the topic whose turn it is. Raises LookupError if there is none."""
        self._now, topic = self._order[0]
        queue = self._waiting[topic]
        entry = queue.popleft()
        self._length -= 1
        turn = self._turns[topic] = self._now + self._size_of(entry) * self._stride_of(topic)
        if queue:
            heapq.heapreplace(self._order, (turn, topic))
            return entry
        heapq.heappop(self._order)
        del self._waiting[topic]
        if not self._length:
            self._forget(self._turns)
            self._now = 0
        elif len(self._turns) > 2 * len(self._waiting) + _MOST_ABSENT:
            self._forget([name for name, turn in self._turns.items() if name not in self._waiting and turn <= self._now])
        return entry

    def clear(self) -> None:
        """Drop everything."""
        self._waiting.clear()
        self._turns.clear()
        self._order.clear()
        self._now = self._length = 0

    def _forget(self, topics: Iterable[str]) -> None:
        """Forget topics whose turn would be the present one if they began to wait now (rule 3)."""
        for topic in list(topics):
            del self._turns[topic]
            self._strides.pop(topic, None)

    def _stride_of(self, topic: str) -> int:
        stride = self._strides.get(topic)
        if stride is None:
            stride = self._strides[topic] = max(round(_SCALE / self._weight_of(topic)), 1)
        return stride


class FairQueues(Generic[N, T]):
    """Every entry comes out once; queues that wait take equal parts, and the topics of each share by their weights.

    Thread: one at a time, under its owner's lock.
    """

    def __init__(
        self,
        queues: Mapping[N, FairQueue[T]],
        *,
        size_of: Callable[[T], int] = lambda _entry: 1,
    ) -> None:
        """`queues` become its own, by name; `size_of` is theirs, too."""
        self._queues = queues
        self._turns: FairQueue[N] = FairQueue(topic_of=lambda name: name, size_of=lambda name: size_of(queues[name].first))
        """The name of its queue for each entry: whose turn it is."""

    def __len__(self) -> int:
        return len(self._turns)

    def extend(self, name: N, entries: Iterable[T]) -> None:
        """Add entries to the queue of that name."""
        for entry in entries:
            self._queues[name].append(entry)
            self._turns.append(name)

    def waiting(self, name: N) -> int:
        """Return how many entries wait in the queue of that name."""
        return len(self._queues[name])

    @property
    def turn(self) -> N:
        """The name of the queue whose entry `popleft` takes next. Raises LookupError if there is none."""
        return self._turns.first

    @property
    def first(self) -> T:
        """The entry that `popleft` takes next. Raises LookupError if there is none."""
        return self._queues[self.turn].first

    def popleft(self) -> T:
        """Take the first entry of the queue whose turn it is. Raises LookupError if there is none."""
        return self._queues[self._turns.popleft()].popleft()

    def clear(self) -> None:
        """Drop everything."""
        self._turns.clear()
        for queue in self._queues.values():
            queue.clear()
