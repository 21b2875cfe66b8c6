"""Lines tokenised per second: vectail's tokenizer and its alternatives, side by side.

    python -m benchmarks.tokenize [FILES…] [--quick] [--json]

Caveats first. Each side gets the same lines in the same process, in turns, and as many threads as the others: but `tokenizer(text)`
and `Llama.tokenize` hold the GIL most of the time and gain little from a second one, and `encode_batch_fast` shares its work out itself
(processors are taken away from the process, so that its pool has as many threads). Lines that are hard (accents, special tokens,
endless words) go to `tokenizers` in vectail too: with many of them the figures come together. The share is shown. Without Transformers
the first comparison is left out. Absolute figures depend on the machine: compare only runs made side by side.
"""

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from importlib.util import find_spec
from multiprocessing import get_context
from statistics import median
from typing import Any, NamedTuple

import tokenizers

from producers.lines import TooLarge, read_files
from producers.log_feed import synthetic_lines
from worker.embedding.model.folder import default_folder
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


class Measured(NamedTuple):
    """Figures for one number of threads."""

    threads: int
    lines_per_s: dict[str, list[float]]
    """Of each side, in each round."""
    equal: dict[str, bool]
    """For each other side, whether vectail's ids are the same, row by row."""
    tokens_per_line: float
    foreign_share: float

    def times(self, other: str) -> list[float]:
        """Return vectail's rate divided by the other side's, by round; empty without that side."""
        if other not in self.lines_per_s:
            return []
        return [ours / theirs for ours, theirs in zip(self.lines_per_s[OURS], self.lines_per_s[other], strict=True)]


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


def measure(model: PreparedModel, lines: list[str], threads: int, rounds: int) -> Measured:
    """Measure every side in turns; runs in a process of its own, which it leaves `threads` processors."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    rates: dict[str, list[float]] = {}
    equal: dict[str, bool] = {}
    with open_sides(model, threads) as (sides, ours), ThreadPoolExecutor(threads) as pool:
        wanted = _rows(sides[OURS], _run(sides[OURS], lines, pool)[1])
        for turn in range(rounds + 1):
            names = list(sides)
            for name in names[turn % len(names) :] + names[: turn % len(names)]:
                rate, results = _run(sides[name], lines, pool)
                if turn > 0:  # before the first round each runs once to warm up, and its ids are looked at
                    rates.setdefault(name, []).append(rate)
                elif name != OURS:
                    equal[name] = _rows(sides[name], results) == wanted
        share = sum(tokenizer.fallback_texts for tokenizer in ours) / sum(tokenizer.texts for tokenizer in ours)
    return Measured(threads, rates, equal, sum(map(len, wanted)) / len(wanted), share)


def _run(side: Side, lines: list[str], pool: ThreadPoolExecutor) -> tuple[float, list[Any]]:
    """Give each call its share of the lines, at once; return lines a second and the calls' results."""
    share = -(-len(lines) // len(side.calls))
    shares = [lines[number * share : (number + 1) * share] for number in range(len(side.calls))]
    began = time.perf_counter()
    running = [pool.submit(call, some) for call, some in zip(side.calls, shares, strict=True)]
    results = [ended.result() for ended in running]
    return len(lines) / (time.perf_counter() - began), results


def _rows(side: Side, results: list[Any]) -> list[list[int]]:
    return [row for result in results for row in side.rows(result)]


def lines_of(files: list[str], count: int) -> list[str]:
    """Lines of the files, or synthetic ones: seeded, so the same in every run."""
    if files:
        return [line.decode("utf-8", "replace") for line in read_files(files) if not isinstance(line, TooLarge)]
    return [line.decode() for line in synthetic_lines(_SEED, count, _BEGIN_MS)]


def figures_of(measured: list[Measured], lines: int) -> dict[str, Any]:
    """Return what `--json` prints; the first figures are those of the most threads, medians over the rounds."""
    most = measured[-1]

    def ratio(of: Measured, other: str) -> float | None:
        return round(median(of.times(other)), 2) if of.times(other) else None

    return {
        "vs_tokenizer_per_line": ratio(most, PER_LINE),
        "vs_encode_batch_fast": ratio(most, BATCH),
        "ids_equal": all(of.equal.get(other, True) for of in measured for other in (PER_LINE, BATCH)),
        "vs_llama_tokenize": ratio(most, LLAMA),
        "ids_equal_llama_tokenize": all(of.equal.get(LLAMA, True) for of in measured),
        "lines": lines,
        "tokens_per_line": round(most.tokens_per_line, 1),
        "foreign_share": round(most.foreign_share, 4),
        "threads": {
            str(of.threads): {
                name: {
                    "lines_per_s": round(median(rates)),
                    "lines_per_s_worst": round(min(rates)),
                    **({} if name == OURS else {"times": ratio(of, name), "times_worst": round(min(of.times(name)), 2)}),
                }
                for name, rates in of.lines_per_s.items()
            }
            for of in measured
        },
    }


def show_table(figures: dict[str, Any], show: Callable[[str], None]) -> None:
    """Show the figures as a person reads them."""
    share = f"{figures['foreign_share']:.1%} of them go to `tokenizers` in vectail, too"
    show(f"{figures['lines']:,} lines of {figures['tokens_per_line']} tokens; {share}")
    for threads, sides in figures["threads"].items():
        show(f"{threads} thread(s): lines/s median and worst round; how many times that vectail was, median and worst round")
        for name, rates in sides.items():
            times = "" if name == OURS else f"{rates['times']:8.1f} x {rates['times_worst']:8.1f} x"
            show(f"  {name:<18} {rates['lines_per_s']:>9,} {rates['lines_per_s_worst']:>9,} {times}")
    if figures["vs_tokenizer_per_line"] is None:
        show("tokenizer(text) was left out: Transformers is not installed")
    show(f"ids equal row by row: {figures['ids_equal']} (Llama.tokenize: {figures['ids_equal_llama_tokenize']})")


def main(show: Callable[[str], None] = print) -> None:
    """Measure with one thread and with two, and show both."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="*")
    parser.add_argument(
        "--quick", action="store_true", help=f"{QUICK_LINES} lines instead of {LINES}, {QUICK_ROUNDS} rounds instead of {ROUNDS}"
    )
    parser.add_argument("--json", action="store_true", help="print one object of figures and nothing else")
    chosen = parser.parse_args()
    model = prepare_model(None, load_settings(None).model.cache.expanduser())
    lines = lines_of(chosen.files, QUICK_LINES if chosen.quick else LINES)
    if not lines:
        parser.error("the files hold no line")
    measured = []
    for threads in THREADS:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
            measured.append(process.submit(measure, model, lines, threads, QUICK_ROUNDS if chosen.quick else ROUNDS).result())
    figures = figures_of(measured, len(lines))
    show(json.dumps(figures)) if chosen.json else show_table(figures, show)


if __name__ == "__main__":
    main()
