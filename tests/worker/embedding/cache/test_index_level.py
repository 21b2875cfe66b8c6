"""The index as a level of the cache."""

from collections.abc import Collection

import numpy as np

from sinks.sink import SinkBusy
from worker.embedding.cache.breaker import FAILURES, LONGEST_WAIT_S
from worker.embedding.cache.index_level import IndexLevel
from worker.embedding.model.vectors import Vector

STORED = {"a": np.ones(2, np.float32)}


class Index:
    """An index that answers unless told to be busy.

    Thread: the test's.
    """

    def __init__(self) -> None:
        self.answers = True
        self.asked = 0
        self.now_s = 0.0
        self.said: list[str] = []
        self.level = IndexLevel(self.read, say=self.said.append, clock=lambda: self.now_s, draw=lambda: 1.0)

    def read(self, templates: Collection[str]) -> dict[str, Vector]:
        self.asked += 1
        if not self.answers:
            raise SinkBusy("away")
        return {template: STORED[template] for template in templates if template in STORED}


def test_what_is_stored_is_found() -> None:
    assert list(Index().level.find(["a", "b"])) == ["a"]


def test_an_index_that_failed_again_and_again_is_left_alone_until_its_time_has_come() -> None:
    index = Index()
    index.answers = False
    for _ in range(FAILURES + 5):
        assert index.level.find(["a"]) == {}
    assert index.asked == FAILURES
    assert len(index.said) == 1
    assert "away" in index.said[0]
    index.answers = True
    assert index.level.find(["a"]) == {}
    index.now_s += LONGEST_WAIT_S
    assert list(index.level.find(["a"])) == ["a"]
    assert index.said[1:] == ["the index says again which templates it has"]


def test_an_index_that_failed_once_is_asked_again() -> None:
    index = Index()
    index.answers = False
    assert index.level.find(["a"]) == {}
    index.answers = True
    assert list(index.level.find(["a"])) == ["a"]
    assert index.said == []
