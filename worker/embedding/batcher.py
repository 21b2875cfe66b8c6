"""The batcher: which texts go into the engine together. Pure: it knows no clock, no lock, no thread.

Theory of operation
1. A batch is filled by tokens, not by texts: both engines pack sequences, so nothing is padded.
2. Queries first, in order of arrival. With queries waiting, a batch takes log texts only as far as the logs' credit reaches.
3. The floor: while logs wait, every batch adds `log_floor_tokens` to their credit, and what it takes of them is subtracted; when
   none wait the credit is gone. A log text enters a batch with queries when the credit covers it; then queries make room for it.
   So if `longest` is the tokens of the longest log text, and floor + longest - 1 <= budget, then any run of n batches, at the end
   of each of which a log waits, holds at least n * floor - (longest - 1) log tokens; and a batch with queries at most
   floor + longest - 1 of them. (Where queries of more than budget - floor tokens come, rule 6 holds instead.)
4. Queries rarely come alone: while they arrive, no batch is longer than the cap, a number of tokens that the engine computes in
   `target_s` seconds, and at least twice the floor, so that queries have as much room as logs are owed (`worker.embedding.batch_cap` has
   the law). Above it go only what logs are owed by rule 3, and the first text of a batch.
5. So how long a query takes: first the rest of the batch that is in the engine, then its own batch. The one in the engine has at most
   max(cap, floor + longest - 1, longest text) tokens if queries arrive, and the budget if this query is the first for long. Its
   own is the very next if with the queries before it, those in the engine not counted, w + floor + longest - 1 <= cap; for the first
   in line <= budget is enough. It has at most max(cap, floor + longest - 1 + first query) tokens.
6. Every query gets through. The first in line is passed over when logs are due that leave it no room; one of q <= budget - floor tokens
   at most (longest - 1) / (budget - q + 1 - floor) times. A longer one, passed over once, goes into the next batch, and logs take what
   it leaves: where such queries come, any n batches hold at least (n - 1) * floor - (longest - 1) log tokens, if
   2 * floor + longest - 1 <= budget, and a batch with queries at most so many of them; and a shorter one behind it may be passed over
   (longest - 1 + floor) / (budget - q + 1 - floor) times, because logs are owed one floor more.
7. The batcher never waits for a fuller batch; the engine takes whatever is there.
8. The last batch may be put back, as if it had never been taken: it stood ready while the engine worked, and a query came.

Not taken: priorities inside vLLM (they invert under load), filling by count (256-token lines would make batches of seconds), logs up to
the cap beside a query (it would wait for a whole capped batch twice).
"""

import math
from collections import deque
from collections.abc import Iterable
from typing import Generic, NamedTuple, Protocol, TypeVar

from worker.embedding.batch_cap import HOLD_S, BatchCap
from worker.embedding.model.vectors import TokenIds


class Encoded(Protocol):
    """Anything with token ids."""

    @property
    def ids(self) -> TokenIds:
        """int32[n]: special tokens included."""


Q = TypeVar("Q", bound=Encoded)
L = TypeVar("L", bound=Encoded)


class Batch(NamedTuple, Generic[Q, L]):
    """What goes into the engine together: queries first, then logs."""

    queries: list[Q]
    logs: list[L]

    @property
    def tokens(self) -> int:
        """Tokens of all texts together."""
        return sum(len(query.ids) for query in self.queries) + sum(len(log.ids) for log in self.logs)


