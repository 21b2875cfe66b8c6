"""The batcher: which texts go into the engine together. Pure: it knows no clock, no lock, no thread.

Theory of operation
1. A batch is filled by tokens, not by texts: both engines pack sequences, so nothing is padded.
2. Queries first, in order of arrival. A batch with queries takes no more log tokens than the floor, so that it is small.
3. The floor: while logs wait, every batch adds `log_floor_tokens` to their credit; a log text enters a batch with queries when
   the credit covers it, and then queries make room for it. So logs get at least their floor over any run of batches, less one text.
4. Queries rarely come alone: for some batches after one, log batches are small, so that the next query waits for a small one.
5. The batcher never waits for a fuller batch; the engine takes whatever is there.

Not taken: priorities inside vLLM (they invert under load), filling by count (256-token lines would make batches of seconds).
"""

from collections import deque
from collections.abc import Iterable
from typing import Generic, NamedTuple, Protocol, TypeVar

from worker.engine.engine import TokenIds


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


class Batcher(Generic[Q, L]):
    """Every text comes out once, queries and logs each in order; a batch never exceeds its budget.

    Thread: one, the embed stage's.
    """

    def __init__(self, *, budget_tokens: int, log_floor_tokens: int, small_tokens: int, calm_batches: int = 8) -> None:
        """`budget_tokens` must hold the longest text; `small_tokens` is the budget for logs shortly after a query."""
        if not 0 < log_floor_tokens <= small_tokens <= budget_tokens:
            message = f"need 0 < floor ({log_floor_tokens}) <= small ({small_tokens}) <= budget ({budget_tokens}) tokens"
            raise ValueError(message)
        self._budget = budget_tokens
        self._floor = log_floor_tokens
        self._small = small_tokens
        self._calm_batches = calm_batches
        self._queries: deque[Q] = deque()
        self._logs: deque[L] = deque()
        self._credit = 0
        self._busy = 0
        self.waiting_log_tokens = 0

    def add_queries(self, queries: Iterable[Q]) -> None:
        """Queue queries."""
        self._queries.extend(queries)

    def add_logs(self, logs: Iterable[L]) -> None:
        """Queue log texts."""
        for log in logs:
            self._logs.append(log)
            self.waiting_log_tokens += len(log.ids)

    def __len__(self) -> int:
        return len(self._queries) + len(self._logs)

    def next_batch(self) -> Batch[Q, L]:
        """Return the next batch; never empty while something waits."""
        if not self._queries:
            limit = self._small if self._busy else self._budget
            self._busy = max(self._busy - 1, 0)
            self._credit = 0
            return Batch([], self._take_logs(max(limit, self._next_log_tokens())))
        self._busy = self._calm_batches
        if not self._logs:
            self._credit = 0
            return Batch(self._take_queries(self._budget), [])
        self._credit = min(self._credit + self._floor, self._budget)
        logs = self._take_logs(self._credit)
        log_tokens = sum(len(log.ids) for log in logs)
        self._credit -= log_tokens
        return Batch(self._take_queries(self._budget - log_tokens), logs)

    def _next_log_tokens(self) -> int:
        return len(self._logs[0].ids) if self._logs else 0

    def _take_queries(self, limit_tokens: int) -> list[Q]:
        taken: list[Q] = []
        while self._queries and len(self._queries[0].ids) <= limit_tokens:
            limit_tokens -= len(self._queries[0].ids)
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
