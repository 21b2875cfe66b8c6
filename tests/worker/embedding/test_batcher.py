"""Batches by example; `tests/properties/test_batcher.py` has the rules."""

from typing import NamedTuple

import numpy as np
import pytest

from worker.embedding.batcher import Batcher
from worker.embedding.model.vectors import TokenIds


class Text(NamedTuple):
    name: str
    ids: TokenIds


def texts(*tokens: int) -> list[Text]:
    return [Text(f"{number}", np.zeros(count, dtype=np.int32)) for number, count in enumerate(tokens)]


def tokens(batch: list[Text]) -> list[int]:
    return [len(text.ids) for text in batch]


def new_batcher(*, fitting: int = 100) -> Batcher[Text, Text]:
    """Return a batcher that has learned that `fitting` of 100 tokens take the target of one second."""
    batcher: Batcher[Text, Text] = Batcher(budget_tokens=100, log_floor_tokens=10, target_s=1.0)
    while batcher.capped_tokens > fitting:
        batcher.observe(100, 100 / fitting)
    assert batcher.capped_tokens == fitting
    return batcher


def next_tokens(batcher: Batcher[Text, Text]) -> tuple[list[int], list[int]]:
    """Return the tokens of the next batch's queries and logs."""
    batch = batcher.next_batch()
    return tokens(batch.queries), tokens(batch.logs)


@pytest.mark.parametrize("floor", [0, -1, 101])
def test_an_impossible_floor_is_refused(floor: int) -> None:
    with pytest.raises(ValueError, match="floor"):
        Batcher[Text, Text](budget_tokens=100, log_floor_tokens=floor)


def test_logs_alone_fill_the_budget_by_tokens_and_in_order() -> None:
    batcher = new_batcher()
    batcher.add_logs(texts(60, 30, 10, 1, 99, 2))
    assert next_tokens(batcher) == ([], [60, 30, 10])
    assert next_tokens(batcher) == ([], [1, 99])
    assert next_tokens(batcher) == ([], [2])
    assert len(batcher) == 0


def test_nothing_in_nothing_out() -> None:
    assert new_batcher().next_batch() == ([], [])


def test_queries_go_first() -> None:
    batcher = new_batcher()
    batcher.add_logs(texts(50, 50))
    batcher.add_queries(texts(20, 30))
    assert next_tokens(batcher) == ([20, 30], [])
    assert next_tokens(batcher)[0] == []


def test_queries_beyond_the_budget_wait_for_the_next_batch() -> None:
    batcher = new_batcher()
    batcher.add_queries(texts(60, 60, 20))
    assert next_tokens(batcher) == ([60], [])
    assert next_tokens(batcher) == ([60, 20], [])


def test_while_queries_come_logs_get_their_floor() -> None:
    batcher = new_batcher()
    batcher.add_logs(texts(*[5] * 100))
    for _ in range(10):
        batcher.add_queries(texts(80))
        assert next_tokens(batcher) == ([80], [5, 5])


def test_a_log_larger_than_the_floor_goes_when_its_credit_covers_it() -> None:
    batcher = new_batcher()
    batcher.add_logs(texts(35, 35))
    taken = []
    for _ in range(8):
        batcher.add_queries(texts(50))
        taken.append(next_tokens(batcher))
    assert [logs for _, logs in taken] == [[], [], [], [35], [], [], [35], []]
    assert all(queries == [50] for queries, _ in taken)


def test_queries_make_room_for_a_log_that_is_due() -> None:
    batcher = new_batcher()
    batcher.add_logs(texts(100, 100))
    batcher.add_queries(texts(*[80] * 30))
    taken = [next_tokens(batcher) for _ in range(10)]
    assert taken == [([80], [])] * 9 + [([], [100])]


