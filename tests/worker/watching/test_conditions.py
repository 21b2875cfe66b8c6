"""One table of conditions: a worker judges them, and the rules' file is written from it."""

import re
from collections.abc import Mapping

import pytest

from tests.deploy.promql import RULES
from worker.watching.alert_rules import rules_file
from worker.watching.condition_watch import WATCHED
from worker.watching.conditions import CONDITIONS, Condition
from worker.watching.looks import LABELS, Labels, Look, Looks, Points

ONLY_PROMETHEUS = {"VectailNoWorker", "VectailWorkerDown"}
"""A worker cannot say that it is not there."""


class AskedLooks(Looks):
    """Looks at a process that has just begun; notes which metrics are asked for."""

    def __init__(self) -> None:
        super().__init__(0.0)
        self.asked: set[str] = set()
        self.add(Look(0.0, {}))

    def within(self, metric: str, window_s: float, **where: str) -> dict[Labels, Points]:
        self.asked.add(metric)
        return super().within(metric, window_s, **where)


def test_the_file_of_rules_is_what_the_table_says() -> None:
    assert RULES.read_text(encoding="utf-8") == rules_file(), "run `make docs`"


def test_a_worker_judges_all_but_its_own_absence_and_nothing_holds_when_it_begins() -> None:
    assert {one.name for one in CONDITIONS if one.judge is None} == ONLY_PROMETHEUS == {one.name for one in CONDITIONS if one.expr}
    held: Mapping[str, Mapping[Labels, float]] = {one.name: one.judge(AskedLooks()) for one in CONDITIONS if one.judge is not None}
    assert [name for name, found in held.items() if found] == []


@pytest.mark.parametrize("condition", [one for one in CONDITIONS if one.judge is not None], ids=lambda one: f"{one.name}-{one.severity}")
def test_a_worker_watches_every_metric_that_a_judge_asks_for(condition: Condition) -> None:
    assert condition.judge is not None
    looks = AskedLooks()
    condition.judge(looks)
    assert looks.asked <= WATCHED <= set(LABELS)
    assert looks.asked


def test_what_is_fine_is_said_in_one_line_and_every_text_fills_in_only_what_a_condition_has() -> None:
    for condition in CONDITIONS:
        assert condition.fine
        assert "{{" not in condition.fine
        assert not condition.fine.endswith(".")
        places = re.findall(r"\{\{.*?\}\}", condition.summary + condition.description + condition.runbook)
        assert set(places) <= {"{{ $labels.about }}", "{{ $labels.instance }}"}
