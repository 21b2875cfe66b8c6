"""The difference between two sets of matrices at a low rank, as `worker.embedding.model.difference` adds it."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from worker.embedding.model.difference import TALL, WIDE
from worker.embedding.model.weights import Weights, save_weights


def save_difference(before: Weights, after: Weights, file: Path, *, rank: int) -> None:
    """Write the best difference of this rank for each matrix of `after`, in float16. Raises OSError."""
    thin: dict[str, NDArray[np.float16]] = {}
    for name, matrix in sorted(after.items()):
        left, sizes, right = np.linalg.svd(matrix - before[name], full_matrices=False)
        scale = np.sqrt(sizes[:rank])
        thin[name + TALL] = np.ascontiguousarray(left[:, :rank] * scale, dtype=np.float16)
        thin[name + WIDE] = np.ascontiguousarray(scale[:, None] * right[:rank], dtype=np.float16)
    save_weights(thin, file)
