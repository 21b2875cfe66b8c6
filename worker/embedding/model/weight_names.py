"""What the weights of a BERT are called: by its own model, and by llama.cpp.

Source: `conversion/bert.py` in llama.cpp. Apart from `worker.embedding.model.gguf_file`, because who only reads needs no writer's library.
"""

WEIGHTS_SHA256 = "vectail.weights_sha256"
"""The key in a GGUF's metadata that says which weights it was made from."""

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
    """Return every weight that sentence vectors need: what BertModel calls it, and what llama.cpp calls it."""
    names = dict(_EMBEDDINGS)
    for layer in range(layers):
        for source, target in _LAYER.items():
            for part in ("weight", "bias"):
                names[f"encoder.layer.{layer}.{source}.{part}"] = f"blk.{layer}.{target}.{part}"
    return names
