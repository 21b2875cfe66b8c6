"""Each judge at its limit: what just does not count, beside what does."""

import math
from collections.abc import Callable, Sequence

import pytest

from worker.watching import judges
from worker.watching.judges import Judge
from worker.watching.looks import Look, Looks

EVERY_S = 15.0
P0 = ("logs", "0")
LAG_S, LAG, COMMITTED = "vectail_consumer_lag_seconds", "vectail_consumer_lag_records", "vectail_consumer_committed_offset"
FIRST, PAUSED, RECORDS = "vectail_consumer_first_offset", "vectail_paused_partitions", "vectail_records_total"
LOST_NAME, RESTARTS, QUERIES = "vectail_rebalances_total", "vectail_engine_restarts_total", "vectail_query_seconds_bucket"
BACKLOG, MOST, LOADS = "vectail_serve_backlog_seconds", "vectail_serve_max_wait_seconds", "vectail_model_loads_total"
UP, READY, WORST = "vectail_dependency_up", "vectail_ready", "vectail_vectors_worst_cosine"
Values = dict[str, dict[tuple[str, ...], float]]


def looks_of(values_at: Callable[[int], Values], number: int = 41) -> Looks:
    """Return looks of ten minutes, of a process that is a day old."""
    looks = Looks(-86_400.0)
    for step in range(number):
        looks.add(Look(EVERY_S * step, values_at(step)))
    return looks


def lag_s(seconds: Callable[[int], float], *, drain_s: float = math.inf) -> Looks:
    return looks_of(lambda step: {LAG_S: {P0: seconds(step)}, "vectail_consumer_drain_seconds": {P0: drain_s}})


def commits(offset: Callable[[int], float], *, behind: float = 5.0) -> Looks:
    return looks_of(lambda step: {LAG: {P0: behind}, COMMITTED: {P0: offset(step)}})


def retention(first_offset: float, committed: float) -> Looks:
    return looks_of(lambda _step: {FIRST: {P0: first_offset}, COMMITTED: {P0: committed}})


def rejects(share: float) -> Looks:
    def values(step: int) -> Values:
        counts: dict[tuple[str, ...], float] = {
            ("logs", "indexed"): 1_000 * step * (1 - share),
            ("logs", "dead_letter"): 1_000 * step * share,
        }
        return {RECORDS: {**counts, ("logs", "revoked"): 9_000.0 * step}}

    return looks_of(values)


def counted(metric: str, labels: tuple[str, ...], value: Callable[[int], float]) -> Looks:
    return looks_of(lambda step: {metric: {labels: float(value(step))}})


def young(values: Values) -> Looks:
    """Return the one look of a process that began a minute ago."""
    looks = Looks(0.0)
    looks.add(Look(60.0, values))
    return looks


def queries(quick: int, of: int = 100) -> Looks:
    """Return looks at so many queries a step, `quick` of them within a second and the others within two."""
    counts = {"1": quick, "2": of, "+Inf": of}
    return looks_of(lambda step: {QUERIES: {("total", bound): float(count * step) for bound, count in counts.items()}})


def backlog(seconds: Callable[[int], float]) -> Looks:
    """Return looks at what waits for a model, where ten seconds of work may."""
    return looks_of(lambda step: {BACKLOG: {("minilm",): seconds(step), ("idle",): 0.0}, MOST: {(): 10.0}})


