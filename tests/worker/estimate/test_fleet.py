"""What a rate needs, against figures that were computed by hand, and what must hold at every rate."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.worker.estimate.streams import STREAM
from worker.estimate.fleet import (
    GROUP_BLOCK_BYTES_PER_S,
    GROUP_WORKERS,
    Fleet,
    FleetOptions,
    brokers_for,
    fleet_of,
    group_ends_at_bytes_per_s,
)

RATES = st.floats(min_value=1.0, max_value=1e11)
HEADROOMS = st.floats(min_value=0.0, max_value=0.95)
COUNTS = (
    "workers", "engines", "gpus", "partitions", "brokers", "redis_bytes", "milvus_bytes", "milvus_query_nodes", "milvus_query_nodes_mapped",
    "milvus_data_nodes", "groups",
)  # fmt: skip
NEW = replace(STREAM, templates_by_stretches={1: 150, 2: 30, 10: 20})


def test_a_fleet_is_what_was_computed_by_hand() -> None:
    # 100 MB/s: 1,000,000 lines/s of 10 us are 10 processors, 20 with half of them free, in workers of 1.0.
    fleet = fleet_of(STREAM, 1e8, FleetOptions(retention_days=10, headroom=0.5, gpu_tokens_per_s=100_000))

    assert fleet == Fleet(
        bytes_per_s=1e8,
        lines_per_s=1_000_000.0,
        workers=20,
        worker_cores=20.0,
        workers_bytes_per_s=2e8,
        engine_tokens_per_s=0.12,
        engines=1,
        gpus=1,
        partitions=40,
        brokers=6,
        redis_bytes=200_000,
        milvus_rows_per_s=1_000.0,
        milvus_bytes_per_s=4e7,
        milvus_bytes=38_016_000_000_000,
        milvus_query_nodes=792,
        milvus_query_nodes_mapped=159,
        milvus_data_nodes=6,
        groups=6,
    )


def test_engines_are_counted_by_their_speed_with_headroom() -> None:
    # Every line a template of its own: at 80,000 lines/s of 50 tokens, four million tokens a second.
    new = replace(STREAM, stretches=1, templates_by_stretches={1: 10_000})

    fleet = fleet_of(new, 8e6, FleetOptions(headroom=0.2, gpu_tokens_per_s=1_000_000))

    assert fleet.engine_tokens_per_s == 4_000_000.0
    assert (fleet.engines, fleet.gpus) == (1_250, 5)


def test_what_was_not_measured_is_not_counted() -> None:
    fleet = fleet_of(replace(STREAM, engine_tokens_per_s=None), 1e6, FleetOptions())

    assert (fleet.engines, fleet.gpus) == (None, None)


@given(rate=RATES, headroom=HEADROOMS)
def test_the_workers_take_the_rate_and_the_headroom(rate: float, headroom: float) -> None:
    fleet = fleet_of(NEW, rate, FleetOptions(headroom=headroom))

    assert fleet.workers_bytes_per_s + 0.1 >= rate / (1 - headroom) * (1 - 1e-9)
    assert fleet.workers_bytes_per_s + 0.1 >= rate * (1 + headroom) * (1 - 1e-9)
    assert fleet.partitions >= fleet.workers


@given(slow=RATES, fast=RATES, headroom=HEADROOMS)
def test_a_higher_rate_never_needs_less(slow: float, fast: float, headroom: float) -> None:
    options = FleetOptions(headroom=headroom, gpu_tokens_per_s=100_000)
    less, more = (fleet_of(NEW, rate, options) for rate in sorted((slow, fast)))

    for name in COUNTS:
        assert getattr(less, name) <= getattr(more, name), name


@given(rate=RATES)
def test_more_headroom_never_needs_fewer(rate: float) -> None:
    tight, loose = (fleet_of(NEW, rate, FleetOptions(headroom=headroom)) for headroom in (0.1, 0.6))

    assert tight.workers <= loose.workers
    assert tight.groups <= loose.groups
    assert tight.brokers <= loose.brokers


@given(rate=RATES, headroom=HEADROOMS)
def test_every_shard_takes_what_is_written_into_it(rate: float, headroom: float) -> None:
    fleet = fleet_of(STREAM, rate, FleetOptions(headroom=headroom))

    assert fleet.groups * GROUP_BLOCK_BYTES_PER_S * (1 - headroom) >= fleet.milvus_bytes_per_s * (1 - 1e-9) - 0.1
    assert fleet.workers <= fleet.groups * GROUP_WORKERS


@pytest.mark.parametrize("headroom", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("build_us_per_line", [10.0, 2_000.0])
def test_one_group_ends_where_a_second_one_begins(headroom: float, build_us_per_line: float) -> None:
    stream = replace(STREAM, build_us_per_line=build_us_per_line)
    end = group_ends_at_bytes_per_s(stream, headroom)

    assert fleet_of(stream, end * 0.999, FleetOptions(headroom=headroom)).groups == 1
    assert fleet_of(stream, end * 1.02, FleetOptions(headroom=headroom)).groups == 2


def test_brokers_are_three_at_least_and_follow_bytes_and_partitions() -> None:
    assert brokers_for(1.0, 2, headroom=0.5) == 3
    assert brokers_for(1e9, 2, headroom=0.5) == 60
    assert brokers_for(1.0, 8_000, headroom=0.5) == 6
