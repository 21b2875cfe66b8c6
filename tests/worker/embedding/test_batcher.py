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


def next_tokens(batcher: Batcher[Text]) -> tuple[list[int], list[int]]:
    """Return the tokens of the next batch's queries and others."""
    batch = batcher.next_batch()
    return tokens(batch.queries), tokens(batch.others)


@pytest.mark.parametrize("floor", [0, -1, 101])
def test_an_impossible_floor_is_refused(floor: int) -> None:
    with pytest.raises(ValueError, match="floor"):
        Batcher[Text](budget_tokens=100, bulk_floor_tokens=floor)


def test_a_query_too_long_for_the_room_beside_the_floor_is_passed_over_once() -> None:
    batcher: Batcher[Text] = Batcher(budget_tokens=100, bulk_floor_tokens=10, target_s=1.0)
    batcher.add(texts(*[5] * 200), "bulk")
    batcher.add(texts(95, 100, 5), "query")
    taken = [next_tokens(batcher) for _ in range(5)]
    assert taken == [([], [5, 5]), ([95], [5]), ([], [5] * 3), ([100], []), ([5], [5] * 4)]


def test_beside_saturating_queries_online_and_bulk_have_a_floor_each() -> None:
    batcher: Batcher[Text] = Batcher(budget_tokens=100, bulk_floor_tokens=10, online_floor_tokens=10, target_s=1.0)
    batcher.add([Text("bulk", np.zeros(5, dtype=np.int32))] * 200, "bulk")
    batcher.add([Text("online", np.zeros(5, dtype=np.int32))] * 200, "online")
    batcher.add(texts(*[5] * 200), "query")
    for _ in range(5):
        batch = batcher.next_batch()
        assert sorted(text.name for text in batch.others) == ["bulk"] * 2 + ["online"] * 2
        assert len(batch.queries) == 16
