"""The worker's own engine in a process of its own, with ready token ids: a replica on a card, or one to compare with."""

from pathlib import Path

import numpy as np

from benchmarks.own_stage import batches_of, encoded_templates
from benchmarks.rivals.own_process import EmbedTexts, Vectors
from worker.embedding.encoded_text import EncodedText
from worker.embedding.loaded import load_model
from worker.embedding.model.folder import PLAIN
from worker.settings.settings import load_settings
from worker.settings.tables import EngineTable


def open_ready_ids(name: str, memory_share: float) -> EmbedTexts:
    """Load the engine with a share of the card's memory; texts are tokenised at the first pass only, which warms up."""
    return _open(EngineTable.model_validate({"name": name, "memory_share": memory_share}))


def open_llama(_folder: Path, threads: int) -> EmbedTexts:
    """Load llama.cpp."""
    return _open(EngineTable(name="llama", threads=threads))


def open_onnx_engine(_folder: Path, threads: int) -> EmbedTexts:
    """Load ONNX Runtime with the graph of ours."""
    return _open(EngineTable(name="onnx", threads=threads))


def _open(engine_table: EngineTable) -> EmbedTexts:
    model = load_model(load_settings(None, {"model": {"name": PLAIN}}).model_copy(update={"engine": engine_table}))
    chunks: list[EncodedText] = []

    def embed(texts: list[str]) -> Vectors:
        if not chunks:
            chunks.extend(encoded_templates(model, texts))
        return np.concatenate([model.engine.embed(batch) for batch in batches_of(model.engine, chunks)])

    return embed
