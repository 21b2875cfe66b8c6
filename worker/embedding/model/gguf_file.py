"""Writes a GGUF with the vocabulary and the weights of a BERT, as llama.cpp's own converter would.

Source of names, token transformation and metadata: `conversion/bert.py` in llama.cpp. The metadata holds the SHA-256 of the weights, so
that a GGUF says which weights it was made from. Without a WordPiece vocabulary the GGUF holds only the number of tokens (`no_vocab`):
llama.cpp then embeds ids but cannot tokenise.

Matrices are float16. Measured on two AVX2 cores (AMD Zen 3) with lines of 30 to 60 tokens: float16 101 lines/s, float32 79, bfloat16
as slow as float32; lowest cosine to the float32 reference 0.9999986, 0.9999987 and 0.99998. float16 also halves the file.
"""

from pathlib import Path
from typing import Literal

import gguf
import numpy as np
from numpy.typing import NDArray

from worker.embedding.model.errors import ModelError
from worker.embedding.model.folder import ModelFolder
from worker.embedding.model.weight_names import WEIGHTS_SHA256, weight_names
from worker.embedding.model.weights import Weights
from worker.embedding.model.wordpiece import CONTINUES, WORD_START, WordPiece

NumberFormat = Literal["f32", "f16", "bf16"]

_FORMATS = {
    "f32": (gguf.GGMLQuantizationType.F32, gguf.LlamaFileType.ALL_F32),
    "f16": (gguf.GGMLQuantizationType.F16, gguf.LlamaFileType.MOSTLY_F16),
    "bf16": (gguf.GGMLQuantizationType.BF16, gguf.LlamaFileType.MOSTLY_BF16),
}
_POOLINGS = {"mean": gguf.PoolingType.MEAN, "cls": gguf.PoolingType.CLS}


def write_gguf(
    file: Path,
    folder: ModelFolder,
    vocabulary: WordPiece | None,
    weights: Weights,
    weights_sha256: str,
    number_format: NumberFormat = "f16",
) -> None:
    """Write the GGUF; `file` is complete on return. Raises ModelError if a weight is missing or has another shape."""
    writer = gguf.GGUFWriter(file, "bert")
    writer.add_name(folder.name)
    writer.add_string(WEIGHTS_SHA256, weights_sha256)
    writer.add_file_type(_FORMATS[number_format][1])
    writer.add_context_length(folder.positions)
    writer.add_embedding_length(folder.dim)
    writer.add_block_count(folder.layers)
    writer.add_feed_forward_length(folder.feed_forward)
    writer.add_head_count(folder.heads)
    writer.add_layer_norm_eps(folder.epsilon)
    writer.add_causal_attention(False)  # noqa: FBT003 - the library's signature
    writer.add_pooling_type(_POOLINGS[folder.pooling])
    writer.add_token_type_count(folder.token_types)
    if vocabulary is None:
        writer.add_tokenizer_model("no_vocab")
        writer.add_vocab_size(folder.vocabulary_size)
    else:
        _add_vocabulary(writer, folder, vocabulary)
    for source, target in weight_names(folder.layers).items():
        _add_weight(writer, target, _checked(weights, source, folder), number_format)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_vocabulary(writer: gguf.GGUFWriter, folder: ModelFolder, vocabulary: WordPiece) -> None:
    texts, types = [], []
    for token_id in range(folder.vocabulary_size):
        token = vocabulary.tokens[token_id] if token_id < len(vocabulary.tokens) else ""
        if not token:
            texts.append(f"[PAD{token_id}]")
            types.append(gguf.TokenType.UNUSED)
        elif token_id in vocabulary.special_ids:
            texts.append(token)
            types.append(gguf.TokenType.CONTROL)
        else:
            texts.append(token[len(CONTINUES) :] if token.startswith(CONTINUES) else WORD_START + token)
            types.append(gguf.TokenType.NORMAL)
    writer.add_tokenizer_model("bert")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(texts)
    writer.add_token_types(types)
    writer.add_bool("tokenizer.ggml.normalizer.lowercase", vocabulary.lowercase)
    writer.add_bool("tokenizer.ggml.normalizer.strip_accents", vocabulary.strip_accents)
    writer.add_bos_token_id(vocabulary.cls)
    writer.add_sep_token_id(vocabulary.sep)
    writer.add_eos_token_id(vocabulary.sep)
    writer.add_unk_token_id(vocabulary.unk)
    if vocabulary.pad is not None:
        writer.add_pad_token_id(vocabulary.pad)
    if vocabulary.mask is not None:
        writer.add_mask_token_id(vocabulary.mask)


def _checked(weights: Weights, name: str, folder: ModelFolder) -> NDArray[np.float32]:
    if name not in weights:
        raise ModelError(f"the weights in {folder.path} lack {name}")
    rows = {
        "embeddings.word_embeddings.weight": folder.vocabulary_size,
        "embeddings.token_type_embeddings.weight": folder.token_types,
        "embeddings.position_embeddings.weight": folder.positions,
    }.get(name, folder.feed_forward if ".intermediate." in name else folder.dim)
    columns = folder.feed_forward if ".output.dense" in name and ".attention." not in name else folder.dim
    wanted = (rows, columns) if weights[name].ndim == 2 else (rows,)  # noqa: PLR2004 - a matrix, else a bias or a norm
    if weights[name].shape != wanted:
        raise ModelError(f"{name} in {folder.path} has the shape {weights[name].shape}; config.json says {wanted}")
    return weights[name]


def _add_weight(writer: gguf.GGUFWriter, name: str, weight: NDArray[np.float32], number_format: NumberFormat) -> None:
    """Add a weight; biases, norms, positions and token types stay float32 in every format, as in llama.cpp's converter."""
    if number_format == "f32" or weight.ndim == 1 or name.startswith(("position_embd", "token_types")):
        writer.add_tensor(name, weight)
    else:
        stored_type = _FORMATS[number_format][0]
        writer.add_tensor(name, gguf.quants.quantize(weight, stored_type), raw_dtype=stored_type)
