"""Rivals for `test_engines.py`: one that works, and two that do not; each runs in a process of its own."""

import os
from pathlib import Path

import numpy as np

from benchmarks.rivals.own_process import EmbedTexts, Vectors


def open_lengths(_folder: Path, dim: int) -> EmbedTexts:
    """Embed a text as its length, so many times."""
    return lambda texts: np.array([[len(text)] * dim for text in texts], dtype=np.float32)


def open_nothing(_folder: Path, _threads: int) -> EmbedTexts:
    """Find out that the model is not there."""
    raise FileNotFoundError("there is no model")


def open_deadly(_folder: Path, _threads: int) -> EmbedTexts:
    """Open, and end the process at the first text, without a word."""

    def embed(_texts: list[str]) -> Vectors:
        os._exit(3)

    return embed
