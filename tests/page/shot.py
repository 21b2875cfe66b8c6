"""Takes a picture of any page: `python -m tests.page.shot ADDRESS FILE.png [--width 360] [--dark] [--whole] [--wait 1.5]`."""

import argparse
from pathlib import Path

from tests.page.watched import HIGH, WIDE, Watched, chromium


def main() -> None:
    """Open the address, wait a moment, and write the picture; console errors are printed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address")
    parser.add_argument("file", type=Path)
    parser.add_argument("--width", type=int, default=WIDE)
    parser.add_argument("--height", type=int, default=HIGH)
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--whole", action="store_true", help="the whole page, not only what fits the window")
    parser.add_argument("--wait", type=float, default=1.5, help="seconds")
    chosen = parser.parse_args()
    with chromium() as browser:
        watched = Watched(browser)
        page = watched.open(chosen.address, width=chosen.width, height=chosen.height, scheme="dark" if chosen.dark else "light")
        page.wait_for_timeout(chosen.wait * 1000)
        page.screenshot(path=chosen.file, full_page=chosen.whole)
        for fault in watched.faults:
            print(fault)  # noqa: T201 - for the person at the terminal


if __name__ == "__main__":
    main()
