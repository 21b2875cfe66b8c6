"""What masking saves, and whether it degrades retrieval: lines of one label as neighbours, and answers to questions.

    python -m benchmarks.retrieval [--logs DIR] [--engine auto|vllm|llama] [--quick] [--json]

Caveats first. One collection of logs, 2,000 lines a system, one model. People labelled the messages without their heads;
some labels are finer or coarser than our templates. Questions and their answers are ours, marked before any result was known: about a
hundred, so the second digit of a ratio is noise. Masks were tuned on some of these files; the table lists each file. Both modes get the
same lines, texts of the same chunker, and questions masked as the worker masks them. A line of several chunks stands for its first
one among neighbours, and for all of them among answers. Nothing here depends on the machine's speed.
"""

import argparse
import contextlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np

from benchmarks.labelled_logs import Label, LabelledLine, Misfit, Question, read_logs, read_questions
from benchmarks.retrieval_report import Read, figures_of, show_table
from benchmarks.retrieval_scores import Indices, neighbour_shares, recall
from consumers.columns import string_column
from consumers.text.chunk import Chunker
from consumers.text.mask import Masker, MaskMode
from sinks.line import PIECE_BYTES
from worker.embedding.loaded import LoadedModel, load_model
from worker.embedding.model.errors import ModelError
from worker.embedding.model.vectors import Vectors
from worker.embedding.tokenizer import Tokenizer
from worker.settings.settings import load_settings
from worker.settings.tables import EngineTable

LOGS = Path("../shared/logs")
"""Beside the checkout: the licence of the collection does not allow a copy in the repository."""
SAMPLE_LINES, QUICK_SAMPLE_LINES = 4_000, 800
QUICK_LINES_OF_A_LABEL = 5
_SEED = 7


class Choice(NamedTuple):
    """The lines to embed, the same in every mode: ascending line numbers."""

    neighbours: list[int]
    answers: list[int]

    @classmethod
    def of(cls, labels: Sequence[Label], sample_lines: int, lines_of_a_label: int | None) -> "Choice":
        """Draw equally many lines of each file for neighbours; for answers take all lines, or some of each label."""
        random = Random(_SEED)
        by_file: dict[str, list[int]] = {}
        by_label: dict[Label, list[int]] = {}
        for line in random.sample(range(len(labels)), len(labels)):
            by_file.setdefault(labels[line].file, []).append(line)
            by_label.setdefault(labels[line], []).append(line)
        each = sample_lines // len(by_file)
        neighbours = (line for lines in by_file.values() for line in lines[:each])
        answers = (line for lines in by_label.values() for line in lines[:lines_of_a_label])
        return cls(sorted(neighbours), sorted(answers))


class Reader:
    """Lines as one masking mode embeds them; equal texts share one number and one vector.

    Thread: main.
    """

    def __init__(self, model: LoadedModel, tokenizer: Tokenizer, mode: MaskMode) -> None:
        self._engine, self._tokenizer = model.engine, tokenizer
        self._document_prefix, self._query_prefix = model.prepared.document_prefix, model.prepared.query_prefix
        self._masker = Masker(mode)
        self._chunker = Chunker(
            mask=self._masker.mask_column,
            count_tokens=lambda texts: tokenizer.count([self._document_prefix + text for text in texts]).tolist(),
            max_tokens=model.prepared.max_tokens,
            overhead_tokens=int(tokenizer.count([self._document_prefix])[0]),
            max_text_bytes=PIECE_BYTES,
            max_chunks=10_000,
        )

    def read(self, lines: Sequence[str], choice: Choice, questions: Sequence[str]) -> Read:
        """Chunk and mask all lines; embed the chosen ones and the questions."""
        cut = self._chunker.split(string_column(lines))
        texts: list[list[int]] = [[] for _ in lines]
        for line, number in zip(cut.row.tolist(), cut.template.codes.tolist(), strict=True):
            texts[line].append(number)
        distinct = cut.template.values
        tokens = self._tokenizer.count([self._document_prefix + text for text in distinct])
        chosen = sorted({text for line in {*choice.neighbours, *choice.answers} for text in texts[line]})
        vectors = np.zeros((len(distinct), self._engine.dim), dtype=np.float32)
        vectors[chosen] = self._embed([self._document_prefix + distinct[text] for text in chosen])
        asked = self._embed([self._query_prefix + text for text in self._masker.mask(questions)])
        return Read(texts, tokens, vectors, asked)

    def _embed(self, texts: Sequence[str]) -> Vectors:
        """Embed in batches of similar length; return float32[n, dim] of unit length."""
        encoded = self._tokenizer.encode(texts)
        vectors = np.empty((len(texts), self._engine.dim), dtype=np.float32)
        lengths = encoded.counts()
        batch: list[int] = []
        for text in (*np.argsort(lengths, kind="stable").tolist(), None):
            if text is None or int(lengths[batch].sum() + lengths[text]) > self._engine.batch_tokens:
                vectors[batch] = self._engine.embed([encoded.text(one) for one in batch])
                batch = []
            if text is not None:
                batch.append(text)
        return vectors


