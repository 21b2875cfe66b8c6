"""`python -m tests.stack.picture FILE [--prometheus URL] [--minutes M]`: draw the dashboards' data without Grafana.

Asks the Prometheus of a running stack for the panels named here, with the queries of `deploy/grafana/dashboards`, and draws them with
matplotlib. The README shows one such picture.
"""

import argparse
import http.client
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode, urlsplit

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tests.deploy.promql import Query, queries

PANELS: Final = (
    ("consumer-lag", "Lag by partition", "records"),
    ("consumer-lag", "Lag in seconds by partition", "seconds"),
    ("consumer-lag", "Records arriving and committed", "records/s"),
    ("pipeline", "Seconds until searchable", "seconds"),
    ("pipeline", "Dependencies answer", "1: yes"),
    ("pipeline", "Open records", "records"),
    ("pipeline", "Stages at work", "threads"),
    ("pipeline", "Lines by way", "lines/s"),
    ("pipeline", "Query latency", "seconds"),
)
_COLUMNS: Final = 3
_STEPS: Final = 240
_ANSWER_S: Final = 30.0
_MOST_NAMES: Final = 8


class Series(NamedTuple):
    """One line of a panel."""

    name: str
    minutes: list[float]
    """Relative to the latest sample, so never positive."""
    values: list[float]


def main() -> None:
    """Run as a program."""
    parser = argparse.ArgumentParser(prog="python -m tests.stack.picture", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--prometheus", default="http://127.0.0.1:9090", help="its address (default %(default)s)")
    parser.add_argument("--minutes", type=float, default=8.0, help="how far back (default %(default)s)")
    given = parser.parse_args()
    mpl.use("Agg")
    draw(given.file, given.prometheus, given.minutes * 60)


def draw(file: Path, prometheus: str, span_s: float) -> None:
    """Write the picture."""
    rows = -(-len(PANELS) // _COLUMNS)
    figure = Figure(figsize=(15, 3.4 * rows), layout="constrained")
    all_axes: Sequence[Axes] = list(figure.subplots(rows, _COLUMNS, squeeze=False).flat)
    until_s = time.time()
    for axes, (dashboard, panel, unit) in zip(all_axes, PANELS, strict=False):
        wanted = [query for query in queries() if (query.dashboard, query.panel, query.source) == (dashboard, panel, 1)]
        series = [one for query in wanted for one in ask(prometheus, query, until_s - span_s, until_s)]
        for one in series:
            axes.plot(one.minutes, one.values, label=one.name, linewidth=1.2)
        axes.set_title(panel, loc="left", fontsize=10, fontweight="bold")
        axes.set_ylabel(unit, fontsize=8)
        axes.tick_params(labelsize=7)
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        if 0 < len(series) <= _MOST_NAMES:
            axes.legend(fontsize=6, loc="upper left")
    for axes in all_axes[-_COLUMNS:]:
        axes.set_xlabel("minutes", fontsize=8)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=80)


def ask(prometheus: str, query: Query, from_s: float, until_s: float) -> list[Series]:
    """Return one query's values over time, without those that are not numbers."""
    address = urlsplit(prometheus)
    client = http.client.HTTPConnection(address.hostname or "127.0.0.1", address.port or 9090, timeout=_ANSWER_S)
    step_s = (until_s - from_s) / _STEPS
    parameters = {"query": query.text(rate_interval="30s"), "start": from_s, "end": until_s, "step": step_s}
    try:
        client.request("GET", f"/api/v1/query_range?{urlencode(parameters)}")
        answer: dict[str, Any] = json.loads(client.getresponse().read())
    finally:
        client.close()
    return [
        Series(
            _legend(query.legend, one["metric"]),
            [(float(at) - until_s) / 60 for at, _ in one["values"]],
            [float(value) if value not in ("NaN", "+Inf") else float("nan") for _, value in one["values"]],
        )
        for one in answer["data"]["result"]
    ]


def _legend(form: str, labels: dict[str, str]) -> str:
    for name, value in labels.items():
        form = form.replace("{{" + name + "}}", value).replace("{{ " + name + " }}", value)
    return form


if __name__ == "__main__":
    main()
