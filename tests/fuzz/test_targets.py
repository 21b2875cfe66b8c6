"""What `make fuzz` checks holds of the seeds and of what is cut and changed of them; and the checks see what must not be."""

import random
from contextlib import closing

import pytest

from tests.fuzz.targets import TARGETS, Target

MOST_SEEDS = 60
CHANGED = 20
"""Values made of the seeds of a target."""


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_a_target_holds_of_its_seeds_and_of_damaged_ones(name: str) -> None:
    target = TARGETS[name]()
    with closing(target):
        hold(target)


def hold(target: Target) -> None:
    draw = random.Random(7)
    assert target.seeds
    for value in (b"", *draw.sample(target.seeds, min(len(target.seeds), MOST_SEEDS))):
        target.check(value)
    for _ in range(CHANGED):
        changed = bytearray(draw.choice(target.seeds))
        for _ in range(draw.randrange(4)):
            changed[draw.randrange(len(changed))] = draw.choice(b'\0\1"\\{[ \n\xff')
        target.check(bytes(changed[: draw.randrange(len(changed)) + 1]))
