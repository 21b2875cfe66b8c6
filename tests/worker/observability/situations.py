"""The situations in which Prometheus' alerts are tested (`deploy/prometheus/tests`), as what workers know of themselves.

An input series is what one worker had at one step, so a situation can be replayed to the judges of a worker.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import yaml

from tests.deploy.promql import RULE_TESTS
from worker.observability.condition_watch import LOOK_EVERY_S, WATCHED, ConditionState, ConditionWatch
from worker.observability.looks import LABELS, Look

LONG_AGO_S = -100_000.0
_SERIES = re.compile(r"([\w:]+)\{(.*)\}")
_LABEL = re.compile(r'(\w+)="([^"]*)"')
_ITEM = re.compile(r"(_|stale|[-+]?[\d.]+)(?:([-+][\d.]+))?(?:x(\d+))?")
_TIME = re.compile(r"(\d+)([hms])")
_UNITS_S = {"h": 3600, "m": 60, "s": 1}
_START = "process_start_time_seconds"


class InputSeries(NamedTuple):
    """One series of one worker, a value a step; None where there is none."""

    metric: str
    labels: Mapping[str, str]
    values: Sequence[float | None]


class Expected(NamedTuple):
    """What an alert is expected to say at one moment."""

    at_s: float
    alert: str
    told: Sequence[tuple[str, Mapping[str, str], str]]
    """Severity, labels, and the text of the summary of each."""


class Situation(NamedTuple):
    """One test of promtool's."""

    name: str
    step_s: float
    series: Sequence[InputSeries]
    expected: Sequence[Expected]

    def instances(self) -> list[str]:
        return sorted({one.labels["instance"] for one in self.series if "instance" in one.labels})

    def last_s(self) -> float:
        return self.step_s * (max(len(one.values) for one in self.series) - 1)


def situations() -> Iterator[Situation]:
    for path in RULE_TESTS:
        for test in yaml.safe_load(path.read_text(encoding="utf-8"))["tests"]:
            series = [_series(one) for one in test["input_series"]]
            expected = [_expected(one) for one in test.get("alert_rule_test", [])]
            yield Situation(test["name"], _seconds(test["interval"]), series, expected)


def states_at(situation: Situation, instances: Sequence[str]) -> Iterator[tuple[float, Sequence[ConditionState]]]:
    """Yield second by second what one worker says that has all that these instances have; of several, the greatest value.

    A process that begins again knows nothing of the one before.
    """
    watch, started_s = _watch(LONG_AGO_S), LONG_AGO_S
    now_s = 0.0
    while now_s <= situation.last_s():
        step = int(now_s / situation.step_s)
        start_s = _started_s(situation, instances, step)
        if start_s is not None and start_s != started_s:
            watch, started_s = _watch(start_s), start_s
        watch.look(Look(now_s, _values(situation, instances, step)))
        yield now_s, watch.states()
        now_s += LOOK_EVERY_S


def _watch(started_s: float) -> ConditionWatch:
    return ConditionWatch(clock=lambda: started_s)


def _started_s(situation: Situation, instances: Sequence[str], step: int) -> float | None:
    found = [_at(one, step) for one in situation.series if one.metric == _START and one.labels["instance"] in instances]
    known = [start_s for start_s in found if start_s is not None]
    return max(known) if known and len(instances) == 1 else None


def _values(situation: Situation, instances: Sequence[str], step: int) -> dict[str, dict[tuple[str, ...], float]]:
    values: dict[str, dict[tuple[str, ...], float]] = {}
    for one in situation.series:
        value = _at(one, step)
        if one.metric in WATCHED and one.labels["instance"] in instances and value is not None:
            of_metric = values.setdefault(one.metric, {})
            key = tuple(one.labels[name] for name in LABELS[one.metric])
            of_metric[key] = max(value, of_metric.get(key, -math.inf))
    return values


def _at(series: InputSeries, step: int) -> float | None:
    return series.values[step] if step < len(series.values) else None


def _series(written: Mapping[str, str]) -> InputSeries:
    found = _SERIES.fullmatch(written["series"])
    assert found is not None, written["series"]
    return InputSeries(found[1], dict(_LABEL.findall(found[2])), [value for item in written["values"].split() for value in _run(item)])


def _run(item: str) -> list[float | None]:
    """Return the values that promtool's short form stands for: `1+2x3` is 1 3 5 7, and `_x3` is three gaps."""
    found = _ITEM.fullmatch(item)
    assert found is not None, item
    if found[1] in ("_", "stale"):
        return [None] * int(found[3] or 1)
    return [float(found[1]) + number * float(found[2] or 0) for number in range(int(found[3] or 0) + 1)]


def _expected(written: Mapping[str, Any]) -> Expected:
    told = [
        (one["exp_labels"]["severity"], {k: v for k, v in one["exp_labels"].items() if k != "severity"}, one["exp_annotations"]["summary"])
        for one in written["exp_alerts"]
    ]
    return Expected(_seconds(written["eval_time"]), written["alertname"], told)


def _seconds(text: str) -> float:
    return float(sum(int(number) * _UNITS_S[unit] for number, unit in _TIME.findall(text)))
