"""The doctor's checks of what is installed: Python, the libraries that vectail asks for, and its compiled C files."""

import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Final, NamedTuple

from packaging.requirements import Requirement

from consumers.native import library_fault
from worker.inspecting.doctor import Check, Verdict, first_of, judge_all, ok, problem, warning
from worker.runtime.wording import listed

_PYTHON: Final = ((3, 11), (3, 15))
"""The first that works, and the first that was not tried."""
_ROOT: Final = Path(__file__).parents[2]


class InstalledFacts(NamedTuple):
    """What is installed."""

    python: str
    required: Sequence[Requirement]
    """What vectail's own package asks for here; empty if it is not installed as a package."""
    installed: Mapping[str, str]
    """Versions of those that are there."""
    compile_faults: Sequence[str]
    """For each C file, why the library beside it cannot be used; empty if it can."""


def look_at_versions() -> dict[str, Verdict]:
    """Look at what is installed."""
    sources = sorted(source for leaf in ("consumers", "sinks") for source in (_ROOT / leaf).rglob("*.c"))
    required = requirements_of("vectail")
    installed = {one.name: found for one in required if (found := _version_of(one.name)) is not None}
    facts = InstalledFacts(platform.python_version(), required, installed, [library_fault(source) for source in sources])
    return judge_all(VERSION_CHECKS, facts)


def requirements_of(package: str) -> list[Requirement]:
    """Return what an installed package asks for on this platform, without its extras; empty if it is not installed."""
    try:
        lines = requires(package) or []
    except PackageNotFoundError:
        return []
    return [one for one in map(Requirement, lines) if one.marker is None or one.marker.evaluate({"extra": ""})]


def _version_of(library: str) -> str | None:
    try:
        return version(library)
    except PackageNotFoundError:
        return None


def _python(facts: InstalledFacts) -> Verdict:
    first, last = _PYTHON
    found, numbers = f"Python {facts.python}", tuple(map(int, facts.python.split(".")[:2]))
    change = "use Python 3.11 to 3.14; other versions are untested"
    return first_of((not first <= numbers < last, warning(found, change)), otherwise=found)


def _required(facts: InstalledFacts) -> Verdict:
    wrong = []
    for one in facts.required:
        there = facts.installed.get(one.name)
        if there is None:
            wrong.append(f"{one.name} is not installed (needs {one.specifier or 'any version'})")
        elif not one.specifier.contains(there, prereleases=True):
            wrong.append(f"{one.name} is {there} (needs {one.specifier})")
    return first_of(
        (not facts.required, ok("vectail itself is not installed as a package: its requirements cannot be read")),
        (wrong, problem(listed(wrong), "install the versions in requirements.lock")),
        otherwise=f"all {len(facts.required)} libraries have the versions that vectail asks for",
    )


def _compiled(facts: InstalledFacts) -> Verdict:
    """Judge whether each C file has the library that was compiled from it; without it no worker and no tool starts."""
    faults = [fault for fault in facts.compile_faults if fault]
    found = f"{len(facts.compile_faults)} libraries, each compiled from the C file beside it"
    return first_of((faults, problem(listed(faults), "run `make native`, then start the worker again")), otherwise=found)


VERSION_CHECKS: Final = (Check("python", _python), Check("required", _required), Check("compiled", _compiled))
