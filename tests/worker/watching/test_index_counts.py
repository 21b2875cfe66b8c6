"""How many rows the index has: the last count, also while the index does not answer."""

import pytest

from sinks.sink import SinkCounts
from tests.fakes.sink import FakeSink
from tests.world import line, open_sink, template, write
from worker.watching.index_counts import IndexCounts


@pytest.mark.parametrize("failure", [{"busy_calls": 1}, {"broken": "gone"}], ids=["busy", "broken"])
def test_an_index_that_does_not_answer_keeps_its_last_count(failure: dict[str, object]) -> None:
    sink: FakeSink = open_sink([template("a"), template("b")])
    counts = IndexCounts(sink, clock=lambda: 0.0)
    assert counts.last() is None
    counts.count()
    assert counts.last() == SinkCounts(0, 2)
    write(sink, line(0))
    for name, value in failure.items():
        setattr(sink, name, value)
    counts.count()
    assert counts.last() == SinkCounts(0, 2)
    sink.broken = ""
    counts.count()
    assert counts.last() == SinkCounts(1, 2)
