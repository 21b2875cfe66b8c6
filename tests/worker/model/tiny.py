"""Makes small BERT folders with random weights, in the layout of Hugging Face: real in everything but size."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
_WORDS = ("error", "failed", "port", "##ing", "##ed", "user", "disk", "full", "Error", "Disk")
VOCABULARY = (*SPECIAL, *"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", *_CHARACTERS, *(f"##{c}" for c in _CHARACTERS), *_WORDS)


@dataclass(frozen=True, kw_only=True)
class Tiny:
    """What may differ between the folders."""

    pooling: str = "mean"
    normalize: bool = True
    lowercase: bool = True
    activation: str = "gelu"
    layers: int = 2
    dim: int = 64
    vocab_txt_only: bool = False
    prompts: dict[str, str] | None = None


def make_folder(folder: Path, tiny: Tiny = Tiny()) -> Path:
    """Write a folder; two with the same settings are equal."""
    folder.mkdir(parents=True)
    write_json(
        folder / "config.json",
        {
            "model_type": "bert",
            "hidden_size": tiny.dim,
            "num_hidden_layers": tiny.layers,
            "num_attention_heads": 2,
            "intermediate_size": 2 * tiny.dim,
            "max_position_embeddings": 64,
            "type_vocab_size": 2,
            "vocab_size": len(VOCABULARY) + 3,
            "layer_norm_eps": 1e-12,
            "hidden_act": tiny.activation,
        },
    )
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": 48, "do_lower_case": False})
    write_json(folder / "tokenizer_config.json", {"do_lower_case": tiny.lowercase})
    kinds = ["Transformer", "Pooling", *(["Normalize"] if tiny.normalize else [])]
    paths = {"Transformer": "", "Pooling": "1_Pooling", "Normalize": "2_Normalize"}
    write_json(folder / "modules.json", [{"path": paths[kind], "type": f"sentence_transformers.models.{kind}"} for kind in kinds])
    modes = {"pooling_mode_cls_token": tiny.pooling == "cls", "pooling_mode_mean_tokens": tiny.pooling == "mean"}
    write_json(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": tiny.dim, **modes})
    write_json(folder / "config_sentence_transformers.json", {"prompts": tiny.prompts} if tiny.prompts else {})
    if tiny.vocab_txt_only:
        (folder / "vocab.txt").write_text("\n".join(VOCABULARY), encoding="utf-8")
    else:
        write_json(folder / "tokenizer.json", tokenizer_json(lowercase=tiny.lowercase))
    save_file(_weights(tiny), folder / "model.safetensors")
    return folder


def write_json(file: Path, content: object) -> None:
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(content), encoding="utf-8")


def tokenizer_json(*, lowercase: bool = True) -> dict[str, Any]:
    """Make a tokenizer.json that pads and truncates, as many published ones do."""
    ids = {token: token_id for token_id, token in enumerate(VOCABULARY)}
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    frame = [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    frame.append({"SpecialToken": {"id": "[SEP]", "type_id": 0}})
    special = {token: {"id": token, "ids": [ids[token]], "tokens": [token]} for token in ("[CLS]", "[SEP]")}
    return {
        "version": "1.0",
        "truncation": {"max_length": 8, "strategy": "LongestFirst", "stride": 0, "direction": "Right"},
        "padding": {
            "strategy": {"Fixed": 16},
            "direction": "Right",
            "pad_to_multiple_of": None,
            "pad_id": 0,
            "pad_type_id": 0,
            "pad_token": "[PAD]",
        },
        "added_tokens": [{"id": ids[token], "content": token, **flags} for token in SPECIAL],
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": lowercase,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "TemplateProcessing", "single": frame, "pair": frame, "special_tokens": special},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": ids,
        },
    }


def _weights(tiny: Tiny) -> dict[str, Any]:
    random = np.random.default_rng(7)
    dim, wide = tiny.dim, 2 * tiny.dim

    def matrix(*shape: int) -> Any:  # noqa: ANN401 - an array of whatever shape
        return (random.standard_normal(shape) * 0.2).astype(np.float32)

    def norm(name: str) -> dict[str, Any]:
        return {f"{name}.weight": 1 + matrix(dim), f"{name}.bias": matrix(dim)}

    def linear(name: str, rows: int, columns: int, scale: float = 1.0) -> dict[str, Any]:
        return {f"{name}.weight": matrix(rows, columns) * np.float32(scale), f"{name}.bias": matrix(rows)}

    weights = {
        "embeddings.word_embeddings.weight": matrix(len(VOCABULARY) + 3, dim),
        "embeddings.position_embeddings.weight": matrix(64, dim),
        "embeddings.token_type_embeddings.weight": matrix(2, dim),
        **norm("embeddings.LayerNorm"),
        **linear("pooler.dense", dim, dim),
    }
    for layer in range(tiny.layers):
        name = f"encoder.layer.{layer}."
        for part in ("query", "key", "value"):
            weights |= linear(f"{name}attention.self.{part}", dim, dim, 2.0)  # attention that chooses
        weights |= linear(f"{name}attention.output.dense", dim, dim, 0.5) | norm(f"{name}attention.output.LayerNorm")
        weights |= linear(f"{name}intermediate.dense", wide, dim) | linear(f"{name}output.dense", dim, wide, 0.3)
        weights |= norm(f"{name}output.LayerNorm")
    return {f"bert.{name}": weight for name, weight in weights.items()}
