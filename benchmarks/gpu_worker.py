"""The whole worker with its real engine on an NVIDIA GPU: from an embedded broker through every stage into a sink that keeps nothing.

    python -m benchmarks.gpu_worker [FILES…] [--quick] [--json] [--engine auto|vllm|llama] [--cpu]

Caveats first. Feed, broker and worker share one process and its interpreter lock, so rates are floors. The broker keeps 5 MB a partition:
the feed waits for commits, as in `vectail demo`. The sink costs nothing. A turn lasts from the first record read until every line is
acknowledged or only waits for its block to fill; that last wait ends no stream that goes on. The bare engine gets the
ids of the same lines, tokenised before. Ratios are taken within a round; every second round runs its turns in reverse. The mix has few
templates: a fast card has embedded them after a few looks, so its shares are rough. Known lines are copies with other digits whose
templates an earlier worker has stored; their processor time is that of the worker's own threads, without feed, broker and Kafka's client.
`--cpu` is for trying the program: there the engine is so slow that the rest of the worker hardly counts.

There are as many distinct lines as the bare engine embeds in a fixed time. Exit code 2: no NVIDIA GPU.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks.by_hand_corpora import Sizes as CorpusSizes
from benchmarks.by_hand_corpora import corpora, distinct_lines
from benchmarks.by_hand_ours import KeptEngine, bare_seconds
from benchmarks.gpu import card
from benchmarks.gpu_worker_turns import TextSink, Turn, VectorSink, Wrong, engine_settings, run_turn
from benchmarks.null_sink import NullSink
from worker.cli.exits import CommandFailed
from worker.cli.run import load_or_fail
from worker.embedding.loaded import LoadedModel
from worker.runtime.logs import configure_logs

ROUNDS, QUICK_ROUNDS = 3, 2
NO_GPU = "no NVIDIA GPU (--cpu measures on the CPU)"
_TRIAL_BATCHES = 4
_TOKENS_A_LINE = 56
"""About: it sets only the length of the trial."""
_WORST_IS_MOST = ("distinct_engine_idle_share", "engine_idle_share", "known_cpu_us_per_line")


class Sizes(NamedTuple):
    """How much a turn of each kind works."""

    distinct_s: float
    """So long the bare engine takes for the distinct lines, about; they are never fewer than those of the trial."""
    mix: int
    """Lines."""
    known: int
    """Lines."""


QUICK, WHOLE = Sizes(8.0, 16_000, 200_000), Sizes(20.0, 32_000, 1_000_000)


class Round(NamedTuple):
    """One turn of each kind."""

    distinct: Turn
    bare_s: float
    """Of the bare engine, for the lines of `distinct`."""
    mix: Turn
    known: Turn


class WorkerBench:
    """The loaded model, files of lines, and what a worker of the past has stored: each round has the same work.

    Thread: main.
    """

    def __init__(self, model: LoadedModel, files: Sequence[str], sizes: Sizes, scratch: Path) -> None:
        """Make the lines, and warm up. Raises Wrong.

        The number of distinct lines follows from a trial. A worker reads them first, and what it embedded are the distinct lines from
        then on: of JSON only the message is embedded, so different lines may have the same text, or one with line ends. Another worker
        reads the known lines.
        """
        self._model = model
        self._scratch = scratch
        self.lines: dict[str, int] = {}
        trial = _TRIAL_BATCHES * model.engine.batch_tokens // _TOKENS_A_LINE
        found = corpora(files, CorpusSizes({"distinct": trial, "mix": sizes.mix, "steady": sizes.known}, 1, 1))
        bare_seconds(model, found["distinct"].ours)  # the first batches take longer
        rate = trial / bare_seconds(model, found["distinct"].ours)
        self._write("distinct", distinct_lines(found["mix"].ours, max(trial, int(rate * sizes.distinct_s))))
        self._write("mix", found["mix"].ours)
        self._write("known", found["steady"].ours)
        read = TextSink()
        self._turn("distinct", read)
        self._distinct = [text for text in read.texts if text.isprintable()]
        self._write("distinct", self._distinct)
        self._stored = VectorSink()
        self._turn("known", self._stored)

    def run_round(self, *, reverse: bool) -> Round:
        """Run a turn of each kind. Raises Wrong."""
        turns: dict[str, Callable[[], Any]] = {
            "distinct": lambda: self._turn("distinct", NullSink()),
            "bare_s": lambda: bare_seconds(self._model, self._distinct),
            "mix": lambda: self._turn("mix", NullSink()),
            "known": lambda: self._turn("known", self._stored),
        }
        ran = Round(**{name: turns[name]() for name in (reversed(turns) if reverse else turns)})
        if ran.distinct.templates != self.lines["distinct"]:
            raise Wrong(f"{ran.distinct.templates} texts were embedded of {self.lines['distinct']} distinct lines")
        if ran.known.templates:
            raise Wrong(f"{ran.known.templates} templates of the known lines were not known")
        return ran

    def _turn(self, name: str, sink: NullSink) -> Turn:
        mask_mode = "exact" if name == "distinct" else "template"
        return run_turn(self._model, sink, self._file(name), self.lines[name], mask_mode=mask_mode)

    def _write(self, name: str, texts: Sequence[str]) -> None:
        self.lines[name] = len(texts)
        self._file(name).write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")

    def _file(self, name: str) -> Path:
        return self._scratch / f"{name}.log"


def figures_of(rounds: Sequence[Round]) -> dict[str, Any]:
    """Return the medians of the rounds, and each figure's worst."""
    found = {
        "distinct_lines_per_s": [one.distinct.lines / one.distinct.seconds for one in rounds],
        "distinct_tokens_per_s": [one.distinct.tokens / one.distinct.seconds for one in rounds],
        "of_bare_engine": [one.bare_s / one.distinct.seconds for one in rounds],
        "distinct_engine_idle_share": [one.distinct.engine_idle_share for one in rounds],
        "mix_lines_per_s": [one.mix.lines / one.mix.seconds for one in rounds],
        "engine_busy_share": [one.mix.engine_share for one in rounds],
        "engine_idle_share": [one.mix.engine_idle_share for one in rounds],
        "known_lines_per_s": [one.known.lines / one.known.seconds for one in rounds],
        "known_cpu_us_per_line": [1e6 * one.known.cpu_s / one.known.lines for one in rounds],
    }
    return {
        **{name: round(median(values), 3) for name, values in found.items()},
        "rounds": len(rounds),
        "worst": {name: round((max if name in _WORST_IS_MOST else min)(values), 3) for name, values in found.items()},
    }


