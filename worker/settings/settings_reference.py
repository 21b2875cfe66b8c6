"""Writes `docs/settings.md` from the tables: `python -m worker.settings.settings_reference`, which `make docs` calls.

Everything on the page comes from the pydantic models: names, types, bounds, defaults, and the docstrings as meanings.
"""

import json
import sys
import textwrap
import types
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from worker.settings.settings import Settings, list_variable_of, table_lists, tables, variable_of
from worker.settings.unknown_names import tables_in

_HEAD = """\
# Settings

<!-- Written by `make docs` from the tables in worker/settings, consumers and sinks/milvus/milvus_settings.py. -->

Settings come from one TOML file (`vectail run -c vectail.toml`, or the variable `VECTAIL_CONFIG`), from environment variables, and from
flags. The environment overrides the file, and flags override both. An unknown name is refused, with the nearest one that exists.
`vectail config show` prints the settings in effect, with `--origin` where each is from; `vectail config check` only checks them.

In the environment, a list is JSON or its elements with commas between them, other compound values are JSON, and an empty variable counts
as not set. All tables of a list are one variable, which replaces those of the file: `VECTAIL_TOPIC='[{"pattern": "app[.].*"}]'` is JSON,
and `VECTAIL_TOPIC=logs,audit` just names. A secret may stand in a file: add `_FILE` to the name of its variable
(`VECTAIL_HTTP__TOKEN_FILE=/run/secrets/http_token`). A single client property is a variable, too:
`VECTAIL_KAFKA__LIBRDKAFKA__SASL_PASSWORD` is `sasl.password` in `[kafka.librdkafka]`, and properties that hold passwords, secrets or PEM
keys may have `_FILE` behind them.
"""
_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", Path: "path", SecretStr: "secret string"}
_PLACES = {name: place for place, name in enumerate(Settings.model_fields)}
_BOUNDS = {"ge": "at least {}", "gt": "more than {}", "le": "at most {}", "lt": "less than {}"}


def settings_page() -> str:
    """Return the whole page as Markdown."""
    return "\n".join([_HEAD, *_overview(), *_sections()])


def _overview() -> Iterator[str]:
    yield "| table | |"
    yield "|---|---|"
    lists = dict(table_lists())
    for name, table in sorted((*tables(), *lists.items()), key=lambda one: _PLACES[one[0]]):
        brackets = f"[[{name}]]" if name in lists else f"[{name}]"
        yield f"| [`{brackets}`](#{name}) | {_doc(table)} |"


def _sections() -> Iterator[str]:
    plain, lists = dict(tables()), dict(table_lists())
    for name in sorted((*plain, *lists), key=lambda one: _PLACES[one]):
        if name in lists:
            facts = f"list of tables · default {_default_tables(name)} · `{list_variable_of(name)}`"
            yield f"\n## `[[{name}]]`\n\n{facts}\n\n{_paragraph(_doc(lists[name]))}"
            yield from _entries(name, lists[name], variable=lambda _key: None)
        else:
            yield f"\n## `[{name}]`\n\n{_paragraph(_doc(plain[name]))}"
            yield from _entries(name, plain[name], variable=partial(variable_of, name))


def _entries(path: str, table: type[BaseModel], *, variable: Callable[[str], str | None]) -> Iterator[str]:
    """Describe the settings of a table; a table in it that has a section of its own is not described twice."""
    for key, field in table.model_fields.items():
        yield _entry(f"{path}.{key}", field, variable(key))
        for inner in tables_in(field.annotation):
            if inner not in dict(tables()).values():
                yield from _entries(f"{path}.{key}", inner, variable=lambda _key: None)


def _default_tables(name: str) -> str:
    """Show what holds without any such table: the settings in which its tables differ from one without any."""
    default: Sequence[BaseModel] = Settings.model_fields[name].default
    return f"`{json.dumps([one.model_dump(mode='json', exclude_defaults=True) for one in default])}`"


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
        return "list of tables" if _is_table(arguments[0]) else f"list of {_type(arguments[0])}s"
    if origin is dict:
        return "table of strings"
    return _table_type(annotation) if _is_table(annotation) else _TYPES[annotation]


def _table_type(table: type[BaseModel]) -> str:
    """Say that a setting is a table; one that has a section of its own is described there."""
    section = next((name for name, one in tables() if one is table), None)
    return "table" if section is None else f"table as [`[{section}]`](#{section})"


def _is_table(annotation: object) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


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
    if isinstance(value, BaseModel):
        return "its settings below"
    return f"default `{json.dumps(value, default=str)}`"


def _doc(table: type[BaseModel]) -> str:
    return _one_line((table.__doc__ or "").split("\n\n")[0])


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _paragraph(text: str) -> str:
    return textwrap.fill(_one_line(text), width=140, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    sys.stdout.write(settings_page() + "\n")
