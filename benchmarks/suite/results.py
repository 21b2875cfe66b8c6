"""What the suite keeps of its runs: one JSON beside the report, which is written from nothing else."""

import json
from pathlib import Path
from typing import Any, TypedDict

RESULTS_FILE, REPORT_FILE, PLOTS_FOLDER = "results.json", "RESULTS.md", "plots"


class Machine(TypedDict):
    """What the figures of a run depend on."""

    facts: dict[str, str]
    versions: dict[str, str]


class Ran(TypedDict):
    """One run of a benchmark."""

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


class Entry(Ran):
    """One benchmark's kept run."""

    machine: int
    """Its place in `Results.machines`."""


class Results(TypedDict):
    """All of it."""

    machines: list[Machine]
    """Those of the entries: a benchmark compares its sides in one run, so each may have run on a different one."""
    benchmarks: dict[str, Entry]


class NotResults(Exception):
    """A file that this suite has not written; one line for the user."""


def read_results(file: Path) -> Results:
    """Return what is kept; there may be nothing yet. Raises NotResults."""
    if not file.exists():
        return Results(machines=[], benchmarks={})
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        kept = None
    if not isinstance(kept, dict) or kept.keys() != Results.__annotations__.keys():
        raise NotResults(f"{file} was not written by this version: move it away, or choose another --out")
    return Results(machines=kept["machines"], benchmarks=kept["benchmarks"])


def stays(kept: Results, name: str, ran: Ran) -> bool:
    """Whether a benchmark's kept figures outlive a run: those of another machine do, if the benchmark cannot run on this one."""
    entry = kept["benchmarks"].get(name)
    return entry is not None and entry["state"] == "measured" and ran["state"] == "absent"


def with_entry(kept: Results, name: str, ran: Ran, machine: Machine) -> Results:
    """Return the results with a benchmark's run on that machine, and without machines that no entry refers to any longer."""
    entry, machines = Entry(machine=len(kept["machines"]), **ran), [*kept["machines"], machine]
    benchmarks = kept["benchmarks"] | {name: entry}
    machine_of = {one: machines[run["machine"]] for one, run in benchmarks.items()}
    used = [one for place, one in enumerate(machines) if one in machine_of.values() and one not in machines[:place]]
    return Results(machines=used, benchmarks={one: {**run, "machine": used.index(machine_of[one])} for one, run in benchmarks.items()})


def write_results(results: Results, file: Path) -> None:
    """Write them, indented, for people to read."""
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_suffix(".tmp")
    partial.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    partial.replace(file)
