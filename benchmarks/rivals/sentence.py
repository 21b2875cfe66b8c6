"""sentence-transformers in float32, the most common choice."""

import functools
import time
import warnings
from pathlib import Path

from benchmarks.rivals.own_process import EmbedTexts, Vectors
from benchmarks.rivals.torch_model import set_threads

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from sentence_transformers import SentenceTransformer

BATCH_TEXTS = (32, 64)
"""Its default, and the double of it: the one that is faster at the first pass is kept."""


def open_sentence_transformers(folder: Path, threads: int) -> EmbedTexts:
    """Load the model as its folder says."""
    set_threads(threads)
    model = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    chosen: list[int] = []

    def encode(texts: list[str], batch: int) -> Vectors:
        vectors: Vectors = model.encode(texts, batch_size=batch, show_progress_bar=False)
        return vectors

    def seconds(texts: list[str], batch: int) -> float:
        began_s = time.perf_counter()
        encode(texts, batch)
        return time.perf_counter() - began_s

    def embed(texts: list[str]) -> Vectors:
        if not chosen:
            encode(texts[: BATCH_TEXTS[0]], BATCH_TEXTS[0])
            chosen.append(min(BATCH_TEXTS, key=functools.partial(seconds, texts)))
        return encode(texts, chosen[0])

    return embed
