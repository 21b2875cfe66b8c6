"""What a person sees: how often it is said that nothing is close, rightly and wrongly, and how many kinds of line are in ten hits.

`nothing.toml` has 50 questions about life and 50 about the operation of systems that are not in the logs. Those were written before any
result was known; the share of the bearing and the deviations in `worker.embedding.model.nearness` were chosen by looking at these figures,
so they are flattered a little.
"""

import contextlib
import tomllib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.labelled_logs import LabelledLine
from benchmarks.questions.asked import Question
from benchmarks.retrieval_reader import Read, Reader
from consumers.text.families import family_of
from consumers.text.mask import Masker
from worker.embedding.loaded import load_model
from worker.embedding.model.nearness import Nearness
from worker.embedding.model.vectors import Vectors
from worker.querying.kinds import kinds_of
from worker.settings.settings import Settings

NOTHING: Final = Path(__file__).with_name("nothing.toml")
_HITS, _RANKED = 10, 256
_STEPS: Final = (-0.1, -0.05, -0.025, 0.0, 0.025, 0.05, 0.1, 0.15)
"""Of the curve: how much higher the cut is than the one that is used."""


def measure_nothing(settings: Settings, lines: Sequence[LabelledLine], questions: Sequence[Question]) -> dict[str, Any]:
    """Return which shares of questions are told that nothing is close. Raises ModelError."""
    model = load_model(settings)
    with contextlib.closing(model.engine), contextlib.closing(model.new_tokenizer()) as tokenizer:
        if (nearness := model.nearness) is None:
            return {}
        reader = Reader(model, tokenizer, Masker())
        read = reader.read([line.text for line in lines], range(len(lines)))
        asked = {"questions": [question.text for question in questions], **tomllib.loads(NOTHING.read_text(encoding="utf-8"))}
        vectors = {name: reader.embed_questions(texts) for name, texts in asked.items()}
    over = {name: _over_cut(nearness, read.vectors, questions) for name, questions in vectors.items()}
    labels = _labels(read, [f"{line.label.file} {line.label.event}" for line in lines])
    return {
        "none_right": _share(over["life"]),
        "none_wrong": _share(over["questions"]),
        "none_elsewhere": _share(over["elsewhere"]),
        "kinds_in_ten": round(fmean(_kinds_in_ten(read, question, labels) for question in vectors["questions"]), 3),
        "none_curve": [{"cut": step, **{name: _share(of, step) for name, of in over.items()}} for step in _STEPS],
    }


def _over_cut(nearness: Nearness, templates: Vectors, questions: Vectors) -> NDArray[np.float64]:
    """Return by how much the best cosine of each question is over its cut."""
    cuts = [nearness.cuts(question).near for question in questions]
    return np.asarray((questions @ templates.T).max(axis=1) - np.array(cuts), np.float64)


def _labels(read: Read, labels: Sequence[str]) -> list[str]:
    """Return of each template the label that most of its lines have."""
    counts: list[Counter[str]] = [Counter() for _ in read.distinct]
    for texts, label in zip(read.texts, labels, strict=True):
        for text in texts:
            counts[text][label] += 1
    return [one.most_common(1)[0][0] for one in counts]


def _kinds_in_ten(read: Read, question: NDArray[np.float32], labels: Sequence[str]) -> int:
    """Return how many labels the first ten kinds have, ranked by meaning."""
    order = np.argsort(-(read.vectors @ question), kind="stable")[:_RANKED].tolist()
    best: dict[str, int] = {}
    for at in order:
        best.setdefault(family_of(read.distinct[at]), at)
    families = list(best.values())
    kinds = kinds_of([read.distinct[at] for at in families])[:_HITS]
    return len({labels[families[kind.first]] for kind in kinds})


def _share(over: NDArray[np.float64], step: float = 0.0) -> float:
    return round(float((over < step).mean()), 4)
