"""The batcher: which texts go into the engine together. Pure: it knows no clock, no lock, no thread.

Theory of operation
1. A batch is filled by tokens, not by texts: both engines pack sequences, so nothing is padded.
2. Queries first, in order of arrival. With queries waiting, a batch takes log texts only as far as the logs' credit reaches.
3. The floor: while logs wait, every batch adds `log_floor_tokens` to their credit, and what it takes of them is subtracted; when
   none wait the credit is gone. A log text enters a batch with queries when the credit covers it; then queries make room for it.
   So if `longest` is the tokens of the longest log text, and floor + longest - 1 <= budget, then any run of n batches, at the end
   of each of which a log waits, holds at least n * floor - (longest - 1) log tokens; and a batch with queries at most
   floor + longest - 1 of them.
4. Queries rarely come alone: for some batches after one, log batches are small, so that the next query waits for a small one.
5. The batcher never waits for a fuller batch; the engine takes whatever is there.
6. The last batch may be put back, as if it had never been taken: it stood ready while the engine worked, and a query came.

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
        self._before = (0, 0)
        """Credit and busy batches as they were before the last batch."""
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
        self._before = (self._credit, self._busy)
        if not self._logs:
            self._busy = self._calm_batches if self._queries else self._busy
            return Batch(self._take_queries(self._budget), [])
        self._credit = min(self._credit + self._floor, self._budget)
        logs = self._take_logs(self._credit if self._queries else self._limit_without_queries())
        log_tokens = sum(len(log.ids) for log in logs)
        self._credit = max(self._credit - log_tokens, 0) if self._logs else 0
        self._busy = self._calm_batches if self._queries else max(self._busy - 1, 0)
        return Batch(self._take_queries(self._budget - log_tokens), logs)

    def put_back(self, batch: Batch[Q, L]) -> None:
        """Undo the last `next_batch`; what has been added since stands behind its texts."""
        self._queries.extendleft(reversed(batch.queries))
        self._logs.extendleft(reversed(batch.logs))
        self.waiting_log_tokens += sum(len(log.ids) for log in batch.logs)
        self._credit, self._busy = self._before

    def shrink(self, budget_tokens: int) -> None:
        """Make every following batch smaller: the engine's memory has no room for more. The budget must hold the longest text."""
        self._budget = min(self._budget, budget_tokens)
        self._small = min(self._small, self._budget)
        self._floor = min(self._floor, self._small)
        self._credit = min(self._credit, self._budget)

    def _limit_without_queries(self) -> int:
        """Tokens for a batch of logs alone: small shortly after a query, but room for the next text and for what they are owed."""
        small = max(self._small, self._credit, len(self._logs[0].ids))
        return small if self._busy else self._budget

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
