"""What masking saves, and whether it degrades retrieval: lines of one label as neighbours.

    python -m benchmarks.retrieval [--logs DIR] [--engine auto|vllm|llama] [--quick] [--json]

Caveats first. One collection of logs, 2,000 lines a system, one model. People labelled the messages without their heads;
some labels are finer or coarser than our templates. Masks were tuned on some of these files; the table lists each file. Both modes get the
same lines, and texts of the same chunker. A line of several chunks stands for its first one. Nothing here depends on the machine's
speed. `benchmarks.questions` asks questions about the same lines.
"""

import argparse
import contextlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from benchmarks.labelled_logs import Label, LabelledLine, Misfit, read_logs
from benchmarks.retrieval_reader import Read, Reader
from benchmarks.retrieval_report import figures_of, show_table
from benchmarks.retrieval_scores import Indices, neighbour_shares
from consumers.text.mask import Masker, MaskMode
from worker.embedding.loaded import LoadedModel, load_model
from worker.embedding.model.errors import ModelError
from worker.settings.settings import load_settings
from worker.settings.tables import EngineTable

LOGS = Path("../shared/logs")
"""Beside the checkout: the licence of the collection does not allow a copy in the repository."""
SAMPLE_LINES, QUICK_SAMPLE_LINES = 4_000, 800
_SEED = 7


def sample(labels: Sequence[Label], count: int) -> list[int]:
    """Draw equally many lines of each file, the same in every run: ascending line numbers."""
    by_file: dict[str, list[int]] = {}
    for line in _shuffled(len(labels)):
        by_file.setdefault(labels[line].file, []).append(line)
    return sorted(line for lines in by_file.values() for line in lines[: count // len(by_file)])


def some_of_each(labels: Sequence[Label], most: int | None) -> list[int]:
    """Draw at most so many lines of each label (None: all), the same in every run: ascending line numbers."""
    by_label: dict[Label, list[int]] = {}
    for line in _shuffled(len(labels)):
        by_label.setdefault(labels[line], []).append(line)
    return sorted(line for lines in by_label.values() for line in lines[:most])


def _shuffled(count: int) -> list[int]:
    return Random(_SEED).sample(range(count), count)


def neighbours_of(read: Read, labels: Indices, lines: Sequence[int]) -> dict[int, float]:
    """Return line → share of its ten nearest with the same label, without lines whose label is unique."""
    firsts = np.array([read.texts[line][0] for line in lines])
    texts, numbers = np.unique(firsts, return_inverse=True)
    shares = neighbour_shares(read.vectors[texts], numbers, labels[list(lines)])
    return {line: float(share) for line, share in zip(lines, shares, strict=True) if not np.isnan(share)}


def compare(model: LoadedModel, lines: Sequence[LabelledLine], sampled: Sequence[int]) -> dict[str, Any]:
    """Read all lines in both modes, and compare the sampled ones; return what `--json` prints."""
    numbers = {label: number for number, label in enumerate(sorted({line.label for line in lines}))}
    labels = np.array([numbers[line.label] for line in lines])
    with contextlib.closing(model.new_tokenizer()) as tokenizer:
        readers: dict[MaskMode, Reader] = {mode: Reader(model, tokenizer, Masker(mode)) for mode in ("template", "exact")}
        reads = {mode: reader.read([line.text for line in lines], sampled) for mode, reader in readers.items()}
    neighbours = {mode: neighbours_of(read, labels, sampled) for mode, read in reads.items()}
    return {
        **figures_of([line.label for line in lines], reads, neighbours),
        "lines": len(lines),
        "sampled_lines": len(sampled),
        "engine": model.engine.name,
        "model": model.prepared.name,
    }


def main(show: Callable[[str], None] = print) -> None:
    """Read, compare, and show the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--logs", type=Path, default=LOGS, help=f"folder of NAME.log with NAME.csv, as LogHub has them (default: {LOGS})")
    parser.add_argument("--engine", choices=("auto", "vllm", "llama"), default="llama")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_SAMPLE_LINES} lines for neighbours instead of {SAMPLE_LINES}")
    parser.add_argument("--json", action="store_true", help="print one object of figures and nothing else")
    chosen = parser.parse_args()
    try:
        lines = read_logs(chosen.logs)
        model = load_model(load_settings(None).model_copy(update={"engine": EngineTable(name=chosen.engine)}))
    except (Misfit, ModelError) as error:
        parser.error(str(error))
    sampled = sample([line.label for line in lines], QUICK_SAMPLE_LINES if chosen.quick else SAMPLE_LINES)
    with contextlib.closing(model.engine):
        figures = compare(model, lines, sampled)
    show(json.dumps(figures)) if chosen.json else show_table(figures, show)


if __name__ == "__main__":
    main()
