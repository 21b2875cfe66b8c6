"""The schedule of faults, drawn from a seed so that a failed soak can be repeated.

Each fault occurs once before any repeats. There is one long Milvus outage in the middle: ten minutes in a soak of half an hour or more,
shorter otherwise. No worker is killed during it, so that one worker's memory is measured from start to end.
"""

import random
from typing import NamedTuple

KINDS = ("milvus silent", "milvus refused", "redis silent", "redis refused", "kafka silent", "kafka restart", "member", "kill")
LONG_AWAY = "milvus away"
_LONG_AWAY_S = 600.0
_REST_S = 1200.0
_GAP_S = (2.0, 20.0)
_LASTS_S = (1.0, 12.0)
_MOMENTARY = ("kafka restart", "kill")
_QUIET_SHARE = 0.1
"""Without faults at the beginning and at the end: to get a baseline, and to check that the worker recovers by itself."""


class Fault(NamedTuple):
    """One fault; times are seconds from the start of the soak."""

    at_s: float
    until_s: float
    kind: str


def plan(total_s: float, seed: int) -> list[Fault]:
    """Return the faults of a soak by start time; all are over when a tenth of the time is left."""
    chance = random.Random(seed)
    first_s, last_s = total_s * _QUIET_SHARE, total_s * (1 - _QUIET_SHARE)
    away_s = min(_LONG_AWAY_S, max(total_s - _REST_S, total_s / 4))
    away = Fault((total_s - away_s) / 2, (total_s + away_s) / 2, LONG_AWAY)
    faults, at_s, kinds = [away], first_s, list[str]()
    while at_s < last_s:
        kinds = kinds or chance.sample(KINDS, len(KINDS))
        kind = kinds.pop()
        until_s = at_s if kind in _MOMENTARY else at_s + chance.uniform(*_LASTS_S)
        meets_away = at_s < away.until_s and until_s > away.at_s
        if until_s <= last_s and not (meets_away and (kind == "kill" or kind.startswith("milvus"))):
            faults.append(Fault(at_s, until_s, kind))
        at_s = until_s + chance.uniform(*_GAP_S) * min(total_s / 600, 1.0)
    return sorted(faults)
