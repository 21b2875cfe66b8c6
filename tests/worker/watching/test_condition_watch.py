"""What a worker says of a condition: not before it has held long enough, since when, of what, and that it is over."""

import pytest

from worker.watching.condition_watch import ConditionState, ConditionWatch, summary_of
from worker.watching.looks import Look
from worker.watching.metrics import DEPENDENCY_UP, LAG_SECONDS, SINK_LINES_TOTAL, Sample

EVERY_S = 5.0
Values = dict[str, dict[tuple[str, ...], float]]


class Watched:
    """A watch whose time the test moves on."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.watch = ConditionWatch(clock=lambda: self.now_s)

    def look(self, values: Values, *, until_s: float) -> None:
        """Look at the same values until then."""
        while self.now_s < until_s:
            self.now_s += EVERY_S
            self.watch.look(Look(self.now_s, values))

    def state(self, name: str, severity: str = "critical") -> ConditionState:
        return next(one for one in self.watch.states() if (one.condition.name, one.condition.severity) == (name, severity))


def up(**dependencies: int) -> Values:
    return {DEPENDENCY_UP.name: {(name,): float(value) for name, value in dependencies.items()}}


def test_a_dependency_that_is_away_for_a_moment_is_no_alarm_and_one_that_stays_away_is_named_until_it_is_back() -> None:
    watched = Watched()
    watched.look(up(kafka=1, index=1), until_s=20)
    watched.look(up(kafka=1, index=0), until_s=40)
    assert not watched.state("VectailDependencyDown").firing
    held = [one.labels for one in watched.watch.samples() if one.value]
    assert held == [("VectailDependencyDown", "critical", "index")], "Prometheus waits itself"
    watched.look(up(kafka=1, index=0), until_s=60)
    (firing,) = watched.state("VectailDependencyDown").firing
    assert (firing.about, firing.since_s) == ("index", 25.0)
    assert summary_of(watched.state("VectailDependencyDown"), "m1:7") == "index does not answer the worker m1:7"
    watched.look(up(kafka=1, index=1), until_s=65)
    assert summary_of(watched.state("VectailDependencyDown"), "m1:7") == "kafka and index answer"


def test_each_series_has_its_own_time_and_of_many_a_few_are_told() -> None:
    watched = Watched()
    ages: dict[tuple[str, ...], float] = {("logs", str(partition)): 1_000.0 for partition in range(5)}
    for partition in range(5):
        for _ in range(20):
            ages = {key: age + 1 if int(key[1]) <= partition else age for key, age in ages.items()}
            watched.look({LAG_SECONDS.name: ages}, until_s=watched.now_s + EVERY_S)
    for _ in range(150):
        ages = {key: age + 1 for key, age in ages.items()}
        watched.look({LAG_SECONDS.name: ages}, until_s=watched.now_s + EVERY_S)
    state = watched.state("VectailLagGrowing", "warning")
    assert [one.about for one in state.firing] == [f"logs/{partition}" for partition in range(5)], "the longest first"
    told = summary_of(state, "m1:7").split("; ")
    assert len(told) == 4
    assert told[0].startswith("logs/0 is ")
    assert told[-1] == "and 2 more"


def test_a_rate_is_that_of_the_last_seconds_and_unknown_before_the_first_look() -> None:
    watched = Watched()
    assert watched.watch.rate(SINK_LINES_TOTAL.name, 10.0, 1.0, window_s=20) is None
    for lines in range(0, 5_000, 100):
        watched.look({SINK_LINES_TOTAL.name: {(): float(lines)}}, until_s=watched.now_s + EVERY_S)
    assert watched.watch.rate(SINK_LINES_TOTAL.name, 4_900.0, watched.now_s, window_s=20) == pytest.approx(20.0)
    assert watched.watch.rate(SINK_LINES_TOTAL.name, 4_900.0 + 250.0, watched.now_s + 5.0, window_s=20) > 20.0  # type: ignore[operator]


def test_a_watch_looks_again_after_figures_that_changed_while_they_were_read_and_ends_when_told() -> None:
    asked: list[int] = []
    watch = ConditionWatch(clock=lambda: 1.0, every_s=0.001)

    def read() -> list[Sample]:
        asked.append(1)
        if len(asked) == 2:
            raise RuntimeError("dictionary changed size during iteration")
        if len(asked) == 3:
            watch.stop()
        return [Sample(DEPENDENCY_UP, 0.0, ("kafka",))]

    watch.watch(read)
    watch.body()
    assert len(asked) == 3
