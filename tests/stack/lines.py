"""`python -m tests.stack.lines`: made-up logs on standard output, without end, for `vectail feed -`; ends with its reader."""

import contextlib
import itertools
import os
import sys
import time

from producers.log_feed import synthetic_lines

_PIECE_LINES = 100
"""Their times begin at now and go on by 8 ms a line: a piece is 0.8 s long."""


def main() -> None:
    """Run as a program."""
    with contextlib.suppress(BrokenPipeError):
        for seed in itertools.count():
            for line in synthetic_lines(seed, _PIECE_LINES, int(time.time() * 1_000)):
                sys.stdout.buffer.write(line.replace(b"\n", b" ") + b"\n")
            sys.stdout.buffer.flush()
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else the interpreter fails when it flushes at its end


if __name__ == "__main__":
    main()
