"""Graded questions about the messages of programs, as `benchmarks/training/questions/PROGRAM.toml` has them.

A file has `program`, a table `[messages]` of numbered lines as they look when they are masked, and `[[question]]` tables: `text`, `answers`
and `related`, which are numbers of messages of that program. Inconsistent files raise Misfit; nothing is guessed.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.labelled_logs import Misfit
from benchmarks.questions.asked import ANSWERS, RELATED

FOLDER = Path(__file__).with_name("questions")
_KEYS = {"text", "answers", "related"}


class GradedQuestion(NamedTuple):
    """A question, and what each message of its program is worth for it."""

    text: str
    grades: Mapping[int, int]
    """Place of a message in its program → 2: it answers, 1: it helps. Others: 0."""

    @property
    def answers(self) -> tuple[int, ...]:
        """The places of the messages that answer it."""
        return tuple(place for place, grade in self.grades.items() if grade == ANSWERS)


class Program(NamedTuple):
    """What one program writes, and what is asked about it."""

    name: str
    messages: tuple[str, ...]
    questions: tuple[GradedQuestion, ...]


def read_programs(folder: Path = FOLDER) -> list[Program]:
    """Read every file, by name. Raises Misfit."""
    programs = [_read_program(file) for file in sorted(folder.glob("*.toml"))]
    if not programs:
        raise Misfit(f"{folder} has no questions")
    return programs


def _read_program(file: Path) -> Program:
    try:
        parsed = tomllib.loads(file.read_text(encoding="utf-8"))
        places = {int(number): place for place, number in enumerate(parsed["messages"])}
        questions = tuple(_read_question(table, places) for table in parsed["question"])
        program = Program(str(parsed["program"]), tuple(map(str, parsed["messages"].values())), questions)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Misfit(f"{file.name} is not usable: {error!r}") from error
    texts = [question.text for question in questions]
    if len(set(texts)) < len(texts):
        raise Misfit(f"{file.name} asks twice: {next(text for text in texts if texts.count(text) > 1)!r}")
    return program


def _read_question(table: Mapping[str, Any], places: Mapping[int, int]) -> GradedQuestion:
    """Raises ValueError or KeyError for a question that is not well formed."""
    answers, related = table["answers"], table.get("related", [])
    text = str(table["text"])
    if unknown := set(table) - _KEYS:
        raise ValueError(f"{text!r} has an unknown key {min(unknown)!r}")
    if not answers or len({*answers, *related}) < len(answers) + len(related):
        raise ValueError(f"{text!r} has no answer, or names a message twice")
    grades = {places[number]: RELATED for number in related} | {places[number]: ANSWERS for number in answers}
    return GradedQuestion(text, grades)
