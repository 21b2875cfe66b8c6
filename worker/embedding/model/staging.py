"""Staging folders in the model cache: each belongs to one process and is removed with it.

`prepared` writes everything to a staging folder and renames what is finished, so no reader sees it half written. A killed process
leaves its folder behind; the next process that prepares a model removes it. A folder is locked (flock on the folder itself) while its
process lives. The kernel releases the lock however the process ends, also for other containers that share the cache, where process ids
mean nothing. On a file system without locks, a folder older than a day counts as abandoned.
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

_PREFIX = ".staging-"
_STALE_S = 24 * 60 * 60


@contextlib.contextmanager
def staging_folder(cache: Path) -> Iterator[Path]:
    """Make a locked folder in the cache; it is removed at the end, unless it was renamed. Raises OSError."""
    staging, lock = _make_locked(cache)
    try:
        yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)
        os.close(lock)


def remove_abandoned(cache: Path, *, now: float) -> None:
    """Remove the folders of killed processes; `now` is the time of day, in seconds. A folder that cannot be removed stays."""
    for folder in cache.glob(_PREFIX + "*"):
        with contextlib.suppress(OSError):
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                if is_abandoned(lock, now):
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)


def write_whole(file: Path, text: str) -> None:
    """Write a file of the cache so that no reader sees it half written. Raises OSError."""
    with staging_folder(file.parent) as staging:
        (staging / file.name).write_text(text, encoding="utf-8")
        (staging / file.name).replace(file)


def discard_folder(damaged: Path) -> None:
    """Rename a damaged folder away, then remove it, so that no reader sees it half removed. Raises OSError."""
    with staging_folder(damaged.parent) as staging, contextlib.suppress(FileNotFoundError):
        damaged.rename(staging / damaged.name)


def _make_locked(cache: Path) -> tuple[Path, int]:
    """Make a folder and lock it; make another if a process took it for abandoned in between."""
    while True:
        staging = Path(tempfile.mkdtemp(dir=cache, prefix=_PREFIX))
        with contextlib.suppress(FileNotFoundError):
            lock = os.open(staging, os.O_RDONLY | os.O_DIRECTORY)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(lock)
                continue
            except OSError:
                return staging, lock  # this file system has no locks: the folder's age protects it
            if staging.is_dir():
                return staging, lock
            os.close(lock)


def is_abandoned(lock: int, now: float) -> bool:
    """Whether the folder open as `lock` is abandoned; locks it if so, so that only one process removes it."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return now - os.fstat(lock).st_mtime > _STALE_S
    return True
