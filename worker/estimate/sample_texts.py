"""The texts that the masks of a topic get for a sample of log lines: decoded, not dropped by a rule, redacted.

`vectail templates --suggest` and `vectail masks diff` try masks on them, without a model. Each line or record stands alone: those of one
event are not joined, and a text longer than a piece, which the index splits, is left out.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from consumers.columns import Column, null_column, present, replace_rows, string_column, take, text_bytes
from consumers.decode.entries import Entries
from consumers.decode.registry_schemas import Schemas
from consumers.record import Header
from consumers.text.field_values import replace_values
from consumers.text.regex import find_matching
from sinks.line import PIECE_BYTES
from worker.indexing.entry_rules import NO_RULE, EntryRules
from worker.indexing.pieces import new_decoder
from worker.indexing.redact_fields import redact_fields
from worker.settings.settings import Settings
from worker.settings.tables import MaskTable, new_redactor


class MaskInput(NamedTuple):
    """n texts and their kept fields, as flat JSON objects or nulls.

    Thread: any.
    """

    text: Column
    fields: Column

    def of(self, table: MaskTable) -> Column:
        """Return what these masks get: the texts, without the values of their own fields unless that mask is off."""
        return replace_values(self.text, self.fields) if table.takes_values else self.text


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

    def read(self, values: Sequence[bytes | None], headers: Sequence[tuple[Header, ...]] | None = None) -> MaskInput:
        """Return the texts of n lines; a line may have none, or several."""
        found = self._decoder.decode(values, np.zeros(len(values), np.int64), headers).entries
        keep = np.ones(found.size, np.bool_)
        if self._drop.rules and found.size:
            keep &= self._drop.first_met(found) == NO_RULE
        text, fields = _mask_input(found)
        keep &= text_bytes(text) <= PIECE_BYTES
        if not keep.all():
            text, fields = (take(column, np.flatnonzero(keep)) for column in (text, fields))
        self.lines += len(values)
        self.entries += len(text)
        self.left_out += found.size - len(text)
        if self._redactor.has_rules:
            text, fields = self._redactor.redact_column(text), redact_fields(fields, self._redactor)
        return MaskInput(text, fields)


def _mask_input(entries: Entries) -> MaskInput:
    """Return the texts of n entries; of an entry that has a source template, that and no fields."""
    if entries.template is None:
        return MaskInput(entries.text, entries.fields)
    rows = np.flatnonzero(present(entries.template))
    if not len(rows):
        return MaskInput(entries.text, entries.fields)
    text = replace_rows(entries.text, rows, take(entries.template, rows))
    return MaskInput(text, replace_rows(entries.fields, rows, null_column(len(rows))))


def _fits(pattern: str, topic: str) -> bool:
    return bool(find_matching(string_column([topic]), rf"\A(?:{pattern})\z"))
