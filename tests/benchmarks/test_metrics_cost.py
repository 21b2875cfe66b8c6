"""The side of the benchmark that counts nothing counts nothing, and everything is as before after it."""

from benchmarks.metrics_cost import nothing_counted
from worker.runtime.histogram import Histogram
from worker.runtime.stage import Meter


def test_nothing_is_counted_inside_and_all_of_it_after() -> None:
    spread, meter = Histogram(), Meter()
    with nothing_counted():
        spread.add(1.0)
        meter.add(1.0)
    assert (spread.seen().total, meter.seconds) == (0.0, 0.0)
    spread.add(1.0)
    meter.add(1.0)
    assert (spread.seen().total, meter.seconds) == (1.0, 1.0)
