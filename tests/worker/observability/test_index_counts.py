"""How many rows the index has: the last count, also while the index does not answer."""

import pytest

from sinks.sink import SinkBroken, SinkBusy, SinkCounts
from tests.fakes.sink import FakeSink
from worker.observability.index_counts import IndexCounts


class Index(FakeSink):
    """An index with as many rows as the test says.

    Thread: the test's.
    """

    def __init__(self) -> None:
        super().__init__()
        self.rows = SinkCounts(3, 7)
        self.failure: Exception | None = None

    def counts(self) -> SinkCounts:
        if self.failure is not None:
            raise self.failure
        return self.rows


@pytest.mark.parametrize("failure", [SinkBusy("away"), SinkBroken("gone")], ids=["busy", "broken"])
def test_an_index_that_does_not_answer_keeps_its_last_count(failure: Exception) -> None:
    index = Index()
    counts = IndexCounts(index, clock=lambda: 0.0)
    assert counts.last() is None
    counts.count()
    assert counts.last() == SinkCounts(3, 7)
    index.failure = failure
    counts.count()
    assert counts.last() == SinkCounts(3, 7)
    index.failure, index.rows = None, SinkCounts(4, 7)
    counts.count()
    assert counts.last() == SinkCounts(4, 7)
