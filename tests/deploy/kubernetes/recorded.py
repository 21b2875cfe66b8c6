"""Series as Prometheus would have scraped them, for promtool, and what it finds of an expression in them.

A worker is scraped every 15 s. A case says what a query or a recording rule must give at a moment, and promtool judges.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.deploy.promql import SCALING
from tests.deploy.promtool import promtool

STEP_S = 15
HOUR_STEPS = 240
_INVERSE = 1 / 0.000001
Series = dict[str, str]
"""Selector → values, in promtool's notation."""


def worker(name: str, *, steps: int = HOUR_STEPS, busy: Mapping[str, float], partition: int = 0, **figures: str) -> Series:
    """Return one index worker's series. `busy`: share of the time that each stage works; `figures` replace single ones.

    The figures are `done` and `coming` (records a second), `lag`, `index` (1: it answers), `refused` and `written` (writes a second),
    `sink_s` (seconds of writes a second); each as the values of a whole series where it is a word with a space or an `x`.
    """
    of = f'job="vectail",namespace="search",instance="{name}"'
    said = {"done": "100", "coming": "100", "lag": f"100x{steps}", "index": f"1x{steps}", "refused": "0", "written": "2", "sink_s": "0.1"}
    said |= figures
    place = f'{of},topic="logs",partition="{partition}"'
    series = {
        f"vectail_consumer_end_offset{{{place}}}": _grows(said["coming"], steps),
        f"vectail_consumer_committed_offset{{{place}}}": _grows(said["done"], steps),
        f"vectail_consumer_lag_records{{{place}}}": said["lag"],
        f'vectail_assigned_partitions{{{of},group="logs"}}': f"1x{steps}",
        f'vectail_dependency_up{{{of},dependency="index"}}': said["index"],
        f'vectail_sink_errors_total{{{of},class="busy"}}': _grows(said["refused"], steps),
        f'vectail_sink_seconds_count{{{of},op="blocks"}}': _grows(said["written"], steps),
        f'vectail_sink_seconds_sum{{{of},op="blocks"}}': _grows(said["sink_s"], steps),
    }
    for stage in ("prepare", "engine", "store"):
        series[f'vectail_stage_busy_seconds_total{{{of},stage="{stage}"}}'] = _grows(str(busy.get(stage, 0.0)), steps)
        series[f'vectail_stage_threads{{{of},stage="{stage}"}}'] = f"1x{steps}"
    return series


def case(name: str, series: Series, expected: Mapping[str, float | None], *, at_s: int) -> dict[str, Any]:
    """Return a case: each expression and what it gives at that moment, to a millionth; None: nothing at all. Only one series may come."""
    tests = []
    for expr, value in expected.items():
        labels = '{job="vectail",namespace="search"}' if expr.startswith("vectail:") else "{}"
        samples = [] if value is None else [{"labels": labels, "value": math.floor(value * _INVERSE + 0.5) / _INVERSE}]
        tests.append({"expr": f"round({expr}, 0.000001)", "eval_time": f"{at_s}s", "exp_samples": samples})
    given = [{"series": selector, "values": values} for selector, values in series.items()]
    return {"name": name, "interval": f"{STEP_S}s", "input_series": given, "promql_expr_test": tests}


def judge_cases(folder: Path, cases: list[dict[str, Any]]) -> None:
    """Let promtool try them. Raises AssertionError with what differs."""
    document = {"rule_files": [str(SCALING)], "evaluation_interval": f"{STEP_S}s", "tests": cases}
    (folder / "cases.yml").write_text(yaml.safe_dump(document), encoding="utf-8")
    promtool("test", "rules", folder / "cases.yml")


def _grows(rate: str, steps: int) -> str:
    """Return a counter's values: a whole series as it is, a number as a rate."""
    return rate if "x" in rate or " " in rate else f"0+{float(rate) * STEP_S}x{steps}"
