"""Counts of what decoding decided."""

from collections import Counter
from dataclasses import dataclass, field

NO_TEXT = "no_text"
"""The reason why decoding drops an entry: it has neither a text nor a trace."""


@dataclass(slots=True)
class DecodeTally:
    """Counts over all decoders of a worker; they only grow.

    Thread: one, prepare's; may be read from any.
    """

    records: Counter[str] = field(default_factory=Counter)
    """Records by the format that they were read as (`consumers.decode.rules.Format`), and "none" for those refused."""
    decompressed: Counter[str] = field(default_factory=Counter)
    """Records whose value was compressed by its sender, by the codec (`consumers.decode.compressed.Codec`)."""
    made_texts: int = 0
    """Messages of syslog that say all in their structured data, of which their text was made."""
    dropped: Counter[str] = field(default_factory=Counter)
    """Entries that were left out, those inside a record of several too, by the reason."""
    replaced_records: int = 0
    """Records in which bytes that are not UTF-8 were replaced."""
    opened_texts: int = 0
    """Texts of other formats than JSON that were read as objects (`consumers.decode.inner_objects`)."""
    repaired: Counter[str] = field(default_factory=Counter)
    """Records of JSON that could be read only after a repair, by what was repaired (`consumers.decode.json_repair.REPAIRS`)."""
