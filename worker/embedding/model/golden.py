"""Golden texts: a dozen log lines whose right vectors are computed once, in float32, when a model is prepared.

They check every engine at its start, and later tell a bad text from a broken engine: a text is rejected only if the golden texts
still pass (design: errors). The file holds ids and vectors, so the check needs no tokenizer.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worker.embedding.model.errors import ModelError
from worker.embedding.model.reference_model import ReferenceModel
from worker.embedding.model.reference_tokenizer import ReferenceTokenizer
from worker.embedding.model.vectors import Vectors

TEXTS = (
    "error",
    "GET /status 200",
    "login refused for unknown account from port ssh",
    "sensor: reading out of range; unit= channel= limit= source=rack",
    "stored object of size in bucket",
    "writer for segment is closing",
    "net.sockets.PeerGone: the peer closed the connection at net.sockets.Reader.fill(Reader.java)",
    "[machine: ] power off was requested (scheduled)",
    "dropped idle link to peer / (nothing was negotiated)",
    "fan: CPU package is too hot, clock lowered (events so far = )",
    "pool.start() ready /srv/app/conf/pool.properties",
    (
        "user=alice action=checkout cart_total=129.90 currency=EUR payment=declined reason=insufficient_funds "
        "retry=3 trace_id=4bf92f3577b34da6a3ce929d0e0e4736 span_id=00f067aa0ba902b7 service=payments level=WARN"
    ),
)


class Golden(NamedTuple):
    """Token ids of the golden texts, and the vectors that a sound engine returns for them."""

    ids: list[NDArray[np.int32]]
    vectors: Vectors
    """float32[texts, dim], of length 1."""


def compute_golden(tokenizer: ReferenceTokenizer, model: ReferenceModel, max_tokens: int) -> Golden:
    """Compute the golden vectors; leaves out golden texts longer than the model's limit. Raises ModelError."""
    encoded = tokenizer.encode(TEXTS)
    ids = [text for text in encoded if 0 < len(text) <= max_tokens]
    if not ids:
        shortest = min(map(len, encoded))
        raise ModelError(f"the model in {model.folder.path} takes {max_tokens} tokens; the shortest golden text has {shortest}")
    return Golden(ids, np.stack([model.embed(text) for text in ids]))


def save_golden(golden: Golden, file: Path) -> None:
    """Write the golden file (npz, no pickles)."""
    lengths = np.array([len(ids) for ids in golden.ids], dtype=np.int64)
    np.savez(file, ids=np.concatenate(golden.ids), lengths=lengths, vectors=golden.vectors)


def load_golden(file: Path) -> Golden:
    """Read the golden file. Raises ModelError."""
    try:
        with np.load(file, allow_pickle=False) as stored:
            ids = np.split(stored["ids"], np.cumsum(stored["lengths"])[:-1])
            return Golden(ids, stored["vectors"])
    except (OSError, KeyError, ValueError) as error:
        raise ModelError(f"{file} cannot be read: {error}") from error
