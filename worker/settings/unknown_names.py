"""Refuses names that no setting has, and says which one was probably meant.

`worker.settings.settings` calls it on the document of a file and of a variable, before pydantic sees the values: pydantic would refuse an
unknown name too, but without the nearest one. Nothing here reads a file or the environment.
"""

import difflib
from collections.abc import Collection, Iterator, Mapping
from typing import get_args, get_origin

from pydantic import BaseModel

from worker.settings.moved import successor


class UnknownName(ValueError):
    """A name that no setting has; one line."""


def refuse_unknown(document: Mapping[str, object], model: type[BaseModel]) -> None:
    """Check every name of a document, in its tables and lists of tables too. Raises UnknownName."""
    for name, value in document.items():
        field = model.model_fields.get(name)
        if field is None:
            raise UnknownName(f"unknown table or setting {name!r}{nearest(name, model.model_fields)}")
        _refuse_below(value, field.annotation, name)


def nearest(name: str, names: Collection[str]) -> str:
    """Return the end of the sentence: the name that was probably meant, else all that there are."""
    return probably_meant(name, names) or f"; there are: {', '.join(sorted(names))}"


def probably_meant(name: str, names: Collection[str]) -> str:
    """Return the end of the sentence with the name that was probably meant; empty if none is near."""
    near = difflib.get_close_matches(name, sorted(names), n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else ""


def tables_in(annotation: object) -> Iterator[type[BaseModel]]:
    """Return the tables that a setting may hold: itself, as an alternative to nothing, or in a list."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    elif get_origin(annotation) is not dict:
        for one in get_args(annotation):
            yield from tables_in(one)


def _refuse_below(value: object, annotation: object, path: str) -> None:
    for table in tables_in(annotation):
        for content in value if isinstance(value, list | tuple) else (value,):
            for key, below in content.items() if isinstance(content, Mapping) else ():
                field = table.model_fields.get(key)
                if field is None:
                    raise UnknownName(f"unknown setting {path}.{key}{successor(f'{path}.{key}') or nearest(key, table.model_fields)}")
                _refuse_below(below, field.annotation, f"{path}.{key}")
