"""values.schema.json knows every value, and nothing else; without Helm."""

import json
from collections.abc import Iterator
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
import yaml

from tests.deploy.kubernetes.values_sets import REFUSED, TOKEN, VALUES
from tests.deploy.promql import DEPLOY, RULES, SCALING

CHART = DEPLOY / "helm" / "vectail"
SCHEMA = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
DEFAULTS = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
KUBERNETES_OWN = ("affinity", "env", "volume", "networkPolicy", "global")
"""What holds objects that Kubernetes defines: their insides are left to it."""


def objects(schema: Any, place: str = "") -> Iterator[tuple[str, dict[str, Any]]]:  # noqa: ANN401 - any part of a JSON document
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield place, schema
        for name, part in schema.items():
            yield from objects(part, f"{place}/{name}")
    elif isinstance(schema, list):
        for number, part in enumerate(schema):
            yield from objects(part, f"{place}/{number}")


def merged(values: Any, over: Any) -> Any:  # noqa: ANN401 - as `objects`
    """Lay values over others as Helm does: null takes a default away."""
    if not isinstance(values, dict) or not isinstance(over, dict):
        return over
    whole = {name: merged(part, over[name]) if name in over else part for name, part in values.items()}
    return {name: part for name, part in {**over, **whole}.items() if part is not None}


def test_it_is_a_schema_and_the_defaults_fit() -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    jsonschema.Draft7Validator(SCHEMA).validate(DEFAULTS)


def test_an_unknown_name_is_refused_in_every_object_of_ours() -> None:
    loose = [place for place, one in objects(SCHEMA) if one.get("additionalProperties") in (None, True)]
    assert [place for place in loose if not any(f"/{name}" in place for name in KUBERNETES_OWN)] == []


def test_every_default_is_described_and_every_description_has_a_default() -> None:
    def names(schema: dict[str, Any], values: dict[str, Any], place: str) -> Iterator[tuple[str, str]]:
        properties = {name: one for name, one in schema.get("properties", {}).items() if name != "global"}
        for name in sorted(set(properties) ^ set(values)):
            yield place, name
        for name in set(properties) & set(values):
            if "properties" in properties[name]:
                yield from names(properties[name], values[name], f"{place}.{name}")

    assert list(names(SCHEMA, DEFAULTS, "")) == []


def test_the_values_of_the_tests_fit(subtests: pytest.Subtests) -> None:
    for name, values in VALUES.items():
        with subtests.test(name):
            jsonschema.Draft7Validator(SCHEMA).validate(merged(DEFAULTS, {**TOKEN, **values}))


@pytest.mark.parametrize(
    "name", ["latest", "an unknown name", "no query pod", "a secret by value", "no partitions", "none without brokers"]
)
def test_odd_values_are_refused(name: str) -> None:
    values, _ = REFUSED[name]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft7Validator(SCHEMA).validate(merged(DEFAULTS, {**TOKEN, **values}))


def test_rules_and_dashboards_are_no_copies() -> None:
    """A chart holds only what is in its folder, so they are links; Helm puts what they lead to into a package."""
    links = sorted((CHART / "files").glob("*/*"))
    assert all(link.is_symlink() for link in links)
    dashboards = sorted((DEPLOY / "grafana" / "dashboards").glob("*.json"))
    assert {link.resolve() for link in links} == {RULES, SCALING, *dashboards}
