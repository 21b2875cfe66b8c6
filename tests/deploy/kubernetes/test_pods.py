"""What a cluster's operator looks for in every pod of the chart, whatever the values."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.kubernetes.go_programs import BUILD_S
from tests.deploy.kubernetes.rendered import CHART, NAMESPACE, RELEASE, Manifest, manifests, pods
from tests.deploy.kubernetes.values_sets import VALUES
from worker.settings.settings import settings_of_environment

pytestmark = [pytest.mark.process, pytest.mark.long, pytest.mark.timeout(BUILD_S), pytest.mark.usefixtures("programs")]

GRACE_S = 15


@pytest.fixture(scope="module")
def every_pod() -> list[tuple[str, str, Manifest]]:
    """Name of the values, role and pod."""
    return [(name, role, pod) for name, values in VALUES.items() for role, pod in pods(values)]


def container_of(pod: Manifest) -> Manifest:
    (container,) = pod["spec"]["containers"]
    found: Manifest = container
    return found


def variables(pod: Manifest) -> dict[str, Any]:
    return {one["name"]: one.get("value", one.get("valueFrom")) for one in container_of(pod)["env"]}


def test_it_may_do_nothing_but_its_work(every_pod: list[tuple[str, str, Manifest]], subtests: pytest.Subtests) -> None:
    assert {role for _, role, _ in every_pod} == {"index", "query", "embed", "doctor"}
    for name, role, pod in every_pod:
        with subtests.test(f"{name}: {role}"):
            spec, container = pod["spec"], container_of(pod)
            assert spec["automountServiceAccountToken"] is False
            assert spec["securityContext"]["runAsNonRoot"] is True
            assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert not any(spec.get(which) for which in ("hostNetwork", "hostPID", "hostIPC"))
            assert not any("hostPath" in volume for volume in spec["volumes"])
            assert {"runAsUser", "fsGroup"} <= set(spec["securityContext"]) or name == "openshift"


def test_no_token_of_the_cluster_is_given_to_anyone() -> None:
    for account in (one for values in VALUES.values() for one in manifests(values, "ServiceAccount")):
        assert account["automountServiceAccountToken"] is False


def test_secrets_are_mounted_by_reference_and_never_in_the_environment(
    every_pod: list[tuple[str, str, Manifest]], subtests: pytest.Subtests
) -> None:
    for name, role, pod in every_pod:
        with subtests.test(f"{name}: {role}"):
            (secrets,) = (one["projected"] for one in pod["spec"]["volumes"] if one["name"] == "secrets")
            mounted = {item["path"] for source in secrets["sources"] for item in source["secret"]["items"]}
            assert secrets["defaultMode"] == 0o440
            said = {name: text for name, text in variables(pod).items() if name.endswith("_FILE")}
            assert {f"/run/secrets/vectail/{variable.removesuffix('_FILE')}" for variable in said} == set(said.values())
            wanted = {"VECTAIL_HTTP__TOKEN"} | {one["variable"] for one in VALUES[name].get("secrets", ())}
            wanted |= {one["name"] for one in VALUES[name].get("secretFiles", ())}
            assert mounted == wanted
            assert {variable.removesuffix("_FILE") for variable in said} == {one for one in wanted if one.startswith("VECTAIL_")}
            assert not any(isinstance(value, dict) and "secretKeyRef" in value for value in variables(pod).values())
    assert not [one for values in VALUES.values() for one in manifests(values, "Secret")]


def test_kubernetes_adds_no_variables_that_look_like_settings(every_pod: list[tuple[str, str, Manifest]]) -> None:
    """A Service `vectail-query` gives VECTAIL_QUERY_PORT, which is an unknown setting: the worker would end."""
    assert all(pod["spec"]["enableServiceLinks"] is False for _, _, pod in every_pod)


def test_every_variable_is_a_setting(
    every_pod: list[tuple[str, str, Manifest]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hunter2\n")
    for name, role, pod in every_pod:
        with subtests.test(f"{name}: {role}"), monkeypatch.context() as patch:
            for variable, value in variables(pod).items():
                patch.setenv(variable, str(secret) if variable.endswith("_FILE") else value if isinstance(value, str) else "logs-index-0")
            found = {".".join(place): text for _, place, text in settings_of_environment()}
            assert found["http.host"] == "0.0.0.0"  # noqa: S104 - all addresses of the pod
            assert found["http.token"] == "hunter2"
            assert found.get("kafka.index") == {"index": "true", "embed": None}.get(role, "false")


def test_it_is_told_to_leave_before_it_is_killed(every_pod: list[tuple[str, str, Manifest]], subtests: pytest.Subtests) -> None:
    for name, role, pod in every_pod:
        if role == "doctor":
            continue
        with subtests.test(f"{name}: {role}"):
            drain_s = float(variables(pod)["VECTAIL_LIMITS__DRAIN_TIMEOUT_S"])
            assert pod["spec"]["terminationGracePeriodSeconds"] == drain_s + GRACE_S
            stays_s = container_of(pod).get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds", 0)
            assert stays_s == (0 if role == "index" else 5), "who is asked stays until no Service names it"
            assert stays_s < GRACE_S


def test_probes_give_a_first_start_five_minutes_and_never_kill_for_what_is_away(every_pod: list[tuple[str, str, Manifest]]) -> None:
    for _, role, pod in every_pod:
        if role == "doctor":
            continue
        container = container_of(pod)
        paths = {probe: container[f"{probe}Probe"]["httpGet"]["path"] for probe in ("startup", "liveness", "readiness")}
        assert paths == {"startup": "/healthz", "liveness": "/healthz", "readiness": "/readyz"}
        startup = container["startupProbe"]
        assert startup["periodSeconds"] * startup["failureThreshold"] == 300
        assert {one["name"]: one["containerPort"] for one in container["ports"]} == {"http": 8790}


def test_the_image_is_pinned_and_the_root_writes_only_where_it_may(every_pod: list[tuple[str, str, Manifest]]) -> None:
    for name, _, pod in every_pod:
        container = container_of(pod)
        image = container["image"]
        assert not image.endswith(":latest")
        assert "@sha256:" in image or image.rpartition(":")[2] == yaml.safe_load((CHART / "Chart.yaml").read_text())["appVersion"], name
        writable = {one["mountPath"] for one in container["volumeMounts"] if not one.get("readOnly")}
        assert {"/data", "/tmp"} <= writable <= {"/data", "/tmp", "/dev/shm"}  # noqa: S108 - of the pod


def test_a_service_finds_the_pods_of_its_role_and_a_change_of_the_chart_restarts_none(subtests: pytest.Subtests) -> None:
    for name, values in VALUES.items():
        with subtests.test(name):
            labels = {role: pod["metadata"].get("labels", {}) for role, pod in pods(values) if role != "doctor"}
            for service in manifests(values, "Service", "PodDisruptionBudget"):
                selector = service["spec"]["selector"]
                selector = selector.get("matchLabels", selector)
                chosen = [role for role, of in labels.items() if selector.items() <= of.items()]
                assert chosen == [service["metadata"]["labels"]["app.kubernetes.io/component"]]
            assert not any("helm.sh/chart" in of or "app.kubernetes.io/version" in of for of in labels.values())


def test_names_fit_and_all_is_in_the_namespace_of_the_release() -> None:
    for values in VALUES.values():
        for one in manifests(values):
            assert len(one["metadata"]["name"]) <= 63
            assert one["metadata"]["namespace"] == NAMESPACE
            if one["kind"] != "Pod":
                assert one["metadata"]["labels"]["app.kubernetes.io/instance"] == RELEASE


def test_who_is_scaled_has_no_number_of_pods_in_the_chart() -> None:
    for name in ("scaled", "scaled to none", "scaled static members"):
        (index,) = (one for one in manifests(VALUES[name], "Deployment", "StatefulSet") if one["metadata"]["name"].endswith("-index"))
        assert "replicas" not in index["spec"], "an upgrade would undo what the autoscaler did"
        (scaled,) = manifests(VALUES[name], "ScaledObject")
        assert scaled["spec"]["scaleTargetRef"] == {"kind": index["kind"], "name": index["metadata"]["name"]}
    (embed,) = (one for one in manifests(VALUES["scaled embed"], "Deployment") if one["metadata"]["name"].endswith("-embed"))
    assert "replicas" not in embed["spec"]


def test_a_static_member_has_its_pods_name() -> None:
    for name, values in VALUES.items():
        for role, pod in pods(values):
            member = variables(pod).get("VECTAIL_KAFKA__LIBRDKAFKA__GROUP_INSTANCE_ID")
            is_static = role == "index" and values.get("index", {}).get("staticMembership", False)
            assert member == ({"fieldRef": {"fieldPath": "metadata.name"}} if is_static else None), name


def test_a_budget_never_holds_a_node_up_whose_pods_are_not_ready() -> None:
    budgets = manifests(VALUES["monitored"], "PodDisruptionBudget")
    assert len(budgets) == 3
    for budget in budgets:
        assert budget["spec"]["maxUnavailable"] == 1
        assert budget["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow"


def test_the_settings_are_those_that_were_given() -> None:
    for values in (VALUES["least"], VALUES["files"]):
        given = values.get("config", yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))["config"])
        (text,) = (one["data"]["vectail.toml"] for one in manifests(values, "ConfigMap") if "vectail.toml" in one["data"])
        assert tomllib.loads(text) == tomllib.loads(given)
