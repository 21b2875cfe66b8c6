"""Functions over the last looks mean what PromQL's mean."""

import math

import pytest

from worker.runtime.histogram import Histogram
from worker.watching.looks import APART_S, KEPT_S, Labels, Look, Looks, by, changes, grown, look_of, quantile, resets, slope
from worker.watching.metrics import PAUSED_PARTITIONS, QUERY_SECONDS, RECORDS_TOTAL, Sample

PAUSED = PAUSED_PARTITIONS.name


def at(now_s: float, value: float) -> Look:
    return Look(now_s, {PAUSED: {("logs",): value}})


def test_looks_are_kept_at_a_distance_and_for_as_long_as_the_longest_window_but_the_last_one_is_always_there() -> None:
    looks = Looks(0.0)
    for number in range(2_000):
        looks.add(at(number * 1.0, float(number)))
        assert looks.now(PAUSED) == {(("group", "logs"),): float(number)}
    (points,) = looks.within(PAUSED, math.inf).values()
    assert points[-1] == (1_999.0, 1_999.0)
    assert len(points) <= KEPT_S / APART_S + 2
    assert points[0][0] >= 1_999 - KEPT_S


def test_a_series_that_is_gone_is_not_there_and_one_that_is_new_has_no_past() -> None:
    looks = Looks(0.0)
    looks.add(at(0.0, 1.0))
    looks.add(Look(15.0, {PAUSED: {("queries",): 5.0}}))
    assert looks.within(PAUSED, 600.0) == {(("group", "queries"),): [(15.0, 5.0)]}


def test_a_young_process_counts_from_nought_and_an_old_one_only_what_was_seen() -> None:
    name, key = RECORDS_TOTAL.name, ("logs", "indexed")
    for started_s, wanted in ((0.0, 9.0), (-10_000.0, 2.0)):
        looks = Looks(started_s)
        looks.add(Look(15.0, {name: {key: 7.0}}))
        looks.add(Look(30.0, {name: {key: 9.0}}))
        assert looks.increase(name, 600.0, outcome="indexed") == {(("topic", "logs"), ("outcome", "indexed")): wanted}
        assert looks.increase(name, 600.0, outcome="dead_letter") == {}


def test_counters_and_offsets() -> None:
    points = [(0.0, 5.0), (15.0, 8.0), (30.0, 8.0), (45.0, 2.0), (60.0, 3.0)]
    assert (grown(points), changes(points), resets(points)) == (6.0, 3, 1)
    assert slope([(0.0, 10.0), (10.0, 12.0), (20.0, 14.0)]) == pytest.approx(0.2)
    assert slope([(5.0, 3.0)]) == 0.0


def test_a_quantile_lies_within_its_bucket_and_nothing_counted_has_none() -> None:
    buckets = [(0.1, 0.0), (1.0, 50.0), (2.0, 100.0), (math.inf, 100.0)]
    assert quantile(0.5, buckets) == pytest.approx(1.0)
    assert quantile(0.75, buckets) == pytest.approx(1.5)
    assert quantile(0.99, [(1.0, 1.0), (math.inf, 100.0)]) == 1.0, "of the last bucket only the lower bound is known"
    assert quantile(0.5, [(1.0, 0.0), (math.inf, 0.0)]) is None


def test_samples_become_values_by_metric_and_a_histogram_its_buckets() -> None:
    histogram = Histogram((0.5, 1.0))
    histogram.add(0.7)
    name = f"{QUERY_SECONDS.name}_bucket"
    samples = [Sample(QUERY_SECONDS, histogram.seen(), ("total",)), Sample(PAUSED_PARTITIONS, 3, ("logs",))]
    look = look_of(samples, 2.0, frozenset({name}))
    assert look == Look(2.0, {name: {("total", "0.5"): 0.0, ("total", "1"): 1.0, ("total", "+Inf"): 1.0}})


def test_series_are_put_together_by_some_of_their_labels() -> None:
    values: dict[Labels, float] = {
        (("topic", "a"), ("outcome", "x")): 1.0,
        (("topic", "a"), ("outcome", "y")): 2.0,
        (("topic", "b"), ("outcome", "x")): 4.0,
    }
    assert by(["topic"], values) == {(("topic", "a"),): 3.0, (("topic", "b"),): 4.0}
    assert by([], values, max) == {(): 4.0}
