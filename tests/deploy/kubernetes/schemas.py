"""Schemas for kubeconform, made from what Kubernetes, KEDA and the Prometheus operator publish as Go modules.

Kubernetes' modules have an OpenAPI document of each version, the others their custom resource definitions. `schemas.sum` pins the modules
by hash. They are large, so they go to a folder that is removed again; the schemas stay in `.cache/`.
"""

import copy
import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.deploy.kubernetes.go_programs import run_go
from tests.services.fetched import fetched

SUMS = Path(__file__).with_name("schemas.sum")
KINDS = ("ConfigMap", "Deployment", "NetworkPolicy", "Pod", "PodDisruptionBudget", "Service", "ServiceAccount", "StatefulSet")
"""Of Kubernetes' own; a chart with another kind is refused for want of a schema."""
_DEFINITIONS = {
    "github.com/kedacore/keda/v2": ("config/crd/bases/keda.sh_scaledobjects.yaml",),
    "github.com/prometheus-operator/prometheus-operator": (
        "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
        "example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
    ),
}
_QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"


class ModuleChanged(Exception):
    """A module is not what `schemas.sum` says."""


def schemas() -> Path:
    """Return the folder; the first call makes it. Raises ServerMissing and ModuleChanged."""
    digest = hashlib.sha256(SUMS.read_bytes() + Path(__file__).read_bytes()).hexdigest()[:16]
    return fetched(f"kubernetes-schemas-{digest}", _make)


def kubernetes_versions() -> list[str]:
    """Return those that the chart is checked against."""
    return [version for module, version, _ in _pinned() if module == "k8s.io/kubernetes"]


def place_of(folder: Path) -> list[str]:
    """Return kubeconform's options for these schemas."""
    names = "{{.ResourceKind}}{{.KindSuffix}}.json"
    return ["-schema-location", f"{folder}/{{{{.NormalizedKubernetesVersion}}}}/{names}", "-schema-location", f"{folder}/custom/{names}"]


def _pinned() -> Iterator[tuple[str, str, str]]:
    for line in SUMS.read_text(encoding="utf-8").splitlines():
        module, version, digest = line.split()
        yield module, version, digest


def _make(folder: Path) -> None:
    folder.mkdir()
    modules = folder.with_name(f"{folder.name}.modules")
    try:
        for module, version, digest in _pinned():
            said = json.loads(
                run_go("mod", "download", "-json", f"{module}@{version}", folder=folder, variables={"GOMODCACHE": str(modules)})
            )
            if said["Sum"] != digest:
                raise ModuleChanged(f"{module} {version} is {said['Sum']}, and schemas.sum says {digest}")
            source = Path(said["Dir"])
            if module == "k8s.io/kubernetes":
                _write_kubernetes(source / "api/openapi-spec/swagger.json", folder / version)
            else:
                for file in _DEFINITIONS[module]:
                    _write_custom(source / file, folder / "custom")
    finally:
        _remove(modules)


def _write_kubernetes(document: Path, folder: Path) -> None:
    folder.mkdir()
    definitions = {name: strict(schema) for name, schema in json.loads(document.read_text(encoding="utf-8"))["definitions"].items()}
    definitions[_QUANTITY] = {"type": ["string", "number"]}
    for name, schema in definitions.items():
        for kind in schema.get("x-kubernetes-group-version-kind", ()):
            if kind["kind"] in KINDS:
                needed: dict[str, Any] = {}
                _collect(name, definitions, needed)
                _write(folder, kind["kind"], kind["group"], kind["version"], {"$ref": f"#/definitions/{name}", "definitions": needed})


def _write_custom(definition: Path, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    spec = yaml.safe_load(definition.read_text(encoding="utf-8"))["spec"]
    for version in spec["versions"]:
        schema = version["schema"]["openAPIV3Schema"]
        schema["properties"]["metadata"] = {"type": "object", "properties": {"name": {"type": "string"}}, "additionalProperties": True}
        _write(folder, spec["names"]["kind"], spec["group"], version["name"], strict(schema))


def _write(folder: Path, kind: str, group: str, version: str, schema: dict[str, Any]) -> None:
    """Name the file as kubeconform asks for it: by kind, the group's first part and the version."""
    parts = [kind.lower(), *([group.partition(".")[0]] if group else []), version.lower()]
    (folder / f"{'-'.join(parts)}.json").write_text(json.dumps(schema), encoding="utf-8")


def strict(schema: Any) -> Any:  # noqa: ANN401 - any part of a JSON document
    """Return a JSON Schema that refuses unknown names, as `kubectl --validate=strict` does, and takes integers for `int-or-string`."""
    if isinstance(schema, list):
        return [strict(one) for one in schema]
    if not isinstance(schema, dict):
        return copy.copy(schema)
    if schema.get("format") == "int-or-string" or schema.get("x-kubernetes-int-or-string"):
        return {"type": ["string", "integer"]}
    made = {name: strict(part) for name, part in schema.items() if name != "format"}
    if isinstance(made.get("properties"), dict) and "type" in made and not schema.get("x-kubernetes-preserve-unknown-fields"):
        made.setdefault("additionalProperties", False)
    return made


def _collect(name: str, definitions: dict[str, Any], into: dict[str, Any]) -> None:
    if name in into:
        return
    into[name] = definitions[name]
    for other in _references(definitions[name]):
        _collect(other, definitions, into)


def _references(schema: Any) -> Iterator[str]:  # noqa: ANN401 - as `strict`
    if isinstance(schema, list):
        for one in schema:
            yield from _references(one)
    elif isinstance(schema, dict):
        for name, part in schema.items():
            if name == "$ref":
                yield part.rpartition("/")[2]
            else:
                yield from _references(part)


def _remove(folder: Path) -> None:
    """Remove what Go made read-only."""
    for one in folder.rglob("*"):
        if one.is_dir():
            one.chmod(0o755)
    shutil.rmtree(folder, ignore_errors=True)
