"""What is fed and what is asked, all of it seeded: words that no mask takes out, in an order that does not come twice.

Pure but for the model's own list of words, which is the dictionary. Called by `benchmarks.query_latency`.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random

LINE_WORDS = 54
"""56 tokens with the two that the model adds: about what lines of real logs have."""
QUERY_WORDS = 8
"""10 tokens: what the questions of `benchmarks.retrieval` have in the mean."""
_LEAST_LETTERS, _MOST_LETTERS = 4, 12


def dictionary(tokenizer_json: Path) -> list[str]:
    """Return the whole words of a model's vocabulary: a token each, and nothing in them that looks like an identifier."""
    vocabulary = json.loads(tokenizer_json.read_text(encoding="utf-8"))["model"]["vocab"]
    return sorted(word for word in vocabulary if _is_word(word))


def _is_word(word: str) -> bool:
    return word.isascii() and word.isalpha() and word.islower() and _LEAST_LETTERS <= len(word) <= _MOST_LETTERS


def words_of(lines: Iterable[str], words: Iterable[str]) -> list[str]:
    """Return those of the words that the lines have: questions of these share words with what is searched."""
    return sorted({word for line in lines for word in re.findall(r"[a-z]+", line)}.intersection(words))


def distinct_lines(words: Sequence[str], seed: int) -> Iterator[bytes]:
    """Yield lines without end; each has a template of its own, so that it costs the engine its tokens."""
    random = Random(seed)
    while True:
        yield " ".join(random.choices(words, k=LINE_WORDS)).encode()


def distinct_questions(words: Sequence[str], seed: int, count: int) -> list[str]:
    """Return `count` different questions."""
    random = Random(seed)
    asked: dict[str, None] = {}
    while len(asked) < count:
        asked[" ".join(random.choices(words, k=QUERY_WORDS))] = None
    return list(asked)


def poisson_times(rate_per_s: float, seconds: float, seed: int) -> list[float]:
    """Return the moments, in seconds from 0, at which a Poisson process of that rate asks within `seconds`."""
    random = Random(seed)
    times: list[float] = []
    now_s = random.expovariate(rate_per_s)
    while now_s < seconds:
        times.append(now_s)
        now_s += random.expovariate(rate_per_s)
    return times
