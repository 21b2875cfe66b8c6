"""`python -m worker` and the console script `vectail`."""

import sys

from worker.cli.app import run_app


def main() -> None:
    """Run the command line and exit with its code."""
    sys.exit(run_app())


if __name__ == "__main__":
    main()
