"""Holds answers against the schemas of `/openapi.json`, under which an object may have no key that they do not name."""

from typing import Any

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from worker.serving.openapi import openapi_document

DOCUMENT: dict[str, Any] = openapi_document("1.2.3")


def check(name: str, value: object) -> None:
    """Fail unless `value` is what the schema of that name says, and nothing more."""
    schemas = {"components": {"schemas": _closed(DOCUMENT["components"]["schemas"])}}
    Draft202012Validator({"$ref": f"#/components/schemas/{name}", **schemas}).validate(value)


def takes_query(query: object) -> bool:
    """Whether the schema of queries takes this one."""
    validator = Draft202012Validator({"$ref": "#/components/schemas/Query", "components": DOCUMENT["components"]})
    return bool(validator.is_valid(query))


def _closed(schema: Any) -> Any:  # noqa: ANN401 - any part of a schema
    if isinstance(schema, list):
        return [_closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {name: _closed(one) for name, one in schema.items()}
    is_open = "properties" not in schema or "additionalProperties" in schema
    return inner if is_open else inner | {"additionalProperties": False}
