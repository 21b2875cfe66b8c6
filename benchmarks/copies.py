"""Many lines out of a few ten thousand: copies with other digits, so that templates stay the same and identifiers do not.

In every copy each run of four or more digits is another one, the same run the same one. What the copies compress to is the same within 5 %.
"""

import re
from collections.abc import Iterator, Sequence
from random import Random

from producers.file_lines import FileUnreadable, LineTooLarge, read_files
from producers.log_feed import synthetic_lines

SYNTHETIC = 32_000
_DIGITS = re.compile(r"\d{4,}")
_BETWEEN = "\0"
_SEED = 7
_START_MS = 1_700_000_000_000


def copied(texts: Sequence[str], copy: int) -> list[str]:
    """Return the texts with other digits; copy 0 is the texts themselves."""
    random, others = Random(copy), dict[str, str]()

    def other(found: re.Match[str]) -> str:
        digits = found[0]
        if digits not in others:
            others[digits] = str(random.randrange(10 ** (len(digits) - 1), 10 ** len(digits)))
        return others[digits]

    joined = _BETWEEN.join(text.replace(_BETWEEN, "") for text in texts)
    return (_DIGITS.sub(other, joined) if copy else joined).split(_BETWEEN)


def copies(texts: Sequence[str], lines: int) -> Iterator[list[str]]:
    """Yield that many lines, copy by copy; the last one is cut."""
    left = lines
    for copy in range(-(-lines // len(texts))):
        yield copied(texts, copy)[:left]
        left -= len(texts)


def texts_of_files(files: Sequence[str]) -> list[str]:
    """Return the lines of the files, or synthetic ones without files; ends the program if a file cannot be read."""
    if not files:
        return [line.decode() for line in synthetic_lines(_SEED, SYNTHETIC, _START_MS)]
    try:
        return [line.decode("utf-8", "replace") for line in read_files(files) if line and not isinstance(line, LineTooLarge)]
    except FileUnreadable as error:
        raise SystemExit(str(error)) from error
