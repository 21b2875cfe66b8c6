"""Sides for `test_rivals.py` and `test_wrong_work.py`, each run in a process of its own."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.by_hand_turns import Turn
from benchmarks.rivals.own_process import EmbedTexts, Opened, Vectors


def open_lengths(_folder: Path, dim: int) -> EmbedTexts:
    """Embed a text as its length, repeated `dim` times."""
    return lambda texts: np.array([[len(text)] * dim for text in texts], dtype=np.float32)


def open_family(pids: Path, _threads: int) -> EmbedTexts:
    """Start a child that starts another, as vLLM does with its engine core and worker; both outlive their parents."""
    command = f"sleep 600 & echo $$ $! > {pids}.new; mv {pids}.new {pids}; wait"
    subprocess.Popen(["sh", "-c", command], stdin=subprocess.DEVNULL)
    while not pids.exists():
        time.sleep(0.01)
    return lambda texts: np.zeros((len(texts), 1), dtype=np.float32)


def open_nothing(_folder: Path, _threads: int) -> EmbedTexts:
    """Fail because the model is missing."""
    raise FileNotFoundError("there is no model")


def open_deadly(_folder: Path, _threads: int) -> EmbedTexts:
    """Open, and end the process at the first text without a message."""

    def embed(_texts: list[str]) -> Vectors:
        os._exit(3)

    return embed


def open_lacking(lacking: int) -> Opened:
    """Say that all but `lacking` records are stored, in a second."""
    sys.stdout.write("[INFO] a library says that it is loading\n")
    return Opened({"is_ready": True}, lambda plan: Turn(1.0, plan.records - lacking, {}))
