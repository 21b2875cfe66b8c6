"""Prepares a model once: from a Hugging Face folder to a folder of the cache that every start reads.

A prepared model is a folder with the GGUF, the Hugging Face folder for vLLM, the tokenizer, the golden vectors and `prepared.json`;
it no longer needs its source. The cache also holds one small stamp per source folder (`worker.embedding.model.stamp`), so that a start
neither hashes nor reads the weights. Every process writes to its own staging folder and renames it, so two may prepare at once.
"""

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from worker.embedding.model.difference import LOGS, add_difference
from worker.embedding.model.errors import ModelError
from worker.embedding.model.fallback_texts import supports_llama_tokenizer
from worker.embedding.model.folder import TOKENIZER, TUNED, InstalledName, ModelFolder, Pooling, default_folder, read_folder, read_json
from worker.embedding.model.golden import compute_golden, save_golden
from worker.embedding.model.hf_folder import write_hf_folder
from worker.embedding.model.nearness import Nearness, measure_nearness, read_nearness
from worker.embedding.model.reference_model import ReferenceModel
from worker.embedding.model.reference_tokenizer import ReferenceTokenizer, read_tokenizer_json
from worker.embedding.model.released import check_released
from worker.embedding.model.split_words import split_words
from worker.embedding.model.staging import discard_folder, remove_abandoned, staging_folder
from worker.embedding.model.stamp import files_of, read_stamp, stamp_of, write_stamp
from worker.embedding.model.vectors import Vectors
from worker.embedding.model.weights import read_weights, sha256_of
from worker.embedding.model.wordpiece import WordPiece, read_wordpiece

FORMAT = 7
"""Increased whenever the meaning of a prepared file changes; older folders are then prepared again."""

TokenizerFamily = Literal["wordpiece", "other"]

_GGUF = "model.gguf"
_HF = "hf"
_GOLDEN = "golden.npz"
_DESCRIPTION = "prepared.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedModel:
    """A model that engines and tokenizers can load; all paths exist and belong together."""

    name: str
    folder: Path
    """Holds the files below."""
    gguf: Path
    hf: Path
    """Weights in float32 and the model's shape, as a Hugging Face folder; no tokenizer, no pooling, no token limit."""
    tokenizer_json: Path
    golden: Path
    weights_sha256: str
    architecture: str
    """`ModelFolder.architecture`: the same weights under another `config.json` are another model."""
    tokenizer_sha256: str
    tokenizer_family: TokenizerFamily
    """`wordpiece`: the GGUF has the vocabulary, and llama.cpp may tokenise (`worker.embedding.model.fallback_texts`).
    `other`: only `tokenizers` can."""
    pooling: Pooling
    dim: int
    max_tokens: int
    """Longest sequence in tokens, special tokens included."""
    document_prefix: str
    query_prefix: str
    vocabulary_size: int
    matryoshka: tuple[int, ...]
    """Dimensions that vectors may be cut to according to the model, ascending: 1 … dim if any will do, none if it does not say."""
    splits_words: bool
    """Whether the model takes texts whose names are split into words."""
    nearness: Nearness | None = None
    """For whole vectors and the model's own prefixes. None: not known."""


def prepare_model(
    folder: Path | None, cache: Path, *, pooling: Pooling | None = None, installed: InstalledName = TUNED
) -> PreparedModel:  # fmt: skip
    """Return the prepared model of `folder` (None: the `installed` one of that name): seconds the first time, then milliseconds.

    `pooling` overrides the folder's own files. `folder` may also be a prepared folder, whose pooling cannot be changed. Raises ModelError.
    """
    known = known_model(folder, cache, pooling=pooling, installed=installed)
    if known is not None:
        return known
    source, difference, stamp = _place(folder, cache, pooling, installed)
    described = read_folder(source, "" if folder else installed, pooling=pooling)
    if folder is None:
        check_released(source)
    try:
        cache.mkdir(parents=True, exist_ok=True)
        remove_abandoned(cache, now=time.time())
        files = files_of(source)
        prepared = _prepare(described, cache, difference)
        write_stamp(stamp, prepared.folder, files)
    except OSError as error:
        raise ModelError(f"the model cannot be prepared in {cache}: {error}") from error
    return prepared


def known_model(
    folder: Path | None, cache: Path, *, pooling: Pooling | None = None, installed: InstalledName = TUNED
) -> PreparedModel | None:  # fmt: skip
    """Return what `prepare_model` would if that takes milliseconds; None: it has to be prepared. Raises ModelError."""
    if folder is not None and (folder / _DESCRIPTION).is_file():
        return _unchanged(load_prepared(folder), pooling)
    source, _difference, stamp = _place(folder, cache, pooling, installed)
    return _find_prepared(stamp, source)


def load_prepared(folder: Path) -> PreparedModel:
    """Load a prepared model from its folder. Raises ModelError if it is damaged or of another version."""
    description = read_json(folder / _DESCRIPTION)
    if description.get("format") != FORMAT:
        raise ModelError(f"{folder} was prepared by another version; prepare the model again")
    try:
        damaged = [name for name, size_bytes in description["sizes"].items() if (folder / name).stat().st_size != size_bytes]
        written: dict[str, Any] = description["model"]
        model = PreparedModel(
            folder=folder,
            gguf=folder / _GGUF,
            hf=folder / _HF,
            tokenizer_json=folder / TOKENIZER,
            golden=folder / _GOLDEN,
            nearness=read_nearness(description["nearness"]),
            **written | {"matryoshka": tuple(written["matryoshka"])},
        )
    except (KeyError, TypeError, ValueError, AttributeError, OSError) as error:
        raise ModelError(f"{folder} is damaged: {error!r}; remove it and prepare the model again") from error
    if damaged:
        raise ModelError(f"{folder} is damaged: {damaged[0]} has another size; remove it and prepare the model again")
    return model


