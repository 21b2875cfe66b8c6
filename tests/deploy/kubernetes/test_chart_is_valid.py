"""The chart is what Helm, Kubernetes, KEDA and the Prometheus operator accept, for every set of values; and odd ones are refused."""

import json
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.kubernetes.go_programs import BUILD_S
from tests.deploy.kubernetes.rendered import CHART, ChartRefused, Manifest, manifests, render
from tests.deploy.kubernetes.schemas import kubernetes_versions, place_of
from tests.deploy.kubernetes.values_sets import REFUSED, TOKEN, VALUES
from tests.deploy.promql import DASHBOARDS, RULES, SCALING

pytestmark = [pytest.mark.process, pytest.mark.long, pytest.mark.timeout(BUILD_S), pytest.mark.usefixtures("programs")]

CONFORM_S = 120


def judge(programs: Path, schemas: Path, version: str, objects: str) -> tuple[bool, dict[str, Any]]:
    """Return whether kubeconform accepts the objects, and what it says."""
    command = [str(programs / "kubeconform"), "-strict", "-output", "json", "-summary", "-kubernetes-version", version.removeprefix("v")]
    done = subprocess.run([*command, *place_of(schemas)], input=objects, capture_output=True, text=True, timeout=CONFORM_S, check=False)
    said: dict[str, Any] = json.loads(done.stdout)
    return done.returncode == 0, said


def test_helm_finds_nothing_to_say_about_it(programs: Path, tmp_path: Path) -> None:
    (tmp_path / "values.yaml").write_text(yaml.safe_dump(TOKEN))
    command = [str(programs / "helm"), "lint", "--strict", str(CHART), "--values", str(tmp_path / "values.yaml")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=CONFORM_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "[WARNING]" not in done.stdout
    assert "[ERROR]" not in done.stdout


def test_every_set_of_values_is_what_every_version_of_kubernetes_accepts(
    programs: Path, kubernetes_schemas: Path, subtests: pytest.Subtests
) -> None:
    assert len(VALUES) >= 12
    assert [version.split(".")[1] for version in kubernetes_versions()] == ["30", "31", "32", "33", "34", "35", "36"]
    rendered = {name: render(values) for name, values in VALUES.items()}
    for version in kubernetes_versions():
        for name, objects in rendered.items():
            with subtests.test(f"{name}, {version}"):
                accepts, said = judge(programs, kubernetes_schemas, version, objects)
                assert accepts, said["resources"]
                assert said["summary"]["valid"] == len([one for one in yaml.safe_load_all(objects) if one])
                assert said["summary"]["skipped"] == 0


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        ("PodDisruptionBudget", "maxUnavailable", "maxUnavailible"),
        ("Deployment", "readOnlyRootFilesystem", "readonlyRootFilesystem"),
        ("ScaledObject", "maxReplicaCount", "maxReplicas"),
        ("ServiceMonitor", "scrapeTimeout", "scrapeTimeOut"),
        ("PrometheusRule", "record", "recorded"),
    ],
)
def test_a_name_that_is_not_there_would_be_found(programs: Path, kubernetes_schemas: Path, kind: str, before: str, after: str) -> None:
    objects = yaml.safe_dump_all(manifests(VALUES["scaled"], kind))
    assert f"{before}:" in objects
    for text, well in ((objects, True), (objects.replace(f"{before}:", f"{after}:"), False)):
        accepts, said = judge(programs, kubernetes_schemas, kubernetes_versions()[-1], text)
        assert accepts == well, said


def test_what_cannot_work_is_refused_with_the_reason(subtests: pytest.Subtests) -> None:
    for name, (values, why) in REFUSED.items():
        with subtests.test(name):
            with pytest.raises(ChartRefused) as refused:
                render(values)
            assert why in str(refused.value)


def test_a_package_holds_the_rules_and_dashboards_themselves(programs: Path, tmp_path: Path) -> None:
    command = [str(programs / "helm"), "package", str(CHART), "--destination", str(tmp_path)]
    subprocess.run(command, capture_output=True, timeout=CONFORM_S, check=True)
    (package,) = tmp_path.glob("vectail-*.tgz")
    with tarfile.open(package) as archive:
        for folder, files in (("rules", (RULES, SCALING)), ("dashboards", DASHBOARDS)):
            for file in files:
                packed = archive.extractfile(f"vectail/files/{folder}/{file.name}")
                assert packed is not None
                assert packed.read() == file.read_bytes()
    assert render(VALUES["monitored"], package) == render(VALUES["monitored"])


def test_the_rules_and_dashboards_arrive_as_they_are() -> None:
    found: list[Manifest] = manifests(VALUES["monitored"], "PrometheusRule", "ConfigMap")
    rules = [one["spec"] for one in found if one["kind"] == "PrometheusRule"]
    assert rules == [yaml.safe_load(file.read_text(encoding="utf-8")) for file in (SCALING, RULES)]
    boards = {name: json.loads(text) for one in found if one["kind"] == "ConfigMap" for name, text in one["data"].items() if "json" in name}
    assert boards == {file.name: json.loads(file.read_text(encoding="utf-8")) for file in DASHBOARDS}
