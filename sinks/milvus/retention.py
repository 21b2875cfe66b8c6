"""How long rows live: lines as long as the settings say, templates twice that, so that a line's template outlives the line.

What somebody has set by hand, or another worker, stays as it is where the settings say nothing; only templates that would go before
their lines are kept longer.
"""

import math
from typing import NamedTuple

_MOST_TTL_S = 3_155_760_000
"""A hundred years: Milvus takes no more."""


class Lifetimes(NamedTuple):
    """What both collections are to be told, in seconds, 0 for ever; None: leave it.

    Thread: any.
    """

    templates: int | None
    lines: int | None


def lifetimes(retention_s: float | None, *, lines_ttl_s: int, templates_ttl_s: int) -> Lifetimes:
    """Say what is to be set; `retention_s` is the settings' (0: for ever; None: as found), the others are what is there now."""
    if retention_s is not None:
        return Lifetimes(_ttl_s(2 * retention_s), _ttl_s(retention_s))
    shortest_s = min(2 * lines_ttl_s, _MOST_TTL_S)
    return Lifetimes(shortest_s if 0 < templates_ttl_s < shortest_s else None, None)


def told(seconds: int) -> str:
    """Return a lifetime as a person reads it."""
    return f"{seconds / 86_400:.4g} days" if seconds else "for ever"


def _ttl_s(seconds: float) -> int:
    return min(math.ceil(seconds), _MOST_TTL_S)
