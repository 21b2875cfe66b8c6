"""The count of different digests."""

import random

import numpy as np
import pytest

from sinks.row import TemplateId
from worker.indexing.hyperloglog import HyperLogLog
from worker.indexing.known_templates import halves_of


@pytest.mark.parametrize("number", [0, 1, 50, 3_000, 40_000, 120_000])
def test_digests_are_counted_to_a_few_per_cent_however_often_they_come(number: int) -> None:
    distinct = HyperLogLog()
    randoms = random.Random(number)
    digests = [TemplateId(randoms.randbytes(16).hex()) for _ in range(number)]
    distinct.add_digests(halves_of(digests))
    distinct.add_digests(halves_of(digests[: number // 2]))
    assert abs(int(distinct) - number) <= 0.04 * number  # five standard errors


@pytest.mark.parametrize("number", [20_000, 41_000, 60_000])
def test_many_counts_are_right_on_average(number: int) -> None:
    randoms = np.random.default_rng(number)
    counts = []
    for _ in range(24):
        distinct = HyperLogLog()
        distinct.add_digests(randoms.integers(0, 1 << 64, size=(number, 2), dtype=np.uint64))
        counts.append(int(distinct))
    assert abs(sum(counts) / 24 - number) <= 0.006 * number  # three and a half standard errors of the mean


def test_two_counts_together_count_what_both_have_once() -> None:
    randoms = random.Random(1_000)
    digests = [TemplateId(randoms.randbytes(16).hex()) for _ in range(1_000)]
    left, right = HyperLogLog(), HyperLogLog()
    left.add_digests(halves_of(digests[:600]))
    right.add_digests(halves_of(digests[400:]))
    left.merge(right)
    assert abs(int(left) - 1_000) <= 40
    assert abs(int(right) - 600) <= 24
