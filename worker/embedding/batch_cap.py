"""The batch cap: how many tokens a batch may have while queries arrive, so that the next query never waits for a long batch.

Theory of operation. Pure: it has no clock, durations are passed in.
1. The cap is a control law on the measured time of batches against `target_s`: multiplicative decrease, additive increase. It lies
   between `least_tokens` and the budget, starts at the budget, and learns from every batch, with or without queries.
2. What n tokens in t seconds say about a batch of `cap` tokens: an engine takes longer for more tokens, but no more time per token.
   So min(n, cap) / n * t > target proves that a batch of `cap` tokens takes too long, and max(n, cap) / n * t <= target proves that it
   does not; anything between says nothing. With `fitting` = n * target / t, too long means fitting < min(n, cap), and short enough
   means fitting >= max(n, cap).
3. Too long: the cap drops to what fitted, but at most by half. One slow batch may be chance (another process, a new engine): it takes
   two with no short enough one in between, and the faster of the two counts. A batch of less than half the cap is never too long: a
   pause in a tiny batch proves nothing.
4. Short enough: the cap grows by 1/32 of the budget, but not beyond what fitted.
5. If an engine takes a + b * n seconds, the cap approaches c = (target - a) / b and never crosses it: from below because what fits is
   at most c, from above because what fits is at least c, nearer by the factor a / target at each cut that does not halve. So it does
   not oscillate, and a batch of `cap` tokens takes `target_s` or, where c < least, as long as `least_tokens` take.
6. Queries count as arriving until the engine has worked `hold_s` seconds since the last one. After that the cap is the whole budget. At
   two queries per second at Poisson times, one gap in 5 * 10**8 is longer. It counts seconds of engine time, not batches, because short
   batches would use up a count too soon.

Not taken: a fixed share of the budget (a GPU computes 16,000 tokens in the time a CPU takes for 300); halving at every slow batch (two
shared cores: every fourth batch is slow by chance); a mean of the pace (one engine restart distorts it for long).
"""

import math

HOLD_S = 10.0
"""How long queries count as arriving after the last one, in seconds of engine time."""
_STEPS = 32
"""Batches from zero to the budget: after a pair of slow ones the cap recovers within a second or two."""


class BatchCap:
    """The cap lies between `least_tokens` and the budget; one slow batch by itself changes nothing.

    Thread: one at a time, under its owner's lock.
    """

    def __init__(self, *, budget_tokens: int, least_tokens: int, target_s: float, hold_s: float = HOLD_S) -> None:
        """`target_s`: how long a batch should take while queries arrive; infinity disables the cap."""
        if not 0 < least_tokens <= budget_tokens:
            raise ValueError(f"need 0 < least ({least_tokens}) <= budget ({budget_tokens}) tokens")
        if not target_s > 0:
            raise ValueError(f"a batch cannot take {target_s} seconds")
        self._budget = budget_tokens
        self._least = least_tokens
        self._target_s = target_s
        self._hold_s = hold_s
        self._step = max(budget_tokens // _STEPS, 1)
        self._capped = budget_tokens
        self._fitted_before: int | None = None
        """What fitted in the last slow batch, until a short enough one contradicts it."""
        self._since_query_s = math.inf

    @property
    def tokens(self) -> int:
        """Most tokens of the next batch."""
        return self.capped_tokens if self.queries_arrive else self._budget

    @property
    def capped_tokens(self) -> int:
        """Most tokens of a batch while queries arrive."""
        return self._capped

    @property
    def queries_arrive(self) -> bool:
        """Whether a query came in the engine's last `hold_s` seconds of work."""
        return self._since_query_s < self._hold_s

    def query_arrived(self) -> None:
        """Start a new `hold_s` period."""
        self._since_query_s = 0.0

    def observe(self, tokens: int, seconds: float) -> None:
        """Learn from a batch: its tokens, 0 if the engine had nothing to do, and its seconds."""
        self._since_query_s += seconds
        if tokens <= 0 or seconds <= 0:
            return
        fitting = int(min(tokens * self._target_s / seconds, self._budget))
        if fitting < min(tokens, self._capped):
            if 2 * tokens >= self._capped:
                self._slow(fitting)
        elif fitting >= max(tokens, self._capped):
            self._fitted_before = None
            self._capped = min(self._capped + self._step, fitting)

    def shrink(self, budget_tokens: int) -> None:
        """Lower the budget for good: the engine ran out of memory."""
        if budget_tokens >= self._budget:
            return
        self._budget = budget_tokens
        self._least = min(self._least, budget_tokens)
        self._capped = min(self._capped, budget_tokens)
        self._fitted_before = None

    def _slow(self, fitting: int) -> None:
        before, self._fitted_before = self._fitted_before, fitting
        if before is not None:
            self._capped = max(before, fitting, self._capped // 2, self._least)
            self._fitted_before = None
