"""The batch cap: how many tokens a batch may have while queries arrive, so that the next query never waits for a long one.

Theory of operation. Pure: it knows no clock, durations are handed in.
1. The cap is a control law on the observed time of batches against `target_s`: multiplicative decrease, additive increase. It lies
   between `least_tokens` and the budget, begins at the budget, and learns from every batch, with queries or without.
2. What a batch of n tokens in t seconds says about one of `cap` tokens: an engine takes longer for more tokens, and no more time per
   token for more of them. So min(n, cap) / n * t > target proves that a batch of `cap` tokens takes too long, and
   max(n, cap) / n * t <= target that it does not; between the two it says nothing. `fitting` = n * target / t decides: too long
   means fitting < min(n, cap), short enough fitting >= max(n, cap).
3. Too long: the cap is cut to what fitted, but at most halved. One slow batch may be chance (another process, an engine made anew):
   it takes two with no short enough one between them, and the faster of the two counts. Of batches with less than half
   the cap nothing is learned this way: a pause in a tiny batch is no reason.
4. Short enough: the cap grows by a 32nd of the budget, but not beyond what fitted.
5. If an engine takes a + b * n seconds, the cap approaches c = (target - a) / b and never crosses it: from below since what fits
   is at most c, from above since what fits is at least c, and nearer by the factor a / target at each cut that does not halve. So it
   does not swing, and a batch of `cap` tokens takes the target or, where c < least, as long as the least.
6. Queries arrive until the engine has worked `hold_s` seconds since the last one came. Then the cap is the whole budget: at two queries
   a second at Poisson times, one in 5 * 10**8 comes after that. Seconds of engine time, not batches: a count of batches is
   over too soon where they are short.

Not taken: a fixed share of the budget (a GPU computes 16,000 tokens in the time a CPU takes for 300), halving at every slow
batch (two cores shared with others: every fourth batch is slow by chance), a mean of the pace (one engine made anew spoils it for long).
"""

import math

HOLD_S = 10.0
"""How long queries count as arriving after the last, in seconds of the engine's work."""
_STEPS = 32
"""From nothing to the budget in so many batches: after a pair of slow ones the cap is back within a second or two."""


class BatchCap:
    """At least `least_tokens`, at most the budget; one slow batch by itself changes nothing.

    Thread: one, the embed stage's.
    """

    def __init__(self, *, budget_tokens: int, least_tokens: int, target_s: float, hold_s: float = HOLD_S) -> None:
        """`target_s`: how long a batch should take while queries arrive; with infinity the cap is always the budget."""
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
        """What fitted at the pace of a slow batch that nothing has contradicted yet."""
        self._since_query_s = math.inf

    @property
    def tokens(self) -> int:
        """Most tokens of a batch now."""
        return self.capped_tokens if self.queries_arrive else self._budget

    @property
    def capped_tokens(self) -> int:
        """Most tokens of a batch while queries arrive."""
        return self._capped

    @property
    def queries_arrive(self) -> bool:
        """Whether a query came in the engine's last `hold_s` seconds of work."""
        return self._since_query_s < self._hold_s

    def query_came(self) -> None:
        """Begin to count the engine's seconds anew."""
        self._since_query_s = 0.0

    def observe(self, tokens: int, seconds: float) -> None:
        """Learn from a batch: its tokens, 0 if the engine had nothing to do, and how long it took."""
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
        """Never go above this again: the engine's memory has no room for more."""
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