def measure(engine: str, files: Sequence[str], sizes: Sizes, rounds: int, gpu: str | None) -> dict[str, Any]:
    """Load the model, run all rounds, and return what `--json` prints. Raises CommandFailed and Wrong."""
    loaded = load_or_fail(engine_settings(engine))
    model = replace(loaded, engine=KeptEngine(loaded.engine))
    try:
        with tempfile.TemporaryDirectory(prefix="vectail-gpu-worker-") as scratch:
            bench = WorkerBench(model, files, sizes, Path(scratch))
            figures = figures_of([bench.run_round(reverse=number % 2 == 1) for number in range(rounds)])
    finally:
        loaded.engine.close()
    return figures | {
        "engine": loaded.engine.name,
        "number_format": str(getattr(loaded.engine, "number_format", "float16 weights")),
        "gpu": gpu,
        "lines": bench.lines,
    }


def show_table(figures: Mapping[str, Any], show: Callable[[str], None]) -> None:
    """Show the figures as a person reads them."""
    show(f"{figures['gpu'] or 'CPU'}, engine {figures['engine']} ({figures['number_format']}), {figures['rounds']} rounds")
    show(f"{'':<44}{'median':>14}{'worst':>14}")
    words = {
        "distinct_lines_per_s": "all lines distinct: lines/s",
        "distinct_tokens_per_s": "all lines distinct: tokens/s",
        "of_bare_engine": "all lines distinct: of the bare engine",
        "distinct_engine_idle_share": "all lines distinct: engine idle meanwhile",
        "mix_lines_per_s": "the mix from cold: lines/s",
        "engine_busy_share": "the mix from cold: engine busy",
        "engine_idle_share": "the mix: engine idle while templates wait",
        "known_lines_per_s": "known lines: lines/s",
        "known_cpu_us_per_line": "known lines: processor µs a line",
    }
    for name, word in words.items():
        spec = ",.3f" if name.endswith(("_share", "_engine")) else ",.1f"
        show(f"{word:<44}{figures[name]:>14{spec}}{figures['worst'][name]:>14{spec}}")


def main(show: Callable[[str], None] = print, arguments: Sequence[str] | None = None, sizes: Sizes | None = None) -> int:
    """Measure, and show the figures; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="*", help="logs (default: synthetic lines)")
    quick = f"{QUICK.known:,} known lines instead of {WHOLE.known:,}, distinct ones for {QUICK.distinct_s:g} s, {QUICK_ROUNDS} rounds"
    parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument("--rounds", type=int, help=f"another number of rounds than {ROUNDS}")
    parser.add_argument("--json", action="store_true", help="print one object of figures and nothing else")
    parser.add_argument("--engine", choices=("auto", "vllm", "llama"), default="auto")
    parser.add_argument("--cpu", action="store_true", help="measure without a GPU")
    chosen = parser.parse_args(arguments)
    found = None if chosen.cpu else card()
    if found is None and not chosen.cpu:
        print(NO_GPU, file=sys.stderr)
        return 2
    configure_logs(quiet=True)
    rounds = chosen.rounds or (QUICK_ROUNDS if chosen.quick else ROUNDS)
    try:
        gpu = None if found is None else str(found["device"])
        figures = measure(chosen.engine, chosen.files, sizes or (QUICK if chosen.quick else WHOLE), rounds, gpu)
    except (CommandFailed, Wrong) as error:
        print(error, file=sys.stderr)
        return 1
    show(json.dumps(figures)) if chosen.json else show_table(figures, show)
    return 0


if __name__ == "__main__":
    sys.exit(main())
