"""`python -m tests.sabotage [--write | PART OF A NAME …]`: plant each mutation and show which test catches it; exit code 1 unless all do.

`--write` updates the table in tests/README.md, which has all mutations.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.sabotage.mutations import MUTATIONS
from tests.sabotage.planting import ROOT, Copy, table_of, written


def read_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return `write` and `parts`. Raises SystemExit if both are given: the table would lose the mutations that were not tried."""
    parser = argparse.ArgumentParser(prog="python -m tests.sabotage", description=__doc__)
    parser.add_argument("--write", action="store_true", help="update the table in tests/README.md")
    parser.add_argument("parts", nargs="*", metavar="PART", help="only mutations whose name or file contains one of the parts")
    given = parser.parse_args(arguments)
    if given.write and given.parts:
        parser.error("--write is for a run of all mutations: leave out PART")
    return given


def main() -> int:
    """Run as a program."""
    given = read_arguments()
    chosen = [m for m in MUTATIONS if not given.parts or any(part in f"{m.file}: {m.name}" for part in given.parts)]
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="vectail-sabotage-") as folder:
        copy = Copy(Path(folder) / "project")
        copy.check_whole(test for mutation in chosen for test in mutation.tests)
        for mutation in chosen:
            outcomes.append(copy.try_one(mutation))
            sys.stderr.write(f"{outcomes[-1].verdict:6} {mutation.name} ({outcomes[-1].seconds:.0f} s)\n")
    table = table_of(outcomes)
    sys.stdout.write(table)
    if given.write:
        readme = ROOT / "tests" / "README.md"
        readme.write_text(written(readme.read_text(), table))
    return int(any(outcome.verdict != "caught" for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
