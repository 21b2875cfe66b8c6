"""`python -m tests.stack up|down|status|stop NAME|start NAME`: the whole stack on this machine without Docker, to try alerts on.

Exit codes: 0 done; 1 a part could not be started or stopped; 2 the user must act first: a server is not installed, a stack already runs,
or none runs. `make stack` and `make stack-down` are `up` and `down`.
"""

import argparse
import sys
from pathlib import Path

from tests.stack import verbs
from tests.stack.place import DEFAULT_FOLDER, Place
from tests.stack.ports import WELL_KNOWN

_RATE = 50
_PARTS = (*WELL_KNOWN, "feed")


def main() -> int:
    """Run as a program."""
    parser = argparse.ArgumentParser(prog="python -m tests.stack", description=__doc__)
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument(
        "--folder", type=Path, default=DEFAULT_FOLDER, help="where everything goes; removed at the end (default .cache/stack)"
    )
    made = parser.add_subparsers(dest="verb", required=True)
    up = made.add_parser("up", parents=[shared], help="start everything, and return when the worker is ready")
    up.add_argument("--rate", type=float, default=_RATE, help=f"lines a second that are fed (default {_RATE})")
    up.add_argument("--any-port", action="store_true", help="any free ports, not the well-known ones")
    made.add_parser("down", parents=[shared], help="end everything and remove the folder; also what a killed stack left")
    made.add_parser("status", parents=[shared], help="which part runs, what /readyz says, which alerts there are")
    for verb, what in (("stop", "end one part: a server at once, as in an accident; a program in order"), ("start", "start it again")):
        made.add_parser(verb, parents=[shared], help=what).add_argument("part", choices=_PARTS)
    given = parser.parse_args()
    place = Place(given.folder)
    match given.verb:
        case "up":
            return verbs.up(place, well_known=not given.any_port, rate=given.rate)
        case "down":
            return verbs.down(place)
        case "status":
            return verbs.status(place)
        case verb:
            return verbs.change(place, verb, given.part)


if __name__ == "__main__":
    sys.exit(main())
