"""Seeded lines and questions for `benchmarks.query_latency`: words that no mask removes, in an order that never repeats.

Pure, except that the dictionary is the model's vocabulary.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random

LINE_WORDS = 54
"""56 tokens with the two that the model adds: about the length of real log lines."""
QUERY_WORDS = 8
"""10 tokens: the mean of the questions of `benchmarks.retrieval`."""
_APART = 4
"""Masks take out repetitions of up to four words."""
_LEAST_LETTERS, _MOST_LETTERS = 4, 12


def dictionary(tokenizer_json: Path) -> list[str]:
    """Return the whole words of a model's vocabulary, one token each, that do not look like identifiers."""
    vocabulary = json.loads(tokenizer_json.read_text(encoding="utf-8"))["model"]["vocab"]
    return sorted(word for word in vocabulary if _is_word(word))


def _is_word(word: str) -> bool:
    return word.isascii() and word.isalpha() and word.islower() and _LEAST_LETTERS <= len(word) <= _MOST_LETTERS


def words_of(lines: Iterable[str], words: Iterable[str]) -> list[str]:
    """Return the words that occur in the lines, so that questions share words with the index."""
    return sorted({word for line in lines for word in re.findall(r"[a-z]+", line)}.intersection(words))


def distinct_lines(words: Sequence[str], seed: int) -> Iterator[bytes]:
    """Yield endless lines, each with its own template, so that the engine must embed each; there must be more than four words."""
    random = Random(seed)
    while True:
        line: list[str] = []
        while len(line) < LINE_WORDS:
            word = random.choice(words)
            if word not in line[-_APART:]:
                line.append(word)
        yield " ".join(line).encode()


def distinct_questions(words: Sequence[str], seed: int, count: int) -> list[str]:
    """Return `count` different questions."""
    random = Random(seed)
    asked: dict[str, None] = {}
    while len(asked) < count:
        asked[" ".join(random.choices(words, k=QUERY_WORDS))] = None
    return list(asked)


def poisson_times(rate_per_s: float, seconds: float, seed: int) -> list[float]:
    """Return the event times of a Poisson process of that rate within `seconds`, in seconds from 0."""
    random = Random(seed)
    times: list[float] = []
    now_s = random.expovariate(rate_per_s)
    while now_s < seconds:
        times.append(now_s)
        now_s += random.expovariate(rate_per_s)
    return times
