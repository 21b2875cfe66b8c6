"""The texts that the masks of a topic get for a sample of log lines: decoded, not dropped by a rule, redacted.

`vectail templates --suggest` and `vectail masks diff` try masks on them, without a model. Each line or record stands alone: those of one
event are not joined, and a text longer than a piece, which the index splits, is left out.
"""

from collections.abc import Sequence

import numpy as np

from consumers.columns import Column, present, replace_rows, string_column, take, text_bytes
from consumers.decode.entries import Entries
from consumers.decode.registry_schemas import Schemas
from consumers.record import Header
from consumers.text.regex import find_matching
from sinks.line import PIECE_BYTES
from worker.indexing.entry_rules import NO_RULE, EntryRules
from worker.indexing.pieces import new_decoder
from worker.settings.settings import Settings
from worker.settings.tables import new_redactor


class SampleTexts:
    """Reads lines as the worker reads records of one topic; counts only grow.

    Thread: one.
    """

    def __init__(self, settings: Settings, topic: str, schemas: Schemas | None = None) -> None:
        """`schemas` are those of the Schema Registry, put in before a record of theirs is read; None: there is no registry."""
        self._decoder = new_decoder(settings.topic_table(topic), settings.decode, schemas=schemas)
        self._drop = EntryRules([rule for rule in settings.drop if rule.topic is None or _fits(rule.topic, topic)])
        self._redactor = new_redactor(settings.redact)
        self.lines = 0
        """Lines, or records, that were given."""
        self.entries = 0
        """Texts that were returned."""
        self.left_out = 0
        """Entries that are dropped by a rule or too long."""

    def read(self, values: Sequence[bytes | None], headers: Sequence[tuple[Header, ...]] | None = None) -> Column:
        """Return the texts of n lines; a line may have none, or several."""
        found = self._decoder.decode(values, np.zeros(len(values), np.int64), headers).entries
        keep = np.ones(found.size, np.bool_)
        if self._drop.rules and found.size:
            keep &= self._drop.first_met(found) == NO_RULE
        text = _mask_input(found)
        keep &= text_bytes(text) <= PIECE_BYTES
        text = text if keep.all() else take(text, np.flatnonzero(keep))
        self.lines += len(values)
        self.entries += len(text)
        self.left_out += found.size - len(text)
        return self._redactor.redact_column(text) if self._redactor.has_rules else text


def _mask_input(entries: Entries) -> Column:
    """Return the source template of each entry, or its text where it has none."""
    if entries.template is None:
        return entries.text
    rows = np.flatnonzero(present(entries.template))
    return replace_rows(entries.text, rows, take(entries.template, rows)) if len(rows) else entries.text


def _fits(pattern: str, topic: str) -> bool:
    return bool(find_matching(string_column([topic]), rf"\A(?:{pattern})\z"))
