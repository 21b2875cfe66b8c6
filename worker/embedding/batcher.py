"""The batcher: decides which texts go into the engine together. Pure: no clock, no lock, no thread.

Theory of operation
1. A batch is filled by tokens, not by texts: both engines pack sequences, so nothing is padded. There are three classes: the index's
   *queries*, *online* texts of clients that wait for a vector, and *bulk*: new templates and whatever is not urgent.
2. Queries go first, in order of arrival. In a batch with queries, the others get only as many tokens as their credit covers.
3. The floor: every batch adds to the credit of the others the floor of each class of them that waits, and subtracts their tokens that it
   takes; when none of them waits the credit is zero. A text whose tokens the credit covers enters the batch before the queries are
   filled in. Let `longest` be the tokens of the longest of them, floor the sum of the floors, and floor + longest - 1 <= budget. Then
   any n batches in a row that each leave texts of the same classes waiting hold at least n * floor - (longest - 1) of their tokens, and a
   batch with queries holds at most floor + longest - 1 of them. (If a query is longer than budget - floor tokens, rule 6 holds instead.)
4. Who waits for a vector rarely comes alone: while queries or online texts arrive, no batch exceeds the cap, a number of tokens that the
   engine computes in `target_s` seconds (`worker.embedding.batch_cap`). The cap is at least twice the floor, so that queries have as much
   room as the others' credit. Only that credit (rule 3) and the first text of a batch may exceed it.
5. So a query waits for the rest of the batch in the engine, then for its own. The batch in the engine has at most
   max(cap, floor + longest - 1, longest text) tokens while queries arrive, and the whole budget if this is the first query for long.
   Its own batch is the next one if w + floor + longest - 1 <= cap, where w is the tokens of this query and of those before it that
   are not yet in the engine; for the first in line <= budget is enough. That batch has at most
   max(cap, floor + longest - 1 + first query) tokens.
6. Every query gets through. The first in line is passed over when the others' credit leaves it no room; one of q <= budget - floor tokens
   at most (longest - 1) / (budget - q + 1 - floor) times. A longer one, passed over once, goes into the next batch, and the others take
   what it leaves. If such queries come and 2 * floor + longest - 1 <= budget, any n batches hold at least (n - 1) * floor - (longest - 1)
   tokens of the others, a batch with queries holds at most 2 * floor + longest - 1 of them, and a shorter query behind a long one may be
   passed over (longest - 1 + floor) / (budget - q + 1 - floor) times, because the credit is one floor higher. Here floor is that of both
   classes, whichever of them waits.
7. The batcher never waits for a fuller batch. A free engine pulls the next batch, which is formed only then: of all that has come by
   that moment, with what the batch before it has taught the cap. So no batch is ever formed twice, or put back.
8. Online and bulk share what is theirs half and half while both wait, in the order of `worker.runtime.fair_share`: their tokens differ by
   one text of each at most, so each has half of what queries leave, and of rule 3 half. Within a class, topics and requesters share by
   weight in the same order. A text of someone who had nothing waiting comes before the second of anyone else, so it waits for
   the batch in the engine and, with at most k such texts of q tokens and no query, is in the next one if 2 * (k * q + longest) <= cap.
   Rules 3 to 6 speak of the next text, whosever it is; the first in line may change between two batches, which leaves their
   bounds as they are: a credit that does not cover it is less than `longest` all the same.

Not taken: priorities inside vLLM (they invert under load); filling by count (256-token lines would make batches of seconds); the others up
to the cap beside a query (the query would wait for a whole capped batch twice); online strictly before bulk (one saturating client would
stop the index).
"""

import math
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, Literal, NamedTuple, Protocol, TypeVar

from worker.embedding.batch_cap import HOLD_S, BatchCap
from worker.embedding.model.vectors import TokenIds
from worker.runtime.fair_share import FairQueue, FairQueues

Urgency = Literal["query", "online", "bulk"]
"""The class of a text (rule 1)."""
_OTHERS: tuple[Urgency, ...] = ("online", "bulk")


class HasIds(Protocol):
    """A text with its token ids."""

    @property
    def ids(self) -> TokenIds:
        """int32[n]: special tokens included."""


T = TypeVar("T", bound=HasIds)


class Batch(NamedTuple, Generic[T]):
    """Texts that go into the engine together: queries first, then online and bulk texts."""

    queries: list[T]
    others: list[T]

    @property
    def tokens(self) -> int:
        """Tokens of all texts."""
        return tokens_of(self.queries) + tokens_of(self.others)


