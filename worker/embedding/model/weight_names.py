"""Names of a BERT's weights in its own model and in llama.cpp.

Source: `conversion/bert.py` in llama.cpp. Separate from `worker.embedding.model.gguf_file`, because readers need no `gguf` library.
"""

WEIGHTS_SHA256 = "vectail.weights_sha256"
"""Metadata key of a GGUF: the SHA-256 of the weights that it was made from."""

_EMBEDDINGS = {
    "embeddings.word_embeddings.weight": "token_embd.weight",
    "embeddings.token_type_embeddings.weight": "token_types.weight",
    "embeddings.position_embeddings.weight": "position_embd.weight",
    "embeddings.LayerNorm.weight": "token_embd_norm.weight",
    "embeddings.LayerNorm.bias": "token_embd_norm.bias",
}
_LAYER = {
    "attention.self.query": "attn_q",
    "attention.self.key": "attn_k",
    "attention.self.value": "attn_v",
    "attention.output.dense": "attn_output",
    "attention.output.LayerNorm": "attn_output_norm",
    "intermediate.dense": "ffn_up",
    "output.dense": "ffn_down",
    "output.LayerNorm": "layer_output_norm",
}


def weight_names(layers: int) -> dict[str, str]:
    """Return every weight that sentence vectors need: its name in `BertModel` → its name in llama.cpp."""
    names = dict(_EMBEDDINGS)
    for layer in range(layers):
        for source, target in _LAYER.items():
            for part in ("weight", "bias"):
                names[f"encoder.layer.{layer}.{source}.{part}"] = f"blk.{layer}.{target}.{part}"
    return names
