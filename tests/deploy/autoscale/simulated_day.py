"""A day of one topic, its workers, and what goes wrong; second by second."""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from tests.deploy.autoscale.hpa import SYNC_S, Autoscaler
from tests.deploy.autoscale.simulated_rules import SCRAPE_S, ScalingRules, Scrape

RATE = 80_000.0
"""Records a second of one worker: `lines of known templates a second` of `throughput` in benchmarks/RESULTS.md."""
HOUR_S = 3600
DAY_S = 24 * HOUR_S
START_S = 10
"""From the decision to a pod that polls."""
REBALANCE_S = 5
"""In which partitions that move are read by nobody (cooperative)."""
NOTICE_S = 15
"""After which a worker's probe says that the index is away: a look each 5 s, which waits 10 s."""
_FLUSHES = 2.0
_FLUSH_S = 0.02
"""Blocks a second, and what one costs the store stage beside its lines: why a record costs more where there are few."""


class Spell(NamedTuple):
    """Something is away for a while, or much comes."""

    began_s: int
    ended_s: int

    def holds(self, now_s: float) -> bool:
        return self.began_s <= now_s < self.ended_s


class Day(NamedTuple):
    """What happens. Loads are in workers that are busy all the time."""

    partitions: int
    usual: float
    burst: Spell
    times: float
    index_away: Spell
    broker_away: Spell


class Happened(NamedTuple):
    """What came of it."""

    changes: Sequence[tuple[int, int, int]]
    """Second, pods before, and after."""
    lag_s: Sequence[float]
    """Each second, how long the present load has been coming that waits."""
    scrapes: Sequence[Scrape | None]
    needs: Sequence[float | None]

    def drained_s(self, spell: Spell, *, since_end: bool) -> int:
        """Return after how many seconds less than 10 s of load waited, from the spell's end or, for a burst, from its beginning."""
        begins_s = spell.ended_s if since_end else spell.began_s + 60
        origin_s = spell.ended_s if since_end else spell.began_s
        return next(at_s for at_s in range(begins_s, len(self.lag_s)) if self.lag_s[at_s] < 10) - origin_s

    def most_in_an_hour(self) -> int:
        """Return the most changes in any hour."""
        moments = [at_s for at_s, _, _ in self.changes]
        return max((sum(begins_s <= at_s < begins_s + HOUR_S for at_s in moments) for begins_s in moments), default=0)

    def out_during(self, spell: Spell) -> int:
        """Return how often pods were added meanwhile."""
        return sum(spell.holds(at_s) and after > before for at_s, before, after in self.changes)


def load_of(day: Day, now_s: float) -> float:
    """Return records a second: a wave over the day, and the burst."""
    wave = 0.55 - 0.45 * math.cos(2 * math.pi * now_s / DAY_S)
    return RATE * day.usual * wave * (day.times if day.burst.holds(now_s) else 1.0)


def live(
    day: Day, behaviour: Mapping[str, Any], formula: Callable[[float, bool, int], float], *, seed: int = 1, seconds: int = DAY_S
) -> Happened:
    """Live through it."""
    chance = random.Random(seed)
    autoscaler, rules = Autoscaler(behaviour, 1, day.partitions), ScalingRules()
    end = committed = waiting_at_broker = busy_s = refused = written = 0.0
    wanted, running, ready_s, moves_until_s = 1, 1, 0, 0
    known_lag, changes, lags, scrapes, needs = 0.0, [], [], [], []
    for now_s in range(seconds):
        coming = load_of(day, now_s) * chance.uniform(0.9, 1.1)
        broker, index = not day.broker_away.holds(now_s), not day.index_away.holds(now_s)
        waiting_at_broker += coming
        if broker:  # producers keep what they cannot send
            end, waiting_at_broker = end + waiting_at_broker, 0.0
        if running != wanted and now_s >= ready_s:
            running, moves_until_s = wanted, now_s + REBALANCE_S
        able = RATE * running * (0.5 if now_s < moves_until_s else 1.0)
        done = min(end - committed, able) if broker and index else 0.0
        committed += done
        blocks = _FLUSHES * running if done else 0.0
        written += blocks
        refused += 0.0 if index else running / 5
        # A writer that waits for the index is busy.
        busy_s += min(done / RATE + blocks * _FLUSH_S, running) if index else float(running)
        known_lag = end - committed if broker else known_lag
        lags.append((end - committed + waiting_at_broker) / max(coming, 1.0))
        if now_s % SCRAPE_S == 0:
            noticed = not Spell(day.index_away.began_s + NOTICE_S, day.index_away.ended_s + NOTICE_S).holds(now_s)
            scrapes.append(Scrape(end, committed, known_lag, {"store": busy_s}, running, noticed, refused, written, written * 0.05))
            rules.add(scrapes[-1])
            needs.append(rules.need)
        if now_s % SYNC_S == 7:
            told = None if None in (rules.need, rules.takes, rules.workers) else (rules.need, rules.takes, rules.workers)
            metric = None if told is None else formula(*told)  # type: ignore[arg-type]  # none of them is None
            before, wanted = wanted, autoscaler.replicas(now_s, wanted, metric)
            if wanted != before:
                changes.append((now_s, before, wanted))
                ready_s = now_s + (START_S if wanted > before else 0)
    return Happened(changes, lags, scrapes, needs)
