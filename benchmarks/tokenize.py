"""Lines tokenised per second: vectail's tokenizer and its alternatives, side by side.

    python -m benchmarks.tokenize [FILES…] [--quick] [--json]

Caveats first. Each side gets the same lines in the same process, in turns, and as many threads as the others: but `tokenizer(text)`
and `Llama.tokenize` hold the GIL most of the time and gain little from a second one, and `encode_batch_fast` shares its work out itself
(processors are taken away from the process, so that its pool has as many threads). Lines that are hard (accents, special tokens,
endless words) go to `tokenizers` in vectail too: with many of them the figures come together. The share is shown. Without Transformers
the first comparison is left out. Absolute figures depend on the machine: compare only runs made side by side.
"""

import os
import warnings
from argparse import Namespace
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from multiprocessing import get_context
from statistics import median
from typing import Any, NamedTuple

import tokenizers

from benchmarks.program import FILES, Figures, program
from benchmarks.race import Missing, race, ratios, seconds_of
from producers.file_lines import LineTooLarge, read_files
from producers.log_feed import synthetic_lines
from worker.embedding.model.folder import PLAIN, default_folder
from worker.embedding.model.prepared import PreparedModel, prepare_model
from worker.embedding.tokenizer import Encoded, Tokenizer
from worker.settings.settings import load_settings

LINES, QUICK_LINES = 20_000, 1_000
ROUNDS, QUICK_ROUNDS = 7, 5
THREADS = (1, 2)
LIST_LINES = 500
"""Lines that vectail gets at a time: about what one poll returns."""
OURS, PER_LINE, BATCH, LLAMA = "vectail", "tokenizer(text)", "encode_batch_fast", "Llama.tokenize"
_BEGIN_MS = 1_700_000_000_000
_SEED = 7


