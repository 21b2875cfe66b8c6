"""Writes `deploy/prometheus/rules/vectail.yml` from the table of conditions: `python -m worker.observability.rules`, for `make docs`."""

import json
import sys
import textwrap
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from worker.observability.conditions import GROUP, LAG, RECORDS, UP, WORK, Condition

_HEAD: Final = """\
# Recording rules and alerts, written by `make docs` from worker/observability/conditions.py and rules.py.
# `promtool test rules deploy/prometheus/tests/*.yml` runs their tests: each alert fires in one of them, and none fires in a healthy hour.
#
# These expressions allow for three things:
# - A partition moves between workers, and its series moves to another instance. So functions over time apply to the maximum over all
#   instances, which continues when the instance changes.
# - A counter starts at 0 with its process, and `increase` does not see what happened before the first scrape. So the counter of a young
#   process that did not exist ten minutes ago counts with its whole value.
# - What never happened may have no series. The workers export 0 where they know the labels; `absent` covers the workers themselves.
groups:"""
_WIDTH: Final = 140


class _Recording(NamedTuple):
    record: str
    expr: str
    comment: str = ""


_RECORDINGS: Final = (
    *(
        _Recording(f"job_topic_partition:vectail_consumer_{name}:max", f"max by (job, topic, partition) (vectail_consumer_{name})")
        for name in ("lag_records", "lag_seconds", "committed_offset")
    ),
    *(
        _Recording(f"job_topic:vectail_consumer_{name}:{pick}", f"{pick} by (job, topic) (job_topic_partition:vectail_consumer_{name}:max)")
        for name, pick in (("lag_records", "sum"), ("lag_seconds", "max"))
    ),
    _Recording(
        "job_topic:vectail_records_dead_letter:ratio_rate5m",
        'sum by (job, topic) (rate(vectail_records_total{outcome="dead_letter"}[5m]))\n'
        "/\n"
        'sum by (job, topic) (rate(vectail_records_total{outcome!~"revoked|abandoned"}[5m]))',
        comment="Share of all settled records; revoked and abandoned records are read again, so they do not count.",
    ),
    _Recording(
        "job:vectail_query_seconds:p99_5m",
        'histogram_quantile(0.99, sum by (job, le) (rate(vectail_query_seconds_bucket{stage="total"}[5m])))',
    ),
    _Recording(
        "job:vectail_searchable_seconds:p99_5m",
        "histogram_quantile(0.99, sum by (job, le) (rate(vectail_searchable_seconds_bucket[5m])))",
    ),
)
_GROUPS: Final[Sequence[tuple[str, Sequence[Condition]]]] = (
    ("vectail lag", LAG),
    ("vectail group", GROUP),
    ("vectail records", RECORDS),
    ("vectail work", WORK),
)


def rules_file() -> str:
    """Return the whole file as YAML."""
    return "\n".join([_HEAD, *_lines()]) + "\n"


def _lines() -> Iterator[str]:
    yield "  - name: vectail recordings"
    yield "    rules:"
    for recording in _RECORDINGS:
        if recording.comment:
            yield f"      # {recording.comment}"
        yield f"      - record: {recording.record}"
        yield from _expr(recording.expr)
    for name, conditions in _GROUPS:
        yield ""
        yield f"  - name: {name}"
        yield "    rules:"
        yield from _alerts(conditions)
    yield ""
    yield "  # Evaluated often, so that these alerts fire and resolve quickly."
    yield "  - name: vectail up"
    yield "    interval: 5s"
    yield "    rules:"
    yield from _alerts(UP)


def _alerts(conditions: Sequence[Condition]) -> Iterator[str]:
    for number, condition in enumerate(conditions):
        if number:
            yield ""
        yield f"      - alert: {condition.name}"
        if condition.comment:
            yield f"        # {condition.comment}"
        yield from _expr(condition.expr)
        if condition.for_s:
            yield f"        for: {_time(condition.for_s)}"
        yield "        labels:"
        yield f"          severity: {condition.severity}"
        if condition.expr.startswith("absent("):
            yield "          job: vectail"  # `absent` gives the alert no job
        yield "        annotations:"
        yield f"          summary: {json.dumps(condition.summary, ensure_ascii=False)}"
        yield "          description: >-"
        yield from textwrap.wrap(condition.description, _WIDTH, initial_indent=" " * 12, subsequent_indent=" " * 12, break_on_hyphens=False)
        yield f"          runbook: {json.dumps(condition.runbook, ensure_ascii=False)}"


def _expr(expr: str) -> Iterator[str]:
    first, *rest = expr.split("\n")
    if not rest:
        yield f"        expr: {first}"
        return
    yield "        expr: |"
    yield from (f"          {line}" for line in (first, *rest))


def _time(seconds: int) -> str:
    return f"{seconds // 60}m" if seconds % 60 == 0 else f"{seconds}s"


if __name__ == "__main__":
    sys.stdout.write(rules_file())
