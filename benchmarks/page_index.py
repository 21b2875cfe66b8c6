"""The index that `benchmarks.page` looks at: the demo's synthetic lines up to now, and a hundred thousand templates of which most are rare.

Blocks and template rows are written directly (`benchmarks.search_growth_index`): no model runs, vectors are random. Half of the lines are
the demo's; the others are of made-up templates, each of which comes a few times.
"""

from collections.abc import Iterator
from pathlib import Path
from random import Random

from benchmarks.search_growth_index import GAP_MS, Filled, fill
from producers.log_feed import synthetic_lines

_SEED = 7
_SYLLABLES = tuple(first + second for first in "bdfgklmnprstvz" for second in ("a", "e", "i", "o", "u"))
_WORDS_A_LINE = 4
_ENDS = ("was refused", "timed out", "is ready", "has ended", "was retried", "cannot be read")


def fill_for_page(folder: Path, lines: int, templates: int, *, space: str, now_ms: int) -> Filled:
    """Store `lines` lines of at least `templates` templates in a new folder; the last one is from now. Close the sink afterwards."""
    start_ms = now_ms - lines * GAP_MS
    texts = [*synthetic(templates, start_ms), *rare(templates)]
    Random(_SEED).shuffle(texts)
    return fill(folder, texts, lines, space=space, start_ms=start_ms)


def synthetic(count: int, start_ms: int) -> Iterator[str]:
    """Yield the demo's lines."""
    return (line.decode() for line in synthetic_lines(_SEED, count, start_ms))


def rare(count: int) -> Iterator[str]:
    """Yield lines that have no template in common."""
    random, seen = Random(_SEED), set[str]()
    while len(seen) < count:
        words = " ".join("".join(random.choices(_SYLLABLES, k=3)) for _ in range(_WORDS_A_LINE))
        if words not in seen:
            seen.add(words)
            yield f"{words} {random.choice(_ENDS)} after {random.randrange(1_000, 10_000)} ms"
