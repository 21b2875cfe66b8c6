"""Makes small BERT folders with random weights in the layout of Hugging Face."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.worker.embedding.model.tiny_tokenizers import SPECIAL, VOCABULARY, tokenizer_json, unigram_json
from tests.worker.embedding.model.tiny_weights import random_weights, save_weights

__all__ = ["SPARE_IDS", "SPECIAL", "VOCABULARY", "Tiny", "make_folder", "tokenizer_json", "write_json"]

SPARE_IDS = 3
"""Rows of the embedding table without a token, as in many published models."""


@dataclass(frozen=True, kw_only=True)
class Tiny:
    """The settings of a folder."""

    pooling: str = "mean"
    normalize: bool = True
    """Whether `modules.json` has a Normalize module; vectors are of length 1 in any case."""
    lowercase: bool = True
    activation: str = "gelu"
    layers: int = 2
    dim: int = 64
    heads: int = 2
    feed_forward: int | None = None
    """Default: twice `dim`."""
    positions: int = 64
    most_tokens: int = 48
    """In `sentence_bert_config.json`."""
    token_types: int = 2
    modules: bool = True
    """Whether it has the files of sentence-transformers: `modules.json` and those that it names."""
    unigram: bool = False
    """Whether the tokenizer is a Unigram, like XLM-R's."""
    vocab_txt_only: bool = False
    prompts: dict[str, str] | None = None
    number_format: str = "F32"
    """Of the stored weights: F32, F16 or BF16."""
    shards: int = 1
    weight_prefix: str = "bert."
    config: tuple[tuple[str, object], ...] = ()
    """Further entries of `config.json`."""


def make_folder(folder: Path, tiny: Tiny = Tiny()) -> Path:
    """Write a folder; equal settings give equal folders."""
    folder.mkdir(parents=True)
    tokenizer = unigram_json() if tiny.unigram else tokenizer_json(lowercase=tiny.lowercase)
    config = {
        "model_type": "bert",
        "hidden_size": tiny.dim,
        "num_hidden_layers": tiny.layers,
        "num_attention_heads": tiny.heads,
        "intermediate_size": tiny.feed_forward or 2 * tiny.dim,
        "max_position_embeddings": tiny.positions,
        "type_vocab_size": tiny.token_types,
        "vocab_size": len(tokenizer["model"]["vocab"]) + SPARE_IDS,
        "layer_norm_eps": 1e-12,
        "hidden_act": tiny.activation,
        **dict(tiny.config),
    }
    write_json(folder / "config.json", config)
    write_json(folder / "tokenizer_config.json", {"do_lower_case": tiny.lowercase})
    if tiny.modules:
        _write_modules(folder, tiny)
    if tiny.vocab_txt_only:
        (folder / "vocab.txt").write_text("\n".join(VOCABULARY), encoding="utf-8")
    else:
        write_json(folder / "tokenizer.json", tokenizer)
    weights = {tiny.weight_prefix + name: weight for name, weight in random_weights(config).items()}
    save_weights(folder, weights, tiny.number_format, tiny.shards)
    return folder


def write_json(file: Path, content: object) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(content), encoding="utf-8")


def _write_modules(folder: Path, tiny: Tiny) -> None:
    """Write the files that sentence-transformers adds."""
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": tiny.most_tokens, "do_lower_case": False})
    types = ["Transformer", "Pooling", *(["Normalize"] if tiny.normalize else [])]
    paths = {"Transformer": "", "Pooling": "1_Pooling", "Normalize": "2_Normalize"}
    write_json(folder / "modules.json", [{"path": paths[name], "type": f"sentence_transformers.models.{name}"} for name in types])
    modes: dict[str, Any] = {"pooling_mode_cls_token": tiny.pooling == "cls", "pooling_mode_mean_tokens": tiny.pooling == "mean"}
    write_json(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": tiny.dim, **modes})
    write_json(folder / "config_sentence_transformers.json", {"prompts": tiny.prompts} if tiny.prompts else {})