def test_while_queries_arrive_log_batches_are_capped_for_ten_seconds_of_work() -> None:
    batcher = new_batcher(fitting=40)
    batcher.add_logs(texts(*[10] * 60))
    assert next_tokens(batcher) == ([], [10] * 10), "none has come yet"
    batcher.add_queries(texts(5))
    assert next_tokens(batcher) == ([5], [10])
    for took_s in (0.5, 9.25, 0.25):
        assert next_tokens(batcher) == ([], [10] * 4)
        batcher.observe(15, took_s)
    assert not batcher.queries_arrive
    assert next_tokens(batcher) == ([], [10] * 10)
    batcher.add_queries(texts(5))
    assert next_tokens(batcher) == ([5], [10])
    assert next_tokens(batcher) == ([], [10] * 4)


def test_a_batch_of_queries_is_capped_too_but_its_first_always_goes() -> None:
    batcher = new_batcher(fitting=40)
    batcher.add_queries(texts(20, 20, 5, 60, 5, 5, 35))
    batches = [next_tokens(batcher)[0] for _ in range(4)]
    assert batches == [[20, 20], [5], [60], [5, 5]]
    batcher.add_logs(texts(*[10] * 30))
    batcher.observe(10, 60.0)
    assert next_tokens(batcher) == ([35], [10]), "queries that wait are queries that arrive"


def test_without_a_target_nothing_is_capped() -> None:
    batcher: Batcher[Text, Text] = Batcher(budget_tokens=100, log_floor_tokens=10)
    for _ in range(10):
        batcher.observe(100, 1e6)
    assert batcher.capped_tokens == 100


def test_a_query_too_long_for_the_room_beside_the_floor_is_passed_over_once() -> None:
    batcher = new_batcher()
    batcher.add_logs(texts(*[5] * 200))
    batcher.add_queries(texts(95, 100, 5))
    taken = [next_tokens(batcher) for _ in range(5)]
    assert taken == [([], [5, 5]), ([95], [5]), ([], [5] * 3), ([100], []), ([5], [5] * 4)]


def test_a_text_larger_than_the_cap_still_goes() -> None:
    batcher = new_batcher(fitting=40)
    batcher.add_queries(texts(5))
    batcher.next_batch()
    batcher.add_logs(texts(90, 10))
    assert next_tokens(batcher) == ([], [90])


def test_logs_that_never_had_to_wait_save_up_no_credit() -> None:
    batcher = new_batcher()
    for _ in range(20):
        batcher.add_logs(texts(1))
        batcher.add_queries(texts(50))
        assert next_tokens(batcher) == ([50], [1])
    batcher.add_logs(texts(*[10] * 30))
    batcher.add_queries(texts(90))
    assert next_tokens(batcher) == ([90], [10])


def test_waiting_tokens_of_logs_are_counted() -> None:
    batcher = new_batcher()
    batcher.add_logs(texts(60, 30))
    batcher.add_logs(texts(50))
    batcher.add_queries(texts(7))
    assert (batcher.waiting_log_tokens, len(batcher)) == (140, 4)
    while len(batcher):
        batcher.next_batch()
    assert batcher.waiting_log_tokens == 0


def test_a_batch_that_was_put_back_comes_again() -> None:
    batcher = new_batcher()
    batcher.add_logs(texts(*[10] * 30))
    batcher.add_queries(texts(30, 30))
    first = batcher.next_batch()
    assert (len(batcher), batcher.waiting_log_tokens) == (29, 290)
    batcher.put_back(first)
    assert (len(batcher), batcher.waiting_log_tokens) == (32, 300)
    assert batcher.next_batch() == first


def test_what_was_put_back_stands_before_what_has_come_since() -> None:
    batcher = new_batcher()
    batcher.add_queries(texts(5))
    batcher.add_logs(texts(7))
    batch = batcher.next_batch()
    batcher.add_queries(texts(6))
    batcher.add_logs(texts(3))
    batcher.put_back(batch)
    assert next_tokens(batcher) == ([5, 6], [7, 3])


