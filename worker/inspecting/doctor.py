"""`vectail doctor` and `GET /api/doctor`: what is wrong with a set-up, each finding with what to do about it.

The doctor is a table. Each of its nine groups has a module, `doctor_GROUP.py`, with a function that gathers facts and a tuple of `Check`,
each of which judges these facts; the judgements are pure. `doctor_looks.py` says how a tool and how a running worker gather the facts. The
groups are looked at side by side, each within its own time limit, so that a service that is away costs a few seconds and a group that fails
hides no other. Nothing is changed anywhere.

The first check of a group says whether its service answers, under the name that `/readyz` has for it; if it does not, the rest of the
group is left out.
"""

import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final, Generic, Literal, NamedTuple, TypeVar, get_args

from worker.asking.refusals import BadQuery
from worker.asking.worker_answers import DoctorJson
from worker.runtime.logs import without_secrets
from worker.runtime.stage import Stage

State = Literal["ok", "warning", "problem"]
Group = Literal["kafka", "registry", "redis", "milvus", "model", "serve", "versions", "machine", "settings"]
Facts = TypeVar("Facts")

_CACHE_S: Final = 5.0
"""A report that is younger is given to the next caller over HTTP."""


class Verdict(NamedTuple):
    """What a check says."""

    state: State
    found: str
    """What was found, in one line."""
    what_to_do: str = ""
    """Empty if all is well."""


ok = partial(Verdict, "ok")
warning = partial(Verdict, "warning")
problem = partial(Verdict, "problem")
Verdicts = Mapping[str, Verdict]
"""By the name of the check."""


def first_of(*cases: tuple[object, Verdict] | None, otherwise: str) -> Verdict:
    """Return the verdict of the first case that holds; without one, all is well."""
    return next((case[1] for case in cases if case is not None and case[0]), ok(otherwise))


class Check(NamedTuple, Generic[Facts]):
    """A row of the table. docs/doctor.md has a line about each."""

    name: str
    judge: Callable[[Facts], Verdict | None]
    """None: the facts say nothing about it."""


def judge_all(checks: Sequence[Check[Facts]], facts: Facts) -> dict[str, Verdict]:
    """Return what the checks say of these facts."""
    verdicts = {check.name: check.judge(facts) for check in checks}
    return {name: verdict for name, verdict in verdicts.items() if verdict is not None}


class DoctorLook(NamedTuple):
    """How a group, or some of its checks, is looked at."""

    group: Group
    names: Sequence[str]
    """Of these checks, in the order in which they are shown."""
    look: Callable[[], Verdicts]
    """Called on a thread of its own."""
    limit_s: float
    may_be_silent: bool = False
    """Without an answer in time it says nothing."""


class DoctorFinding(NamedTuple):
    """A verdict and its place in the table."""

    group: Group
    name: str
    state: State
    found: str
    what_to_do: str = ""


class DoctorReport(NamedTuple):
    """All findings, in the order of the table."""

    checks: Sequence[DoctorFinding]
    seconds: float
    asked_ms: int
    """When it was begun, in milliseconds since 1970."""

    def document(self) -> DoctorJson:
        """Return what `--json` and `GET /api/doctor` show."""
        states = {one.state for one in self.checks}
        return {
            "checks": [
                {"name": one.name, "group": one.group, "state": one.state, "found": one.found, "what_to_do": one.what_to_do}
                for one in self.checks
            ],
            "worst": next((state for state in ("problem", "warning") if state in states), "ok"),
            "seconds": round(self.seconds, 3),
            "asked_ms": self.asked_ms,
        }


def examine(
    looks: Sequence[DoctorLook],
    *,
    wall_ms: Callable[[], float] = lambda: time.time() * 1000,
    say: Callable[[str], None] = lambda _line: None,
    quiet_s: float = math.inf,
) -> DoctorReport:
    """Take all looks side by side and return when each has ended or its time is over; `say` is told what takes longer than `quiet_s`."""
    asked_ms, started_s = int(wall_ms()), time.monotonic()
    in_order = sorted(looks, key=lambda one: get_args(Group).index(one.group))
    found: dict[int, Verdicts] = {}
    stages = [(one, _stage(one, partial(found.__setitem__, number))) for number, one in enumerate(in_order)]
    for _, stage in stages:
        stage.start()
    for most_s in (quiet_s, math.inf):
        for one, stage in stages:
            stage.join(max(started_s + min(one.limit_s, most_s) - time.monotonic(), 0.0))
        left = {one.group: f"{one.group} (up to {one.limit_s:g} s)" for one, stage in stages if stage.is_alive() and one.limit_s > most_s}
        if left:
            say(f"still looking at {', '.join(left.values())}")
    taken = dict(found)  # a look that ends later is not waited for
    checks = [finding for number, one in enumerate(in_order) for finding in _findings(one, taken.get(number))]
    return DoctorReport(checks, time.monotonic() - started_s, asked_ms)


class Examiner:
    """Answers `GET /api/doctor`: one examination at a time, whose report also answers those who ask meanwhile and right after it.

    Thread: any.
    """

    def __init__(self, looks: Sequence[DoctorLook], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._looks = looks
        self._clock = clock
        self._turn = threading.Lock()
        self._last: tuple[float, DoctorReport] | None = None

    def document(self, parameters: Mapping[str, str]) -> DoctorJson:
        """Return the report; `group=NAME` looks at that group alone. Raises BadQuery for an unknown group."""
        wanted = parameters.get("group")
        if wanted is not None:
            if wanted not in get_args(Group):
                raise BadQuery("group", f"the groups are {', '.join(get_args(Group))}")
            return examine([look for look in self._looks if look.group == wanted]).document()
        with self._turn:
            if self._last is None or self._clock() - self._last[0] > _CACHE_S:
                report = examine(self._looks)
                self._last = self._clock(), report
            return self._last[1].document()


def _stage(one: DoctorLook, take: Callable[[Verdicts], None]) -> Stage:
    def body() -> None:
        take(one.look())

    def failed(_name: str, error: Exception) -> None:
        line = " ".join(f"{type(error).__name__}: {error}".split())
        take({one.names[0]: problem(f"this group of checks failed: {line[:300]}", "report this line: it is a bug")})

    return Stage(f"doctor-{one.group}", body, failed)


def _findings(one: DoctorLook, verdicts: Verdicts | None) -> Iterable[DoctorFinding]:
    """Yield a group's findings without secrets: an address in the settings may hold a password, and so may what a library says of it."""
    if verdicts is None and one.may_be_silent:
        return
    if verdicts is None:
        change = "check whether it is overloaded or behind a slow network, then run the doctor again"
        verdicts = {one.names[0]: problem(f"no answer within {one.limit_s:g} s", change)}
    for name in (name for name in one.names if name in verdicts):
        state, found, what_to_do = verdicts[name]
        yield DoctorFinding(one.group, name, state, without_secrets(found), without_secrets(what_to_do))
