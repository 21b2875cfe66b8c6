"""Makes small BERT folders with random weights, in the layout of Hugging Face: real in everything but size."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.worker.embedding.model.tiny_tokenizers import SPECIAL, VOCABULARY, tokenizer_json, unigram_json
from tests.worker.embedding.model.tiny_weights import random_weights, save_weights

__all__ = ["SPARE_IDS", "SPECIAL", "VOCABULARY", "Tiny", "make_folder", "tokenizer_json", "write_json"]

SPARE_IDS = 3
"""Rows of the model's table that its tokenizer has no token for, as in many published models."""


@dataclass(frozen=True, kw_only=True)
class Tiny:
    """What may differ between the folders."""

    pooling: str = "mean"
    normalize: bool = True
    lowercase: bool = True
    activation: str = "gelu"
    layers: int = 2
    dim: int = 64
    heads: int = 2
    feed_forward: int | None = None
    """Twice `dim` when it is not given."""
    positions: int = 64
    most_tokens: int = 48
    """What its `sentence_bert_config.json` says."""
    token_kinds: int = 2
    modules: bool = True
    """Whether sentence-transformers saved it, with `modules.json` and what that names."""
    unigram: bool = False
    """Whether the tokenizer is one of XLM-R's kind."""
    vocab_txt_only: bool = False
    prompts: dict[str, str] | None = None
    number_format: str = "F32"
    """Of the stored weights: F32, F16 or BF16."""
    shards: int = 1
    weight_prefix: str = "bert."
    config: tuple[tuple[str, object], ...] = ()
    """Further entries of `config.json`."""


def make_folder(folder: Path, tiny: Tiny = Tiny()) -> Path:
    """Write a folder; two with the same settings are equal."""
    folder.mkdir(parents=True)
    tokenizer = unigram_json() if tiny.unigram else tokenizer_json(lowercase=tiny.lowercase)
    config = {
        "model_type": "bert",
        "hidden_size": tiny.dim,
        "num_hidden_layers": tiny.layers,
        "num_attention_heads": tiny.heads,
        "intermediate_size": tiny.feed_forward or 2 * tiny.dim,
        "max_position_embeddings": tiny.positions,
        "type_vocab_size": tiny.token_kinds,
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
    """Write what sentence-transformers saves beside the model."""
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": tiny.most_tokens, "do_lower_case": False})
    kinds = ["Transformer", "Pooling", *(["Normalize"] if tiny.normalize else [])]
    paths = {"Transformer": "", "Pooling": "1_Pooling", "Normalize": "2_Normalize"}
    write_json(folder / "modules.json", [{"path": paths[kind], "type": f"sentence_transformers.models.{kind}"} for kind in kinds])
    modes: dict[str, Any] = {"pooling_mode_cls_token": tiny.pooling == "cls", "pooling_mode_mean_tokens": tiny.pooling == "mean"}
    write_json(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": tiny.dim, **modes})
    write_json(folder / "config_sentence_transformers.json", {"prompts": tiny.prompts} if tiny.prompts else {})
