"""Reads the weights of a BERT from its safetensors files, as float32 and under `BertModel`'s own names.

`gguf_file`, `hf_folder` and `reference_model` get the same arrays; `onnx_graph` gets their places in the file. A model is one file or
several shards, listed by `worker.embedding.model.folder`. Pickles are never loaded. Only this module knows the safetensors format.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from worker.embedding.model.errors import ModelError

Weights = Mapping[str, NDArray[np.float32]]

_UNUSED = ("pooler.", "cls.", "embeddings.position_ids")
"""Parts that sentence vectors do not use: heads of the training task, and position ids."""
_NUMBER_FORMATS = ("F64", "F32", "F16", "BF16")
"""Supported number formats; anything else is a quantised model, whose scales would not be applied."""
_LENGTH_BYTES = 8
"""Size of the header length, with which a safetensors file begins."""


class StoredWeight(NamedTuple):
    """Where a weight is in its file."""

    shape: tuple[int, ...]
    offset_bytes: int
    size_bytes: int


def read_weights(files: Sequence[Path]) -> Weights:
    """Read the weights that sentence vectors need from all shards. Raises ModelError."""
    weights: dict[str, NDArray[np.float32]] = {}
    for file in files:
        try:
            with safe_open(file, framework="np") as stored:
                for stored_name in stored.keys():  # noqa: SIM118 - safe_open is no mapping
                    name = stored_name.removeprefix("bert.")
                    if not name.startswith(_UNUSED):
                        name = name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")
                        weights[name] = _read_one(file, stored, stored_name)
        except (OSError, SafetensorError, TypeError, ValueError, KeyError) as error:
            raise ModelError(f"{file} cannot be read: {error}") from error
    return weights


def stored_weights(file: Path) -> dict[str, StoredWeight]:
    """Return where each weight is in a safetensors file, under the file's own names. Raises ModelError."""
    try:
        with safe_open(file, framework="np"), file.open("rb") as stream:  # it checks the header, whose entries it does not give
            header_bytes = int.from_bytes(stream.read(_LENGTH_BYTES), "little")
            header: dict[str, Any] = json.loads(stream.read(header_bytes))
        header.pop("__metadata__", None)
        first = _LENGTH_BYTES + header_bytes
        ranges = {name: entry["data_offsets"] for name, entry in header.items()}
        return {name: StoredWeight(tuple(header[name]["shape"]), first + begin, end - begin) for name, (begin, end) in ranges.items()}
    except (OSError, SafetensorError, ValueError, KeyError) as error:
        raise ModelError(f"{file} cannot be read: {error}") from error


def save_weights(weights: Mapping[str, NDArray[np.floating]], file: Path) -> None:
    """Write one safetensors file in the number format of its weights. Raises OSError."""
    try:
        save_file(dict(weights), file, metadata={"format": "pt"})  # as Transformers writes and expects
    except SafetensorError as error:
        raise OSError(f"{file} cannot be written: {error}") from error


def sha256_of(files: Sequence[Path]) -> str:
    """Return the SHA-256 of the weights, in hex: of a single file, the SHA-256 of its bytes.

    For several shards it is the SHA-256 of what `sha256sum` prints for them in the order of their names: one line `<hex>  <name>` each.
    The index file is left out, because all shards are read in any case. Raises ModelError.
    """
    digests = {file.name: _sha256_of_one(file) for file in sorted(files, key=lambda one: one.name)}
    if len(digests) == 1:
        return next(iter(digests.values()))
    listed = "".join(f"{digest}  {name}\n" for name, digest in digests.items())
    return hashlib.sha256(listed.encode()).hexdigest()


def _sha256_of_one(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise ModelError(f"{file} cannot be read: {error}") from error


def _read_one(file: Path, stored: Any, name: str) -> NDArray[np.float32]:  # noqa: ANN401 - safe_open's type says less
    number_format = stored.get_slice(name).get_dtype()
    if number_format not in _NUMBER_FORMATS:
        raise ModelError(f"{file} stores {name} as {number_format}; supported are {', '.join(_NUMBER_FORMATS)}")
    weight = _read_bfloat16(file, name) if number_format == "BF16" else stored.get_tensor(name)
    numbers: NDArray[np.float32] = np.ascontiguousarray(weight, dtype=np.float32)
    if not np.isfinite(numbers).all():
        raise ModelError(f"{file} stores numbers in {name} that are not finite")
    return numbers


def _read_bfloat16(file: Path, name: str) -> NDArray[np.float32]:
    """Read bfloat16, for which NumPy has no type: the upper half of a float32. `safe_open` has already checked the header."""
    shape, offset_bytes, size_bytes = stored_weights(file)[name]
    halves = np.fromfile(file, dtype="<u2", count=size_bytes // 2, offset=offset_bytes)
    return (halves.astype(np.uint32) << 16).view(np.float32).reshape(shape)
