"""Lines embedded per second: vectail's embed stage, the bare engine beneath it, and other libraries, side by side.

    python -m benchmarks.engines [--engine vllm|llama|onnx] [--alone] [--quick] [--json]

Caveats first. The stage, the bare engine and vectail's other engines get ready token ids; the libraries get text and tokenise it
themselves, which is how they are used. All get the same texts, in turns, on the same processors. Other load on the machine still disturbs
them, so a ratio is taken within a round, and then the median over the rounds. A library that is not installed is reported as absent.
Absolute figures depend on the machine: compare only runs made side by side.
"""

import os
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from benchmarks.own_stage import EmbedStage, bare_loop, encoded_templates, number_format_of
from benchmarks.program import ENGINE, Figures, option, program
from benchmarks.race import LeftOut, race, ratios
from benchmarks.rivals.own_process import OwnProcess, Turn, Vectors
from producers.log_feed import synthetic_lines
from worker.embedding.encoded_text import EncodedText
from worker.embedding.loaded import LoadedModel, load_model
from worker.embedding.model.folder import PLAIN, default_folder
from worker.settings.settings import Settings, load_settings
from worker.settings.tables import EngineTable

LINES, QUICK_LINES = 384, 128
ROUNDS, QUICK_ROUNDS = 9, 5
OURS, BARE = "vectail's embed stage", "bare engine"
SENTENCE, TRANSFORMERS = "sentence-transformers float32", "Transformers float32"
ONNX, LLM = "ONNX Runtime float32", "LLM.embed(list[str])"
OUR_LLAMA, OUR_ONNX = "vectail's engine llama", "vectail's engine onnx"
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
OUR_OTHERS = {
    "llama.cpp": (OUR_LLAMA, Rival("benchmarks.rivals.ready_ids:open_llama", ("llama_cpp",))),
    "onnx": (OUR_ONNX, Rival("benchmarks.rivals.ready_ids:open_onnx_engine", ("onnxruntime",))),
}
"""Our own engines for a CPU by their names; the one that is measured is no rival of its own."""


@contextmanager
def opened_rivals(
    rivals: Mapping[str, Rival], arguments: Sequence[Any], number_format: str, left_out: dict[str, str]
) -> Iterator[dict[str, OwnProcess]]:
    """Start every installed rival, one after another, because each uses all processors to load; note the others in `left_out`."""
    found: dict[str, OwnProcess] = {}
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="vectail-engines-")))
        for number, (name, rival) in enumerate(rivals.items()):
            missing = [library for library in rival.libraries if find_spec(library) is None]
            if rival.instead_of in found:
                continue
            if missing:
                left_out[name] = f"not installed: {', '.join(missing)}"
                continue
            try:
                own = [number_format] if name == LLM else []
                found[name] = OwnProcess(rival.opener, [*arguments, *own], log=scratch / f"{number}.log")
                stack.callback(found[name].close)
            except LeftOut as reason:
                left_out[name] = str(reason)
        yield found


@contextmanager
def own_sides(settings: Settings, model: LoadedModel, chunks: list[EncodedText]) -> Iterator[dict[str, Callable[[], Turn]]]:
    """Start the stage and prepare the bare loop."""
    bare = bare_loop(model.engine, chunks)
    # A thread like the stage's: on the main thread vLLM took 5 % more processor time.
    with closing(EmbedStage(settings, model)) as stage, ThreadPoolExecutor(1) as thread:
        yield {
            OURS: lambda: _timed(lambda: stage.run(chunks), lambda found: found),
            BARE: lambda: _timed(lambda: thread.submit(bare).result(), lambda result: result.rows()),
        }


def _timed(run: Callable[[], Any], rows: Callable[[Any], Any]) -> Turn:
    began_s, began_cpu_s = time.perf_counter(), time.process_time()
    result = run()
    seconds, cpu_s = time.perf_counter() - began_s, time.process_time() - began_cpu_s
    return Turn(seconds, cpu_s, rows(result))


