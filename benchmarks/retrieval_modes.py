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
- identifiers: how many of 200 words that name one thing (seeded, out of the lines) are in every hit of a question about them, of which
  there is at least one; in the default mode.
"""

import contextlib
import tempfile
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any, NamedTuple

from benchmarks.labelled_logs import Label, read_logs
from benchmarks.own_service import fed
from benchmarks.program import LLAMA, LOGS, Figures, program
from benchmarks.query_latency_sides import await_committed, opened
from benchmarks.questions.asked import Question, read_questions
from benchmarks.race import Wrong
from benchmarks.retrieval import sample
from benchmarks.retrieval_scores import FIRST
from worker.asking.question import MAX_TEXT_CHARACTERS
from worker.cli.query_client import QueryClient
from worker.embedding.loaded import LoadedModel, load_model
from worker.querying.query_words import words_of
from worker.runtime.logs import configure_logs
from worker.settings.settings import Settings, load_settings

_PARTITIONS = 4
"""Of a topic of the embedded broker: line i of the feed goes to partition i modulo their number, as `producers.feed` promises."""
_ANSWER_S = 60.0
Ask = Callable[[Mapping[str, object]], list[dict[str, Any]]]
"""Takes a request, returns its hits. Raises Wrong for an error, or for an answer that a bound cut short."""
MODES = ("dense", "hybrid")
SAMPLE_LINES, QUICK_SAMPLE_LINES = 400, 80
DEEP = 100
"""Hits to search for ten labels."""
IDENTIFIERS, QUICK_IDENTIFIERS = 200, 40


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


@contextmanager
def indexed(settings: Settings, model: LoadedModel, folder: Path, lines: Sequence[str]) -> Iterator[Ask]:
    """Index the lines in a new folder and yield a way to query it; an empty line is not stored."""
    with opened(settings, model, folder) as side:
        with fed(side.settings, side.service, ([line.encode()] for line in lines)) as progress:
            await_committed(len(lines), progress, side)
        client = QueryClient(side.settings.kafka)

        def ask(request: Mapping[str, object]) -> list[dict[str, Any]]:
            reply = client.ask(request, timeout_s=_ANSWER_S)
            if "hits" not in reply:
                raise Wrong(f"{request}: {reply}")
            hits: list[dict[str, Any]] = reply["hits"]
            return hits

        try:
            yield ask
        finally:
            client.close()


def line_of(hit: Mapping[str, Any]) -> int:
    """Return the number of a hit's line, from 0."""
    return int(hit["offset"]) * _PARTITIONS + int(hit["partition"])


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


def identifiers_of(texts: Sequence[str], count: int) -> list[str]:
    """Return some identifiers that stand in the lines, seeded, no more than one of a line."""
    found: dict[str, None] = {}
    for text in Random(1).sample(list(texts), len(texts)):
        if len(found) < count and (identifiers := words_of(text).identifiers):
            found[max(identifiers, key=lambda one: len(one.text)).text] = None
    return list(found)


def count_found(ask: Ask, identifiers: Sequence[str]) -> int:
    """Return of how many identifiers the question what happened finds lines, and none without it."""
    hits = {one: ask({"text": f"what went wrong with {one}"}) for one in identifiers}
    return sum(bool(found) and all(words_of(one).identifiers[0].is_in(hit["text"]) for hit in found) for one, found in hits.items())


def figures_of(scores: Mapping[str, Scores], questions: Sequence[Question]) -> Figures:
    """Return what `--json` prints, in both modes."""
    figures: Figures = {
        mode: {
            "recall10": fmean(one.recall),
            "p10_questions": fmean(one.precision),
            "found_first": fmean(one.first),
            "p10_lines": fmean(one.lines) if one.lines else None,
        }
        for mode, one in scores.items()
    }
    dense, hybrid = (scores[mode].recall for mode in MODES)
    changed = {one.text: [old, new] for one, old, new in zip(questions, dense, hybrid, strict=True) if old != new}
    return {"recall10_ratio": fmean(hybrid) / max(fmean(dense), 1e-9), **figures, "recall10_changed": changed}


def measure(chosen: Namespace) -> Figures:
    """Index the logs and query in both modes. Raises Misfit, ModelError, Wrong."""
    configure_logs(quiet=True)
    settings = load_settings(None, {"engine": {"name": chosen.engine}})
    lines = read_logs(chosen.logs)
    labels, texts = [line.label for line in lines], [line.text for line in lines]
    questions, model = read_questions(set(labels)), load_model(settings)
    sampled = sample(labels, QUICK_SAMPLE_LINES if chosen.quick else SAMPLE_LINES)
    with (
        contextlib.closing(model.engine),
        tempfile.TemporaryDirectory(prefix="vectail-bench-") as folder,
        indexed(settings, model, Path(folder) / "index", texts) as ask,
    ):
        scores = {mode: ask_all(ask, mode, labels, texts, questions, sampled) for mode in MODES}
        identifiers = identifiers_of(texts, QUICK_IDENTIFIERS if chosen.quick else IDENTIFIERS)
        found = count_found(ask, identifiers)
    about = {"questions": len(questions), "lines": len(lines), "sampled_lines": len(sampled), "engine": model.engine.name}
    return figures_of(scores, questions) | {"identifiers": {"asked": len(identifiers), "found": found}} | about


main = program(__doc__, measure, LOGS, LLAMA, quick=f"{QUICK_SAMPLE_LINES} lines are asked for instead of {SAMPLE_LINES}")

if __name__ == "__main__":
    main()
