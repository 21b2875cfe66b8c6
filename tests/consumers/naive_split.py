"""The rules of splitting, word by word and without a memory: what `consumers.text.split_long` must agree with."""

import re
from collections.abc import Iterator

from consumers.columns import string_column
from consumers.text.split_long import MaskColumn
from tests.consumers.counters import Count

_PATTERNS = (r"[^\n]*\n|[^\n]+", r"(?s).*?[.!?;](?:\s+|$)|.+", r"\S+\s*|\s+")


class NaiveSplitter:
    """Splits one text at a time; masks and counts each part by itself."""

    def __init__(self, count: Count, mask: MaskColumn, limit: int, text_bytes: int) -> None:
        self._count, self._mask, self._limit, self._text_bytes = count, mask, limit, text_bytes

    def split(self, text: str) -> list[tuple[str, str]]:
        """Return the raw and masked pieces, however many."""
        groups: list[list[str]] = [[]]
        for part in self._atoms(text, -1):
            group = [*groups[-1], part]
            weight = sum(self._count(self._masked(one)) for one in group)
            if groups[-1] and (weight > self._limit or len("".join(group).encode()) > self._text_bytes):
                groups.append([part])
            else:
                groups[-1] = group
        return [(piece, self._masked(piece)) for group in groups for piece in self._joined(group)]

    def _masked(self, text: str) -> str:
        return self._mask(string_column([text])).text(0)

    def _fits(self, text: str) -> bool:
        masked = self._masked(text)
        return max(len(text.encode()), len(masked.encode())) <= self._text_bytes and self._count(masked) <= self._limit

    def _atoms(self, text: str, level: int) -> Iterator[str]:
        if self._fits(text):
            yield text
            return
        level += 1
        middle = len(text) // 2
        parts = re.findall(_PATTERNS[level], text) if level < len(_PATTERNS) else [text[:middle], text[middle:]]
        for part in parts:
            yield from self._atoms(part, level)

    def _joined(self, group: list[str]) -> Iterator[str]:
        if len(group) == 1 or self._fits("".join(group)):
            yield "".join(group)
            return
        middle = len(group) // 2
        yield from self._joined(group[:middle])
        yield from self._joined(group[middle:])
