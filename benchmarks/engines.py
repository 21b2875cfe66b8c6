"""Lines embedded per second: vectail's embed stage, the bare engine beneath it, and other libraries, side by side.

    python -m benchmarks.engines [--engine vllm|llama] [--quick] [--json]

Caveats first. The stage and the bare engine get ready token ids, the libraries get text and tokenise it themselves, as their users
let them. All get the same texts, in turns, on the same processors; what others do on the machine disturbs them nevertheless, and a
ratio is taken within a round before the median over the rounds is. A library that is not installed is said to be absent.
Absolute figures depend on the machine: compare only runs made side by side.
"""

import argparse
import contextlib
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.engines_report import BARE, LLM, OURS, SENTENCE, TRANSFORMERS, Measured, figures_of, show_table
from benchmarks.own_stage import EmbedStage, bare_loop
from benchmarks.rivals.own_process import EmbedTexts, LeftOut, OwnProcess, Turn
from producers.log_feed import synthetic_lines
from worker.encoded import EncodedChunk
from worker.loaded import LoadedModel, load_model
from worker.model.folder import default_folder
from worker.settings import Settings, load_settings

LINES, QUICK_LINES = 384, 128
ROUNDS, QUICK_ROUNDS = 9, 5
ONNX = "ONNX Runtime float32"
_NEEDED = {
    SENTENCE: ("sentence_transformers",),
    ONNX: ("onnxruntime", "onnxscript", "torch", "transformers"),
    LLM: ("vllm",),
    TRANSFORMERS: ("torch", "transformers"),
}
_SEED = 7
_BEGIN_MS = 1_700_000_000_000


class Race:
    """Everything that is compared, loaded; a rival that fails is left out from then on.

    Thread: main.
    """

    def __init__(self, settings: Settings, lines: list[str], threads: int, scratch: Path) -> None:
        """Load the rivals one after another. Our engine comes last: loading it writes to the environment, which they would inherit."""
        self._lines = lines
        self._threads = threads
        self._scratch = scratch
        self._rivals: dict[str, OwnProcess] = {}
        self.left_out: dict[str, str] = {}
        self._own: dict[str, Callable[[], Turn]] = {}
        self._settings = settings

    def open_rivals(self, number_format: str) -> None:
        """Start every rival that is installed."""
        for name in _NEEDED:
            if name == TRANSFORMERS and SENTENCE in self._rivals:
                continue  # only the reference where the better-known one is absent
            missing = [library for library in _NEEDED[name] if find_spec(library) is None]
            if missing:
                self.left_out[name] = f"not installed: {', '.join(missing)}"
                continue
            opener, *arguments = _opener(name, self._threads, number_format)
            log = self._scratch / f"{len(self._rivals) + len(self.left_out)}.log"
            try:
                self._rivals[name] = OwnProcess(opener, arguments, log=log)
            except LeftOut as reason:
                self.left_out[name] = str(reason)

    @contextlib.contextmanager
    def own(self, model: LoadedModel) -> Iterator[None]:
        """Add the stage and the bare engine, and take them away again."""
        tokenizer = model.new_tokenizer()
        encoded = tokenizer.encode(self._lines)
        tokenizer.close()
        chunks = [EncodedChunk(f"{row:08d}", line, encoded.text(row)) for row, line in enumerate(self._lines)]
        stage = EmbedStage(self._settings, model)
        bare = bare_loop(model.engine, chunks)
        self.tokens = len(encoded.ids)
        self._own = {
            OURS: lambda: _timed(lambda: stage.run(chunks), lambda found: np.stack([chunk.vector for chunk in found])),
            BARE: lambda: _timed(bare, lambda result: result.rows()),
        }
        try:
            yield
        finally:
            stage.close()

    def measure(self, rounds: int) -> dict[str, list[Turn]]:
        """Let each run in turns, `rounds` times after one to warm up; another begins every round."""
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


def _opener(name: str, threads: int, number_format: str) -> tuple[Callable[..., EmbedTexts], Any, *tuple[Any, ...]]:
    """Return what a rival's process calls and with what; imports happen there, for they need the libraries."""
    module, function, *more = {
        SENTENCE: ("sentence", "open_sentence_transformers"),
        ONNX: ("onnx", "open_onnx"),
        LLM: ("llm", "open_llm", number_format),
        TRANSFORMERS: ("torch_model", "open_transformers"),
    }[name]
    return open_by_name, f"benchmarks.rivals.{module}", function, (default_folder(), threads, *more)


def _timed(run: Callable[[], Any], rows: Callable[[Any], Any]) -> Turn:
    began_s, began_cpu_s = time.perf_counter(), time.process_time()
    result = run()
    seconds, cpu_s = time.perf_counter() - began_s, time.process_time() - began_cpu_s
    return Turn(seconds, cpu_s, rows(result))


