"""Lines embedded per second: vectail's embed stage, the bare engine beneath it, and other libraries, side by side.

    python -m benchmarks.engines [--engine vllm|llama] [--alone] [--quick] [--json]

Caveats first. The stage and the bare engine get ready token ids; the libraries get text and tokenise it themselves, which is how they are
used. All get the same texts, in turns, on the same processors. Other load on the machine still disturbs them, so a ratio is taken within a
round, and then the median over the rounds. A library that is not installed is reported as absent. Absolute figures depend on the machine:
compare only runs made side by side.
"""

import argparse
import contextlib
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.engines_report import BARE, LLM, ONNX, OURS, SENTENCE, TRANSFORMERS, Compared, figures_of, show_table
from benchmarks.own_stage import EmbedStage, bare_loop
from benchmarks.rivals.own_process import LeftOut, OwnProcess, Turn
from producers.log_feed import synthetic_lines
from worker.embedding.embedder import EncodedText
from worker.embedding.loaded import LoadedModel, load_model
from worker.embedding.model.folder import default_folder
from worker.embedding.model.space import CacheKey
from worker.settings.settings import Settings, load_settings
from worker.settings.tables import EngineTable

LINES, QUICK_LINES = 384, 128
ROUNDS, QUICK_ROUNDS = 9, 5
_SEED = 7
_BEGIN_MS = 1_700_000_000_000


class Rival(NamedTuple):
    """Another library that computes the vectors."""

    opener: str
    libraries: tuple[str, ...]
    instead_of: str = ""
    """Opened only if that one could not be."""


RIVALS = {
    SENTENCE: Rival("benchmarks.rivals.sentence:open_sentence_transformers", ("sentence_transformers",)),
    TRANSFORMERS: Rival("benchmarks.rivals.torch_model:open_transformers", ("torch", "transformers"), SENTENCE),
    ONNX: Rival("benchmarks.rivals.onnx:open_onnx", ("onnxruntime", "onnxscript", "torch", "transformers")),
    LLM: Rival("benchmarks.rivals.llm:open_llm", ("vllm",)),
}


class Race:
    """All sides of the comparison; a rival that fails is left out from then on.

    Thread: main.
    """

    def __init__(self, lines: list[str], own: Mapping[str, Callable[[], Turn]], rivals: Mapping[str, Rival]) -> None:
        self._lines = lines
        self._own = own
        self._wanted = rivals
        self._rivals: dict[str, OwnProcess] = {}
        self.left_out: dict[str, str] = {}

    def open_rivals(self, scratch: Path, threads: int, number_format: str) -> None:
        """Start every installed rival, one after another, because each uses all processors to load."""
        for number, (name, rival) in enumerate(self._wanted.items()):
            missing = [library for library in rival.libraries if find_spec(library) is None]
            if rival.instead_of in self._rivals:
                continue
            if missing:
                self.left_out[name] = f"not installed: {', '.join(missing)}"
                continue
            arguments = [default_folder(), threads, *([number_format] if name == LLM else [])]
            try:
                self._rivals[name] = OwnProcess(rival.opener, arguments, log=scratch / f"{number}.log")
            except LeftOut as reason:
                self.left_out[name] = str(reason)

    def run(self, rounds: int) -> dict[str, list[Turn]]:
        """Run all sides in turns, `rounds` times after a warm-up; each round starts with another side."""
        turns: dict[str, list[Turn]] = {}
        for number in range(rounds + 1):
            names = [*self._own, *self._rivals]
            for name in names[number % len(names) :] + names[: number % len(names)]:
                try:
                    turn = self._own[name]() if name in self._own else self._rivals[name].embed(self._lines)
                except LeftOut as reason:
                    self.left_out[name] = str(reason)
                    del self._rivals[name]
                    turns.pop(name, None)
                    continue
                if number > 0:
                    turns.setdefault(name, []).append(turn)
        return turns

    def close(self) -> None:
        """End every rival's process."""
        for rival in self._rivals.values():
            rival.close()


