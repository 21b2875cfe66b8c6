"""A line has the same template id and family id on every worker: ids depend on its text and on nothing else."""

import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consumers.text.mask import Masker
from tests.consumers.text.ids import ids_of
from tests.consumers.text.recorded import recorded

ROOT = Path(__file__).parents[3]
WHOLE = [row["line"] for name in ("masked", "masked_variables") for row in recorded(name)]
LINES = [*WHOLE, *(line[: len(line) * 2 // 3] for line in WHOLE[::3])]
"""Whole lines, and some that are cut."""
ALONE = ids_of(Masker(), LINES, batch_lines=1)


def differing(ids: list[tuple[str, str]], lines: list[int]) -> list[str]:
    """Return the lines whose ids are not those that they have alone."""
    return [LINES[line] for line, found in zip(lines, ids, strict=True) if found != ALONE[line]]


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("batch_lines", [1, 7, 250, len(LINES)])
def test_ids_are_the_same_on_any_number_of_workers_in_batches_of_any_size(workers: int, batch_lines: int) -> None:
    for worker in range(workers):
        mine = list(range(worker, len(LINES), workers))
        assert differing(ids_of(Masker(), [LINES[line] for line in mine], batch_lines), mine) == []


@pytest.mark.slow
@settings(deadline=None, max_examples=12)
@given(order=st.integers(0, 2**32), workers=st.sampled_from([1, 2, 4]), batch_lines=st.integers(2, len(LINES)), twice=st.booleans())
def test_ids_are_the_same_in_any_order_and_after_any_other_lines(order: int, workers: int, batch_lines: int, twice: bool) -> None:  # noqa: FBT001
    shuffled = Random(order).sample(range(len(LINES)), len(LINES))
    for worker in range(workers):
        masker, mine = Masker(), shuffled[worker::workers]
        for _ in range(1 + twice):
            assert differing(ids_of(masker, [LINES[line] for line in mine], batch_lines), mine) == []


def test_a_line_keeps_its_ids_beside_lines_that_end_with_what_it_begins_with() -> None:
    hosts = ("a.example.com", "db.prod.example.org")
    ends = [f"{word} {' '.join(hosts[i % 2] for i in range(times))}" for word in "uvxyz" for times in range(1, 6)]
    begins = [f"{host} said {word}" for host in (*hosts, " ".join(hosts)) for word in "abcdefgh"]
    alone = {line: Masker().mask([line]) for line in ends + begins}
    for seed in range(30):
        beside = Random(seed).sample(ends + begins, len(alone))
        assert dict(zip(beside, Masker().mask(beside), strict=True)) == {line: alone[line][0] for line in beside}


@pytest.mark.process
@pytest.mark.parametrize("hash_seed", ["0", "1", "4242"])
def test_ids_are_the_same_under_any_hash_seed(hash_seed: str) -> None:
    shuffled = Random(hash_seed).sample(range(len(LINES)), len(LINES))
    ended = subprocess.run(
        [sys.executable, "-m", "tests.consumers.text.ids"],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        input=json.dumps([LINES[line] for line in shuffled]).encode(),
        capture_output=True,
        check=True,
    )
    assert differing([(template, family) for template, family in json.loads(ended.stdout)], shuffled) == []
