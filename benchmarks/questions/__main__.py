"""Questions about logs in natural language: what is found when whole lines, templates or families of templates are searched by meaning.

    python -m benchmarks.questions [--logs DIR] [--questions FILE] [--engine auto|vllm|llama] [--model FOLDER]… [--default-only] [--quick]
        [--json]

Caveats first. One collection of logs, 2,000 lines a system. Questions and grades are ours, written from people's labels before any result
was known (README.md beside this file has the method). Everything is searched by meaning and exactly, without an index; `shipped` adds what
words decide in the mode that a worker answers in.
All ways to make texts get the same lines, and questions are masked as the worker masks them. With `--quick`, whole lines are a sample; what
the other ways find is the same as without it. `benchmarks.questions.scores` says what is counted. Nothing here depends on the machine's
speed.

The models are the two that are installed with vectail and BGE-small (fetched by Maven); `--model` adds any other that vectail takes.
"""

import contextlib
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from benchmarks.labelled_logs import LabelledLine, read_logs
from benchmarks.program import LLAMA, LOGS, Figures, option, program
from benchmarks.questions.asked import QUESTIONS, Question, read_questions
from benchmarks.questions.bge import NAME, ModelAbsent, bge_folder
from benchmarks.questions.corpus import FAMILIES, SHIPPED, VERSION_2, WAYS, Lines, corpora, nearness
from benchmarks.questions.nothing import measure_nothing
from benchmarks.questions.scores import Score, difference, score
from benchmarks.retrieval import some_of_each
from worker.embedding.loaded import LoadedModel, chosen_engine, load_model, model_of
from worker.embedding.model.folder import PLAIN, TUNED, InstalledName
from worker.settings.settings import Settings, load_settings

QUICK_LINES_OF_A_LABEL = 5


class Found(NamedTuple):
    """What one model finds in one way."""

    results: int
    """How many there are to be found."""
    scores: Sequence[Score]
    """Of each question."""

    def values(self, measure: str) -> list[float]:
        """Return the scores by one measure."""
        return [getattr(score, measure) for score in self.scores]


def search(model: LoadedModel, lines: Sequence[LabelledLine], whole: Sequence[int], questions: Sequence[Question]) -> dict[str, Found]:
    """Search the lines in every way, as whole lines those numbered by `whole`; return what is found by way."""
    numbers = {label: number for number, label in enumerate(sorted({line.label for line in lines}))}
    grades = np.zeros((len(questions), len(numbers)))
    for row, question in zip(grades, questions, strict=True):
        for label, grade in question.grades.items():
            row[numbers[label]] = grade
    found = {}
    with contextlib.closing(model.new_tokenizer()) as tokenizer:
        searched = Lines([line.text for line in lines], [numbers[line.label] for line in lines], whole)
        for corpus in corpora(model, tokenizer, searched, [question.text for question in questions]):
            near = (nearness(corpus, place, question.text) for place, question in enumerate(questions))
            scores = [score(one, corpus.results, worth) for one, worth in zip(near, grades, strict=True)]
            found[corpus.way] = Found(len(corpus.results.shares), scores)
    return found


def figures_of(found: Mapping[str, Mapping[str, Found]], questions: Sequence[str]) -> dict[str, Any]:
    """Return what `--json` prints, from what each model finds in each way; the first model is the default one."""
    default = next(iter(found.values()))
    headline = default[FAMILIES]
    return {
        "questions": len(questions),
        **{measure: fmean(headline.values(measure)) for measure in ("hit1", "hit5", "ndcg10")},
        **({"vs_plain": _apart(headline, found[PLAIN][FAMILIES])} if PLAIN in found and len(questions) > 1 else {}),
        "by": {model: {way: _way(ways, way) for way in WAYS} for model, ways in found.items()},
        "each": {text: {way: default[way].scores[number].ndcg10 for way in WAYS} for number, text in enumerate(questions)},
    }


def _way(ways: Mapping[str, Found], way: str) -> dict[str, Any]:
    found = ways[way]
    figures: dict[str, Any] = {"texts": found.results, **{measure: fmean(found.values(measure)) for measure in Score._fields}}
    others = {VERSION_2: way != VERSION_2, FAMILIES: way == SHIPPED}
    for other in (name for name, is_compared in others.items() if is_compared and len(found.scores) > 1):
        figures[f"vs_{other}"] = _apart(found, ways[other])
    return figures


def _apart(found: Found, other: Found) -> dict[str, Any]:
    return {measure: difference(found.values(measure), other.values(measure))._asdict() for measure in Score._fields}


def measure_all(
    engine: str,
    models: Sequence[Path | InstalledName],
    lines: Sequence[LabelledLine],
    whole: Sequence[int],
    questions: Sequence[Question],
) -> dict[str, dict[str, Found]]:
    """Measure each model, by its name or folder; return what is found by model and way. Raises ModelError."""
    found = {}
    for named in models:
        model = load_model(settings_for(engine, named))
        with contextlib.closing(model.engine):
            found[model.prepared.name] = search(model, lines, whole, questions)
    return found


def settings_for(engine: str, model: Path | InstalledName) -> Settings:
    """Return the settings that name an engine and a model, by its name or folder."""
    table = {"folder": str(model)} if isinstance(model, Path) else {"name": model}
    return load_settings(None, {"engine": {"name": engine}, "model": table})


def _second_model() -> tuple[list[Path], dict[str, str]]:
    """Return the folder of BGE-small, or the reason why there is none by its name."""
    try:
        return [bge_folder()], {}
    except ModelAbsent as error:
        return [], {NAME: str(error)}


def measure(chosen: Namespace) -> Figures:
    """Read, and measure every model. Raises Misfit, ModelError."""
    lines = read_logs(chosen.logs)
    labels = [line.label for line in lines]
    whole = some_of_each(labels, QUICK_LINES_OF_A_LABEL if chosen.quick else None)
    questions = read_questions(set(labels), chosen.questions)
    bge, absent = ([], {}) if chosen.default_only else _second_model()
    found = measure_all(chosen.engine, [TUNED, PLAIN, *bge, *chosen.model], lines, whole, questions)
    settings = settings_for(chosen.engine, TUNED)
    engine = chosen_engine(settings, model_of(settings))
    about = {"lines": len(lines), "whole_lines": len(whole), "engine": engine, "absent": absent}
    nothing = measure_nothing(settings, lines, questions)
    return figures_of(found, [question.text for question in questions]) | nothing | about


main = program(
    __doc__,
    measure,
    LOGS,
    LLAMA,
    option("--model", type=Path, action="append", default=[], help="folder of another model to measure; may be repeated"),
    option("--questions", type=Path, default=QUESTIONS, help="other graded questions, in the same form"),
    option("--default-only", action="store_true", help=f"leave {NAME} out, and fetch nothing"),
    quick=f"of whole lines, {QUICK_LINES_OF_A_LABEL} of each label instead of all",
)

if __name__ == "__main__":
    main()