def compare(settings: Settings, lines: list[str], rounds: int, rivals: Mapping[str, Rival]) -> Compared:
    """Load everything, run it in turns, and close it. Raises ModelError for our own model or engine."""
    threads = len(os.sched_getaffinity(0))
    model = load_model(settings)
    number_format = str(getattr(model.engine, "number_format", "float32"))
    try:
        chunks = encoded_templates(model, lines)
        with own_sides(settings, model, chunks) as own, tempfile.TemporaryDirectory(prefix="vectail-engines-") as scratch:
            race = Race(lines, own, rivals)
            try:
                race.open_rivals(Path(scratch), threads, number_format)
                turns = race.run(rounds)
            finally:
                race.close()
    finally:
        model.engine.close()
    about = {
        "engine": model.engine.name,
        "number_format": number_format if model.engine.name == "vllm" else "float16 weights",
        "batch_tokens": model.engine.batch_tokens,
        "threads": threads,
        "lines": len(lines),
        "tokens_per_line": round(sum(len(chunk.ids) for chunk in chunks) / len(chunks), 1),
    }
    return Compared(about, turns, race.left_out)


def encoded_templates(model: LoadedModel, lines: list[str]) -> list[EncodedText]:
    """Return the prepare stage's output for lines with new templates only."""
    with contextlib.closing(model.new_tokenizer()) as tokenizer:
        encoded = tokenizer.encode(lines)
        return [EncodedText(encoded.text(row), CacheKey(f"{row:08d}"), "logs") for row in range(len(lines))]


@contextlib.contextmanager
def own_sides(settings: Settings, model: LoadedModel, chunks: list[EncodedText]) -> Iterator[dict[str, Callable[[], Turn]]]:
    """Start the stage and prepare the bare loop."""
    stage = EmbedStage(settings, model)
    bare = bare_loop(model.engine, chunks)
    thread = ThreadPoolExecutor(1)  # like the stage: on the main thread vLLM took 5 % more processor time
    try:
        yield {
            OURS: lambda: _timed(lambda: stage.run(chunks), lambda found: found),
            BARE: lambda: _timed(lambda: thread.submit(bare).result(), lambda result: result.rows()),
        }
    finally:
        thread.shutdown()
        stage.close()


def _timed(run: Callable[[], Any], rows: Callable[[Any], Any]) -> Turn:
    began_s, began_cpu_s = time.perf_counter(), time.process_time()
    result = run()
    seconds, cpu_s = time.perf_counter() - began_s, time.process_time() - began_cpu_s
    return Turn(seconds, cpu_s, rows(result))


def synthetic(count: int) -> list[str]:
    """Return seeded lines, the same in every run."""
    return [line.decode() for line in synthetic_lines(_SEED, count, _BEGIN_MS)]


def main(show: Callable[[str], None] = print) -> None:
    """Compare, and show the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--engine", choices=("auto", "vllm", "llama"), default="auto")
    parser.add_argument("--batch-tokens", type=int, help="tokens of a batch instead of the engine's default")
    parser.add_argument("--alone", action="store_true", help="only the stage and the bare engine, without the libraries")
    parser.add_argument("--threads", type=int, help="processors for each; all of them if not given")
    parser.add_argument(
        "--quick", action="store_true", help=f"{QUICK_LINES} lines instead of {LINES}, {QUICK_ROUNDS} rounds instead of {ROUNDS}"
    )
    parser.add_argument("--json", action="store_true", help="print one object of figures and nothing else")
    chosen = parser.parse_args()
    if chosen.threads:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: chosen.threads])
    engine = EngineTable(name=chosen.engine, batch_tokens=chosen.batch_tokens)
    settings = load_settings(None).model_copy(update={"engine": engine})
    lines, rounds = (QUICK_LINES, QUICK_ROUNDS) if chosen.quick else (LINES, ROUNDS)
    compared = compare(settings, synthetic(lines), rounds, {} if chosen.alone else RIVALS)
    figures = figures_of(compared)
    show(json.dumps(figures)) if chosen.json else show_table(figures, show)


if __name__ == "__main__":
    main()
