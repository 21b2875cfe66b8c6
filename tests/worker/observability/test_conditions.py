"""One table of conditions: the rules' file is written from it, and a worker's own judges agree with Prometheus wherever both can know."""

from collections.abc import Iterator, Sequence

import pytest

from tests.deploy.promql import RULES, selectors
from tests.worker.observability.situations import Expected, Situation, situations, states_at
from worker.observability.condition_watch import WATCHED, ConditionState, text_for
from worker.observability.conditions import CONDITIONS, Condition
from worker.observability.looks import LABELS
from worker.observability.rules import rules_file

ONLY_PROMETHEUS = {"VectailNoWorker", "VectailWorkerDown"}
"""A worker cannot say that it is not there."""
SITUATIONS = list(situations())
HEALTHY = next(one for one in SITUATIONS if one.name == "a healthy hour")
TELLING = [one for one in SITUATIONS if any(told.alert not in ONLY_PROMETHEUS for told in one.expected)]


def is_of_a_worker(condition: Condition) -> bool:
    """Whether its alerts name a worker; the others look at the greatest value of all workers, as where partitions move."""
    return "instance" in condition.expr.partition(")")[0] or "_total" in condition.expr


def told_by(states: Sequence[ConditionState], alert: str, worker: str) -> Iterator[tuple[str, str]]:
    """Yield the severity and the text of the summary of each series for which a condition fires."""
    for state in states:
        if state.condition.name == alert:
            yield from ((state.condition.severity, text_for(state.condition.summary, one, worker)) for one in state.firing)


def judged(situation: Situation, expected: Expected) -> set[tuple[str, str]]:
    """Return what workers say at that moment: each of itself, or one that owns all partitions."""
    condition = next(one for one in CONDITIONS if one.name == expected.alert)
    workers = [[one] for one in situation.instances()] if is_of_a_worker(condition) else [situation.instances()]
    found: set[tuple[str, str]] = set()
    for instances in workers:
        for now_s, states in states_at(situation, instances):
            if now_s == expected.at_s:
                found |= set(told_by(states, expected.alert, instances[0]))
    return found


@pytest.mark.parametrize("situation", TELLING, ids=lambda one: one.name)
def test_a_worker_says_of_itself_what_prometheus_says_of_it(situation: Situation) -> None:
    for expected in situation.expected:
        if expected.alert not in ONLY_PROMETHEUS:
            wanted = {(severity, summary) for severity, _, summary in expected.told}
            assert judged(situation, expected) == wanted, f"{expected.alert} after {expected.at_s:g} s"


@pytest.mark.parametrize("instances", [["a:8790"], ["b:8790"], ["a:8790", "b:8790"]], ids="+".join)
def test_in_a_healthy_hour_a_worker_complains_of_nothing(instances: list[str]) -> None:
    for now_s, states in states_at(HEALTHY, instances):
        seen = [state for state in states if len(instances) == 1 or not is_of_a_worker(state.condition)]
        firing = [state.condition.name for state in seen if state.firing]
        assert firing == [], f"after {now_s:g} s"


def test_every_condition_that_a_worker_judges_is_seen_to_fire_in_a_situation() -> None:
    fires = {(told.alert, severity) for one in SITUATIONS for told in one.expected for severity, _, _ in told.told}
    assert fires == {(one.name, one.severity) for one in CONDITIONS}
    assert {one.name for one in CONDITIONS if one.judge is None} == ONLY_PROMETHEUS


def test_the_file_of_rules_is_what_the_table_says() -> None:
    assert RULES.read_text(encoding="utf-8") == rules_file(), "run `make docs`"


def test_a_worker_watches_every_metric_of_ours_that_a_condition_asks_for_and_they_exist() -> None:
    asked = {one.metric for condition in CONDITIONS for one in selectors(condition.expr) if one.metric.startswith("vectail_")}
    assert asked <= WATCHED <= set(LABELS)


def test_what_is_fine_is_said_in_one_line_and_without_a_place_to_fill_in() -> None:
    for condition in CONDITIONS:
        assert condition.fine
        assert "{{" not in condition.fine
        assert not condition.fine.endswith(".")
