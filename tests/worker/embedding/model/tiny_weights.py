"""Random weights for small BERT models, stored in the ways of published models."""

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Weights = dict[str, NDArray[np.float32]]


def random_weights(config: Mapping[str, Any]) -> Weights:
    """Make weights in the shapes of `config.json`, with a pooler; equal shapes give equal weights."""
    random = np.random.default_rng(7)
    dim, wide = config["hidden_size"], config["intermediate_size"]

    def matrix(*shape: int) -> NDArray[np.float32]:
        return (random.standard_normal(shape) * 0.2).astype(np.float32)

    def norm(name: str) -> Weights:
        return {f"{name}.weight": 1 + matrix(dim), f"{name}.bias": matrix(dim)}

    def linear(name: str, rows: int, columns: int, scale: float = 1.0) -> Weights:
        return {f"{name}.weight": matrix(rows, columns) * np.float32(scale), f"{name}.bias": matrix(rows)}

    weights = {
        "embeddings.word_embeddings.weight": matrix(config["vocab_size"], dim),
        "embeddings.position_embeddings.weight": matrix(config["max_position_embeddings"], dim),
        "embeddings.token_type_embeddings.weight": matrix(config["type_vocab_size"], dim),
        **norm("embeddings.LayerNorm"),
        **linear("pooler.dense", dim, dim),
    }
    for layer in range(config["num_hidden_layers"]):
        name = f"encoder.layer.{layer}."
        for part in ("query", "key", "value"):
            weights |= linear(f"{name}attention.self.{part}", dim, dim, 2.0)  # sharp attention
        weights |= linear(f"{name}attention.output.dense", dim, dim, 0.5) | norm(f"{name}attention.output.LayerNorm")
        weights |= linear(f"{name}intermediate.dense", wide, dim) | linear(f"{name}output.dense", dim, wide, 0.3)
        weights |= norm(f"{name}output.LayerNorm")
    return weights


def save_weights(folder: Path, weights: Weights, number_format: str, shards: int) -> None:
    """Write `model.safetensors` or, for several shards, an index and numbered files, as Transformers does."""
    if shards == 1:
        save_safetensors(folder / "model.safetensors", weights, number_format)
        return
    names = list(weights)
    placed = {name: f"model-{names.index(name) % shards + 1:05}-of-{shards:05}.safetensors" for name in names}
    for file in sorted(set(placed.values())):
        save_safetensors(folder / file, {name: weights[name] for name in names if placed[name] == file}, number_format)
    index = {"metadata": {"total_size": 0}, "weight_map": placed}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")


def save_safetensors(file: Path, weights: Weights, number_format: str) -> None:
    """Write the format by hand: the library cannot write bfloat16 from NumPy, and the test must not depend on it."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    stored = bytearray()
    for name, weight in weights.items():
        numbers = _encoded(weight, number_format)
        header[name] = {"dtype": number_format, "shape": weight.shape, "data_offsets": [len(stored), len(stored) + len(numbers)]}
        stored += numbers
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    file.write_bytes(struct.pack("<Q", len(text)) + text + stored)


def _encoded(weight: NDArray[np.float32], number_format: str) -> bytes:
    if number_format == "BF16":  # round to nearest: add half of what is cut off
        return ((weight.view(np.uint32) + 0x8000) >> 16).astype("<u2").tobytes()
    return weight.astype({"F32": "<f4", "F16": "<f2", "I8": "<i1"}[number_format]).tobytes()