def floor_tokens(budget_tokens: int) -> int:
    """Return the floor of a class: an eighth, so that two of them and the longest text leave a query of the usual length its room."""
    return max(budget_tokens // 8, 1)


def tokens_of(texts: Sequence[HasIds]) -> int:
    """Return the tokens of all texts."""
    return sum(len(text.ids) for text in texts)


class Batcher(Generic[T]):
    """Every text comes out once, queries in order, and so those of a topic or requester; a batch never exceeds the budget.

    Thread: one at a time, under its owner's lock.
    """

    def __init__(
        self,
        *,
        budget_tokens: int,
        bulk_floor_tokens: int,
        online_floor_tokens: int = 0,
        target_s: float = math.inf,
        hold_s: float = HOLD_S,
        topic_of: Callable[[T], str] = lambda _text: "",
        weight_of: Callable[[str], float] = lambda _topic: 1.0,
    ) -> None:
        """`budget_tokens` must hold the longest text; `target_s` and `hold_s` are those of the batch cap.

        `topic_of` says whose a bulk or online text is, `weight_of` how much of the bulk a topic takes; without them all are one topic's.
        """
        floor = bulk_floor_tokens + online_floor_tokens
        if bulk_floor_tokens <= 0 or online_floor_tokens < 0 or floor > budget_tokens:
            raise ValueError(f"need 0 < floor ({floor}) <= budget ({budget_tokens}) tokens")
        self._budget = budget_tokens
        self._floors: dict[Urgency, int] = {"online": online_floor_tokens, "bulk": bulk_floor_tokens}
        least = min(2 * floor, budget_tokens)
        self._cap = BatchCap(budget_tokens=budget_tokens, least_tokens=least, target_s=target_s, hold_s=hold_s)
        self._queries: deque[T] = deque()
        queues: dict[Urgency, FairQueue[T]] = {
            "online": FairQueue(topic_of=topic_of, size_of=_tokens),
            "bulk": FairQueue(topic_of=topic_of, size_of=_tokens, weight_of=weight_of),
        }
        self._others: FairQueues[Urgency, T] = FairQueues(queues, size_of=_tokens)
        self.waiting_tokens: dict[Urgency, int] = {"query": 0, "online": 0, "bulk": 0}
        """By class."""
        self._topic_of = topic_of
        self._online: Counter[str] = Counter()
        """Tokens of online texts that wait, by requester."""
        self._credit = 0
        self._passed_over = False
        """Whether queries waited for the last batch and it took none."""

    @property
    def capped_tokens(self) -> int:
        """Most tokens of a batch while queries or online texts arrive, even if none arrive now."""
        return self._cap.capped_tokens

    @property
    def queries_arrive(self) -> bool:
        """Whether batches are capped."""
        return self._cap.queries_arrive

    def add(self, texts: Iterable[T], urgency: Urgency) -> None:
        """Queue texts of one class."""
        added = list(texts)
        if not added:
            return
        self.waiting_tokens[urgency] += tokens_of(added)
        if urgency == "query":
            self._queries.extend(added)
        else:
            self._others.extend(urgency, added)
        if urgency == "online":
            for text in added:
                self._online[self._topic_of(text)] += len(text.ids)
        if urgency != "bulk":
            self._cap.query_arrived()

    def clear(self) -> None:
        """Drop every text."""
        self._queries.clear()
        self._others.clear()
        self._online.clear()
        self.waiting_tokens = dict.fromkeys(self.waiting_tokens, 0)

    def __len__(self) -> int:
        return len(self._queries) + len(self._others)

    def next_batch(self) -> Batch[T]:
        """Return the next batch; never empty while a text waits."""
        self._credit = min(self._credit + self._floor(), self._budget) if self._others else 0
        others = self._take_others(self._room_beside_queries() if self._queries else self._room_without_queries())
        other_tokens = tokens_of(others)
        self._credit = max(self._credit - other_tokens, 0) if self._others else 0
        queries = self._take_queries(other_tokens)
        self.waiting_tokens["query"] -= tokens_of(queries)
        self._passed_over = bool(self._queries) and not queries
        return Batch(queries, others)

    def observe(self, tokens: int, seconds: float) -> None:
        """Learn how long the engine took for a batch; 0 tokens if it had nothing to do."""
        self._cap.observe(tokens, seconds)

    def shrink(self, budget_tokens: int) -> None:
        """Lower the budget for all later batches: the engine ran out of memory. The new budget must hold the longest text."""
        self._budget = min(self._budget, budget_tokens)
        for urgency, floor in self._floors.items():
            self._floors[urgency] = min(floor, self._budget)
        self._credit = min(self._credit, self._budget)
        self._cap.shrink(self._budget)

    def tokens_ahead(self, requester: str, tokens: int) -> int:
        """Return how many tokens are computed before so many further online ones of a requester have all had their turn.

        Of another requester's tokens only as many go first as this one will have waiting (rule 8); half of each batch may be bulk.
        """
        own = self._online[requester]
        others = sum(min(theirs, own + tokens) for other, theirs in self._online.items() if other != requester)
        return self.waiting_tokens["query"] + (own + others) * (2 if self.waiting_tokens["bulk"] else 1)

    def _note_left(self, requester: str, tokens: int) -> None:
        self._online[requester] -= tokens
        if not self._online[requester]:
            del self._online[requester]

    def _floor(self) -> int:
        """Tokens that this batch adds to the credit."""
        floor = sum(self._floors[urgency] for urgency in _OTHERS if self._others.waiting(urgency))
        return min(floor, self._budget)

    def _room_beside_queries(self) -> int:
        """Tokens for the others in a batch with queries: their credit, less if a long query has been passed over."""
        query = len(self._queries[0].ids)
        is_long = query > self._budget - sum(self._floors.values())  # whoever waits now, or a class that ends would pass it over again
        return min(self._credit, self._budget - query) if is_long and self._passed_over else self._credit

    def _room_without_queries(self) -> int:
        """Tokens for the others alone: the cap, but at least their credit and the next text."""
        return max(self._cap.tokens, self._credit, len(self._others.first.ids)) if self._others else 0

    def _take_queries(self, other_tokens: int) -> list[T]:
        """Take queries up to the cap; the first one up to the budget."""
        taken: list[T] = []
        room = self._cap.capped_tokens - other_tokens
        while self._queries and len(self._queries[0].ids) <= (room if taken else self._budget - other_tokens):
            room -= len(self._queries[0].ids)
            taken.append(self._queries.popleft())
        return taken

    def _take_others(self, limit_tokens: int) -> list[T]:
        taken: list[T] = []
        while self._others and (tokens := len(self._others.first.ids)) <= limit_tokens:
            limit_tokens -= tokens
            urgency = self._others.turn
            self.waiting_tokens[urgency] -= tokens
            text = self._others.popleft()
            taken.append(text)
            if urgency == "online":
                self._note_left(self._topic_of(text), tokens)
        return taken


def _tokens(text: HasIds) -> int:
    return len(text.ids)
