"""Writes `docs/settings.md` from the tables: `python -m worker.settings.reference`, which `make docs` calls.

Everything on the page comes from the pydantic models: names, types, bounds, defaults, and the docstrings as meanings.
"""

import json
import sys
import textwrap
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from worker.settings.settings import tables, variable_of

_HEAD = """\
# Settings

<!-- Written by `make docs` from the tables in worker/settings, consumers/kafka/settings.py and sinks/milvus/settings.py. -->

Settings come from one TOML file (`vectail run -c vectail.toml`, or the variable `VECTAIL_CONFIG`), from environment variables, and from
flags. The environment overrides the file, and flags override both. An unknown name is refused, with the nearest one that exists.
`vectail config show` prints the settings in effect, and `vectail config check` only checks them.

In the environment, a list is JSON or its elements with commas between them, other compound values are JSON, and an empty variable counts
as not set. A secret may stand in a file: add `_FILE` to the name of its variable (`VECTAIL_HTTP__TOKEN_FILE=/run/secrets/http_token`).
A single client property is a variable, too: `VECTAIL_KAFKA__LIBRDKAFKA__SASL_PASSWORD` is `sasl.password` in `[kafka.librdkafka]`, and
properties that hold passwords, secrets or PEM keys may have `_FILE` behind them.
"""
_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", Path: "path", SecretStr: "secret string"}
_BOUNDS = {"ge": "at least {}", "gt": "more than {}", "le": "at most {}", "lt": "less than {}"}


def settings_page() -> str:
    """Return the whole page as Markdown."""
    return "\n".join([_HEAD, *_overview(), *_sections()])


def _overview() -> Iterator[str]:
    yield "| table | |"
    yield "|---|---|"
    for name, table in tables():
        yield f"| [`[{name}]`](#{name}) | {_doc(table)} |"


def _sections() -> Iterator[str]:
    for name, table in tables():
        yield f"\n## `[{name}]`\n\n{_paragraph(_doc(table))}"
        for key, field in table.model_fields.items():
            yield _entry(f"{name}.{key}", field, variable_of(name, key))
            for entry in _tables_in(field):
                for inner, inner_field in entry.model_fields.items():
                    yield _entry(f"{name}.{key}.{inner}", inner_field, None)


def _entry(name: str, field: FieldInfo, variable: str | None) -> str:
    facts = [", ".join([_type(field.annotation), *_bounds(field)]), _default(field)]
    if variable is not None:
        facts.append(f"`{variable}`")
    return f"\n### `{name}`\n\n{' · '.join(facts)}\n\n{_paragraph(field.description or '')}"


def _type(annotation: Any) -> str:  # noqa: ANN401 - whatever a field may be annotated with
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        return _type(next(one for one in arguments if one is not types.NoneType))
    if origin is Annotated:
        return _type(arguments[0])
    if origin is Literal:
        return "one of " + ", ".join(f"`{json.dumps(one)}`" for one in arguments)
    if origin is tuple:
        return (
            "list of tables"
            if isinstance(arguments[0], type) and issubclass(arguments[0], BaseModel)
            else f"list of {_type(arguments[0])}s"
        )
    if origin is dict:
        return "table of strings"
    return _TYPES[annotation]


def _bounds(field: FieldInfo) -> Iterator[str]:
    for bound in field.metadata:
        for name, words in _BOUNDS.items():
            if (limit := getattr(bound, name, None)) is not None:
                yield words.format(f"{limit:,}")
        if pattern := getattr(bound, "pattern", None):
            yield f"matching `{pattern}`"
        if least := getattr(bound, "min_length", None):
            yield "not empty" if least == 1 else f"{least} or more characters"
        if most := getattr(bound, "max_length", None):
            yield f"at most {most:,} characters"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    if field.default is None:
        return "not set by default"
    value = field.default.get_secret_value() if isinstance(field.default, SecretStr) else field.default
    return f"default `{json.dumps(value, default=str)}`"


def _tables_in(field: FieldInfo) -> Iterator[type[BaseModel]]:
    for one in get_args(field.annotation):
        if isinstance(one, type) and issubclass(one, BaseModel):
            yield one


def _doc(table: type[BaseModel]) -> str:
    return _one_line((table.__doc__ or "").split("\n\n")[0])


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _paragraph(text: str) -> str:
    return textwrap.fill(_one_line(text), width=140, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    sys.stdout.write(settings_page() + "\n")
