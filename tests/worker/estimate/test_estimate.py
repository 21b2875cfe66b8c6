"""From the counts of a sample to bytes, seconds and rates."""

from collections import Counter
from dataclasses import asdict, replace

import pytest

from worker.estimate.estimate import (
    LITE_TEMPLATE_FACTOR,
    EstimateInputs,
    ModeEstimate,
    SampleScale,
    allocated_bytes,
    estimate_mode,
    quantile,
    redis_bytes,
    workers_for,
)
from worker.estimate.sample_tally import ModeTally

INPUTS = EstimateInputs(
    dim=384,
    redis_key_bytes=57,
    redis_value_bytes=780,
    vector_bytes=2_048,
    rate_lines_per_s=1_000.0,
    engine_tokens_per_s=500.0,
)
ALL = SampleScale(factor=1.0, lines=1_000, entries=1_000, stretches=2)


class Known(ModeTally):
    """A tally that says how many templates it has, each of them in `met` stretches."""

    number = 0
    met = 1

    @property
    def templates(self) -> int:
        return self.number

    def templates_by_stretches(self) -> Counter[int]:
        return Counter({self.met: self.number} if self.number else {})


def tally(templates: int, *, met: int = 1, tokens_per_template: int = 30) -> ModeTally:
    """Return a tally of 1,000 entries of 20 tokens each."""
    made = Known(
        pieces=1_000,
        new_entries=templates,
        tokens=20_000,
        template_tokens=tokens_per_template * templates,
        template_text_bytes=100 * templates,
    )
    made.entry_tokens[20] = 1_000
    made.number, made.met = templates, met
    made.blocks.blocks, made.blocks.server_bytes, made.blocks.folder_bytes = 1, 40_000, 30_000.0
    return made


def estimated(found: ModeTally, scale: SampleScale = ALL, inputs: EstimateInputs = INPUTS) -> ModeEstimate:
    return estimate_mode(found, scale, inputs)


def test_what_was_read_whole_is_counted_and_not_predicted() -> None:
    estimate = estimated(tally(100))

    assert (estimate.templates_sampled, estimate.templates, estimate.templates_low, estimate.templates_high) == (100, 100, 100, 100)
    assert estimate.entries_without_embedding_share == 0.9
    assert (estimate.tokens, estimate.tokens_to_embed) == (20_000, 3_000)
    assert estimate.tokens_without_embedding_share == 0.85
    assert (estimate.milvus_blocks, estimate.milvus_block_bytes) == (1, 40_000)


def test_rates_and_seconds_follow_from_the_tokens_of_the_templates() -> None:
    estimate = estimated(tally(100))

    assert estimate.needed_tokens_per_s == 3_000.0
    assert estimate.engine_s == 6.0
    assert estimate.engine_lines_per_s == 166.7
    assert estimated(tally(100), inputs=replace(INPUTS, rate_lines_per_s=10.0)).needed_tokens_per_s == 30.0


def test_a_sample_is_scaled_and_templates_grow_less_than_lines() -> None:
    scale = SampleScale(factor=10.0, lines=10_000, entries=10_000, stretches=100)
    known, new = estimated(tally(100, met=100), scale), estimated(tally(100, met=1), scale)

    assert (known.templates, known.tokens, known.tokens_to_embed) == (100, 200_000, 3_000)
    assert known.entries_without_embedding_share == 0.99
    assert 900 < new.templates <= 1_000
    assert new.templates_low <= new.templates <= new.templates_high
    assert new.tokens_to_embed == pytest.approx(30 * new.templates, rel=0.01)
    assert new.milvus_template_bytes == pytest.approx(new.templates * (32 + 1_536 + 100), rel=0.01)


def test_no_more_is_embedded_than_there_is() -> None:
    estimate = estimated(tally(1_000, tokens_per_template=50), SampleScale(factor=10.0, lines=9_900, entries=9_900, stretches=100))

    assert estimate.tokens_to_embed == estimate.tokens == 200_000
    assert (estimate.tokens_without_embedding_share, estimate.entries_without_embedding_share) == (0.0, 0.0)


def test_of_nothing_there_are_no_shares_and_nothing_is_divided_by_zero() -> None:
    estimate = asdict(estimate_mode(ModeTally(), SampleScale(factor=1.0, lines=0, entries=0, stretches=0), INPUTS))

    assert estimate["milvus_bytes_per_line"] is None
    unknown = {name for name, value in estimate.items() if value is None}
    assert {name for name in estimate if name.endswith("_share") or name.startswith("tokens_per_entry")} <= unknown
    assert {value for name, value in estimate.items() if name not in unknown} == {0}


def test_without_a_speed_there_are_no_seconds() -> None:
    estimate = estimated(tally(100), inputs=replace(INPUTS, engine_tokens_per_s=None))

    assert (estimate.engine_s, estimate.engine_lines_per_s, estimate.needed_tokens_per_s) == (None, None, 3_000.0)


@pytest.mark.parametrize(
    ("key_bytes", "value_bytes", "measured"),
    [(57, 784, 1061), (62, 790, 1077), (62, 800, 1077), (62, 1556, 1973), (62, 128, 341), (62, 2068, 2741)],
)
def test_a_key_takes_in_redis_what_was_measured(key_bytes: int, value_bytes: int, measured: int) -> None:
    assert redis_bytes(key_bytes, value_bytes) == measured


def test_sizes_are_those_of_the_allocator() -> None:
    classes = [16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 640, 768, 896, 1024, 1280, 1536, 1792, 2048]

    assert sorted({allocated_bytes(size) for size in range(1, 2049)}) == classes
    assert all(allocated_bytes(size) >= size for size in range(1, 2049))


def test_the_sizes_of_the_blocks_are_scaled() -> None:
    estimate = estimated(tally(100, met=100), SampleScale(factor=10.0, lines=10_000, entries=10_000, stretches=100))

    assert (estimate.milvus_blocks, estimate.milvus_block_bytes, estimate.milvus_bytes_per_line) == (10, 400_000, 40.0)
    assert estimate.milvus_lite_disk_bytes == round(300_000 + LITE_TEMPLATE_FACTOR * estimate.milvus_template_bytes)


def test_quantiles_are_values_that_occur() -> None:
    counted = Counter({10: 98, 50: 1, 400: 1})

    assert [quantile(counted, share) for share in (0.0, 0.5, 0.98, 0.99, 0.991, 1.0)] == [10, 10, 10, 50, 400, 400]
    assert quantile(Counter(), 0.5) is None


def test_workers_are_half_busy_and_poll_too() -> None:
    assert [workers_for(rate, 8.4) for rate in (1.0, 50_000.0, 50_001.0, 1e6)] == [1, 1, 2, 20]
    assert workers_for(1e6, None) is None
