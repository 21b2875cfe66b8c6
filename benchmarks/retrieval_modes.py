"""Search modes on labelled logs: dense (by meaning) against hybrid (by meaning and words), through the worker's own queries.

    python -m benchmarks.retrieval_modes [--logs DIR] [--engine auto|vllm|llama] [--quick] [--json]

Caveats as in `benchmarks.questions`, whose questions and labels these are; relevant are the labels that answer a question, not those that
are only related. Here a running worker answers, so the comparison is of what a user gets: hits within the bounds of a real search, not
scores of all texts.

- recall@10: labels in the order of a question's hits; relevant ones among the first ten, of at most ten.
- p@10 of questions: share of relevant ones among the ten hits. A hit stands for one of the worker's families; if fewer than ten
  are relevant, not all hits can be.
- p@10 of lines: queries are unchanged lines of the logs, equally many of each file (seeded), with up to ten hits of one family. Share of
  the ten other lines with the same label, or of as many as exist; a line with a unique label is left out.
- Found first: share of questions whose first hit is relevant.
"""

import argparse
import contextlib
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from benchmarks.labelled_logs import Label, Misfit, read_logs
from benchmarks.questions.asked import Question, read_questions
from benchmarks.retrieval import LOGS, sample
from benchmarks.retrieval_index import Ask, indexed, line_of
from benchmarks.retrieval_scores import FIRST
from worker.asking.question import MAX_TEXT_CHARACTERS
from worker.embedding.loaded import load_model
from worker.embedding.model.errors import ModelError
from worker.runtime.logs import configure_logs
from worker.settings.settings import load_settings

MODES = ("dense", "hybrid")
SAMPLE_LINES, QUICK_SAMPLE_LINES = 400, 80
DEEP = 100
"""Hits to search for ten labels."""
_DIGITS = 4


class Scores(NamedTuple):
    """The scores of one mode, by question and by line."""

    recall: list[float]
    precision: list[float]
    first: list[float]
    lines: list[float]


def first_labels(labels: Sequence[Label]) -> list[Label]:
    """Return the first ten different labels."""
    return list(dict.fromkeys(labels))[:FIRST]


def recall_of(labels: Sequence[Label], relevant: frozenset[Label]) -> float:
    """Return the share of the relevant labels among the first ten, of at most ten."""
    return len(relevant.intersection(first_labels(labels))) / min(FIRST, len(relevant))


def precision_of(labels: Sequence[Label], relevant: frozenset[Label]) -> float:
    """Return the relevant share of the first ten hits; a missing hit counts as irrelevant."""
    return sum(label in relevant for label in labels[:FIRST]) / FIRST


def neighbours_of(line: int, hits: Sequence[int], labels: Sequence[Label], others: Mapping[Label, int]) -> float | None:
    """Return the share of a line's ten other hits with its label, or of as many as exist; None if there are none."""
    possible = min(FIRST, others[labels[line]])
    beside = [hit for hit in dict.fromkeys(hits) if hit != line][:FIRST]
    return sum(labels[hit] == labels[line] for hit in beside) / possible if possible else None


def ask_all(
    ask: Ask, mode: str, labels: Sequence[Label], texts: Sequence[str], questions: Sequence[Question], lines: Sequence[int]
) -> Scores:
    """Query every question and every line in one mode."""
    counts: dict[Label, int] = {}
    for label in labels:
        counts[label] = counts.get(label, 0) + 1
    others = {label: count - 1 for label, count in counts.items()}
    scores = Scores([], [], [], [])
    for question in questions:
        found = [labels[line_of(hit)] for hit in ask({"text": question.text, "mode": mode, "k": DEEP})]
        scores.recall.append(recall_of(found, question.answers))
        scores.precision.append(precision_of(found, question.answers))
        scores.first.append(float(bool(found) and found[0] in question.answers))
    for line in lines:
        request = {"text": texts[line][:MAX_TEXT_CHARACTERS], "mode": mode, "k": FIRST + 1, "per_template": FIRST + 1}
        share = neighbours_of(line, [line_of(hit) for hit in ask(request)], labels, others)
        if share is not None:
            scores.lines.append(share)
    return scores


def figures_of(scores: Mapping[str, Scores], questions: Sequence[Question]) -> dict[str, Any]:
    """Return what `--json` prints, in both modes."""
    figures: dict[str, Any] = {}
    for mode, one in scores.items():
        figures[mode] = {
            "recall10": round(fmean(one.recall), _DIGITS),
            "p10_questions": round(fmean(one.precision), _DIGITS),
            "found_first": round(fmean(one.first), _DIGITS),
            "p10_lines": round(fmean(one.lines), _DIGITS) if one.lines else None,
        }
    dense, hybrid = (scores[mode] for mode in MODES)
    changed = {
        question.text: [round(before, 2), round(after, 2)]
        for question, before, after in zip(questions, dense.recall, hybrid.recall, strict=True)
        if before != after
    }
    return {"recall10_ratio": round(fmean(hybrid.recall) / max(fmean(dense.recall), 1e-9), _DIGITS), **figures, "recall10_changed": changed}


def show_table(figures: Mapping[str, Any], show: Callable[[str], None]) -> None:
    """Show the figures as a person reads them."""
    names = list(figures[MODES[0]])
    show(f"{figures['questions']} questions and {figures['sampled_lines']} lines, of {figures['lines']:,} lines; {figures['engine']}")
    show(f"{'':<8}" + "".join(f"{name:>16}" for name in names))
    for mode in MODES:
        show(f"{mode:<8}" + "".join(f"{figures[mode][name]!s:>16}" for name in names))
    show("recall@10 of questions, dense and hybrid, where they differ:")
    for question, (before, after) in sorted(figures["recall10_changed"].items(), key=lambda one: one[1][1] - one[1][0]):
        show(f"  {before:.2f} → {after:.2f}  {question}")


def main(show: Callable[[str], None] = print) -> None:
    """Index the logs, query in both modes, and show the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--logs", type=Path, default=LOGS, help=f"folder of NAME.log with NAME.csv, as LogHub has them (default: {LOGS})")
    parser.add_argument("--engine", choices=("auto", "vllm", "llama"), default="llama")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_SAMPLE_LINES} lines are asked for instead of {SAMPLE_LINES}")
    parser.add_argument("--json", action="store_true", help="print one object of figures and nothing else")
    chosen = parser.parse_args()
    configure_logs(quiet=True)
    settings = load_settings(None, {"engine": {"name": chosen.engine}})
    try:
        lines = read_logs(chosen.logs)
        labels = [line.label for line in lines]
        questions = read_questions(set(labels))
        model = load_model(settings)
    except (Misfit, ModelError) as error:
        parser.error(str(error))
    sampled = sample(labels, QUICK_SAMPLE_LINES if chosen.quick else SAMPLE_LINES)
    texts = [line.text for line in lines]
    with (
        contextlib.closing(model.engine),
        tempfile.TemporaryDirectory(prefix="vectail-bench-") as folder,
        indexed(settings, model, Path(folder) / "index", texts) as ask,
    ):
        scores = {mode: ask_all(ask, mode, labels, texts, questions, sampled) for mode in MODES}
    about = {"questions": len(questions), "lines": len(lines), "sampled_lines": len(sampled), "engine": model.engine.name}
    figures = figures_of(scores, questions) | about
    show(json.dumps(figures)) if chosen.json else show_table(figures, show)


if __name__ == "__main__":
    main()
