"""Reads the weights of a BERT from its safetensors file, as float32 and under the names that `BertModel` itself gives them.

`gguf_file` writes them out and `reference` computes with them; both see the same arrays.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from worker.model.folder import ModelError

Weights = Mapping[str, NDArray[np.float32]]

_UNUSED = ("pooler.", "cls.", "embeddings.position_ids")
"""Heads of the training task; sentence vectors do not pass through them."""


def read_weights(file: Path) -> Weights:
    """Read all weights that sentence vectors need. Raises ModelError."""
    weights: dict[str, NDArray[np.float32]] = {}
    try:
        with safe_open(file, framework="np") as stored:
            for stored_name in stored.keys():  # noqa: SIM118 - safe_open is no mapping
                name = stored_name.removeprefix("bert.")
                if not name.startswith(_UNUSED):
                    name = name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")
                    weights[name] = np.ascontiguousarray(stored.get_tensor(stored_name), dtype=np.float32)
    except (OSError, SafetensorError, TypeError, ValueError) as error:
        raise ModelError(f"{file} cannot be read: {error}") from error
    return weights


def sha256_of(file: Path) -> str:
    """SHA-256 of a file's bytes, in hex. Raises ModelError."""
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise ModelError(f"{file} cannot be read: {error}") from error
