"""The batcher: decides which texts go into the engine together. Pure: no clock, no lock, no thread.

Theory of operation
1. A batch is filled by tokens, not by texts: both engines pack sequences, so nothing is padded.
2. Queries go first, in order of arrival. In a batch with queries, log texts get only as many tokens as their credit covers.
3. The floor: while logs wait, every batch adds `log_floor_tokens` to their credit and subtracts the log tokens that it takes; when no
   log waits the credit is zero. A log text whose tokens the credit covers enters the batch before the queries are filled in.
   Let `longest` be the tokens of the longest log text, and floor + longest - 1 <= budget. Then any n batches in a row that each leave a
   log waiting hold at least n * floor - (longest - 1) log tokens, and a batch with queries holds at most floor + longest - 1 of them.
   (If a query is longer than budget - floor tokens, rule 6 holds instead.)
4. Queries rarely come alone: while they arrive, no batch exceeds the cap, a number of tokens that the engine computes in `target_s`
   seconds (`worker.embedding.batch_cap`). The cap is at least twice the floor, so that queries have as much room as the logs' credit.
   Only the logs' credit (rule 3) and the first text of a batch may exceed it.
5. So a query waits for the rest of the batch in the engine, then for its own. The batch in the engine has at most
   max(cap, floor + longest - 1, longest text) tokens while queries arrive, and the whole budget if this is the first query for long.
   Its own batch is the next one if w + floor + longest - 1 <= cap, where w is the tokens of this query and of those before it that
   are not yet in the engine; for the first in line <= budget is enough. That batch has at most
   max(cap, floor + longest - 1 + first query) tokens.
6. Every query gets through. The first in line is passed over when the logs' credit leaves it no room; one of q <= budget - floor tokens
   at most (longest - 1) / (budget - q + 1 - floor) times. A longer one, passed over once, goes into the next batch, and logs take what
   it leaves. If such queries come and 2 * floor + longest - 1 <= budget, any n batches hold at least (n - 1) * floor - (longest - 1)
   log tokens, a batch with queries holds at most 2 * floor + longest - 1 of them, and a shorter query behind a long one may be passed
   over (longest - 1 + floor) / (budget - q + 1 - floor) times, because the logs' credit is one floor higher.
7. The batcher never waits for a fuller batch. A free engine pulls the next batch, which is formed only then: of all that has come by
   that moment, with what the batch before it has taught the cap. So no batch is ever formed twice, or put back.
8. Log texts of several topics come in the order of `worker.runtime.fair_share`: while two topics wait, their tokens are in proportion to
   their weights, but for one text of each. Rules 3 to 6 speak of the next log text, whichever topic it is of; the first in line may
   change between two batches, which leaves their bounds as they are: a credit that does not cover it is less than `longest` all the same.

Not taken: priorities inside vLLM (they invert under load); filling by count (256-token lines would make batches of seconds); logs up to
the cap beside a query (the query would wait for a whole capped batch twice).
"""

import math
from collections import deque
from collections.abc import Callable, Iterable
from typing import Generic, NamedTuple, Protocol, TypeVar

from worker.embedding.batch_cap import HOLD_S, BatchCap
from worker.embedding.model.vectors import TokenIds
from worker.runtime.fair_share import FairQueue


class HasIds(Protocol):
    """A text with its token ids."""

    @property
    def ids(self) -> TokenIds:
        """int32[n]: special tokens included."""


T = TypeVar("T", bound=HasIds)


class Batch(NamedTuple, Generic[T]):
    """Texts that go into the engine together: queries first, then logs."""

    queries: list[T]
    logs: list[T]

    @property
    def tokens(self) -> int:
        """Tokens of all texts."""
        return sum(len(query.ids) for query in self.queries) + sum(len(log.ids) for log in self.logs)


