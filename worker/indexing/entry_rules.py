"""Which entries the rules of `[[drop]]` and `[[sample]]` are about: conditions on columns of entries, before they are redacted or cut.

Prepare drops what a rule says before any work, and `vectail verify` finds out what today's rules drop. A rule sees an entry as it was
decoded; lines of one event that came as several records are joined by then.
"""

import json
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from consumers.columns import Column, as_texts, present, string_column, take
from consumers.decode.entries import Entries
from consumers.decode.json_text import read_flat
from consumers.text.regex import find_literal, find_matching
from worker.settings.rule_tables import RuleTable

NO_RULE = -1


class EntryRules:
    """Tells which is the first of several rules that an entry meets.

    Thread: any.
    """

    def __init__(self, rules: Sequence[RuleTable]) -> None:
        """All `rules` are of this topic: their topics are not looked at."""
        self.rules = tuple(rules)

    def first_met(self, entries: Entries) -> NDArray[np.int32]:
        """Return for each of n entries the place of the first rule that it meets; `NO_RULE` if there is none: int32[n]."""
        met = np.full(entries.size, NO_RULE, np.int32)
        for place, rule in enumerate(self.rules):
            rows = np.flatnonzero(met == NO_RULE)
            met[_meeting(rule, entries, rows)] = place
        return met


def _meeting(rule: RuleTable, entries: Entries, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return those of the given rows that meet a rule; cheap conditions first."""
    for wanted, column in ((rule.level, entries.level), (rule.service, entries.service)):
        if wanted:
            is_wanted = np.fromiter((value in wanted for value in column.values), np.bool_, len(column.values))
            rows = rows[is_wanted[column.codes[rows]]]
    if rule.field is not None and len(rows):
        rows = rows[_having_field(take(entries.fields, rows), rule.field, rule.value)]
    if rule.pattern is not None and len(rows):
        rows = rows[find_matching(take(entries.text, rows), rule.pattern)]
    return rows


def _having_field(fields: Column, name: str, pattern: str | None) -> NDArray[np.int64]:
    """Return which of n kept fields, flat JSON objects or null, have a field with this name in whose value the pattern is found."""
    filled = np.flatnonzero(present(fields))
    # Within a string a quotation mark is escaped, so where this stands it is a name.
    rows = filled[find_literal(take(fields, filled), json.dumps(name, ensure_ascii=False))]
    objects = map(read_flat, as_texts(take(fields, rows)))
    values = [(row, one[name]) for row, one in zip(rows.tolist(), objects, strict=True) if name in one]
    rows = np.array([row for row, _ in values], np.int64)
    if pattern is None or not len(rows):
        return rows
    return rows[find_matching(string_column([_plain(value) for _, value in values]), pattern)]


def _plain(value: object) -> str:
    """Return a value as a pattern sees it: a string as it is, a number or boolean as JSON has it."""
    return value if isinstance(value, str) else json.dumps(value)
