"""The day that is simulated, and what the chart says of behaviour and formula, read from its template without Helm."""

import re
import textwrap
from collections.abc import Callable
from typing import Any

import yaml

from tests.deploy.autoscale.simulated_day import HOUR_S, Day, Spell
from tests.deploy.promql import DEPLOY

TEMPLATE = DEPLOY / "helm" / "vectail" / "templates" / "scaling-index.yaml"
FORMULA = "sink > 0 ? need : min(need, workers)"
_MINUTE_S = 60

DAY = Day(
    partitions=6,
    usual=0.5,
    burst=Spell(10 * HOUR_S, 10 * HOUR_S + 30 * _MINUTE_S),
    times=10.0,
    index_away=Spell(14 * HOUR_S, 14 * HOUR_S + 10 * _MINUTE_S),
    broker_away=Spell(18 * HOUR_S, 18 * HOUR_S + 90),
)
"""At most half a worker's load; ten times as much for half an hour; Milvus away for ten minutes, and a broker that restarts in 90 s."""


def chart_behaviour() -> dict[str, Any]:
    """Return the chart's `behavior` for index workers."""
    block = re.search(r"(?ms)^( +)behavior:\n(.*?)^  triggers:", TEMPLATE.read_text(encoding="utf-8"))
    assert block is not None
    behaviour: dict[str, Any] = yaml.safe_load(textwrap.dedent(block[2]))
    return behaviour


def chart_formula() -> Callable[[float, bool, int], float]:
    """Return the chart's formula, which `test_triggers.py` evaluates with KEDA's library."""
    assert f'formula: "{FORMULA}"' in TEMPLATE.read_text(encoding="utf-8")
    return lambda need, sink, workers: need if sink else min(need, float(workers))