class Batcher(Generic[Q, L]):
    """Every text comes out once, queries and logs each in order; a batch never exceeds its budget.

    Thread: one, the embed stage's.
    """

    def __init__(
        self,
        *,
        budget_tokens: int,
        log_floor_tokens: int,
        target_s: float = math.inf,
        hold_s: float = HOLD_S,
    ) -> None:
        """`budget_tokens` must hold the longest text; `target_s` and `hold_s` are the batch cap's."""
        if not 0 < log_floor_tokens <= budget_tokens:
            raise ValueError(f"need 0 < floor ({log_floor_tokens}) <= budget ({budget_tokens}) tokens")
        self._budget = budget_tokens
        self._floor = log_floor_tokens
        least = min(2 * log_floor_tokens, budget_tokens)
        self._cap = BatchCap(budget_tokens=budget_tokens, least_tokens=least, target_s=target_s, hold_s=hold_s)
        self._queries: deque[Q] = deque()
        self._logs: deque[L] = deque()
        self._credit = 0
        self._passed_over = False
        """Whether queries waited when the last batch was formed, and it holds none."""
        self._before = (0, False)
        """Credit and passing over as they were before the last batch."""
        self.waiting_log_tokens = 0

    @property
    def capped_tokens(self) -> int:
        """Most tokens of a batch while queries arrive, whether they do or not."""
        return self._cap.capped_tokens

    @property
    def queries_arrive(self) -> bool:
        """Whether batches are capped."""
        return self._cap.queries_arrive

    def add_queries(self, queries: Iterable[Q]) -> None:
        """Queue queries."""
        for query in queries:
            self._queries.append(query)
            self._cap.query_came()

    def add_logs(self, logs: Iterable[L]) -> None:
        """Queue log texts."""
        for log in logs:
            self._logs.append(log)
            self.waiting_log_tokens += len(log.ids)

    def __len__(self) -> int:
        return len(self._queries) + len(self._logs)

    def next_batch(self) -> Batch[Q, L]:
        """Return the next batch; never empty while something waits."""
        self._before = (self._credit, self._passed_over)
        self._credit = min(self._credit + self._floor, self._budget) if self._logs else 0
        logs = self._take_logs(self._room_beside_queries() if self._queries else self._room_without_queries())
        log_tokens = sum(len(log.ids) for log in logs)
        self._credit = max(self._credit - log_tokens, 0) if self._logs else 0
        queries = self._take_queries(log_tokens)
        self._passed_over = bool(self._queries) and not queries
        return Batch(queries, logs)

    def put_back(self, batch: Batch[Q, L]) -> None:
        """Undo the last `next_batch`; what has been added since stands behind its texts."""
        self._queries.extendleft(reversed(batch.queries))
        self._logs.extendleft(reversed(batch.logs))
        self.waiting_log_tokens += sum(len(log.ids) for log in batch.logs)
        self._credit, self._passed_over = self._before

    def observe(self, tokens: int, seconds: float) -> None:
        """Learn how long the engine took for a batch of so many tokens; 0 tokens if it had nothing to do."""
        self._cap.observe(tokens, seconds)

    def shrink(self, budget_tokens: int) -> None:
        """Make every following batch smaller: the engine's memory has no room for more. The budget must hold the longest text."""
        self._budget = min(self._budget, budget_tokens)
        self._floor = min(self._floor, self._budget)
        self._credit = min(self._credit, self._budget)
        self._cap.shrink(self._budget)

    def _room_beside_queries(self) -> int:
        """Tokens for logs in a batch for queries: what they are owed, unless a query for which that leaves no room was passed over."""
        query = len(self._queries[0].ids)
        is_long = query > self._budget - self._floor
        return min(self._credit, self._budget - query) if is_long and self._passed_over else self._credit

    def _room_without_queries(self) -> int:
        """Tokens for a batch of logs alone: the cap, but room for the next text and for what they are owed."""
        return max(self._cap.tokens, self._credit, len(self._logs[0].ids)) if self._logs else 0

    def _take_queries(self, log_tokens: int) -> list[Q]:
        """Take queries up to the cap; the first one up to the budget."""
        taken: list[Q] = []
        room = self._cap.capped_tokens - log_tokens
        while self._queries and len(self._queries[0].ids) <= (room if taken else self._budget - log_tokens):
            room -= len(self._queries[0].ids)
            taken.append(self._queries.popleft())
        return taken

    def _take_logs(self, limit_tokens: int) -> list[L]:
        taken: list[L] = []
        while self._logs and len(self._logs[0].ids) <= limit_tokens:
            tokens = len(self._logs[0].ids)
            limit_tokens -= tokens
            self.waiting_log_tokens -= tokens
            taken.append(self._logs.popleft())
        return taken
