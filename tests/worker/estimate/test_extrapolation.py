"""How many templates a file holds, predicted from a sample."""

import math
import random
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate

import pytest

from worker.estimate.extrapolation import predict_templates


def templates_by_stretches(stretches: Sequence[Sequence[int]]) -> Counter[int]:
    return Counter(Counter(template for stretch in stretches for template in set(stretch)).values())


def bursty(lines: int, *, templates: int, seed: int) -> list[int]:
    """Return the templates of lines by Zipf's law, in bursts of up to eight lines."""
    rng = random.Random(seed)
    weights = list(accumulate(1 / (rank + 1) for rank in range(templates)))
    found: list[int] = []
    while len(found) < lines:
        found += rng.choices(range(templates), cum_weights=weights) * rng.randint(1, 8)
    return found[:lines]


@pytest.mark.parametrize("seed", range(5))
def test_templates_of_a_bursty_stream_are_predicted_within_a_quarter(seed: int) -> None:
    lines = bursty(40_000, templates=3_000, seed=seed)
    stretches = [lines[start : start + 10] for start in range(0, len(lines), 80)]

    forecast = predict_templates(templates_by_stretches(stretches), stretches=len(stretches), factor=8, most=len(lines))

    assert forecast.templates == pytest.approx(len(set(lines)), rel=0.25)
    assert len({template for stretch in stretches for template in stretch}) < 0.6 * len(set(lines)), "the sample itself is no answer"
    assert forecast.low <= forecast.templates <= forecast.high


def test_where_every_line_is_a_template_of_its_own_so_will_be_the_rest() -> None:
    forecast = predict_templates({1: 1_000}, stretches=100, factor=10, most=10_000)

    assert forecast.high == pytest.approx(10_000)
    assert forecast.low == pytest.approx(10_000, rel=0.02)


def test_there_are_never_more_templates_than_lines() -> None:
    assert predict_templates({1: 1}, stretches=1, factor=50, most=12).high == 12


def test_without_lines_there_are_no_templates() -> None:
    assert predict_templates({}, stretches=0, factor=3, most=0) == (0, 0, 0)


def test_the_upper_bound_is_heaps_law_of_the_last_doubling() -> None:
    # Two stretches, one template in both and one in each: one stretch shows 2 templates, two show 3.
    forecast = predict_templates({1: 2, 2: 1}, stretches=2, factor=4, most=1_000)

    assert forecast.high == pytest.approx(3 * 4 ** math.log2(3 / 2))


def test_the_lower_bound_is_chao2() -> None:
    # Q1 = 4, Q2 = 1, T = 10: 0.9 * 4 * 3 / (2 * 2) = 2.7 templates are unseen; ten times as much shows nearly all of them.
    forecast = predict_templates({1: 4, 2: 1, 10: 5}, stretches=10, factor=10, most=1_000)

    assert forecast.low == pytest.approx(10 + 2.7 * (1 - (1 - 4 / 31) ** 90))


def test_a_sample_of_a_hundred_thousand_stretches_is_no_trouble() -> None:
    forecast = predict_templates({1: 500, 2: 100, 50_000: 10}, stretches=100_000, factor=3, most=10**7)

    assert 610 < forecast.low <= forecast.templates <= forecast.high < 3 * 610
