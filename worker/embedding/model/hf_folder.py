"""Writes the Hugging Face folder of a prepared model, which vLLM loads.

`prepared` calls it once. It holds only shape and weights: float32 under `BertModel`'s own names, whatever the source folder stored.
Pooling and token limit are settings of the engine, which gets token ids and needs no tokenizer.
"""

import json
from pathlib import Path

from worker.embedding.model.folder import WEIGHTS, ModelFolder
from worker.embedding.model.weight_names import weight_names
from worker.embedding.model.weights import Weights, save_weights


def write_hf_folder(target: Path, folder: ModelFolder, weights: Weights) -> None:
    """Write `config.json` and the weights, both checked before, to a new folder. Raises OSError."""
    target.mkdir()
    (target / "config.json").write_text(json.dumps(_config(folder), indent=2), encoding="utf-8")
    save_weights({name: weights[name] for name in weight_names(folder.layers)}, target / WEIGHTS)


def _config(folder: ModelFolder) -> dict[str, object]:
    return {
        "architectures": ["BertModel"],
        "model_type": "bert",
        "torch_dtype": "float32",
        "hidden_size": folder.dim,
        "num_hidden_layers": folder.layers,
        "num_attention_heads": folder.heads,
        "intermediate_size": folder.feed_forward,
        "max_position_embeddings": folder.positions,
        "type_vocab_size": folder.token_types,
        "vocab_size": folder.vocabulary_size,
        "layer_norm_eps": folder.epsilon,
        "hidden_act": folder.activation,
        "position_embedding_type": "absolute",
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
        "is_decoder": False,
    }
