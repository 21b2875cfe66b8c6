"""Histograms, compared with counting by hand, one value at a time and many at once."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from worker.runtime.histogram import SECONDS, Histogram, HistogramSnapshot

VALUES = st.lists(st.floats(min_value=0, max_value=100, allow_nan=False))


def by_hand(values: list[float], bounds: tuple[float, ...]) -> list[tuple[float, int]]:
    return [(bound, sum(value <= bound for value in values)) for bound in (*bounds, float("inf"))]


@given(VALUES)
def test_each_bucket_holds_what_is_not_above_its_bound(values: list[float]) -> None:
    spread = Histogram()
    for value in values:
        spread.add(value)
    assert spread.seen().buckets == by_hand(values, SECONDS)


@given(VALUES, VALUES)
def test_many_at_once_are_as_many_one_by_one(first: list[float], second: list[float]) -> None:
    at_once, one_by_one = Histogram(), Histogram()
    for values in (first, second):
        at_once.add_many(np.array(values, dtype=np.float64))
        for value in values:
            one_by_one.add(value)
    assert at_once.seen().buckets == one_by_one.seen().buckets
    assert np.isclose(at_once.seen().total, one_by_one.seen().total)


def test_a_value_on_a_bound_is_not_above_it() -> None:
    spread = Histogram((1.0, 2.0))
    spread.add(1.0)
    spread.add(2.5)
    assert spread.seen() == HistogramSnapshot([(1.0, 1), (2.0, 1), (float("inf"), 2)], 3.5)
