"""Regular expressions that are compiled once: RE2 through Google's own binding, linear in the text like `consumers/text/regex.py`.

Arrow compiles a pattern at every call, which takes longer than searching a few dozen texts with it, and takes a column in return. Here a
match costs a few microseconds of Python, so it is for short lists of texts. This file is the only one that imports the binding.
"""

import re
from collections.abc import Sequence
from typing import Protocol

import re2

_GROUP = re.compile(r"\\(\d)")


class _Match(Protocol):
    def groups(self) -> Sequence[bytes | None]: ...


class CompiledMask:
    r"""A pattern over bytes of UTF-8, and what replaces its matches: groups and ASCII between them, as `\1a \2`.

    A class such as `[^a]` matches one byte, so a match must not end within a character.

    Thread: any.
    """

    def __init__(self, pattern: str, replacement: str, needs: str = "") -> None:
        """`needs`: what every match contains."""
        self._needs = needs.encode()
        self._pattern = re2.compile(pattern.encode())
        self._parts = [int(part) if place % 2 else part.encode() for place, part in enumerate(_GROUP.split(replacement))]
        """Texts and numbers of groups in turn."""

    def replace(self, utf8: bytes) -> bytes:
        """Replace every match."""
        if self._needs not in utf8:
            return utf8
        replaced: bytes = self._pattern.sub(self._kept, utf8)
        return replaced

    def _kept(self, match: _Match) -> bytes:
        groups = match.groups()
        return b"".join([part if isinstance(part, bytes) else groups[part - 1] or b"" for part in self._parts])
