"""All store threads together log an outage once, then once a minute, and once when it is over."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from worker.indexing.store_tally import StoreTally
from worker.runtime.retry import BACK_OFF_S, SinkRetry


def told(say: Callable[[str], None]) -> SinkRetry:
    return SinkRetry(say=say, draw=lambda: 1.0)


def test_two_minutes_are_three_lines() -> None:
    said: list[str] = []
    outage, now_s, attempt = told(said.append), 50.0, 0
    while now_s < 50 + 121:
        outage.refused("Milvus upsert failed", 2_000, now_s)
        now_s += outage.pause_s(attempt)
        attempt += 1
    outage.taken(now_s)
    assert said == [
        "the sink does not take rows (Milvus upsert failed); holding them and trying again",
        "the sink has not taken rows for 64 s (Milvus upsert failed); holding 2,000 rows and trying again",
        "the sink takes rows again after 124 s",
    ]
    assert attempt > 20


def test_several_threads_are_one_outage_that_ends_with_the_last_of_them() -> None:
    said: list[str] = []
    outage, both = told(said.append), threading.Barrier(2)

    def one(rows: int) -> None:
        for now_s in (0.0, 61.0):
            outage.refused("away", rows, now_s)
            both.wait()
        if rows == 700:
            outage.taken(70.0)
        both.wait()
        if rows == 300:
            assert len(said) == 2
            outage.taken(80.0)

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(one, (700, 300)))
    assert len(said) == 3
    assert said[1].endswith("holding 1,000 rows and trying again")
    assert said[2] == "the sink takes rows again after 80 s"


def test_what_fails_and_recovers_in_turns_is_two_lines_a_minute() -> None:
    said: list[str] = []
    outage = told(said.append)
    for second in range(0, 180, 2):
        outage.refused("rate limit", 1, float(second))
        outage.taken(second + 1.0)
    assert len(said) == 6


def test_pauses_grow_and_are_cut_by_up_to_half() -> None:
    said: list[str] = []
    longest, shortest = told(said.append), SinkRetry(say=said.append, draw=lambda: 0.0)
    assert [longest.pause_s(attempt) for attempt in range(8)] == [*BACK_OFF_S, BACK_OFF_S[-1], BACK_OFF_S[-1]]
    assert [shortest.pause_s(attempt) for attempt in range(6)] == [pause_s / 2 for pause_s in BACK_OFF_S]
    drawn = {SinkRetry(say=said.append).pause_s(3) for _ in range(20)}
    assert len(drawn) > 10
    assert all(0.5 <= pause_s <= 1.0 for pause_s in drawn)


def test_many_threads_lose_no_count() -> None:
    tally = StoreTally()

    def add(_thread: int) -> None:
        for _ in range(3_000):
            tally.add(lines=2, templates=1)
            tally.wrote("blocks", 0.25)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(add, range(8)))
    assert (tally.lines, tally.templates, tally.seconds) == (48_000, 24_000, 6_000.0)
