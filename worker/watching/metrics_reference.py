"""Writes `docs/metrics.md` from the list of metrics: `python -m worker.watching.metrics_reference`, which `make docs` calls."""

import sys
from collections.abc import Iterator

from worker.watching.metrics import METRICS, SECTIONS, Metric

_HEAD = """\
# Metrics

<!-- Written by `make docs` from worker/watching/metrics.py. -->

Each worker serves its metrics at `/metrics` of its HTTP port, for Prometheus or as OpenMetrics. Values are in base units; a counter only
grows while the worker runs. The metrics of a partition come from the worker that owns it. A histogram `x` is `x_bucket`, `x_sum` and
`x_count`. Memory, processor time and open files of the process are there too, under the names that Prometheus' Python client gives them
(`process_…`, `python_gc_…`).
"""


def metrics_page() -> str:
    """Return the whole page as Markdown."""
    return "\n".join([_HEAD.rstrip("\n"), *_sections()])


def _sections() -> Iterator[str]:
    headings = {metric.name: heading for heading, metric in SECTIONS.items()}
    for metric in METRICS:
        if heading := headings.get(metric.name):
            yield f"\n## {heading}\n\n| metric | type | labels | meaning |\n|---|---|---|---|"
        yield _row(metric)


def _row(metric: Metric) -> str:
    return f"| `{metric.name}` | {metric.type} | {', '.join(f'`{label}`' for label in metric.labels)} | {metric.help} |"


if __name__ == "__main__":
    sys.stdout.write(metrics_page() + "\n")
