"""Records what each test and each fixture took, and fails a run in which a test takes too much.

    pytest --record .cache/durations.jsonl

Elapsed time says how busy the machine was, so it is only listed. What counts is *processor* time, of the test's process and of its children
that have ended: a test above `MOST_S` of it must be marked `long`. A processor that is shared, or slow, takes several times as long for the
same work: so what a test took is compared with what a fixed piece of work takes meanwhile (`tests.pace`). Fixtures that
several tests share are counted by themselves, with their end, which is where a browser or a server that they started is counted. Under
xdist the processes of the run send what they measured along with their reports.
"""

import json
import resource
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from _pytest.fixtures import FixtureDef, SubRequest

from tests.forks import spent_s
from tests.ordering import without_group
from tests.pace import Pace

MOST_S = 30.0
_DEAREST = 40
_LEAST_END_S = 0.1
_TEST, _FIXTURE = "vectail.test", "vectail.fixture"


class Took(NamedTuple):
    """Seconds of one test, or of one fixture in all.

    Thread: any.
    """

    elapsed_s: float = 0.0
    processor_s: float = 0.0

    def plus(self, other: "Took") -> "Took":
        return Took(self.elapsed_s + other.elapsed_s, self.processor_s + other.processor_s)

    def minus(self, other: "Took") -> "Took":
        return Took(self.elapsed_s - other.elapsed_s, self.processor_s - other.processor_s)


def _now() -> Took:
    """Return what this process and its children that have ended took so far."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return Took(time.perf_counter(), sum(one.ru_utime + one.ru_stime for one in used) + spent_s())


class Stopwatch:
    """Plugin of a process that runs tests: measures them, and attaches what they took to their last report."""

    def __init__(self, *, does_more: bool = False) -> None:
        """`does_more`: tests that take the fixture `long` take as long as they like."""
        self._does_more = does_more
        self._began_s = 0.0
        self._started = _now()
        self._shared = Took()
        """What the set-up of shared fixtures took within the test that is under way."""
        self._ended: Took | None = None
        """When the test and what is its own had ended, so that only fixtures that it shares were left to end."""
        self._fixtures: list[tuple[str, str, Took]] = []

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Iterator[None]:
        """Begin with the set-up of a test."""
        self._began_s, self._started, self._shared, self._ended, self._fixtures = time.time(), _now(), Took(), None, []
        return (yield)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Have an item's own teardown, which runs after that of the fixtures that are its own, say when it was."""
        own = item.teardown

        def teardown() -> None:
            own()
            self._ended = _now()

        item.teardown = teardown  # type: ignore[method-assign] # no hook lies between the fixtures of a test and those of its file

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: FixtureDef[Any], request: SubRequest) -> Iterator[None]:
        """Measure a fixture, without those that it asks for, which are there by now."""
        before = _now()
        try:
            return (yield)
        finally:
            took = _now().minus(before)
            self._fixtures.append((fixturedef.argname, request.scope, took))
            if request.scope != "function":
                self._shared = self._shared.plus(took)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
        """Attach what was measured to the report of the end."""
        if call.when == "teardown":
            now = _now()
            ended = self._ended or now
            took = ended.minus(self._started).minus(self._shared)
            does_more = self._does_more and "long" in getattr(item, "fixturenames", ())
            most_s = None if does_more or item.get_closest_marker("long") else MOST_S
            item.user_properties.append((_TEST, [*took, self._began_s, most_s]))
            item.user_properties += [(_FIXTURE, [name, scope, *took]) for name, scope, took in self._fixtures]
            if (end := now.minus(ended)).processor_s > _LEAST_END_S:
                item.user_properties.append((_FIXTURE, [f"end of what {item.path.name} shares", "module", *end]))
        return (yield)


class Durations:
    """Plugin of the process that prints the reports: writes the file, lists what is dear, and fails the run for tests that are too dear."""

    def __init__(self, file: Path, pace: Pace) -> None:
        self._file = file
        self._pace = pace
        self._tests: dict[str, Took] = {}
        self._too_dear: dict[str, float] = {}
        """What is too dear, and how slow the processor was meanwhile."""
        self._fixtures: dict[tuple[str, str], tuple[Took, int]] = defaultdict(lambda: (Took(), 0))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take in what a test measured."""
        if report.when != "teardown":
            return
        for kind, value in report.user_properties:
            if kind == _TEST and isinstance(value, list):
                elapsed_s, processor_s, began_s, most_s = value
                name = without_group(report.nodeid)
                self._tests[name] = Took(elapsed_s, processor_s)
                slow = self._pace.slowness(began_s, report.stop)
                if most_s is not None and processor_s > most_s * slow:
                    self._too_dear[name] = slow
            elif kind == _FIXTURE and isinstance(value, list):
                name, scope, *took = value
                before, times = self._fixtures[name, scope]
                self._fixtures[name, scope] = before.plus(Took(*took)), times + 1

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the file; a test that is too dear fails the run."""
        self._pace.stop()
        self._file.parent.mkdir(parents=True, exist_ok=True)
        lines = [{"test": name, **_shown(took)} for name, took in self._tests.items()]
        lines += [
            {"fixture": name, "scope": scope, **_shown(took), "times": times} for (name, scope), (took, times) in self._fixtures.items()
        ]
        self._file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        if self._too_dear and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """List the dearest tests and fixtures."""
        say = terminalreporter.write_line
        terminalreporter.section(f"seconds elapsed, of the processor: {self._file}")
        fixtures = {f"fixture {name} ({scope}, {times} times)": took for (name, scope), (took, times) in self._fixtures.items()}
        for title, every in (("tests", self._tests), ("fixtures", fixtures), ("folders", self._by_folder())):
            say(f"the dearest {title}:")
            for name, took in sorted(every.items(), key=lambda one: -one[1].processor_s)[:_DEAREST]:
                say(f"{took.elapsed_s:8.1f} {took.processor_s:8.1f}  {name}")
        for name, slow in self._too_dear.items():
            most = f"{MOST_S:.0f} s of the processor, which was {slow:.1f} times as slow as usual"
            say(f"FAILED {name}: more than {most}, and not marked `long`", red=True)

    def _by_folder(self) -> dict[str, Took]:
        sums: dict[str, Took] = defaultdict(Took)
        tests: Counter[str] = Counter()
        for name, took in self._tests.items():
            folder = str(Path(name.partition("::")[0]).parent)
            sums[folder] = sums[folder].plus(took)
            tests[folder] += 1
        return {f"{folder} ({tests[folder]} tests)": took for folder, took in sums.items()}


def _shown(took: Took) -> dict[str, float]:
    return {"elapsed_s": round(took.elapsed_s, 3), "processor_s": round(took.processor_s, 3)}
