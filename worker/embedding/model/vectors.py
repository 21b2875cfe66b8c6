"""What an engine takes and returns: token ids in, vectors out."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sinks.row import Vector

TokenIds = NDArray[np.int32]
"""int32[n]: one text's token ids, special tokens included."""

Vectors = NDArray[np.float32]
"""float32[n, dim]: one row per text, in the order of the texts."""


@dataclass(frozen=True, slots=True)
class EmbeddingFailed:
    """The engine works, but has no vector for this text."""

    reason: str


Outcome = Vector | EmbeddingFailed
"""What embedding one text gives."""
