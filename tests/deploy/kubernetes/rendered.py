"""The chart as Helm renders it."""

import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.deploy.kubernetes.go_programs import go_programs
from tests.deploy.kubernetes.values_sets import TOKEN
from tests.deploy.promql import DEPLOY

CHART = DEPLOY / "helm" / "vectail"
RELEASE, NAMESPACE = "logs", "search"
_RUN_S = 60

Manifest = dict[str, Any]


class ChartRefused(Exception):
    """Helm does not render it; the message is its own."""


def render(values: Mapping[str, Any], chart: Path = CHART) -> str:
    """Return all objects as YAML, of a release `logs` in the namespace `search`. Raises ChartRefused."""
    given = yaml.safe_dump({**TOKEN, **values})
    command = [str(go_programs() / "helm"), "template", RELEASE, str(chart), "--namespace", NAMESPACE, "--values", "-"]
    done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=_RUN_S, check=False)
    if done.returncode != 0:
        raise ChartRefused(done.stderr)
    return done.stdout


def manifests(values: Mapping[str, Any], *kinds: str) -> list[Manifest]:
    """Return the objects, or those of some kinds."""
    return [one for one in yaml.safe_load_all(render(values)) if one and (not kinds or one["kind"] in kinds)]


def pods(values: Mapping[str, Any]) -> Iterator[tuple[str, Manifest]]:
    """Yield what each workload starts, with its role: the pod's `metadata` and `spec`."""
    for one in manifests(values, "Deployment", "StatefulSet", "Pod"):
        pod = one if one["kind"] == "Pod" else one["spec"]["template"]
        yield one["metadata"]["labels"]["app.kubernetes.io/component"], pod
