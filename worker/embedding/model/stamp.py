"""Stamps: which prepared folder belongs to a source folder in its current state, without reading the weights.

The cache holds one small file per source folder and pooling; `prepared` looks it up at every start. It lists size and time of
every file that preparing reads.
"""

import hashlib
import json
import os
from pathlib import Path

from worker.embedding.model.errors import ModelError
from worker.embedding.model.folder import Pooling, read_json
from worker.embedding.model.staging import write_whole
from worker.embedding.model.weights import sha256_of

Files = dict[str, list[int]]
"""Path relative to the source folder → size in bytes and time of the last change in ns."""

_READ = ("*.json", "*/config.json", "*.txt", "*.safetensors")
"""All files that preparing may read: `worker.embedding.model.folder` refuses any other place."""


def files_of(source: Path) -> Files:
    """Return size and time of every file that preparing may read; empty if the source is gone. Raises OSError."""
    files = [file for pattern in _READ for file in source.glob(pattern)]
    return {str(file.relative_to(source)): [file.stat().st_size, file.stat().st_mtime_ns] for file in sorted(files)}


def stamp_of(source: Path, cache: Path, pooling: Pooling | None, difference: Path | None = None) -> Path:
    """Return the path of the stamp for this source, this override of its pooling and what is added to its weights.

    Raises ModelError if that cannot be read.
    """
    parts = [os.fsencode(source), (pooling or "").encode()]
    if difference is not None:
        parts.append(sha256_of([difference]).encode())
    return cache / f"{hashlib.sha256(b'/'.join(parts)).hexdigest()[:16]}.stamp"


def read_stamp(stamp: Path, source: Path) -> Path | None:
    """Return the folder that was prepared from the source in its current state, or from a source that is gone; else None."""
    try:
        stamped = read_json(stamp)
        current = files_of(source)
        if current and current != stamped["files"]:
            return None
        return stamp.parent / str(stamped["prepared"])
    except (ModelError, KeyError, OSError):
        return None


def write_stamp(stamp: Path, prepared: Path, files: Files) -> None:
    """Record that `prepared` was made from these files. Raises OSError."""
    write_whole(stamp, json.dumps({"prepared": prepared.name, "files": files}))