def neighbours_of(read: Read, labels: Indices, lines: Sequence[int]) -> dict[int, float]:
    """Return line → share of its ten nearest with the same label, without lines whose label is unique."""
    firsts = np.array([read.texts[line][0] for line in lines])
    texts, numbers = np.unique(firsts, return_inverse=True)
    shares = neighbour_shares(read.vectors[texts], numbers, labels[list(lines)])
    return {line: float(share) for line, share in zip(lines, shares, strict=True) if not np.isnan(share)}


def recalls_of(read: Read, labels: Indices, lines: Sequence[int], relevant: Sequence[Sequence[int]]) -> list[float]:
    """Return each question's share of its labels among the first ten."""
    pairs = np.array([(text, labels[line]) for line in lines for text in read.texts[line]])
    return [
        recall(question, read.vectors, pairs[:, 0], pairs[:, 1], labels_of)
        for question, labels_of in zip(read.questions, relevant, strict=True)
    ]


def compare(model: LoadedModel, lines: Sequence[LabelledLine], questions: Sequence[Question], choice: Choice) -> dict[str, Any]:
    """Read all lines in both modes; return what `--json` prints."""
    numbers = {label: number for number, label in enumerate(sorted({line.label for line in lines}))}
    labels = np.array([numbers[line.label] for line in lines])
    relevant = [[numbers[label] for label in question.relevant] for question in questions]
    with contextlib.closing(model.new_tokenizer()) as tokenizer:
        reads = {
            mode: Reader(model, tokenizer, mode).read([line.text for line in lines], choice, [question.text for question in questions])
            for mode in ("template", "exact")
        }
    neighbours = {mode: neighbours_of(read, labels, choice.neighbours) for mode, read in reads.items()}
    recalls = (recalls_of(reads[mode], labels, choice.answers, relevant) for mode in ("template", "exact"))
    return {
        **figures_of(
            [line.label for line in lines],
            reads,
            neighbours,
            {question.text: (template, exact) for question, template, exact in zip(questions, *recalls, strict=True)},
        ),
        "lines": len(lines),
        "sampled_lines": len(choice.neighbours),
        "searched_lines": len(choice.answers),
        "engine": model.engine.name,
        "model": model.prepared.name,
    }


def main(show: Callable[[str], None] = print) -> None:
    """Read, compare, and show the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--logs", type=Path, default=LOGS, help=f"folder of NAME.log with NAME.csv, as LogHub has them (default: {LOGS})")
    parser.add_argument("--engine", choices=("auto", "vllm", "llama"), default="llama")
    parser.add_argument(
        "--quick",
        action="store_true",
        help=f"{QUICK_SAMPLE_LINES} lines for neighbours instead of {SAMPLE_LINES}, "
        f"{QUICK_LINES_OF_A_LABEL} lines of a label for answers instead of all",
    )
    parser.add_argument("--json", action="store_true", help="print one object of figures and nothing else")
    chosen = parser.parse_args()
    try:
        lines = read_logs(chosen.logs)
        labels = [line.label for line in lines]
        questions = read_questions(set(labels))
        model = load_model(load_settings(None).model_copy(update={"engine": EngineTable(name=chosen.engine)}))
    except (Misfit, ModelError) as error:
        parser.error(str(error))
    choice = Choice.of(labels, *((QUICK_SAMPLE_LINES, QUICK_LINES_OF_A_LABEL) if chosen.quick else (SAMPLE_LINES, None)))
    with contextlib.closing(model.engine):
        figures = compare(model, lines, questions, choice)
    show(json.dumps(figures)) if chosen.json else show_table(figures, show)


if __name__ == "__main__":
    main()
