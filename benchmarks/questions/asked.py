"""Questions as somebody on call asks them, each with the labels that answer it, graded.

`questions.toml` is a list of `[[question]]` with its `text`, `answers.FILE` and `related.FILE`: numbers of EventIds in the labels of FILE.
`benchmarks.questions` and `benchmarks.retrieval_modes` read it once. Inconsistent input raises Misfit; nothing is guessed.
"""

import tomllib
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.labelled_logs import Label, Misfit

QUESTIONS = Path(__file__).with_name("questions.toml")
ANSWERS, RELATED = 2, 1
_GRADES = {"answers": ANSWERS, "related": RELATED}


class Question(NamedTuple):
    """A question in our own words, and what each label is worth for it."""

    text: str
    grades: Mapping[Label, int]
    """2: its lines answer the question. 1: they help. A label that is not here: 0."""

    @property
    def answers(self) -> frozenset[Label]:
        """Return the labels that answer the question."""
        return frozenset(label for label, grade in self.grades.items() if grade == ANSWERS)


def read_questions(labels: Collection[Label], file: Path = QUESTIONS) -> list[Question]:
    """Read the questions all of whose labels lie in present files. Raises Misfit, also for a label that no line has."""
    questions = read_all_questions(file)
    there = {label.file for label in labels}
    asked = [question for question in questions if all(label.file in there for label in question.grades)]
    for question in asked:
        for label in sorted(question.grades.keys() - set(labels)):
            raise Misfit(f"{file.name}: no line of {label.file} is labelled {label.event}, which {question.text!r} names")
    if not asked:
        raise Misfit(f"{file.name}: no question is about {', '.join(sorted(there))} alone")
    return asked


def read_all_questions(file: Path = QUESTIONS) -> list[Question]:
    """Read every question. Raises Misfit for a question that is not well formed, and for one that is asked twice."""
    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8")).get("question", [])
        questions = [Question(str(table["text"]), dict(_grades(table))) for table in tables]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Misfit(f"{file.name} is not usable: {error!r}") from error
    seen: set[str] = set()
    for table, question in zip(tables, questions, strict=True):
        if unknown := table.keys() - _GRADES.keys() - {"text"}:
            raise Misfit(f"{file.name}: {question.text!r} has an unknown key {min(unknown)!r}")
        if len(question.grades) != sum(1 for _ in _grades(table)):
            raise Misfit(f"{file.name}: {question.text!r} names a label twice")
        if not question.answers:
            raise Misfit(f"{file.name}: nothing answers {question.text!r}")
        if question.text in seen:
            raise Misfit(f"{file.name}: {question.text!r} is asked twice")
        seen.add(question.text)
    return questions


def _grades(table: Mapping[str, Any]) -> Iterator[tuple[Label, int]]:
    for key, grade in _GRADES.items():
        for name, events in table.get(key, {}).items():
            for event in events:
                yield Label(name, f"E{int(event)}"), grade
