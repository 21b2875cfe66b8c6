"""Questions that nothing answers, and how often that is said: of them, and wrongly of the questions that have an answer.

`nothing.toml` has 50 questions about life and 50 about the operation of systems that are not in the logs. Those were written before any
result was known; the share of the bearing and of the way between the two kinds in `worker.embedding.model.nearness` were chosen by looking
at these figures, so they are flattered a little.
"""

import contextlib
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.labelled_logs import LabelledLine
from benchmarks.questions.asked import Question
from benchmarks.retrieval_reader import Reader
from consumers.text.mask import Masker
from worker.embedding.loaded import load_model
from worker.embedding.model.nearness import Nearness
from worker.embedding.model.vectors import Vectors
from worker.settings.settings import Settings

NOTHING: Final = Path(__file__).with_name("nothing.toml")
_STEPS: Final = (-0.1, -0.05, -0.025, 0.0, 0.025, 0.05, 0.1, 0.15)
"""Of the curve: how much higher the cut is than the one that is used."""


def measure_nothing(settings: Settings, lines: Sequence[LabelledLine], questions: Sequence[Question]) -> dict[str, Any]:
    """Return which shares of questions are told that nothing is close. Raises ModelError."""
    model = load_model(settings)
    with contextlib.closing(model.engine), contextlib.closing(model.new_tokenizer()) as tokenizer:
        if (nearness := model.nearness) is None:
            return {}
        reader = Reader(model, tokenizer, Masker())
        templates = reader.read([line.text for line in lines], range(len(lines))).vectors
        asked = {"questions": [question.text for question in questions], **tomllib.loads(NOTHING.read_text(encoding="utf-8"))}
        over = {name: _over_cut(nearness, templates, reader.embed_questions(texts)) for name, texts in asked.items()}
    return {
        "none_right": _share(over["life"]),
        "none_wrong": _share(over["questions"]),
        "none_elsewhere": _share(over["elsewhere"]),
        "none_curve": [{"cut": step, **{name: _share(of, step) for name, of in over.items()}} for step in _STEPS],
    }


def _over_cut(nearness: Nearness, templates: Vectors, questions: Vectors) -> NDArray[np.float64]:
    """Return by how much the best cosine of each question is over its cut."""
    cuts = [nearness.cuts(question).near for question in questions]
    return np.asarray((questions @ templates.T).max(axis=1) - np.array(cuts), np.float64)


def _share(over: NDArray[np.float64], step: float = 0.0) -> float:
    return round(float((over < step).mean()), 4)
