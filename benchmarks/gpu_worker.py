"""The whole worker with its real engine on an NVIDIA GPU: from an embedded broker through every stage into a sink that keeps nothing.

    python -m benchmarks.gpu_worker [FILES…] [--quick] [--json] [--engine auto|vllm|llama] [--replicas N …] [--cpu]

Caveats first. Feed, broker and worker share one process and its interpreter lock, so rates are floors. The broker keeps 5 MB a partition:
the feed waits for commits, as in `vectail demo`. The sink costs nothing. A turn lasts from the first record read until every line is
acknowledged or only waits for its block to fill; that last wait ends no stream that goes on. The bare engine gets the
ids of the same lines, tokenised before. Ratios are taken within a round; every second round runs its turns in reverse. The mix has few
templates: a fast card has embedded them after a few looks, so its shares are rough. Known lines are copies with other digits whose
templates an earlier worker has stored; their processor time is that of the worker's own threads, without feed, broker and Kafka's client.

Afterwards, with the worker's engine gone, the distinct lines go to `LLM.embed(list[str])`, as vLLM's guide shows it, and to replicas: that
many processes with the worker's engine on the one card, each with its share of the memory, which embed ready ids at the same time
(`--replicas`, 1 2 4 8 16; with `--quick` 1 and 4). A rate covers the time until the last has ended.

There are as many distinct lines as the bare engine embeds in a fixed time. Exit code 2: no NVIDIA GPU.
"""

import tempfile
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.by_hand_corpora import Sizes as CorpusSizes
from benchmarks.by_hand_corpora import corpora, distinct_lines
from benchmarks.by_hand_ours import bare_seconds
from benchmarks.gpu_worker_turns import TextSink, Turn, VectorSink, run_turn
from benchmarks.null_sink import NullSink
from benchmarks.own_service import KeptEngine
from benchmarks.own_stage import number_format_of
from benchmarks.program import ANOTHER_ROUNDS, ENGINE, FILES, Figures, option, program
from benchmarks.race import LeftOut, Missing, Wrong, race, ratios, spread
from benchmarks.rivals.own_process import OwnProcess
from benchmarks.suite.machine import machine_facts
from worker.cli.exits import CommandFailed
from worker.cli.run import load_or_fail
from worker.embedding.loaded import LoadedModel
from worker.embedding.model.folder import default_folder
from worker.runtime.logs import configure_logs
from worker.settings.settings import load_settings

ROUNDS, QUICK_ROUNDS = 3, 2
REPLICAS, QUICK_REPLICAS = (1, 2, 4, 8, 16), (1, 4)
NO_GPU = "no NVIDIA GPU (--cpu measures on the CPU)"
_MEMORY_SHARE = 0.8
"""Of the card's memory, for all replicas together."""
_TRIAL_BATCHES = 4
_TOKENS_A_LINE = 56
"""About: it sets only the length of the trial."""
_COSTS = ("distinct_engine_idle_share", "engine_idle_share", "known_cpu_us_per_line")


class Sizes(NamedTuple):
    """How much a turn of each kind works."""

    distinct_s: float
    """So long the bare engine takes for the distinct lines, about; they are never fewer than those of the trial."""
    mix: int
    """Lines."""
    known: int
    """Lines."""


QUICK, WHOLE = Sizes(8.0, 16_000, 200_000), Sizes(20.0, 32_000, 1_000_000)


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
        self.distinct = [text for text in read.texts if text.isprintable()]
        self._write("distinct", self.distinct)
        self._stored = VectorSink()
        self._turn("known", self._stored)

    def race(self, rounds: int) -> dict[str, list[Any]]:
        """Run a turn of each kind a round; return them by kind, and as `bare` the engine's seconds for the distinct lines. Raises Wrong."""
        sides: dict[str, Callable[[], Any]] = {"bare": lambda: bare_seconds(self._model, self.distinct)}
        sides |= {name: partial(self._turn, name, self._stored if name == "known" else NullSink()) for name in ("distinct", "mix", "known")}
        ran = race(sides, rounds)
        for distinct, known in zip(ran["distinct"], ran["known"], strict=True):
            if distinct.templates != self.lines["distinct"]:
                raise Wrong(f"{distinct.templates} texts were embedded of {self.lines['distinct']} distinct lines")
            if known.templates:
                raise Wrong(f"{known.templates} templates of the known lines were not known")
        return ran

    def _turn(self, name: str, sink: NullSink) -> Turn:
        mask_mode = "exact" if name == "distinct" else "template"
        return run_turn(self._model, sink, self._file(name), self.lines[name], mask_mode=mask_mode)

    def _write(self, name: str, texts: Sequence[str]) -> None:
        self.lines[name] = len(texts)
        self._file(name).write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")

    def _file(self, name: str) -> Path:
        return self._scratch / f"{name}.log"


