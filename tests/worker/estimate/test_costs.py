"""What a gigabyte costs, against figures that were computed by hand."""

from dataclasses import replace

from tests.worker.estimate.streams import STREAM
from worker.estimate.costs import GigabyteCosts, forecast_of, gigabyte_costs


def test_a_gigabyte_costs_what_was_computed_by_hand() -> None:
    assert gigabyte_costs(STREAM) == GigabyteCosts(
        lines=10_000_000,
        worker_core_s=100.0,
        templates=200,
        templates_low=200,
        templates_high=200,
        engine_tokens=10_000,
        engine_s=2.5,
        engine_s_high=2.5,
        redis_bytes=200_000,
        milvus_rows=10_000,
        milvus_block_bytes=400_000_000,
        milvus_resident_bytes=80_000_000,
        milvus_template_bytes=320_000,
        milvus_lite_disk_bytes=300_000_000 + 678_400,
        kafka_bytes=1_000_000_000,
        kafka_compressed_bytes=250_000_000,
    )


def test_templates_that_are_rare_in_the_sample_are_predicted_to_be_more_in_a_gigabyte() -> None:
    rare = replace(STREAM, templates_by_stretches={1: 150, 2: 30, 10: 20})

    costs = gigabyte_costs(rare)

    assert 200 < costs.templates_low < costs.templates < costs.templates_high
    assert costs.engine_s is not None
    assert costs.engine_s_high is not None
    assert costs.engine_s < costs.engine_s_high
    assert costs.redis_bytes > gigabyte_costs(STREAM).redis_bytes


def test_there_are_never_more_templates_than_lines() -> None:
    new = replace(STREAM, stretches=1, templates_by_stretches={1: 10_000})

    assert forecast_of(new, 2_000_000).high == 20_000


def test_without_a_speed_there_are_no_engine_seconds() -> None:
    costs = gigabyte_costs(replace(STREAM, engine_tokens_per_s=None))

    assert (costs.engine_s, costs.engine_s_high, costs.engine_tokens) == (None, None, 10_000)