FAILED_LOADS = judges.counted_lately(LOADS, ("model",), result="failed")
LOST = judges.counted_lately(LOST_NAME, ("group",), event="lost")
CASES: Sequence[tuple[str, Judge, Looks, bool]] = [
    ("far behind and falling further", judges.growing_lag, lag_s(lambda step: 301.0 + step), True),
    ("far behind and catching up", judges.growing_lag, lag_s(lambda step: 1_000.0 - step), False),
    ("fell further behind and is caught up in 4 min", judges.growing_lag, lag_s(lambda step: 301.0 + step, drain_s=240.0), False),
    ("fell further behind and is caught up in 6 min", judges.growing_lag, lag_s(lambda step: 301.0 + step, drain_s=360.0), True),
    ("at the limit", judges.growing_lag, lag_s(lambda step: 260.0 + step), False),
    ("no commit for two minutes", judges.stalled, commits(lambda step: min(step, 32)), True),
    ("one commit in two minutes", judges.stalled, commits(lambda step: min(step, 33)), False),
    ("no commit and nothing to commit", judges.stalled, commits(lambda _step: 7, behind=0.0), False),
    ("never committed", judges.stalled, looks_of(lambda _step: {LAG: {P0: 5.0}}), True),
    ("back by one", judges.rewound, commits(lambda step: 100 - (step > 5)), True),
    ("never back", judges.rewound, commits(lambda step: step), False),
    ("begins where the group is", judges.passed_by_retention, retention(500, 500), False),
    ("begins behind it", judges.passed_by_retention, retention(501, 500), True),
    ("paused at every look", judges.paused, looks_of(lambda _step: {PAUSED: {("logs",): 2.0}}), True),
    ("free for one look", judges.paused, looks_of(lambda step: {PAUSED: {("logs",): float(step != 35)}}), False),
    ("one in a hundred", judges.many_dead_letters, rejects(0.0099), False),
    ("more than that", judges.many_dead_letters, rejects(0.0101), True),
    ("lost nine minutes ago", LOST, counted(LOST_NAME, ("logs", "lost"), lambda step: step > 4), True),
    ("lost before that", LOST, counted(LOST_NAME, ("logs", "lost"), lambda _step: 7), False),
    ("assigned", LOST, counted(LOST_NAME, ("logs", "assigned"), lambda step: step), False),
    ("a restart of a young process", judges.counted_lately(RESTARTS, ()), young({RESTARTS: {(): 1.0}}), True),
    ("99 in 100 within a second", judges.slow_queries, queries(99), False),
    ("98 in 100 within a second", judges.slow_queries, queries(98), True),
    ("no query", judges.slow_queries, queries(0, of=0), False),
    ("half of what may waits", judges.much_waits_for_vectors, backlog(lambda _step: 5.0), False),
    ("more waits, now and then less", judges.much_waits_for_vectors, backlog(lambda step: 6.0 if step % 6 else 1.0), True),
    ("all that may waits, for a moment", judges.much_waits_for_vectors, backlog(lambda step: 10.0 * (step > 38)), False),
    ("nobody may ask for vectors", judges.much_waits_for_vectors, young({UP: {("kafka",): 1.0}}), False),
    ("a model that failed", FAILED_LOADS, counted(LOADS, ("minilm", "failed"), lambda step: step > 4), True),
    ("a model that was loaded", FAILED_LOADS, counted(LOADS, ("minilm", "loaded"), lambda step: step), False),
    ("kafka is away", judges.dependency_down(("kafka", "index")), young({UP: {("kafka",): 0.0, ("redis",): 1.0}}), True),
    ("redis is away", judges.dependency_down(("kafka", "index")), young({UP: {("kafka",): 1.0, ("redis",): 0.0}}), False),
    ("a vector as far from the model's as engines are from each other", judges.wrong_vectors, young({WORST: {(): 0.998}}), False),
    ("a vector further away", judges.wrong_vectors, young({WORST: {(): 0.9979}}), True),
    ("no vector was looked at so far", judges.wrong_vectors, young({WORST: {(): math.nan}}), False),
    ("ready", judges.not_ready, young({READY: {(): 1.0}}), False),
    ("not ready", judges.not_ready, young({READY: {(): 0.0}}), True),
]


@pytest.mark.parametrize(("judge", "looks", "holds"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_condition_holds_beyond_its_limit_and_not_at_it(judge: Judge, looks: Looks, *, holds: bool) -> None:
    assert bool(judge(looks)) == holds
