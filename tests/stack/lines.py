"""`python -m tests.stack.lines`: endless synthetic logs on standard output, for `vectail feed -`; ends when its reader does."""

import contextlib
import itertools
import os
import sys
import time

from producers.log_feed import synthetic_lines

_PIECE_LINES = 100
"""Line times start now and advance by 8 ms, so a piece spans 0.8 s."""


def main() -> None:
    """Run as a program."""
    with contextlib.suppress(BrokenPipeError):
        for seed in itertools.count():
            for line in synthetic_lines(seed, _PIECE_LINES, int(time.time() * 1_000)):
                sys.stdout.buffer.write(line.replace(b"\n", b" ") + b"\n")
            sys.stdout.buffer.flush()
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # otherwise the interpreter's final flush fails


if __name__ == "__main__":
    main()
