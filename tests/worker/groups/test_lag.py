"""Lag, rates and the time to drain, computed from two snapshots."""

import pytest

from consumers.record import Partition
from worker.groups.kafka import GroupState
from worker.groups.lag import LagSnapshot, lag_by_partition, total_lag
from worker.groups.offsets import GroupPosition

ONE, TWO = Partition("logs", 0), Partition("logs", 1)
AT_REST = GroupState("empty", [])


def snapshot(at_s: float, committed: int | None, end_offset: int, *, first_offset: int = 0, oldest_ms: int | None = None) -> LagSnapshot:
    position = GroupPosition(partition=ONE, committed=committed, first_offset=first_offset, end_offset=end_offset, start="earliest")
    return LagSnapshot(
        at_s=at_s, at_ms=100_000, state=AT_REST, positions=[position], oldest_ms={} if oldest_ms is None else {ONE: oldest_ms}
    )


def test_after_one_look_no_rate_is_known() -> None:
    lag = lag_by_partition(None, snapshot(0, 40, 100, oldest_ms=97_500))[ONE]
    assert (lag.records, lag.seconds, lag.rate, lag.growth, lag.drain_s, lag.is_never_drained) == (60, 2.5, None, None, None, False)


def test_the_time_to_drain_is_what_is_left_at_the_net_rate() -> None:
    lag = lag_by_partition(snapshot(10, 100, 1_000), snapshot(12, 300, 1_100))[ONE]
    assert (lag.records, lag.rate, lag.growth) == (800, 100.0, 50.0)
    assert lag.drain_s == 16.0
    assert not lag.is_never_drained


@pytest.mark.parametrize(("committed", "end_offset"), [(100, 1_000), (150, 1_050), (150, 1_100)])
def test_what_does_not_shrink_is_never_drained(committed: int, end_offset: int) -> None:
    lag = lag_by_partition(snapshot(10, 100, 1_000), snapshot(12, committed, end_offset))[ONE]
    assert lag.is_never_drained
    assert lag.drain_s is None


def test_where_nothing_is_left_the_age_and_the_time_to_drain_are_0() -> None:
    lag = lag_by_partition(snapshot(10, 100, 100), snapshot(12, 200, 200, oldest_ms=1))[ONE]
    assert (lag.records, lag.seconds, lag.rate, lag.drain_s, lag.is_never_drained) == (0, 0.0, 50.0, 0.0, False)


def test_a_record_without_a_time_has_no_age_and_one_from_the_future_is_0_old() -> None:
    assert lag_by_partition(None, snapshot(0, 40, 100))[ONE].seconds is None
    assert lag_by_partition(None, snapshot(0, 40, 100, oldest_ms=200_000))[ONE].seconds == 0.0


def test_what_retention_has_removed_was_not_committed() -> None:
    lag = lag_by_partition(snapshot(10, 100, 1_000), snapshot(12, 100, 1_000, first_offset=600))[ONE]
    assert (lag.records, lag.rate) == (400, 0.0)
    assert lag_by_partition(snapshot(10, None, 1_000), snapshot(12, None, 1_000, first_offset=600))[ONE].rate == 0.0


def test_the_first_commit_of_a_group_counts_from_where_it_began_and_a_reset_backwards_counts_nothing() -> None:
    assert lag_by_partition(snapshot(10, None, 1_000, first_offset=100), snapshot(12, 300, 1_000, first_offset=100))[ONE].rate == 100.0
    assert lag_by_partition(snapshot(10, 500, 1_000), snapshot(12, 0, 1_000))[ONE].rate == 0.0


def test_the_total_adds_up_and_has_the_age_of_the_oldest() -> None:
    def both(at_s: float, committed: tuple[int, int], ends: tuple[int, int]) -> LagSnapshot:
        positions = [
            GroupPosition(partition=partition, committed=committed[number], first_offset=0, end_offset=ends[number], start="earliest")
            for number, partition in enumerate((ONE, TWO))
        ]
        return LagSnapshot(at_s=at_s, at_ms=10_000, state=AT_REST, positions=positions, oldest_ms={ONE: 4_000, TWO: 1_000})

    total = total_lag(lag_by_partition(both(0, (0, 0), (100, 50)), both(2, (60, 0), (100, 60))))
    assert (total.records, total.seconds, total.rate, total.growth, total.drain_s) == (100, 9.0, 30.0, 5.0, 4.0)
    first = total_lag(lag_by_partition(None, both(0, (0, 0), (100, 50))))
    assert (first.records, first.rate, first.drain_s) == (150, None, None)