def _place(folder: Path | None, cache: Path, pooling: Pooling | None, installed: InstalledName) -> tuple[Path, Path | None, Path]:
    """Return the source folder, what is added to its weights, and the path of its stamp."""
    source = (folder or default_folder()).resolve()
    difference = LOGS if folder is None and installed == TUNED else None
    return source, difference, stamp_of(source, cache, pooling, difference)


def _unchanged(model: PreparedModel, pooling: Pooling | None) -> PreparedModel:
    if pooling not in (None, model.pooling):
        raise ModelError(
            f'{model.folder} was prepared with pooling = "{model.pooling}", not "{pooling}"; prepare the model from its source folder'
        )
    return model


def _find_prepared(stamp: Path, source: Path) -> PreparedModel | None:
    """Return the model that the stamp points to, if it is sound."""
    folder = read_stamp(stamp, source)
    try:
        return None if folder is None else load_prepared(folder)
    except ModelError:
        return None


def _prepare(source: ModelFolder, cache: Path, difference: Path | None) -> PreparedModel:
    """Make the prepared folder, or use a sound one that exists under the same key."""
    tokenizer_json = read_tokenizer_json(source.path)
    tokenizer = ReferenceTokenizer(tokenizer_json, f"{source.path / TOKENIZER}")
    if (largest := tokenizer.largest_id()) >= source.vocabulary_size:
        raise ModelError(f"the tokenizer in {source.path} has ids up to {largest}, its model only {source.vocabulary_size} tokens")
    vocabulary = _read_vocabulary(tokenizer_json, tokenizer.ids())
    weights_sha256 = sha256_of(source.weights if difference is None else (*source.weights, difference))
    description = _describe(source, weights_sha256, tokenizer_json, "other" if vocabulary is None else "wordpiece", difference)
    key = hashlib.sha256(json.dumps(description, sort_keys=True).encode()).hexdigest()[:16]
    target = cache / f"{source.name}-{key}"
    if target.is_dir():
        try:
            return load_prepared(target)
        except ModelError:
            discard_folder(target)
    from worker.embedding.model.gguf_file import write_gguf  # noqa: PLC0415 - half a second, only when a model is prepared

    with staging_folder(cache) as staging:
        weights = read_weights(source.weights)
        if difference is not None:
            weights = add_difference(weights, difference)
        write_gguf(staging / _GGUF, source, vocabulary, weights, weights_sha256)
        write_hf_folder(staging / _HF, source, weights)
        (staging / TOKENIZER).write_text(tokenizer_json, encoding="utf-8")
        reference = ReferenceModel(source, weights)
        save_golden(compute_golden(tokenizer, reference, source.max_tokens), staging / _GOLDEN)
        nearness = _measure_nearness(tokenizer, reference, splits_words=difference is not None)
        description["nearness"] = None if nearness is None else nearness._asdict()
        files = sorted(file for file in staging.rglob("*") if file.is_file())
        description["sizes"] = {str(file.relative_to(staging)): file.stat().st_size for file in files}
        (staging / _DESCRIPTION).write_text(json.dumps(description, indent=2), encoding="utf-8")
        staging.chmod(0o755)
        try:
            staging.rename(target)
        except OSError:
            if not target.is_dir():
                raise
    return load_prepared(target)


def _measure_nearness(tokenizer: ReferenceTokenizer, model: ReferenceModel, *, splits_words: bool) -> Nearness | None:
    source = model.folder

    def embed(prefix: str, texts: Sequence[str]) -> Vectors:
        whole = [prefix + text for text in texts]
        read = [split_words(text) for text in whole] if splits_words else whole
        return np.stack([model.embed(ids[: source.max_tokens]) for ids in tokenizer.encode(read)])

    return measure_nearness(partial(embed, source.query_prefix), partial(embed, source.document_prefix))


def _read_vocabulary(tokenizer_json: str, ids: Mapping[str, int]) -> WordPiece | None:
    """Read a vocabulary that llama.cpp's tokenizer supports; None for any other."""
    try:
        rules = read_wordpiece(tokenizer_json, TOKENIZER)
    except ModelError:
        return None
    return rules if supports_llama_tokenizer(rules, ids) else None


def _describe(
    source: ModelFolder, weights_sha256: str, tokenizer_json: str, tokenizer_family: TokenizerFamily, difference: Path | None
) -> dict[str, object]:  # fmt: skip
    return {
        "format": FORMAT,
        "model": {
            "name": source.name,
            "weights_sha256": weights_sha256,
            "architecture": source.architecture,
            "tokenizer_sha256": _tokenizer_sha256(tokenizer_json),
            "tokenizer_family": tokenizer_family,
            "pooling": source.pooling,
            "dim": source.dim,
            "max_tokens": source.max_tokens,
            "document_prefix": source.document_prefix,
            "query_prefix": source.query_prefix,
            "vocabulary_size": source.vocabulary_size,
            "matryoshka": source.matryoshka,
            "splits_words": difference is not None,
        },
    }


def _tokenizer_sha256(tokenizer_json: str) -> str:
    """Hash the rules that decide a text's ids: not layout, padding or truncation."""
    parsed = json.loads(tokenizer_json)
    rules = {key: value for key, value in parsed.items() if key not in ("padding", "truncation")}
    return hashlib.sha256(json.dumps(rules, sort_keys=True).encode()).hexdigest()
