"""Writes settings as TOML that reads back as the same settings; the standard library can only read TOML.

`vectail config show` prints it. A setting that is not set, which TOML cannot express, becomes a comment.
"""

import re
from collections.abc import Mapping

from worker.runtime.toml_strings import basic_string
from worker.settings.secrets import redacted
from worker.settings.settings import Settings

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def toml_of(document: Mapping[str, object]) -> str:
    """Return a document of JSON values as TOML: plain settings, then each table and its own. A list of objects is a list of tables."""
    return "\n".join(_table((), document)).strip()


def _table(path: tuple[str, ...], table: Mapping[str, object], brackets: tuple[str, str] = ("[", "]")) -> list[str]:
    below = {key: tables for key, value in table.items() if (tables := _tables(value)) is not None}
    plain = [_setting(key, value) for key, value in table.items() if key not in below]
    begin, end = brackets
    lines = ["", f"{begin}{'.'.join(_key(part) for part in path)}{end}", *plain] if path else plain
    for key, tables in below.items():
        for one in tables:
            lines += _table((*path, key), one, ("[", "]") if isinstance(table[key], Mapping) else ("[[", "]]"))
    return lines


def _tables(value: object) -> list[Mapping[str, object]] | None:
    """Return the tables in a value; None: it is plain, as an empty list is: without tables nothing would say that it is there."""
    if isinstance(value, Mapping):
        return [value]
    if isinstance(value, (list, tuple)):
        tables = [one for one in value if isinstance(one, Mapping)]
        return tables or None
    return None


def _setting(key: str, value: object) -> str:
    return f"# {_key(key)} is not set" if value is None else f"{_key(key)} = {_value(value)}"


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else basic_string(key)


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_value(element) for element in value)}]"
    return basic_string(str(value))


def shown_settings(settings: Settings) -> dict[str, object]:
    """Return every setting, secrets hidden."""
    return redacted(settings)


def settings_as_toml(settings: Settings) -> str:
    """Return the settings as a settings file."""
    return toml_of(shown_settings(settings))