def figures_of(ran: Mapping[str, Sequence[Any]]) -> Figures:
    """Return the medians of the rounds, and each figure's worst."""
    distinct, mix, known = ran["distinct"], ran["mix"], ran["known"]
    found = {
        "distinct_lines_per_s": [one.lines / one.seconds for one in distinct],
        "distinct_tokens_per_s": [one.tokens / one.seconds for one in distinct],
        "of_bare_engine": ratios(ran["bare"], [one.seconds for one in distinct]),
        "distinct_engine_idle_share": [one.engine_idle_share for one in distinct],
        "mix_lines_per_s": [one.lines / one.seconds for one in mix],
        "engine_busy_share": [one.engine_share for one in mix],
        "engine_idle_share": [one.engine_idle_share for one in mix],
        "known_lines_per_s": [one.lines / one.seconds for one in known],
        "known_cpu_us_per_line": [1e6 * one.cpu_s / one.lines for one in known],
    }
    return spread(found, _COSTS) | {"rounds": len(distinct)}


def lines_per_s(opener: str, arguments: Sequence[Any], count: int, texts: Sequence[str], scratch: Path) -> float | str:
    """Let that many processes embed the texts at the same time, after each has done so once; return their rate, or why none."""
    with ExitStack() as stack, ThreadPoolExecutor(count) as threads:
        try:
            running = []
            for number in range(count):
                running.append(OwnProcess(f"benchmarks.rivals.{opener}", arguments, log=scratch / f"{number}.log"))
                stack.callback(running[-1].close)
            list(threads.map(lambda one: one.embed(texts), running))
            seconds: list[float] = [turn.seconds for turn in threads.map(lambda one: one.embed(texts), running)]
        except LeftOut as reason:
            return str(reason)
    return count * len(texts) / max(seconds)


def measure(chosen: Namespace) -> Figures:
    """Load the model, run all rounds, then what has the card alone. Raises Missing, Wrong."""
    gpu = machine_facts()["GPU"]
    if gpu == "none" and not chosen.cpu:
        raise Missing(NO_GPU)
    configure_logs(quiet=True)
    sizes, rounds = (QUICK, QUICK_ROUNDS) if chosen.quick else (WHOLE, ROUNDS)
    try:
        loaded = load_or_fail(load_settings(None, {"engine": {"name": chosen.engine}}))
        with tempfile.TemporaryDirectory(prefix="vectail-gpu-worker-") as name:
            scratch = Path(name)
            try:
                bench = WorkerBench(replace(loaded, engine=KeptEngine(loaded.engine)), chosen.files, sizes, scratch)
                figures = figures_of(bench.race(chosen.rounds or rounds))
            finally:
                loaded.engine.close()
            number_format = number_format_of(loaded.engine)
            figures |= {"engine": loaded.engine.name, "number_format": number_format, "gpu": None if chosen.cpu else gpu}
            figures |= {"lines": bench.lines, "vs_llm_embed": None, "replicas": {}}
            if loaded.engine.name == "vllm":
                rate = lines_per_s("llm:open_llm", [default_folder(), 1, number_format], 1, bench.distinct, scratch)
                figures["vs_llm_embed"] = figures["distinct_lines_per_s"] / rate if isinstance(rate, float) else rate
            counts = () if chosen.cpu else QUICK_REPLICAS if chosen.quick else REPLICAS
            for count in counts if chosen.replicas is None else chosen.replicas:
                arguments = [{"llama.cpp": "llama"}.get(loaded.engine.name, loaded.engine.name), _MEMORY_SHARE / count]
                figures["replicas"][str(count)] = lines_per_s("ready_ids:open_ready_ids", arguments, count, bench.distinct, scratch)
    except CommandFailed as error:
        raise Wrong(str(error)) from error
    return figures


main = program(
    __doc__,
    measure,
    FILES,
    ANOTHER_ROUNDS,
    ENGINE,
    option("--replicas", type=int, nargs="*", help=f"how many share the card, after the worker ({REPLICAS})"),
    option("--cpu", action="store_true", help="measure without a GPU"),
    quick=f"{QUICK.known:,} known lines instead of {WHOLE.known:,}, distinct ones for {QUICK.distinct_s:g} s, {QUICK_ROUNDS} rounds",
)

if __name__ == "__main__":
    main()
