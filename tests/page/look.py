"""Serves the stub world, to look at the page: `python -m tests.page.look [--port 8791] [--token secret] [--hostile] [--rate 2]`."""

import argparse
import time
from random import Random

from tests.page.hostile import make_hostile
from tests.page.stub_lines import KINDS
from tests.page.stub_world import StubWorld


def main() -> None:
    """Serve until Ctrl-C; new lines arrive at `--rate` a second."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8791)
    parser.add_argument("--token", default="", help="ask for this token")
    parser.add_argument("--hostile", action="store_true", help="HTML, scripts, bidirectional marks and endless words in every text")
    parser.add_argument("--rate", type=float, default=2.0, help="new lines a second; 0: none")
    chosen = parser.parse_args()
    world = StubWorld(token=chosen.token, port=chosen.port)
    if chosen.hostile:
        make_hostile(world)
    print(f"{world.url}/  (Ctrl-C ends it)")  # noqa: T201 - for the person at the terminal
    random = Random(3)
    try:
        while True:
            time.sleep(1 / chosen.rate if chosen.rate else 60)
            if chosen.rate:
                world.write(1, random.choices(KINDS[:-1], [kind.weight for kind in KINDS[:-1]])[0])
    except KeyboardInterrupt:
        world.close()


if __name__ == "__main__":
    main()
