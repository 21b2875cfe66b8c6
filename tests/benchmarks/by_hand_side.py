"""A side for `test_wrong_work.py` that indexes nothing; its argument is how many lines it lacks, or why it cannot open."""

import sys

from benchmarks.by_hand_turns import Plan, Turn, serve


def main() -> None:
    """Run as `by_hand_side LACKING`, or as `by_hand_side REASON` without a model."""
    if not sys.argv[1].isdigit():
        sys.exit(sys.argv[1])
    sys.stdout.write("a library says that it is loading\n[INFO] and how\n")
    lacking = int(sys.argv[1])

    def index(plan: Plan) -> Turn:
        """Say that all but `lacking` records are stored, in a second."""
        return Turn(1.0, plan.records - lacking, {})

    serve({"is_ready": True}, index)


if __name__ == "__main__":
    main()