def figures_of(turns: Mapping[str, Sequence[Turn]], lines: int) -> Figures:
    """Return the ratios of all sides, None where one was left out, and what each did. Vectors are compared with a library's, row by row."""
    reference = next((name for name in (SENTENCE, TRANSFORMERS) if name in turns), None)
    seconds = {name: [turn.seconds for turn in each] for name, each in turns.items()}
    times = {name: ratios(each, seconds[OURS]) for name, each in seconds.items()}

    def ratio(other: str, choose: Callable[[list[float]], float] = median) -> float | None:
        return choose(times[other]) if other in times else None

    def cosine(name: str, other: str | None) -> float | None:
        return None if other is None else _worst_cosine(turns[name], turns[other][0].vectors)

    return {
        "vs_bare_engine": ratio(BARE),
        "vs_sentence_transformers_fp32": ratio(SENTENCE),
        "min_cosine": cosine(OURS, reference),
        "min_cosine_bare": cosine(OURS, BARE),
        "vs_bare_engine_worst": ratio(BARE, min),
        # Other load disturbs processor time less than the rates.
        "vs_bare_engine_cpu": median(ratios([turn.cpu_s for turn in turns[BARE]], [turn.cpu_s for turn in turns[OURS]])),
        "vs_sentence_transformers_fp32_worst": ratio(SENTENCE, min),
        "vs_onnx_fp32": ratio(ONNX),
        "vs_llm_embed": ratio(LLM),
        "reference": reference,
        "rounds": len(turns[OURS]),
        "sides": {
            name: {
                "lines_per_s": lines / median(seconds[name]),
                "lines_per_s_worst": lines / max(seconds[name]),
                "cpu_ms_per_line": None if name == LLM else 1000 * median(turn.cpu_s for turn in each) / lines,
                "times": median(times[name]),
                "times_worst": min(times[name]),
                "min_cosine": cosine(name, reference),
            }
            for name, each in turns.items()
        },
    }


def _worst_cosine(turns: Sequence[Turn], wanted: Vectors) -> float:
    """Return the lowest cosine between equal rows, over all rounds."""
    return min(float((_unit(turn.vectors) * _unit(wanted)).sum(axis=1).min()) for turn in turns)


def _unit(vectors: Vectors) -> Vectors:
    rows: Vectors = vectors.astype(np.float64) / np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    return rows


def measure(chosen: Namespace) -> Figures:
    """Load everything, run it in turns, and close it. Raises ModelError for our own model or engine."""
    if chosen.threads:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: chosen.threads])
    threads = len(os.sched_getaffinity(0))
    engine = EngineTable(name=chosen.engine, batch_tokens=chosen.batch_tokens)
    settings = load_settings(None, {"model": {"name": PLAIN}}).model_copy(update={"engine": engine})
    count, rounds = (QUICK_LINES, QUICK_ROUNDS) if chosen.quick else (LINES, ROUNDS)
    lines, left_out = [line.decode() for line in synthetic_lines(_SEED, count, _BEGIN_MS)], dict[str, str]()
    model = load_model(settings)
    with closing(model.engine):
        number_format = str(getattr(model.engine, "number_format", "float32"))
        others = dict(rival for name, rival in OUR_OTHERS.items() if name != model.engine.name)
        chunks, wanted = encoded_templates(model, lines), {} if chosen.alone else RIVALS | others
        with (
            own_sides(settings, model, chunks) as own,
            opened_rivals(wanted, [default_folder(), threads], number_format, left_out) as rivals,
        ):
            sides = own | {name: partial(rival.embed, lines) for name, rival in rivals.items()}
            figures = figures_of(race(sides, rounds, warm_ups=1, left_out=left_out), count)
    return figures | {
        "engine": model.engine.name,
        "number_format": number_format_of(model.engine),
        "batch_tokens": model.engine.batch_tokens,
        "threads": threads,
        "lines": count,
        "tokens_per_line": sum(len(chunk.ids) for chunk in chunks) / count,
        "left_out": left_out,
    }


main = program(
    __doc__,
    measure,
    ENGINE,
    option("--batch-tokens", type=int, help="tokens of a batch instead of the engine's default"),
    option("--alone", action="store_true", help="only the stage and the bare engine, without the libraries"),
    option("--threads", type=int, help="processors for each; all of them if not given"),
    quick=f"{QUICK_LINES} lines instead of {LINES}, {QUICK_ROUNDS} rounds instead of {ROUNDS}",
)

if __name__ == "__main__":
    main()
