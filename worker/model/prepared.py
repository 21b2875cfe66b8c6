"""Makes a model ready to use, once: from a Hugging Face folder to a folder of the cache that every start reads.

A prepared model is a folder with the GGUF, the tokenizer, the golden vectors and `prepared.json`; it needs its source no more. Beside
these folders lies one small stamp per source folder, with size and time of the files that were read, so that a start neither
hashes nor reads the weights. Every write goes to a temporary name and is renamed, so two processes may prepare at once.
"""

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from worker.model.folder import DEFAULT_NAME, TOKENIZER, WEIGHTS, ModelError, ModelFolder, Pooling, default_folder, read_folder, read_json
from worker.model.gguf_file import write_gguf
from worker.model.golden import compute_golden, save_golden
from worker.model.own_tokenizer import OwnTokenizer, read_tokenizer_json
from worker.model.reference import ReferenceModel
from worker.model.weights import read_weights, sha256_of
from worker.model.wordpiece import read_wordpiece

FORMAT = 2
"""Raised whenever the files of a prepared model change in meaning; older ones are then made again."""

_GGUF = "model.gguf"
_GOLDEN = "golden.npz"
_DESCRIPTION = "prepared.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedModel:
    """A model that engines and tokenizers can load; all paths exist and belong together.

    Thread: any.
    """

    name: str
    folder: Path
    """Where the files below lie, in the cache."""
    gguf: Path
    tokenizer_json: Path
    golden: Path
    weights_sha256: str
    tokenizer_sha256: str
    pooling: Pooling
    normalize: bool
    dim: int
    max_tokens: int
    """Longest sequence in tokens, special tokens included."""
    document_prefix: str
    query_prefix: str
    vocabulary_size: int


def prepare_model(folder: Path | None, cache: Path) -> PreparedModel:
    """Prepare the model in `folder` (None: the one installed with vectail), or find it prepared. Seconds, then milliseconds.

    `folder` may also be a prepared model's own folder. Raises ModelError.
    """
    if folder is not None and (folder / _DESCRIPTION).is_file():
        return load_prepared(folder)
    source = (folder or default_folder()).resolve()
    stamp = cache / f"{hashlib.sha256(os.fsencode(source)).hexdigest()[:16]}.stamp"
    known = _find_prepared(source, stamp)
    if known is not None:
        return known
    described = read_folder(source, "" if folder else DEFAULT_NAME)
    try:
        cache.mkdir(parents=True, exist_ok=True)
        files = _files_of(source)
        prepared = _prepare(described, cache)
        _write_stamp(stamp, prepared.folder.name, files)
    except OSError as error:
        raise ModelError(f"the model cannot be prepared in {cache}: {error}") from error
    return prepared


def load_prepared(folder: Path) -> PreparedModel:
    """Load a prepared model from its own folder. Raises ModelError when it is damaged or of another version."""
    description = read_json(folder / _DESCRIPTION)
    if description.get("format") != FORMAT:
        raise ModelError(f"{folder} was prepared by another version; prepare the model again")
    try:
        damaged = [name for name, size_bytes in description["sizes"].items() if (folder / name).stat().st_size != size_bytes]
        model = PreparedModel(
            folder=folder, gguf=folder / _GGUF, tokenizer_json=folder / TOKENIZER, golden=folder / _GOLDEN, **description["model"]
        )
    except (KeyError, TypeError, AttributeError, OSError) as error:
        raise ModelError(f"{folder} is damaged: {error!r}; remove it and prepare the model again") from error
    if damaged:
        raise ModelError(f"{folder} is damaged: {damaged[0]} has another size; remove it and prepare the model again")
    return model


def _find_prepared(source: Path, stamp: Path) -> PreparedModel | None:
    """Find what the stamp points to: sound, and made from the source as it is now, or from one that has gone since."""
    try:
        stamped = read_json(stamp)
        current = _files_of(source)
        if current and current != stamped["files"]:
            return None
        return load_prepared(stamp.parent / stamped["prepared"])
    except (ModelError, KeyError, TypeError):
        return None


