"""What the suite keeps of its runs: one JSON beside the report, which is written from nothing else."""

import json
from pathlib import Path
from typing import Any, TypedDict

RESULTS_FILE, REPORT_FILE, PLOTS_FOLDER = "results.json", "RESULTS.md", "plots"


class Entry(TypedDict):
    """One benchmark's last run."""

    state: str
    """As in `child.Ended`."""
    reason: str
    figures: dict[str, Any]
    command: str
    caveats: str
    revision: str
    date: str
    quick: bool
    corpus: str
    seconds: float
    load_before: list[float]
    load_after: list[float]
    plots: list[str]
    """Files in PLOTS_FOLDER."""


class Results(TypedDict):
    """All of it."""

    machine: dict[str, str]
    versions: dict[str, str]
    benchmarks: dict[str, Entry]


class AnotherMachine(Exception):
    """The kept results are of another machine or of other versions; one line for the user."""


def read_results(file: Path) -> Results | None:
    """Return what is kept; None if there is nothing yet."""
    if not file.exists():
        return None
    kept: Results = json.loads(file.read_text(encoding="utf-8"))
    return kept


def add_to(kept: Results | None, machine: dict[str, str], versions: dict[str, str]) -> Results:
    """Return results that new entries of this machine can be added to. Raises AnotherMachine."""
    if kept is None:
        return Results(machine=machine, versions=versions, benchmarks={})
    mine, theirs = {**machine, **versions}, {**kept["machine"], **kept["versions"]}
    differing = [name for name in mine.keys() | theirs.keys() if mine.get(name) != theirs.get(name)]
    if differing:
        raise AnotherMachine(
            f"the kept results are of another machine or other versions ({', '.join(sorted(differing))}): choose another --out"
        )
    return kept


def write_results(results: Results, file: Path) -> None:
    """Write them, indented, for people to read."""
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_suffix(".tmp")
    partial.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    partial.replace(file)
