"""Writes `deploy/prometheus/rules/vectail.yml` from the table of conditions: `python -m worker.watching.alert_rules`, for `make docs`."""

import json
import sys
import textwrap
from collections.abc import Iterator, Sequence
from typing import Final

from worker.watching.conditions import GROUP, LAG, RECORDS, SERVE, UP, WORK, Condition

_HEAD: Final = """\
# Alerts, written by `make docs` from worker/watching/conditions.py.
# A worker judges its own conditions and exports `vectail_condition`. A partition moves between workers, so what is about one must hold for
# the time on any of them. Only that no worker answers is judged here.
groups:"""
_WIDTH: Final = 140
RUNBOOKS: Final = "docs/operations.md"
"""Where `runbook_url` leads: the page with a section for each alert, as a path in the repository; it says how to make that an address."""


_GROUPS: Final[Sequence[tuple[str, Sequence[Condition]]]] = (
    ("vectail lag", LAG),
    ("vectail group", GROUP),
    ("vectail records", RECORDS),
    ("vectail work", WORK),
    ("vectail serve", SERVE),
)


def rules_file() -> str:
    """Return the whole file as YAML."""
    return "\n".join([_HEAD, *_lines()]) + "\n"


def runbook_url(name: str) -> str:
    """Return the address of an alert's section; its anchor is the name as GitHub writes it."""
    return f"{RUNBOOKS}#{name.lower()}"


def _lines() -> Iterator[str]:
    for name, conditions in _GROUPS:
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
        yield from _expr(condition.expr or _said_by_workers(condition))
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
        yield f"          runbook_url: {json.dumps(runbook_url(condition.name))}"


def _said_by_workers(condition: Condition) -> str:
    of = "job, instance, about" if "$labels.instance" in condition.summary else "job, about"
    return f'max by ({of}) (vectail_condition{{name="{condition.name}",severity="{condition.severity}"}}) == 1'


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
