"""Stamps: which prepared folder was made from a source folder as it is now, without reading the weights.

One small file of the cache for each source folder and each set of overrides; `prepared` looks it up at every start. It holds size
and time of every file that is read when a model is prepared.
"""

import hashlib
import json
import os
from pathlib import Path

from worker.embedding.model.errors import ModelError
from worker.embedding.model.folder import Pooling, read_json
from worker.embedding.model.staging import write_whole

Files = dict[str, list[int]]
"""Name, from the source folder on → size in bytes and time of the last change in ns."""

_READ = ("*.json", "*/config.json", "*.txt", "*.safetensors")
"""Whatever of a source folder is ever read: `worker.embedding.model.folder` accepts no other places."""


def files_of(source: Path) -> Files:
    """Size and time of every file that preparing may read; empty when the source has gone. Raises OSError."""
    files = [file for pattern in _READ for file in source.glob(pattern)]
    return {str(file.relative_to(source)): [file.stat().st_size, file.stat().st_mtime_ns] for file in sorted(files)}


def stamp_of(source: Path, cache: Path, pooling: Pooling | None, normalize: bool | None) -> Path:  # noqa: FBT001 - three values
    """Path of the stamp for this source and these overrides."""
    overrides = json.dumps([pooling, normalize]) if (pooling, normalize) != (None, None) else ""
    return cache / f"{hashlib.sha256(os.fsencode(source) + b'/' + overrides.encode()).hexdigest()[:16]}.stamp"


def read_stamp(stamp: Path, source: Path) -> Path | None:
    """Prepared folder that was made from the source as it is now, or from one that has gone since."""
    try:
        stamped = read_json(stamp)
        current = files_of(source)
        if current and current != stamped["files"]:
            return None
        return stamp.parent / str(stamped["prepared"])
    except (ModelError, KeyError, OSError):
        return None


def write_stamp(stamp: Path, prepared: Path, files: Files) -> None:
    """Remember that `prepared` was made from these files. Raises OSError."""
    write_whole(stamp, json.dumps({"prepared": prepared.name, "files": files}))
