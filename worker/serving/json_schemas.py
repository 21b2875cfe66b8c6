"""JSON Schemas of the types that answers have (`worker.asking.answers`, `.worker_answers`, `.reindex_answers`), for `/openapi.json`.

A `TypedDict` named `HitJson` is the schema `Hit`. pydantic would read `typing.TypedDict` from Python 3.12 on only.
"""

import types
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

from worker.asking import answers, reindex_answers, worker_answers
from worker.asking.answers import ADDED, QUERY, ChangedGroupJson, CountedAnswerJson, CountedJson, Says, SearchedJson
from worker.asking.filters import FILTERS
from worker.asking.question import Query
from worker.querying.around import AROUND
from worker.querying.forms import FORMS

Schema = Mapping[str, object]
_SUFFIX: Final = "Json"
_PLAIN: Final[Mapping[object, str]] = {str: "string", bool: "boolean", int: "integer", float: "number", types.NoneType: "null"}
_VALUE: Final[Schema] = {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}]}


def ref(name: str) -> Schema:
    """Return a reference to a schema of `schemas()`."""
    return {"$ref": f"#/components/schemas/{name}"}


def schemas() -> dict[str, Schema]:
    """Return all schemas by name."""
    query = Query.model_json_schema(ref_template="#/components/schemas/{model}")
    models: dict[str, Any] = query.pop("$defs")
    query["properties"]["as"] |= {"enum": [name for name, form in FORMS.items() if form is not AROUND]}
    for name, of in FILTERS.items():
        if of.kind == "pairs":  # one value stands for a list
            models["Filters"]["properties"][name]["additionalProperties"] = {"anyOf": [_VALUE, {"type": "array", "items": _VALUE}]}
    found: dict[str, Schema] = {"Query": query, **models}
    for name, kind in (*vars(answers).items(), *vars(worker_answers).items(), *vars(reindex_answers).items()):
        if is_typeddict(kind) and name.endswith(_SUFFIX):
            found[name.removesuffix(_SUFFIX)] = _object(kind)
    return found | {"Searched": schema_of(SearchedJson), "CountedAnswer": schema_of(CountedAnswerJson)}


def schema_of(of: object) -> Schema:
    """Return the schema of a type; one of a `TypedDict` is a reference."""
    if of in _PLAIN:
        return {"type": _PLAIN[of]}
    if is_typeddict(of):
        return ref(of.__name__.removesuffix(_SUFFIX))  # type: ignore[attr-defined] # which a TypedDict has
    origin = get_origin(of)
    if origin not in _MADE_OF:
        raise TypeError(f"answers hold no {of!r}")
    return _MADE_OF[origin](*get_args(of))


def _mapping(_key: object, of: object) -> Schema:
    return {"type": "object"} if of is object else {"type": "object", "additionalProperties": schema_of(of)}


def _any_of(*types_: object) -> Schema:
    return {"anyOf": [schema_of(one) for one in types_]}


def _annotated(of: object, *metadata: object) -> Schema:
    further = {one.key: one.value for one in metadata if isinstance(one, Says)}
    return {**(ref("Query") if further.pop(QUERY, None) is not None else schema_of(of)), **further}


_MADE_OF: Final[Mapping[object, Callable[..., Schema]]] = {
    NotRequired: schema_of,
    Annotated: _annotated,
    Literal: lambda *values: {"type": "string", "enum": list(values)},
    Union: _any_of,
    types.UnionType: _any_of,
    list: lambda of: {"type": "array", "items": schema_of(of)},
    tuple: lambda *of: {"type": "array", "items": schema_of(of[0])},
    dict: _mapping,
    Mapping: _mapping,
}


def _object(of: type) -> Schema:
    hints = get_type_hints(of, include_extras=True)
    always = of.__required_keys__ | {ADDED}  # type: ignore[attr-defined] # which a TypedDict has
    required = [name for name in hints if name in always]
    properties = {name: schema_of(hint) for name, hint in hints.items()}
    is_open = {"additionalProperties": {"type": "string"}, "description": of.__doc__} if of in (ChangedGroupJson, CountedJson) else {}
    return {"type": "object", "properties": properties, "required": required, **is_open}
