"""Masking: what varies in a line (times, ids, addresses, numbers) goes, what says which kind of line it is stays.

Prepare masks whole lists of lines in native, linear-time code (RE2 through `pyarrow.compute`, which frees the GIL). The
*masked* text is embedded, the raw text is stored. The set is ordered, stateless and versioned; it is not part of the
embedding space, because the digest covers the masked text itself.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

MaskMode = Literal["template", "exact"]

MASKS_VERSION = 1
NUMBER_ONLY = "0"
"""What a line of nothing but variables is masked to, so that no masked text is empty."""

_MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_DAY = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"


class Mask(NamedTuple):
    """A named pattern (RE2 syntax) and what stands in its place."""

    name: str
    pattern: str
    stand_in: str


MASKS = (
    Mask(
        "timestamp",
        r"\b\d{4}[-/.]\d{1,2}[-/.]\d{1,2}(?:[T \-]\d{1,2}[:.]\d{2}[:.]\d{2}(?:[.,]\d+)?(?:Z|[+-]\d{2}:?\d{2})?)?"
        rf"|\b(?:{_DAY},? )?{_MONTH} +\d{{1,2}}(?: \d{{4}})? \d{{1,2}}:\d{{2}}:\d{{2}}(?:[.,]\d+)?(?: \d{{4}})?"
        rf"|\b\d{{1,2}}/{_MONTH}/\d{{4}}:\d{{2}}:\d{{2}}:\d{{2}}(?: [+-]\d{{4}})?"
        r"|\b\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?\b",
        "",
    ),
    Mask("uuid", r"(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", ""),
    Mask("mac", r"(?i)\b(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}\b", ""),
    Mask(
        "ipv6",
        r"(?i)\b[0-9a-f]{0,3}\d[0-9a-f]{0,3}(?::[0-9a-f]{1,4}){0,6}::(?:[0-9a-f]{1,4}(?::[0-9a-f]{1,4}){0,6}\b)?"  # fe80::1
        r"|\b(?:[0-9a-f]{1,4}:){3,7}(?::?[0-9a-f]{1,4}){1,4}\b",
        "",
    ),
    Mask("ipv4", r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b", ""),
    Mask("hex", r"(?i)\b0x[0-9a-f]+\b|\b[0-9a-f]*\d[0-9a-f]*[a-f][0-9a-f]{5,}\b|\b[0-9a-f]*[a-f][0-9a-f]*\d[0-9a-f]{5,}\b", ""),
    Mask("number", r"[-+]?\d+(?:[.,]\d+)*", ""),
    Mask("spaces", r"\s+", " "),
)
"""Applied in this order: the longer shapes before the numbers in them."""


class Masker:
    """Masks lists of lines; `mask` never returns an empty text.

    Thread: any.
    """

    def __init__(self, mode: MaskMode = "template") -> None:
        """`exact` leaves every line as it is."""
        self._mode = mode

    def mask(self, texts: Sequence[str]) -> list[str]:
        """Mask n texts; returns n masked texts in the same order."""
        if self._mode == "exact" or not texts:
            return list(texts)
        column = pa.array(texts, type=pa.string())
        for mask in MASKS:
            column = pc.replace_substring_regex(column, pattern=mask.pattern, replacement=mask.stand_in)
        masked: list[str] = pc.utf8_trim_whitespace(column).to_pylist()
        return [text or NUMBER_ONLY for text in masked]
