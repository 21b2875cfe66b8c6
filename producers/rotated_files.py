"""The files of a folder in the order in which their lines were written, by the names that rotation gives them.

Names without date and number are the file that is written now, the newest of its family. A number behind a dot counts backwards, as
logrotate, Python and logback do (`app.log.2` is older than `app.log.1`); behind a dash, an underscore or a date it counts forwards.
Times of files are not asked: a copy has its own.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

_PACKED: Final = re.compile(r"\.(?:gz|bz2|xz|zst|zstd|lz4|old|bak)$", re.IGNORECASE)
_DATE: Final = re.compile(
    r"[._-]?(?<!\d)((?:19|20)\d\d[._-]?[01]\d(?:[._-]?[0-3]\d)?(?:[T._-]?[0-2]\d(?:[:._-]?[0-5]\d(?:[:._-]?[0-5]\d(?:\.\d{1,9}(?!\d))?)?)?)?Z?)(?!\d)"
    r"|[._-](?<!\d)(1\d{9})(?!\d)"
)
_NUMBER: Final = re.compile(r"([._-])(\d{1,6})(?=\.[A-Za-z]+$|$)")


class _Age(NamedTuple):
    """Sorts files of one family, oldest first."""

    is_current: bool
    date: str
    number: int


def in_order(folder: Path) -> list[Path]:
    """Return the files of a folder, not those in its folders: families by name, in each the oldest first. Hidden files are left out."""
    found = [(_family_and_age(path.name), path.name, path) for path in folder.iterdir() if path.is_file() and not path.name.startswith(".")]
    return [path for _key, _name, path in sorted(found)]


def order_of(names: Sequence[str]) -> list[str]:
    """Return names in the order in which `in_order` returns their files."""
    return sorted(names, key=lambda name: (_family_and_age(name), name))


def _family_and_age(name: str) -> tuple[str, _Age]:
    is_old = False
    while (packed := _PACKED.search(name)) is not None:
        is_old |= packed[0].lower() in (".old", ".bak")
        name = name[: packed.start()]
    date = ""
    if (found := _DATE.search(name)) is not None:
        date = re.sub(r"\D", "", found[1] or found[2])
        name = name[: found.start()] + name[found.end() :]
    number = 0
    if (counted := _NUMBER.search(name)) is not None:
        number = int(counted[2]) * (-1 if counted[1] == "." and not date else 1)
        name = name[: counted.start()] + name[counted.end() :]
    return name, _Age(is_current=not (date or counted or is_old), date=date, number=number)
