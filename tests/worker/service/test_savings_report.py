"""What is logged about saved work, and when."""

from typing import Any

from worker.embedding.cache.cache_tally import CacheTally
from worker.indexing.savings import Savings
from worker.service.savings_report import EVERY_S, SavingsReport


def test_news_are_told_once_a_minute_and_at_the_end() -> None:
    savings = {"b": Savings(chunks=3, known=2, tokens_embedded=5, tokens_saved=15), "a": Savings(chunks=1)}
    told: list[tuple[str, dict[str, Any]]] = []
    report = SavingsReport(lambda: savings, now_s=100.0, say=lambda event, **facts: told.append((event, facts)))
    report.tick(100.0 + EVERY_S / 2)
    assert told == []
    report.tick(100.0 + EVERY_S)
    assert [(event, facts["topic"], facts["chunks"]) for event, facts in told] == [("work saved", "a", 1), ("work saved", "b", 3)]
    assert told[1][1]["saved_share"] == 0.75
    report.tick(101.0 + EVERY_S)
    savings["a"].chunks = 2
    report.tick(101.0 + EVERY_S)
    assert len(told) == 2
    report.say()
    assert [facts["topic"] for _, facts in told[2:]] == ["a"]


def test_what_redis_did_is_told_when_it_has_done_something() -> None:
    tally = CacheTally()
    told: list[tuple[str, dict[str, Any]]] = []
    report = SavingsReport(dict, tally.facts, now_s=0.0, say=lambda event, **facts: told.append((event, facts)))
    report.say()
    tally.add(hits=3, dropped=2)
    tally.add_error("TimeoutError")
    for _ in range(2):
        report.say()
    assert told == [("redis", {"hits": 3, "dropped": 2, "error_TimeoutError": 1})]
