"""Whatever workers, kills, zombies, resets, cuts, settings and clocks do: what is committed is read once and whole, and nothing else is.

This is a twentieth of `python -m tests.properties.blocks`, in shorter histories: a look takes longer, the more there is to see.
"""

import pytest

from tests.properties.blocks_world import World
from worker.embedding.tokenizer import Tokenizer


@pytest.mark.parametrize("seed", range(40))
def test_whatever_happens_what_is_committed_is_read_once_and_whole_and_nothing_else_is(tokenizer: Tokenizer, seed: int) -> None:
    world = World(seed, tokenizer)
    world.run(125)
