"""`python -m tests.sabotage [--list] [PART …]`: plant mutations, and show which test catches each; exit code 1 if one is missed.

Two are planted at a time, each in a copy of its own. `--list` only names them, one a line.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from tests.sabotage.mutation import Mutation
from tests.sabotage.mutations import MUTATIONS
from tests.sabotage.planting import Copy, Outcome, table_of

_AT_ONCE = 2


def main() -> int:
    """Run as a program."""
    parser = argparse.ArgumentParser(prog="python -m tests.sabotage", description=__doc__)
    parser.add_argument("--list", action="store_true", help="only name them, one a line")
    parser.add_argument("parts", nargs="*", metavar="PART", help="only mutations whose name or file contains one of the parts")
    given = parser.parse_args()
    chosen = [m for m in MUTATIONS if not given.parts or any(part in f"{m.file}: {m.name}" for part in given.parts)]
    if given.list:
        sys.stdout.write("".join(f"{mutation.file}: {mutation.name}\n" for mutation in chosen))
        return 0
    with tempfile.TemporaryDirectory(prefix="vectail-sabotage-") as folder:
        copies = [Copy(Path(folder) / f"project{number}") for number in range(_AT_ONCE)]
        copies[0].check_whole(test for mutation in chosen for test in mutation.tests)
        outcomes = _tried(copies, chosen)
    sys.stdout.write(table_of(outcomes))
    return int(any(outcome.verdict != "caught" for outcome in outcomes))


def _tried(copies: Sequence[Copy], mutations: Sequence[Mutation]) -> list[Outcome]:
    """Return what became of the mutations, in their order; as many are planted at once as there are copies."""
    free: SimpleQueue[Copy] = SimpleQueue()
    for copy in copies:
        free.put(copy)

    def try_one(mutation: Mutation) -> Outcome:
        copy = free.get()
        try:
            outcome = copy.try_one(mutation)
        finally:
            free.put(copy)
        sys.stderr.write(f"{outcome.verdict:6} {mutation.name} ({outcome.seconds:.0f} s)\n")
        return outcome

    with ThreadPoolExecutor(len(copies)) as pool:
        return list(pool.map(try_one, mutations))


if __name__ == "__main__":
    sys.exit(main())
