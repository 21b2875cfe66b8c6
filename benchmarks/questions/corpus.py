"""What can be found in labelled lines, for each way to make texts of them: whole lines, masked lines of two versions, and families.

The last way is what a worker does with a plain question: families, and words between templates that are about equally near.
`benchmarks.questions` calls `corpora` once for each model. Whole lines may be fewer, because each must be embedded.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.questions.scores import Results, Shares
from benchmarks.retrieval_reader import Read, Reader
from consumers.text.families import family_of
from consumers.text.mask import MASKS, Masker
from consumers.text.mask_patterns import VERSION_2_MASKS
from worker.embedding.loaded import LoadedModel
from worker.embedding.model.vectors import Vectors
from worker.embedding.tokenizer import Tokenizer
from worker.querying.dense import MOST_TEMPLATES
from worker.querying.hybrid import order_of
from worker.querying.query_words import words_of

RAW, VERSION_2, MASKED, FAMILIES, SHIPPED = WAYS = ("raw", "version_2", "masks", "families", "shipped")


class Lines(NamedTuple):
    """What is searched."""

    texts: Sequence[str]
    labels: Sequence[int]
    """The number of each line's label."""
    whole: Sequence[int]
    """The lines that are searched as whole lines, by their numbers."""


class Corpus(NamedTuple):
    """What can be found in one way, and the questions as that way masks them."""

    way: str
    results: Results
    questions: Vectors
    words_of: Sequence[str] = ()
    """The texts whose words count, as in the mode that a worker answers in; empty: meaning alone decides."""


def corpora(model: LoadedModel, tokenizer: Tokenizer, lines: Lines, questions: Sequence[str]) -> Iterator[Corpus]:
    """Yield the five ways."""
    for way, masker in _maskers().items():
        reader = Reader(model, tokenizer, masker)
        chosen = lines.whole if way == RAW else range(len(lines.texts))
        read = reader.read([lines.texts[line] for line in chosen], range(len(chosen)))
        shares = shares_of(read, [lines.labels[line] for line in chosen], max(lines.labels) + 1)
        asked = reader.embed_questions(questions)
        yield Corpus(way, Results(read.vectors, np.arange(len(shares)), shares), asked)
        if way == MASKED:
            yield Corpus(FAMILIES, families(read, shares), asked)
            yield Corpus(SHIPPED, families(read, shares), asked, read.distinct)


def nearness(corpus: Corpus, place: int, question: str) -> NDArray[np.float32]:
    """Return how near each text is to the question with this place: float32[t], the larger the better, to be compared only."""
    cosines: NDArray[np.float32] = corpus.results.vectors @ corpus.questions[place]
    if not corpus.words_of:
        return cosines
    near = np.argsort(-cosines, kind="stable")
    first = near[:MOST_TEMPLATES]
    first = first[order_of(cosines[first], [corpus.words_of[text] for text in first.tolist()], words_of(question))]
    ranked = np.empty(len(near), np.float32)
    ranked[np.concatenate([first, near[MOST_TEMPLATES:]])] = -np.arange(len(near))
    return ranked


def _maskers() -> Mapping[str, Masker]:
    newer = [mask.name for mask in MASKS if mask.name not in VERSION_2_MASKS]
    return {RAW: Masker("exact"), VERSION_2: Masker(disabled=newer), MASKED: Masker()}


def shares_of(read: Read, labels: Sequence[int], count: int) -> Shares:
    """Return of each text which share of its lines has each of `count` labels, given the number of each line's label."""
    counts = np.zeros((len(read.distinct), count))
    for texts, label in zip(read.texts, labels, strict=True):
        for text in texts:
            counts[text, label] += 1
    shares: Shares = counts / counts.sum(axis=1, keepdims=True)
    return shares


def families(read: Read, shares: Shares, family_of: Callable[[str], str] = family_of) -> Results:
    """Return one result for each family of the texts, in which each text counts once, however many lines it has."""
    names = [family_of(text) for text in read.distinct]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    result_of = np.array([numbers[name] for name in names])
    summed = np.zeros((len(numbers), shares.shape[1]))
    np.add.at(summed, result_of, shares)
    return Results(read.vectors, result_of, summed / np.bincount(result_of)[:, None])
