"""Log lines that people have labelled by template, and questions whose answers are given as labels.

The layout is LogHub's: `NAME.log` with the lines, and `NAME.csv` with a row for each line, of which only `EventId` is read.
`benchmarks.retrieval` calls both readers once. Inconsistent input raises Misfit; nothing is guessed.
"""

import csv
import tomllib
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from producers.lines import FileUnreadable, TooLarge, read_files

QUESTIONS = Path(__file__).with_name("retrieval_questions.toml")


class Misfit(Exception):
    """Logs, labels and questions are inconsistent; the message is one line for the user."""


class Label(NamedTuple):
    """A template as labelled by people."""

    file: str
    """Name of the log without its suffix."""
    event: str
    """`EventId`; unique within its file only."""


class LabelledLine(NamedTuple):
    """A line of the log, unchanged, and its label."""

    text: str
    label: Label


class Question(NamedTuple):
    """A question in our own words, and the labels of the lines that answer it."""

    text: str
    relevant: frozenset[Label]


def read_logs(folder: Path) -> list[LabelledLine]:
    """Read every log that has labels, by name. Raises Misfit."""
    files = sorted(file for file in folder.glob("*.csv") if file.with_suffix(".log").is_file())
    if not files:
        raise Misfit(f"{folder}: no NAME.log with its NAME.csv; give a folder of labelled logs (LogHub) with --logs")
    return [line for file in files for line in _read_log(file)]


def _read_log(labels: Path) -> list[LabelledLine]:
    log = labels.with_suffix(".log")
    try:
        with labels.open(encoding="utf-8", errors="replace", newline="") as rows:
            events = [row.get("EventId") or "" for row in csv.DictReader(rows)]
        lines = list(read_files([str(log)]))
    except (OSError, csv.Error, FileUnreadable) as error:
        raise Misfit(f"{labels.stem}: {error}") from error
    if len(lines) != len(events):
        raise Misfit(f"{log} has {len(lines)} lines, and {labels.name} labels {len(events)}")
    if not all(events):
        raise Misfit(f"{labels}: row {events.index('') + 1} has no EventId")
    return [
        LabelledLine(line.decode("utf-8", "replace"), Label(labels.stem, event))
        for line, event in zip(lines, events, strict=True)
        if not isinstance(line, TooLarge)
    ]


def read_questions(labels: Collection[Label], file: Path = QUESTIONS) -> list[Question]:
    """Read the questions whose answers all lie in present files. Raises Misfit for an unknown label."""
    there = {label.file for label in labels}
    answers: dict[str, set[Label]] = {}
    for name, asked in tomllib.loads(file.read_text(encoding="utf-8")).items():
        for text, events in asked.items():
            answers.setdefault(text, set()).update(Label(name, f"E{event}") for event in events)
    asked_of_all = [Question(text, frozenset(relevant)) for text, relevant in answers.items()]
    questions = [question for question in asked_of_all if all(label.file in there for label in question.relevant)]
    for question in questions:
        for label in sorted(question.relevant.difference(labels)):
            raise Misfit(f"{file.name}: no line of {label.file} is labelled {label.event}, which is said to answer {question.text!r}")
    return questions
