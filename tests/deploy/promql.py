"""Expressions of PromQL as rules and dashboards hold them: which metrics and labels they name, and the variables of Grafana in them.

Prometheus itself says whether they are right; this only finds names.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from worker.watching.metrics import METRICS

DEPLOY = Path(__file__).parents[2] / "deploy"
RULES = DEPLOY / "prometheus" / "rules" / "vectail.yml"
SCALING = RULES.with_name("scaling.yml")
"""How many workers are needed, for an autoscaler."""
DASHBOARDS = tuple(sorted((DEPLOY / "grafana" / "dashboards").glob("*.json")))
SOURCES = {1: "vectail", 2: "kafka_exporter", 3: "kminion"}
"""Values of the variable `source`, which chooses where the lag comes from."""
SCRAPED = frozenset({"job", "instance", "namespace"})
"""Labels that the scrape adds to every series; `namespace` on Kubernetes only."""
OURS = {metric.name: frozenset(metric.labels) for metric in METRICS}
_CLIENT = {"python_gc_collections_total": frozenset({"generation"})}
"""Metrics of the client library that have labels."""
_PARTS = ("_bucket", "_count", "_sum")
_NAME = re.compile(r"(?<![\w:$])([a-zA-Z_:][\w:]*)\s*(?:\{([^}]*)\})?")
_LABEL = re.compile(r"(\w+)\s*(?:=~|!~|!=|=)")
_GROUPING = re.compile(r"\b(?:by|on)\s*\(([^)]*)\)")
_METRIC = re.compile(r"^(vectail|kafka|kminion|process|python)_|:|^up$")


class Selector(NamedTuple):
    """One place where a metric is named."""

    metric: str
    labels: frozenset[str]
    """Labels in its selector."""


class Query(NamedTuple):
    """One query of a panel."""

    dashboard: str
    panel: str
    number: int
    expr: str
    legend: str

    @property
    def source(self) -> int:
        """Where the data comes from: a value of the variable `source`; the workers unless the query says otherwise."""
        found = re.search(r"\(vector\(\$source\) == (\d)\)", self.expr)
        return 1 if found is None else int(found[1])

    def text(self, source: int | None = None) -> str:
        """Return the query that Grafana would send, with all jobs, workers and topics chosen."""
        chosen = {
            "__rate_interval": "1m",
            "source": str(self.source if source is None else source),
            "job": ".*",
            "instance": ".*",
            "topic": ".*",
            "group": ".*",
        }
        return re.sub(r"\$(\w+)", lambda found: chosen[found[1]], self.expr)

    def __str__(self) -> str:
        return f"{self.dashboard}: {self.panel} #{self.number}"


def read_dashboard(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def panels(dashboard: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the panels that show data."""
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


def queries() -> list[Query]:
    """Return every query of every panel of every dashboard."""
    return [
        Query(path.stem, panel["title"], number, target["expr"], target["legendFormat"])
        for path in DASHBOARDS
        for panel in panels(read_dashboard(path))
        for number, target in enumerate(panel["targets"])
    ]


def rules() -> list[dict[str, Any]]:
    """Return every rule of both files, in order."""
    files = [yaml.safe_load(file.read_text(encoding="utf-8")) for file in (RULES, SCALING)]
    return [rule for file in files for group in file["groups"] for rule in group["rules"]]


def selectors(expr: str) -> Iterator[Selector]:
    """Yield each metric in the expression, with the labels of its selector."""
    for name, braces in _NAME.findall(re.sub(r'"[^"]*"', '""', expr)):
        if _METRIC.search(name):
            yield Selector(name, frozenset(_LABEL.findall(braces)))


def groupings(expr: str) -> frozenset[str]:
    """Return the labels that remain, or that two sides are matched by."""
    return frozenset(label.strip() for labels in _GROUPING.findall(expr) for label in labels.split(",") if label.strip())


def base(metric: str) -> str:
    """Return the metric in our list; for a part of a histogram, the histogram."""
    stem = next((metric.removesuffix(part) for part in _PARTS if metric.endswith(part)), metric)
    return metric if metric in OURS else stem


def labels_of(metric: str) -> frozenset[str]:
    """Return the labels that its series can have. Raises KeyError for an unknown metric of ours."""
    if ":" in metric:
        recorded = next(rule for rule in rules() if rule.get("record") == metric)
        return groupings(recorded["expr"]) - {"le"}
    if metric.startswith("vectail_"):
        return OURS[base(metric)] | SCRAPED | ({"le"} if metric.endswith("_bucket") else frozenset())
    return _CLIENT.get(metric, frozenset()) | SCRAPED
