"""Runs many histories of `tests.properties.blocks_world`: `python -m tests.properties.blocks [--histories 400] [--steps 250] [--seed 0]`.

`--only` names what may happen, with commas between: kinds of records, settings and faults. Prints what happened, and of a history in which
something did not hold its seed and what it was; then it exits with 1.
"""

import argparse
import sys
import time
from collections import Counter

from tests.model_fixture import CACHE
from tests.properties.blocks_world import EVERYTHING, World
from worker.embedding.model.prepared import prepare_model
from worker.embedding.tokenizer import Tokenizer

_MOST_CHARACTERS = 1_000


def main() -> int:
    """Run the histories; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.properties.blocks", description="Run histories of the model of blocks.")
    parser.add_argument("--histories", type=int, default=400)
    parser.add_argument("--steps", type=int, default=250, help="of each history")
    parser.add_argument("--seed", type=int, default=0, help="of the first history; the others follow")
    parser.add_argument("--only", default=",".join(EVERYTHING), help=f"what may happen, of {', '.join(EVERYTHING)}")
    parser.add_argument("--keep-going", action="store_true", help="go on after a history in which something did not hold")
    asked = parser.parse_args()
    allowed = tuple(filter(None, asked.only.split(",")))
    if unknown := set(allowed) - set(EVERYTHING):
        parser.error(f"{', '.join(sorted(unknown))}: nothing of that name may happen")
    words = Tokenizer(prepare_model(None, CACHE))
    counts: Counter[str] = Counter()
    failed = 0
    started_s = time.monotonic()
    for seed in range(asked.seed, asked.seed + asked.histories):
        world = World(seed, words, allowed=allowed)
        try:
            world.run(asked.steps)
        except AssertionError as error:
            failed += 1
            _say(f"seed {seed}, step {world.counts['steps']}: {str(error)[:_MOST_CHARACTERS]}")
        except BaseException:
            _say(f"seed {seed}, step {world.counts['steps']}:")
            raise
        counts.update(world.counts)
        if failed and not asked.keep_going:
            break
    happened = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    _say(f"{happened} in {time.monotonic() - started_s:.0f} s")
    _say(f"{failed} histories failed" if failed else "everything held")
    words.close()
    return 1 if failed else 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
