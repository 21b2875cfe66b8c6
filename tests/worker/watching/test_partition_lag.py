"""Lag and rates, computed from a look and those before it."""

import pytest

from consumers.record import Partition
from worker.watching.group_offsets import GroupPosition
from worker.watching.group_positions import GroupState
from worker.watching.lag_history import point_of
from worker.watching.partition_lag import Lag, LagSnapshot, lag_by_partition, total_lag

ONE, TWO = Partition("logs", 0), Partition("logs", 1)
AT_REST = GroupState("empty", [])


def snapshot(at_s: float, committed: int | None, end_offset: int, *, first_offset: int = 0, oldest_ms: int | None = None) -> LagSnapshot:
    position = GroupPosition(partition=ONE, committed=committed, first_offset=first_offset, end_offset=end_offset, start="earliest")
    return LagSnapshot(
        at_s=at_s, at_ms=100_000, state=AT_REST, positions=[position], oldest_ms={} if oldest_ms is None else {ONE: oldest_ms}
    )


def lags_of(*looks: LagSnapshot) -> dict[Partition, Lag]:
    """Return the lags at the last look."""
    courses = {
        partition: [point_of(one, look.at_s, look.at_ms) for look in looks for one in look.positions if one.partition == partition]
        for partition in {one.partition for one in looks[-1].positions}
    }
    return lag_by_partition(courses, looks[-1])


def test_after_one_look_no_rate_is_known() -> None:
    lag = lags_of(snapshot(0, 40, 100, oldest_ms=97_500))[ONE]
    assert (lag.records, lag.seconds, lag.rate, lag.growth) == (60, 2.5, None, None)


@pytest.mark.parametrize(
    ("before", "now", "records", "rate"),
    [
        pytest.param(snapshot(10, 100, 1_000), snapshot(12, 300, 1_100), 800, 100.0, id="some is left"),
        pytest.param(snapshot(10, 100, 1_000), snapshot(12, 100, 1_000), 900, 0.0, id="nothing is committed"),
        pytest.param(snapshot(10, 100, 1_000), snapshot(12, 150, 1_050), 900, 25.0, id="as much comes as is committed"),
        pytest.param(snapshot(10, 100, 1_000), snapshot(12, 150, 1_100), 950, 25.0, id="more comes"),
        pytest.param(snapshot(10, 100, 100), snapshot(12, 200, 200, oldest_ms=1), 0, 50.0, id="nothing is left"),
        pytest.param(snapshot(10, 100, 1_000), snapshot(12, 100, 1_000, first_offset=600), 400, 0.0, id="retention commits nothing"),
        pytest.param(snapshot(10, None, 1_000), snapshot(12, None, 1_000, first_offset=600), 400, 0.0, id="nor without a commit"),
        pytest.param(snapshot(10, None, 9, first_offset=1), snapshot(12, 5, 9, first_offset=1), 4, 2.0, id="from where it began"),
        pytest.param(snapshot(10, 500, 1_000), snapshot(12, 0, 1_000), 1_000, 0.0, id="a reset backwards counts nothing"),
    ],
)
def test_rates_are_of_what_was_committed_and_produced_since_an_earlier_look(
    before: LagSnapshot, now: LagSnapshot, records: int, rate: float
) -> None:
    lag = lags_of(before, now)[ONE]
    assert (lag.records, lag.rate) == (records, rate)
    assert lag.growth == (now.positions[0].end_offset - before.positions[0].end_offset) / 2
    assert lag.seconds == (0.0 if not records else None)


def test_rates_are_of_the_last_half_minute() -> None:
    lag = lags_of(snapshot(0, 0, 9_000), snapshot(10, 0, 9_000), snapshot(30, 600, 9_000), snapshot(40, 900, 9_030))[ONE]
    assert (lag.rate, lag.growth) == (30.0, 1.0)


def test_a_record_without_a_time_has_no_age_and_one_from_the_future_is_0_old() -> None:
    assert lags_of(snapshot(0, 40, 100))[ONE].seconds is None
    assert lags_of(snapshot(0, 40, 100, oldest_ms=200_000))[ONE].seconds == 0.0


def test_the_total_adds_up_and_has_the_age_of_the_oldest() -> None:
    def both(at_s: float, committed: tuple[int, int], ends: tuple[int, int]) -> LagSnapshot:
        positions = [
            GroupPosition(partition=partition, committed=committed[number], first_offset=0, end_offset=ends[number], start="earliest")
            for number, partition in enumerate((ONE, TWO))
        ]
        return LagSnapshot(at_s=at_s, at_ms=10_000, state=AT_REST, positions=positions, oldest_ms={ONE: 4_000, TWO: 1_000})

    total = total_lag(lags_of(both(0, (0, 0), (100, 50)), both(2, (60, 0), (100, 60))))
    assert (total.records, total.seconds, total.rate, total.growth, total.outlook.kind) == (100, 9.0, 30.0, 5.0, "keeps_up")
    first = total_lag(lags_of(both(0, (0, 0), (100, 50))))
    assert (first.records, first.rate) == (150, None)
