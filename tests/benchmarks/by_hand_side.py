"""A side for `test_by_hand.py` that indexes nothing and says what its argument tells it: how many lines it lacks, or why it cannot open."""

import sys
from pathlib import Path

import numpy as np

from benchmarks.by_hand_turns import Plan, Turn, keep_vectors, serve


def index(lacking: int, plan: Plan) -> Turn:
    """Say that all but `lacking` records are stored, in a second."""
    keep_vectors(plan.folder, [(Path(plan.folder).name, np.ones(2, np.float32))])
    return Turn(1.0, plan.records - lacking, {"asked": 1.0})


def main() -> None:
    """Run as `by_hand_side LACKING`, or as `by_hand_side REASON` without a model."""
    if not sys.argv[1].isdigit():
        sys.exit(sys.argv[1])
    sys.stdout.write("a library says that it is loading\n[INFO] and how\n")
    lacking = int(sys.argv[1])
    serve({"is_ready": True}, lambda plan: index(lacking, plan))


if __name__ == "__main__":
    main()
