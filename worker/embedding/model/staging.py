"""Folders in the making: each belongs to one process, and goes with it.

`prepared` makes everything in such a folder and renames what is finished, so nobody sees it half made. A process that is killed
leaves its folder behind; whoever prepares next removes it. A folder is locked (flock on the folder itself) as long as its process
lives: the kernel frees the lock whatever the end, and it is seen from other containers that share the cache, where process ids mean
nothing. Where a file system cannot lock, a folder older than a day is nobody's.
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

_PREFIX = ".making-"
_STALE_S = 24 * 60 * 60


@contextlib.contextmanager
def new_folder(cache: Path) -> Iterator[Path]:
    """Make a folder of one's own in the cache; it is removed at the end, unless it was renamed. Raises OSError."""
    making, lock = _make_locked(cache)
    try:
        yield making
    finally:
        shutil.rmtree(making, ignore_errors=True)
        os.close(lock)


def remove_stale(cache: Path, *, now: float) -> None:
    """Remove the folders that killed processes left behind; `now` is the time of day, in seconds. What cannot be removed stays."""
    for left in cache.glob(_PREFIX + "*"):
        with contextlib.suppress(OSError):
            lock = os.open(left, os.O_RDONLY | os.O_DIRECTORY)
            try:
                if is_nobodys(lock, now):
                    shutil.rmtree(left, ignore_errors=True)
            finally:
                os.close(lock)


def write_whole(file: Path, text: str) -> None:
    """Write a file of the cache so that it is never seen half written. Raises OSError."""
    with new_folder(file.parent) as making:
        (making / file.name).write_text(text, encoding="utf-8")
        (making / file.name).replace(file)


def discard(damaged: Path) -> None:
    """Move a damaged folder aside in one step, then remove it: nobody sees it half removed. Raises OSError."""
    with new_folder(damaged.parent) as aside, contextlib.suppress(FileNotFoundError):
        damaged.rename(aside / damaged.name)


def _make_locked(cache: Path) -> tuple[Path, int]:
    """Make a folder and lock it. Between the two somebody may have taken it for left behind: then another is made."""
    while True:
        making = Path(tempfile.mkdtemp(dir=cache, prefix=_PREFIX))
        with contextlib.suppress(FileNotFoundError):
            lock = os.open(making, os.O_RDONLY | os.O_DIRECTORY)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(lock)
                continue
            except OSError:
                return making, lock  # this file system has no locks: the folder's age protects it
            if making.is_dir():
                return making, lock
            os.close(lock)


def is_nobodys(lock: int, now: float) -> bool:
    """Whether the folder that is open as `lock` was left behind; if so, it is locked from here on, so that two do not remove it."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return now - os.fstat(lock).st_mtime > _STALE_S
    return True
