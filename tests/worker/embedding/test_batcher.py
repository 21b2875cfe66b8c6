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


def new_batcher(*, fitting: int = 100) -> Batcher[Text]:
    """Return a batcher that has learned that `fitting` of 100 tokens take the target of one second."""
    batcher: Batcher[Text] = Batcher(budget_tokens=100, log_floor_tokens=10, target_s=1.0)
    while batcher.capped_tokens > fitting:
        batcher.observe(100, 100 / fitting)
    assert batcher.capped_tokens == fitting
    return batcher


def next_tokens(batcher: Batcher[Text]) -> tuple[list[int], list[int]]:
    """Return the tokens of the next batch's queries and logs."""
    batch = batcher.next_batch()
    return tokens(batch.queries), tokens(batch.logs)


@pytest.mark.parametrize("floor", [0, -1, 101])
def test_an_impossible_floor_is_refused(floor: int) -> None:
    with pytest.raises(ValueError, match="floor"):
        Batcher[Text](budget_tokens=100, log_floor_tokens=floor)


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


def test_a_query_too_long_for_the_room_beside_the_floor_is_passed_over_once() -> None:
    batcher = new_batcher()
    batcher.add_logs(texts(*[5] * 200))
    batcher.add_queries(texts(95, 100, 5))
    taken = [next_tokens(batcher) for _ in range(5)]
    assert taken == [([], [5, 5]), ([95], [5]), ([], [5] * 3), ([100], []), ([5], [5] * 4)]


def test_logs_of_several_topics_share_a_batch_by_weight_and_a_flood_of_one_holds_no_other_back() -> None:
    weights = {"quiet": 1.0, "flood": 1.0, "heavy": 2.0}
    batcher: Batcher[Text] = Batcher(budget_tokens=100, log_floor_tokens=10, topic_of=lambda text: text.name, weight_of=weights.__getitem__)
    for name, count in (("flood", 100), ("heavy", 100), ("quiet", 1)):
        batcher.add_logs(Text(name, np.zeros(5, dtype=np.int32)) for _ in range(count))
    first = [text.name for text in batcher.next_batch().logs]
    assert [first.count(name) for name in ("quiet", "flood", "heavy")] == [1, 7, 12]
    taken = [text.name for _ in range(3) for text in batcher.next_batch().logs]
    assert [taken.count(name) for name in ("quiet", "flood", "heavy")] == [0, 20, 40]