def _files_of(source: Path) -> dict[str, list[int]]:
    """Size and time of every file that preparing may read; empty when the source has gone."""
    files = [*source.glob("*.json"), *source.glob("*/config.json"), *source.glob("*.txt"), *source.glob(WEIGHTS)]
    return {str(file.relative_to(source)): [file.stat().st_size, file.stat().st_mtime_ns] for file in sorted(files)}


def _write_stamp(stamp: Path, prepared: str, files: dict[str, list[int]]) -> None:
    with tempfile.NamedTemporaryFile("w", dir=stamp.parent, prefix=".stamp-", delete=False, encoding="utf-8") as written:
        json.dump({"prepared": prepared, "files": files}, written)
    Path(written.name).replace(stamp)


def _prepare(source: ModelFolder, cache: Path) -> PreparedModel:
    """Make the prepared folder, or use the sound one that is already there under the same key."""
    weights_sha256 = sha256_of(source.path / WEIGHTS)
    tokenizer_json = read_tokenizer_json(source.path)
    description = _describe(source, weights_sha256, tokenizer_json)
    key = hashlib.sha256(json.dumps(description, sort_keys=True).encode()).hexdigest()[:16]
    target = cache / f"{source.name}-{key}"
    if target.is_dir():
        try:
            return load_prepared(target)
        except ModelError:
            _discard(target)
    making = Path(tempfile.mkdtemp(dir=cache, prefix=".making-"))
    try:
        _write_files(making, source, weights_sha256, tokenizer_json)
        description["sizes"] = {file.name: file.stat().st_size for file in making.iterdir()}
        (making / _DESCRIPTION).write_text(json.dumps(description, indent=2), encoding="utf-8")
        making.chmod(0o755)
        try:
            making.rename(target)
        except OSError:
            if not target.is_dir():
                raise
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return load_prepared(target)


def _describe(source: ModelFolder, weights_sha256: str, tokenizer_json: str) -> dict[str, object]:
    return {
        "format": FORMAT,
        "model": {
            "name": source.name,
            "weights_sha256": weights_sha256,
            "tokenizer_sha256": _tokenizer_sha256(tokenizer_json),
            "pooling": source.pooling,
            "normalize": source.normalize,
            "dim": source.dim,
            "max_tokens": source.max_tokens,
            "document_prefix": source.document_prefix,
            "query_prefix": source.query_prefix,
            "vocabulary_size": source.vocabulary_size,
        },
    }


def _tokenizer_sha256(tokenizer_json: str) -> str:
    """Hash what decides a text's ids: layout, padding and truncation do not."""
    parsed = json.loads(tokenizer_json)
    rules = {key: value for key, value in parsed.items() if key not in ("padding", "truncation")}
    return hashlib.sha256(json.dumps(rules, sort_keys=True).encode()).hexdigest()


def _write_files(making: Path, source: ModelFolder, weights_sha256: str, tokenizer_json: str) -> None:
    vocabulary = read_wordpiece(tokenizer_json, f"the tokenizer in {source.path}")
    weights = read_weights(source.path / WEIGHTS)
    write_gguf(making / _GGUF, source, vocabulary, weights, weights_sha256)
    (making / TOKENIZER).write_text(tokenizer_json, encoding="utf-8")
    golden = compute_golden(OwnTokenizer(tokenizer_json), ReferenceModel(source, weights), source.max_tokens)
    save_golden(golden, making / _GOLDEN)


def _discard(damaged: Path) -> None:
    """Move a damaged folder aside in one step, then remove it: nobody sees it half removed."""
    aside = Path(tempfile.mkdtemp(dir=damaged.parent, prefix=".damaged-"))
    with contextlib.suppress(FileNotFoundError):
        damaged.rename(aside / damaged.name)
    shutil.rmtree(aside, ignore_errors=True)
