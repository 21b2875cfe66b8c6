"""Where each setting is from: a line of the file, a variable, the command line; what is nowhere has its default. For `config show`."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from worker.settings.settings import settings_of_environment

SettingPath = tuple[str, ...]
"""Tables and key; of a list of tables, also the number of the table, from 0."""


def origins_of(file: Path | None, flags: Mapping[str, object]) -> dict[SettingPath, str]:
    """Return the origin of every setting that is given, for a file and an environment that `load_settings` has taken."""
    lines = {} if file is None else lines_of(file.read_text(encoding="utf-8"))
    origins = {path: f"{file}:{line}" for path, line in lines.items()}
    for variable, name, value in settings_of_environment():
        origins = {path: origin for path, origin in origins.items() if path[: len(name)] != name}  # it replaces the value as a whole
        origins |= dict.fromkeys(_leaves(value, name), variable)
    return origins | dict.fromkeys(_leaves(flags), "command line")


def lines_of(text: str) -> dict[SettingPath, int]:
    """Return the line on which each setting of a TOML document begins: a setting is on the line whose end makes it known."""
    lines = text.splitlines(keepends=True)
    found: dict[SettingPath, int] = {}
    begin = 1
    for number in range(1, len(lines) + 1):
        try:
            document = tomllib.loads("".join(lines[:number]))
        except tomllib.TOMLDecodeError:  # inside of a value of several lines
            continue
        for path in _leaves(document):
            found.setdefault(path, begin)
        begin = number + 1
    return found


def _leaves(value: object, path: SettingPath = ()) -> Iterator[SettingPath]:
    """Yield the paths of all settings in a value; a list of plain values is one, an empty one too."""
    if isinstance(value, Mapping):
        for key, below in value.items():
            yield from _leaves(below, (*path, str(key)))
    elif isinstance(value, Sequence) and any(isinstance(one, Mapping) for one in value):
        for number, below in enumerate(value):
            yield from _leaves(below, (*path, str(number)))
    else:
        yield path
