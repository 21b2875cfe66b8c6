"""What masking saves, and whether it degrades retrieval: lines of one label as neighbours.

    python -m benchmarks.retrieval [--logs DIR] [--engine auto|vllm|llama] [--quick] [--json]

Caveats first. One collection of logs, 2,000 lines a system, one model. People labelled the messages without their heads;
some labels are finer or coarser than our templates. Masks were tuned on some of these files; the table lists each file. Both modes get the
same lines, and texts of the same chunker. A line of several chunks stands for its first one. Nothing here depends on the machine's
speed. `benchmarks.questions` asks questions about the same lines.

p@10: share of a line's ten nearest lines that have its label. Equal scores count with the mean over their orders; with n < 10 others of its
label n of them are all; a line alone of its label is left out: in both modes alike. Tokens saved: of all masked lines, every text embedded
once, from a cold cache; each file's from its own.
"""

import contextlib
from argparse import Namespace
from collections.abc import Mapping, Sequence
from random import Random
from statistics import fmean
from typing import Any

import numpy as np

from benchmarks.labelled_logs import Label, LabelledLine, read_logs
from benchmarks.program import LLAMA, LOGS, Figures, program
from benchmarks.retrieval_reader import Read, Reader
from benchmarks.retrieval_scores import Indices, neighbour_shares
from consumers.text.mask import Masker, MaskMode
from worker.embedding.loaded import LoadedModel, load_model
from worker.settings.settings import load_settings

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


def figures_of(
    labels: Sequence[Label],
    reads: Mapping[MaskMode, Read],
    neighbours: Mapping[MaskMode, Mapping[int, float]],
) -> dict[str, Any]:
    """Return what `--json` prints.

    Of each line its label; of each mode what was read and the share of each sampled line's neighbours. A figure is None where nothing was
    there to be measured.
    """
    files: dict[str, list[int]] = {}
    for line, label in enumerate(labels):
        files.setdefault(label.file, []).append(line)
    return {
        "p10_template": _mean(list(neighbours["template"].values())),
        "p10_exact": _mean(list(neighbours["exact"].values())),
        "tokens_saved_share": reads["template"].spent(range(len(labels))).saved_share,
        "tokens_saved_share_second_pass": reads["template"].spent_again().saved_share,
        "files": {file: _file(labels, lines, reads, neighbours) for file, lines in files.items()},
        "all": _file(labels, range(len(labels)), reads, neighbours),
    }


def _file(
    labels: Sequence[Label], lines: Sequence[int], reads: Mapping[MaskMode, Read], neighbours: Mapping[MaskMode, Mapping[int, float]]
) -> dict[str, Any]:
    template, exact = reads["template"], reads["exact"]
    spent = template.spent(lines)
    return {
        "lines": len(lines),
        "labels": len({labels[line] for line in lines}),
        "texts": template.count_distinct(lines),
        "texts_exact": exact.count_distinct(lines),
        "tokens": spent.tokens,
        "tokens_embedded": spent.embedded_tokens,
        "tokens_exact": exact.spent(lines).tokens,
        "tokens_saved_share": spent.saved_share,
        "tokens_saved_share_exact": exact.spent(lines).saved_share,
        **{f"p10_{mode}": _mean([of[line] for line in lines if line in of]) for mode, of in neighbours.items()},
    }


def _mean(shares: Sequence[float]) -> float | None:
    return fmean(shares) if shares else None


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


def measure(chosen: Namespace) -> Figures:
    """Read and compare. Raises Misfit, ModelError."""
    lines = read_logs(chosen.logs)
    model = load_model(load_settings(None, {"engine": {"name": chosen.engine}}))
    sampled = sample([line.label for line in lines], QUICK_SAMPLE_LINES if chosen.quick else SAMPLE_LINES)
    with contextlib.closing(model.engine):
        return compare(model, lines, sampled)


main = program(__doc__, measure, LOGS, LLAMA, quick=f"{QUICK_SAMPLE_LINES} lines for neighbours instead of {SAMPLE_LINES}")

if __name__ == "__main__":
    main()
