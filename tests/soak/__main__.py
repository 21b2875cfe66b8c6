"""`python -m tests.soak --minutes M [--seed S] [--folder F]`: soak a worker and print one JSON object; exit code 1 unless all is well.

A table and a chart of the samples go to the folder (default: `.cache/soak`).
"""

import argparse
import json
import sys
import time
from pathlib import Path

import pytest

from tests.soak.ground import open_ground
from tests.soak.plan import plan
from tests.soak.samples import write_picture, write_table
from tests.soak.soak import Soak

_FOLDER = Path(__file__).parents[2] / ".cache" / "soak"


def main() -> int:
    """Run as a program."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0, help="how long it is fed (default 30); the end takes as long as it takes")
    parser.add_argument("--seed", type=int, default=20_261, help="which faults come when")
    parser.add_argument("--folder", type=Path, default=_FOLDER, help="where the measurements go")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    began_s = time.monotonic()
    try:
        with open_ground() as ground:
            soak = Soak(ground=ground, total_s=given.minutes * 60, faults=plan(given.minutes * 60, given.seed))
            try:
                soak.run()
            finally:
                write_table(soak.samples, given.folder / "soak.csv")
                write_picture(soak.samples, given.folder / "soak.png")
            result = soak.result()
    except pytest.skip.Exception as skipped:
        sys.stderr.write(f"soak: {skipped}\n")
        return 2
    facts = {"minutes": given.minutes, "seed": given.seed, "seconds": round(time.monotonic() - began_s)}
    result |= facts | {"table": str(given.folder / "soak.csv"), "picture": str(given.folder / "soak.png")}
    written = json.dumps(result, indent=2)
    (given.folder / "soak.json").write_text(f"{written}\n")
    sys.stdout.write(f"{written}\n")
    return int(not result["ok"])


if __name__ == "__main__":
    sys.exit(main())
