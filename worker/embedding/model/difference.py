"""The difference between an installed model and one that was trained from it: two thin matrices for each large one.

`logs.safetensors` makes `all-MiniLM-L6-v2-logs` of all-MiniLM-L6-v2; `benchmarks.training` writes it. `prepared` adds it to the weights
once, so that engines and golden vectors get whole matrices.
"""

from pathlib import Path
from typing import Final

from worker.embedding.model.errors import ModelError
from worker.embedding.model.weights import Weights, read_weights

LOGS: Final = Path(__file__).with_name("logs.safetensors")
TALL, WIDE = ".tall", ".wide"


def add_difference(weights: Weights, file: Path) -> Weights:
    """Return the weights with `NAME.tall` [rows, rank] times `NAME.wide` [rank, columns] added to each matrix NAME. Raises ModelError."""
    stored = read_weights([file])
    changed = dict(weights)
    try:
        for name in (one.removesuffix(TALL) for one in stored if one.endswith(TALL)):
            difference = stored[name + TALL] @ stored[name + WIDE]
            if difference.shape != changed[name].shape:
                raise ModelError(f"{file}: {name} differs by {difference.shape}, and the model has {changed[name].shape}")
            changed[name] = changed[name] + difference
    except (KeyError, ValueError) as error:
        raise ModelError(f"{file} does not fit the model: {error!r}") from error
    return changed
