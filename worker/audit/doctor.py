"""`vectail doctor` and `GET /api/doctor`: what is wrong with a set-up, each finding with what to do about it.

Eight groups of checks look side by side, each within its own time limit, so that a service that is away costs a few seconds and a group
that fails hides no other. Each group has a module of its own, `doctor_GROUP.py`: a `look` that gathers facts and pure functions that
judge them. `doctor_looks.py` says which looks a tool takes and which a running worker. Nothing is changed anywhere.

The first check of a group says whether its service answers, under the name that `/readyz` has for it; if it does not, the rest of the
group is not looked at.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

from worker.asking.refusals import BadQuery
from worker.asking.worker_answers import DoctorJson
from worker.runtime.logs import without_secrets
from worker.runtime.stage import Stage

State = Literal["ok", "warning", "problem"]
Group = Literal["kafka", "registry", "redis", "milvus", "model", "versions", "machine", "settings"]

CHECKS: Final[Mapping[Group, tuple[str, ...]]] = MappingProxyType(
    {
        "kafka": (
            *("kafka", "version", "topics", "rights", "group", "partitions", "lag", "retention", "dead-letter-retention"),
            *("message-size", "clock"),
        ),
        "registry": ("registry",),
        "redis": ("redis", "version", "eviction", "memory", "latency", "writes", "persistence", "signature"),
        "milvus": ("index", "version", "schema", "space", "owner", "loaded", "consistency", "retention", "size", "folder", "disk"),
        "model": ("engine", "files", "tokenizer", "vectors", "speed"),
        "versions": ("python", "libraries", "required", "compiled"),
        "machine": ("memory", "open-files", "processors", "instructions", "disk", "port", "clock"),
        "settings": ("http", "transport", "client-properties", "work", "limits"),
    }
)
"""Every check, by group, in the order in which they are shown. docs/doctor.md has a paragraph about each."""

_WORST: Final[tuple[State, ...]] = ("ok", "warning", "problem")
_CACHE_S: Final = 5.0
"""A report that is younger is given to the next caller over HTTP."""


class Check(NamedTuple):
    """One finding."""

    group: Group
    name: str
    """One of the group's `CHECKS`."""
    state: State
    found: str
    """What was found, in one line."""
    what_to_do: str = ""
    """Empty if all is well."""


class Look(NamedTuple):
    """How a group is looked at."""

    group: Group
    look: Callable[[], Iterable[Check]]
    """Called on a thread of its own."""
    limit_s: float


class Report(NamedTuple):
    """All findings, in the order of `CHECKS`."""

    checks: Sequence[Check]
    seconds: float
    asked_ms: int
    """When it was begun, in milliseconds since 1970."""

    @property
    def worst(self) -> State:
        """The worst state of all checks."""
        return worst_of(self.checks)

    def document(self) -> DoctorJson:
        """Return what `--json` and `GET /api/doctor` show."""
        return {
            "checks": [
                {"name": one.name, "group": one.group, "state": one.state, "found": one.found, "what_to_do": one.what_to_do}
                for one in self.checks
            ],
            "worst": self.worst,
            "seconds": round(self.seconds, 3),
            "asked_ms": self.asked_ms,
        }


def worst_of(checks: Iterable[Check]) -> State:
    """Return the worst state; `ok` of none."""
    return max((one.state for one in checks), key=_WORST.index, default="ok")


def examine(looks: Sequence[Look], *, wall_ms: Callable[[], float] = lambda: time.time() * 1000) -> Report:
    """Take all looks side by side and return when each has ended or its time is over."""
    asked_ms, started_s = int(wall_ms()), time.monotonic()
    found: dict[Group, Sequence[Check]] = {}
    stages = [(one, _stage(one, found)) for one in looks]
    for _, stage in stages:
        stage.start()
    for one, stage in stages:
        stage.join(max(started_s + one.limit_s - time.monotonic(), 0.0))
    taken = dict(found)  # a look that ends later is not waited for
    for one in looks:
        taken.setdefault(one.group, [_late(one)])
    checks = [_shown(check) for group in CHECKS for check in sorted(taken.get(group, ()), key=_place)]
    return Report(checks, time.monotonic() - started_s, asked_ms)


class Examiner:
    """Answers `GET /api/doctor`: one examination at a time, whose report also answers those who ask meanwhile and right after it.

    Thread: any.
    """

    def __init__(self, looks: Sequence[Look], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._looks = looks
        self._clock = clock
        self._turn = threading.Lock()
        self._last: tuple[float, Report] | None = None

    def document(self, parameters: Mapping[str, str]) -> DoctorJson:
        """Return the report; `group=NAME` looks at that group alone. Raises BadQuery for a name that is no group's."""
        wanted = parameters.get("group")
        if wanted is not None:
            if wanted not in CHECKS:
                raise BadQuery("group", f"the groups are {', '.join(CHECKS)}")
            return examine([look for look in self._looks if look.group == wanted]).document()
        with self._turn:
            if self._last is None or self._clock() - self._last[0] > _CACHE_S:
                report = examine(self._looks)
                self._last = self._clock(), report
            return self._last[1].document()


def _stage(one: Look, found: dict[Group, Sequence[Check]]) -> Stage:
    def body() -> None:
        found[one.group] = tuple(one.look())

    def failed(_name: str, error: Exception) -> None:
        line = " ".join(f"{type(error).__name__}: {error}".split())
        found[one.group] = (
            Check(
                one.group, CHECKS[one.group][0], "problem", f"this group of checks failed: {line[:300]}", "report this line: it is a bug"
            ),
        )

    return Stage(f"doctor-{one.group}", body, failed)


def _shown(check: Check) -> Check:
    """Return a finding without secrets: an address in the settings may hold a password, and so may what a library says of it."""
    return check._replace(found=without_secrets(check.found), what_to_do=without_secrets(check.what_to_do))


def _late(one: Look) -> Check:
    return Check(
        one.group,
        CHECKS[one.group][0],
        "problem",
        f"no answer within {one.limit_s:g} s",
        "see whether it is overloaded or behind a slow network, and run the doctor again",
    )


def _place(check: Check) -> int:
    return CHECKS[check.group].index(check.name)