class Side(NamedTuple):
    """One side of the comparison.

    Thread: each of `calls` has one of its own; the rest is the main thread's.
    """

    calls: list[Callable[[list[str]], Any]]
    """One a thread, each with its share of the lines."""
    rows: Callable[[Any], list[list[int]]]
    """From what a call returned to the ids of each line; not measured."""

    def run(self, lines: list[str], pool: ThreadPoolExecutor) -> list[Any]:
        """Give each call its share of the lines, at once; return what they return."""
        share = -(-len(lines) // len(self.calls))
        return list(pool.map(lambda number: self.calls[number](lines[number * share : (number + 1) * share]), range(len(self.calls))))

    def ids(self, results: list[Any]) -> list[list[int]]:
        """Return the ids of each line."""
        return [row for result in results for row in self.rows(result)]


class Measured(NamedTuple):
    """What was seen with one number of threads."""

    lines_per_s: dict[str, list[float]]
    """Of each side, in each round."""
    equal: dict[str, bool]
    """For each other side, whether vectail's ids are the same, row by row."""
    tokens_per_line: float
    foreign_share: float

    def times(self, other: str) -> list[float]:
        """Return vectail's rate divided by the other side's, by round; empty without that side."""
        return ratios(self.lines_per_s[OURS], self.lines_per_s[other]) if other in self.lines_per_s else []

    def told(self) -> Figures:
        """Return the figures by side."""
        figures = {name: {"lines_per_s": median(each), "lines_per_s_worst": min(each)} for name, each in self.lines_per_s.items()}
        for name in figures.keys() - {OURS}:
            figures[name] |= {"times": median(self.times(name)), "times_worst": min(self.times(name))}
        return figures


@contextmanager
def open_sides(model: PreparedModel, threads: int) -> Iterator[tuple[dict[str, Side], list[Tokenizer]]]:
    """Load every side, once a thread; yield the sides by name, and vectail's tokenizers."""
    ours = [Tokenizer(model) for _ in range(threads)]
    batch = tokenizers.Tokenizer.from_file(str(model.tokenizer_json))
    batch.no_padding()
    batch.no_truncation()
    llamas = [_new_llama(model) for _ in range(threads)]
    sides = {
        OURS: Side([_in_lists(tokenizer) for tokenizer in ours], lambda lists: [row for ids in lists for row in _rows_of(ids)]),
        BATCH: Side([batch.encode_batch_fast], lambda encodings: [encoding.ids for encoding in encodings]),
        LLAMA: Side([_line_by_line(llama) for llama in llamas], list),
    }
    if find_spec("transformers") is not None:
        sides[PER_LINE] = Side([_transformers_line_by_line() for _ in range(threads)], list)
    try:
        yield sides, ours
    finally:
        for opened in (*ours, *llamas):
            opened.close()


def _in_lists(tokenizer: Tokenizer) -> Callable[[list[str]], list[Encoded]]:
    return lambda lines: [tokenizer.encode(lines[start : start + LIST_LINES]) for start in range(0, len(lines), LIST_LINES)]


def _rows_of(encoded: Encoded) -> list[list[int]]:
    return [encoded.text(index).tolist() for index in range(len(encoded.offsets) - 1)]


def _new_llama(model: PreparedModel) -> Any:  # noqa: ANN401 - the binding has no types for this
    from llama_cpp import Llama  # noqa: PLC0415 - prints when it is imported by those that only parse arguments

    return Llama(model_path=str(model.gguf), vocab_only=True, verbose=False)


def _line_by_line(llama: Any) -> Callable[[list[str]], list[list[int]]]:  # noqa: ANN401 - as above
    return lambda lines: [llama.tokenize(line.encode(), add_bos=True, special=True) for line in lines]


def _transformers_line_by_line() -> Callable[[list[str]], list[list[int]]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from transformers import AutoTokenizer  # noqa: PLC0415 - optional, and 10 seconds

        tokenizer: Any = AutoTokenizer.from_pretrained(str(default_folder()))
    tokenizer.deprecation_warnings["sequence-length-is-longer-than-the-specified-maximum"] = True  # said once a process, else
    return lambda lines: [tokenizer(line)["input_ids"] for line in lines]


def race_of(model: PreparedModel, lines: list[str], threads: int, rounds: int) -> Measured:
    """Run every side in turns; runs in a process of its own, which it leaves `threads` processors."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    with open_sides(model, threads) as (sides, ours), ThreadPoolExecutor(threads) as pool:
        runs = {name: partial(side.run, lines, pool) for name, side in sides.items()}
        ids = {name: sides[name].ids(results) for name, (results,) in race(runs, 1).items()}  # warms up
        seconds = race({name: partial(seconds_of, run) for name, run in runs.items()}, rounds)
        share = sum(tokenizer.fallback_texts for tokenizer in ours) / sum(tokenizer.texts for tokenizer in ours)
    rates = {name: [len(lines) / one for one in each] for name, each in seconds.items()}
    equal = {name: rows == ids[OURS] for name, rows in ids.items()}
    return Measured(rates, equal, sum(map(len, ids[OURS])) / len(lines), share)


def lines_of(files: list[str], count: int) -> list[str]:
    """Lines of the files, or synthetic ones: seeded, so the same in every run. Raises Missing without a line."""
    if not files:
        return [line.decode() for line in synthetic_lines(_SEED, count, _BEGIN_MS)]
    lines = [line.decode("utf-8", "replace") for line in read_files(files) if not isinstance(line, LineTooLarge)]
    if not lines:
        raise Missing("the files hold no line")
    return lines


def measure(chosen: Namespace) -> Figures:
    """Measure with one thread and with two; the first figures are those of the most threads, medians over the rounds."""
    lines = lines_of(chosen.files, QUICK_LINES if chosen.quick else LINES)
    model = prepare_model(None, load_settings(None).model.cache.expanduser(), installed=PLAIN)
    measured = []
    for threads in THREADS:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
            measured.append(process.submit(race_of, model, lines, threads, QUICK_ROUNDS if chosen.quick else ROUNDS).result())
    most = measured[-1]
    times = {other: median(most.times(other)) if most.times(other) else None for other in (PER_LINE, BATCH, LLAMA)}
    return {
        "vs_tokenizer_per_line": times[PER_LINE],
        "vs_encode_batch_fast": times[BATCH],
        "ids_equal": all(of.equal.get(other, True) for of in measured for other in (PER_LINE, BATCH)),
        "vs_llama_tokenize": times[LLAMA],
        "ids_equal_llama_tokenize": all(of.equal.get(LLAMA, True) for of in measured),
        "lines": len(lines),
        "tokens_per_line": most.tokens_per_line,
        "foreign_share": most.foreign_share,
        "threads": {str(threads): of.told() for threads, of in zip(THREADS, measured, strict=True)},
    }


main = program(__doc__, measure, FILES, quick=f"{QUICK_LINES} lines instead of {LINES}, {QUICK_ROUNDS} rounds instead of {ROUNDS}")

if __name__ == "__main__":
    main()
