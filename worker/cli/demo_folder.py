"""The folder in which `vectail demo` keeps its index, and the count of the runs that it has seen.

The embedded broker begins at offset 0 each time, so each run reads another topic as far as row ids go: the count tells them apart.
"""

from pathlib import Path

from worker.cli.exits import must_change

_RUNS = "runs"


def begin_run(folder: Path) -> str:
    """Make the folder, or count one more run in it; returns the run's epoch for row ids. Raises CommandFailed."""
    if folder.exists() and not folder.is_dir():
        raise must_change(f"--data {folder}: is a file, not a folder")
    counter = folder / _RUNS
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not counter.exists() and any(folder.iterdir()):
            raise must_change(f"--data {folder}: holds other things already; name a new folder, or one of an earlier `vectail demo`")
        text = counter.read_text(encoding="utf-8", errors="replace").strip() if counter.exists() else "0"
        if not text.isdecimal():
            raise must_change(f"--data {folder}: {counter} does not hold a number; is this a folder of `vectail demo`?")
        count = int(text) + 1
        partial = folder / f"{_RUNS}.partial"
        partial.write_text(f"{count}\n", encoding="utf-8")
        partial.replace(counter)
    except OSError as error:
        raise must_change(f"--data {folder}: cannot be used ({error.strerror})") from error
    return f"run{count}"