def test_a_bulk_batch_that_was_put_back_makes_room_for_a_query() -> None:
    batcher = new_batcher()
    batcher.add_logs(texts(*[10] * 30))
    bulk = batcher.next_batch()
    assert tokens(bulk.logs) == [10] * 10
    batcher.put_back(bulk)
    batcher.add_queries(texts(80))
    assert next_tokens(batcher) == ([80], [10])


def test_putting_back_earns_no_credit_and_is_not_passing_over() -> None:
    batcher = new_batcher(fitting=40)
    batcher.add_logs(texts(35, *[10] * 40))
    batcher.add_queries(texts(95))
    for _ in range(10):
        batch = batcher.next_batch()
        assert (tokens(batch.queries), tokens(batch.logs)) == ([95], [])
        batcher.put_back(batch)
    assert next_tokens(batcher) == ([95], [])
    for _ in range(10):
        batch = batcher.next_batch()
        assert tokens(batch.logs) == [35]
        batcher.put_back(batch)
    assert next_tokens(batcher) == ([], [35])
    batcher.add_queries(texts(95))
    for _ in range(10):
        batch = batcher.next_batch()
        assert (tokens(batch.queries), tokens(batch.logs)) == ([], [10])
        batcher.put_back(batch)
    assert next_tokens(batcher) == ([], [10])
    assert next_tokens(batcher) == ([95], [])


def test_a_full_batch_that_stood_ready_when_a_query_came_is_followed_by_capped_ones() -> None:
    batcher = new_batcher(fitting=40)
    batcher.add_logs(texts(*[10] * 60))
    ready = batcher.next_batch()
    assert tokens(ready.logs) == [10] * 10
    batcher.put_back(ready)
    batcher.add_queries(texts(5))
    assert next_tokens(batcher) == ([5], [10])
    assert next_tokens(batcher) == ([], [10] * 4)


def test_after_a_shrink_batches_are_smaller_and_do_not_grow_again() -> None:
    batcher = new_batcher()
    batcher.add_logs(texts(*[10] * 60))
    assert next_tokens(batcher) == ([], [10] * 10)
    batcher.shrink(50)
    assert next_tokens(batcher) == ([], [10] * 5)
    batcher.shrink(80)
    assert next_tokens(batcher) == ([], [10] * 5)
    batcher.add_queries(texts(30, 30))
    assert next_tokens(batcher) == ([30], [10])


def test_a_shrink_below_the_floor_still_lets_lines_and_queries_through() -> None:
    batcher = new_batcher()
    batcher.add_logs(texts(*[5] * 4))
    batcher.add_queries(texts(5, 5))
    batcher.shrink(5)
    taken = []
    while len(batcher):
        taken.append(next_tokens(batcher))
    assert all(sum(queries) + sum(logs) == 5 for queries, logs in taken)
    assert len(taken) == 6


def test_a_batch_from_before_a_shrink_that_is_put_back_is_cut() -> None:
    batcher = new_batcher()
    batcher.add_logs(texts(*[10] * 12))
    batch = batcher.next_batch()
    batcher.shrink(50)
    batcher.put_back(batch)
    assert next_tokens(batcher) == ([], [10] * 5)
    assert batcher.waiting_log_tokens == 70


def test_logs_of_several_topics_share_a_batch_by_weight_and_a_flood_of_one_holds_no_other_back() -> None:
    weights = {"quiet": 1.0, "flood": 1.0, "heavy": 2.0}
    batcher: Batcher[Text, Text] = Batcher(
        budget_tokens=100, log_floor_tokens=10, topic_of=lambda text: text.name, weight_of=weights.__getitem__
    )
    for name, count in (("flood", 100), ("heavy", 100), ("quiet", 1)):
        batcher.add_logs(Text(name, np.zeros(5, dtype=np.int32)) for _ in range(count))
    first = [text.name for text in batcher.next_batch().logs]
    assert [first.count(name) for name in ("quiet", "flood", "heavy")] == [1, 7, 12]
    taken = [text.name for _ in range(3) for text in batcher.next_batch().logs]
    assert [taken.count(name) for name in ("quiet", "flood", "heavy")] == [0, 20, 40]
