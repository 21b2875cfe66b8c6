"""What the options of `vectail search`, `templates` and `counts` hold: values of filters, read and checked."""

import re
from collections.abc import Sequence
from typing import Any

from worker.cli.exits import user_error

_TEMPLATE = re.compile(r"[0-9a-f]{32}")
_FAMILY = re.compile(r"[0-9a-f]{16}")


def as_text(word: str) -> str:
    """Return a word of the command line with bytes that are not UTF-8 replaced."""
    return word.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def read_templates(ids: Sequence[str], *, option: str = "--template") -> tuple[str, ...]:
    """Read the ids of templates as hits have them. Raises CommandFailed."""
    for one in ids:
        if _TEMPLATE.fullmatch(one) is None:
            raise user_error(f"{option} {one!r}: give a template's id as `--json` shows it, 32 hexadecimal digits")
    return tuple(ids)


def read_families(ids: Sequence[str], *, option: str = "--family") -> tuple[str, ...]:
    """Read the ids of families as hits have them. Raises CommandFailed."""
    for one in ids:
        if _FAMILY.fullmatch(one) is None:
            raise user_error(f"{option} {one!r}: give a family's id as `vectail templates` shows it, 16 hexadecimal digits")
    return tuple(ids)


def read_fields(pairs: Sequence[str], *, option: str = "--field") -> tuple[tuple[str, str], ...]:
    """Read `k8s.pod.name=web-1` as names and values. Raises CommandFailed."""
    found = []
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not name or not equals:
            raise user_error(f"{option} {pair!r}: give a name and a value, such as k8s.pod.name=web-1")
        found.append((name, value))
    return tuple(found)


def values_by_name(fields: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    """Return fields as a query's filters name them: a line has one of the values of each name."""
    values: dict[str, list[str]] = {}
    for name, value in fields:
        values.setdefault(name, []).append(value)
    return values


def given(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that have a value."""
    return {name: value for name, value in fields.items() if value not in (None, [], {})}
