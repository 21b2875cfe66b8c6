"""Whatever workers, kills, zombies, lost answers and merges do: what is committed is readable once, whole, and counted once."""

import pytest

from tests.properties.blocks_world import World
from worker.embedding.tokenizer import Tokenizer


@pytest.mark.parametrize("seed", range(12))
def test_whatever_happens_what_is_committed_is_read_once_and_whole(tokenizer: Tokenizer, seed: int) -> None:
    world = World(seed, tokenizer)
    world.run(250)