class Batcher(Generic[T]):
    """Every text comes out once, queries in order, and so the logs of a topic; a batch never exceeds the budget.

    Thread: one at a time, under its owner's lock.
    """

    def __init__(
        self,
        *,
        budget_tokens: int,
        log_floor_tokens: int,
        target_s: float = math.inf,
        hold_s: float = HOLD_S,
        topic_of: Callable[[T], str] = lambda _log: "",
        weight_of: Callable[[str], float] = lambda _topic: 1.0,
    ) -> None:
        """`budget_tokens` must hold the longest text; `target_s` and `hold_s` are those of the batch cap.

        `topic_of` and `weight_of` say which logs share the engine, and how; without them all logs are one topic's.
        """
        if not 0 < log_floor_tokens <= budget_tokens:
            raise ValueError(f"need 0 < floor ({log_floor_tokens}) <= budget ({budget_tokens}) tokens")
        self._budget = budget_tokens
        self._floor = log_floor_tokens
        least = min(2 * log_floor_tokens, budget_tokens)
        self._cap = BatchCap(budget_tokens=budget_tokens, least_tokens=least, target_s=target_s, hold_s=hold_s)
        self._queries: deque[T] = deque()
        self._logs: FairQueue[T] = FairQueue(topic_of=topic_of, size_of=lambda log: len(log.ids), weight_of=weight_of)
        self._credit = 0
        self._passed_over = False
        """Whether queries waited for the last batch and it took none."""

    @property
    def capped_tokens(self) -> int:
        """Most tokens of a batch while queries arrive, even if none arrive now."""
        return self._cap.capped_tokens

    @property
    def queries_arrive(self) -> bool:
        """Whether batches are capped."""
        return self._cap.queries_arrive

    def add_queries(self, queries: Iterable[T]) -> None:
        """Queue queries."""
        for query in queries:
            self._queries.append(query)
            self._cap.query_arrived()

    def add_logs(self, logs: Iterable[T]) -> None:
        """Queue log texts."""
        self._logs.extend(logs)

    def clear(self) -> None:
        """Drop every text."""
        self._queries.clear()
        self._logs.clear()

    def __len__(self) -> int:
        return len(self._queries) + len(self._logs)

    def next_batch(self) -> Batch[T]:
        """Return the next batch; never empty while a text waits."""
        self._credit = min(self._credit + self._floor, self._budget) if self._logs else 0
        logs = self._take_logs(self._room_beside_queries() if self._queries else self._room_without_queries())
        log_tokens = sum(len(log.ids) for log in logs)
        self._credit = max(self._credit - log_tokens, 0) if self._logs else 0
        queries = self._take_queries(log_tokens)
        self._passed_over = bool(self._queries) and not queries
        return Batch(queries, logs)

    def observe(self, tokens: int, seconds: float) -> None:
        """Learn how long the engine took for a batch; 0 tokens if it had nothing to do."""
        self._cap.observe(tokens, seconds)

    def shrink(self, budget_tokens: int) -> None:
        """Lower the budget for all later batches: the engine ran out of memory. The new budget must hold the longest text."""
        self._budget = min(self._budget, budget_tokens)
        self._floor = min(self._floor, self._budget)
        self._credit = min(self._credit, self._budget)
        self._cap.shrink(self._budget)

    def _room_beside_queries(self) -> int:
        """Tokens for logs in a batch with queries: their credit, less if a long query has been passed over."""
        query = len(self._queries[0].ids)
        is_long = query > self._budget - self._floor
        return min(self._credit, self._budget - query) if is_long and self._passed_over else self._credit

    def _room_without_queries(self) -> int:
        """Tokens for logs alone: the cap, but at least their credit and the next text."""
        return max(self._cap.tokens, self._credit, len(self._logs.first.ids)) if self._logs else 0

    def _take_queries(self, log_tokens: int) -> list[T]:
        """Take queries up to the cap; the first one up to the budget."""
        taken: list[T] = []
        room = self._cap.capped_tokens - log_tokens
        while self._queries and len(self._queries[0].ids) <= (room if taken else self._budget - log_tokens):
            room -= len(self._queries[0].ids)
            taken.append(self._queries.popleft())
        return taken

    def _take_logs(self, limit_tokens: int) -> list[T]:
        taken: list[T] = []
        while self._logs and (tokens := len(self._logs.first.ids)) <= limit_tokens:
            limit_tokens -= tokens
            taken.append(self._logs.popleft())
        return taken
