"""Writes settings as TOML that reads back as the same settings; the standard library can only read TOML.

`vectail config show` prints it. A setting that is not set, which TOML cannot express, becomes a comment.
"""

import re
from collections.abc import Callable, Mapping
from functools import partial

from worker.runtime.logs import printable
from worker.runtime.toml_strings import basic_string
from worker.settings.origins import SettingPath
from worker.settings.secrets import redacted
from worker.settings.settings import Settings

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def toml_of(document: Mapping[str, object], remark: Callable[[SettingPath], str] = lambda _path: "") -> str:
    """Return a document of JSON values as TOML: plain settings, then each table and its own. A list of objects is a list of tables.

    `remark` returns what is to stand behind a setting.
    """
    return "\n".join(_table("", document, remark)).strip()


def _table(header: str, table: Mapping[str, object], remark: Callable[[SettingPath], str]) -> list[str]:
    """Return the lines of a table; `remark` takes paths that begin in it."""
    below = {key: tables for key, value in table.items() if (tables := _tables(value)) is not None}
    lines = ["", header] if header else []
    lines += [_setting(key, value, remark((key,))) for key, value in table.items() if key not in below]
    name = header.strip("[]")
    for key, tables in below.items():
        inner = f"{name}.{_key(key)}" if name else _key(key)
        is_list = not isinstance(table[key], Mapping)
        for number, one in enumerate(tables):
            begin = (key, str(number)) if is_list else (key,)
            lines += _table(f"[[{inner}]]" if is_list else f"[{inner}]", one, partial(_remark_below, remark, begin))
    return lines


def _remark_below(remark: Callable[[SettingPath], str], begin: SettingPath, path: SettingPath) -> str:
    return remark((*begin, *path))


def _tables(value: object) -> list[Mapping[str, object]] | None:
    """Return the tables in a value; None: it is plain, as an empty list is: without tables nothing would say that it is there."""
    if isinstance(value, Mapping):
        return [value]
    if isinstance(value, (list, tuple)):
        tables = [one for one in value if isinstance(one, Mapping)]
        return tables or None
    return None


def _setting(key: str, value: object, remark: str) -> str:
    return f"# {_key(key)} is not set" if value is None else f"{_key(key)} = {_value(value)}{remark}"


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


def settings_as_toml(settings: Settings, origins: Mapping[SettingPath, str] | None = None) -> str:
    """Return the settings as a settings file; with origins, each says in a comment where it is from."""
    if origins is None:
        return toml_of(shown_settings(settings))
    return toml_of(shown_settings(settings), lambda path: f"  # {printable(origins.get(path, 'default'))}")


def origins_json(origins: Mapping[SettingPath, str]) -> dict[str, str]:
    """Return the origins by dotted names; settings that are left out have their defaults."""
    return {".".join(path): origin for path, origin in origins.items()}
