"""Redaction: replaces secrets in a text before it is embedded and before it is stored.

Off unless rules are named. Prepare redacts whole columns, queries redact lists: one native pass finds the texts that may hold a secret, and
only to these the single rules are applied. Every other text is left as it is. Nothing is logged here, and no error contains a text.
"""

import difflib
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from consumers.columns import Column, as_texts, replace_rows, string_column, take, text_bytes
from consumers.text.redact_rules import RULES, Rule
from consumers.text.regex import find_matching, replace_matches

ALL = "all"
_COUNTED = "_"
"""Makes each replacement one byte longer, so that the difference in length is their number."""


class BadRule(ValueError):
    """There is no rule of that name; one line with the nearest name."""


class Redactor:
    """Redacting twice gives the same text as redacting once, and only secrets change.

    Thread: one; `counts` may be read from any.
    """

    def __init__(self, rules: Collection[str]) -> None:
        """Apply the rules of these names, in any order; `all` stands for every rule except those for addresses. Raises BadRule."""
        names = {rules} if isinstance(rules, str) else set(rules)
        for name in sorted(names - {ALL} - {rule.name for rule in RULES}):
            raise BadRule(_unknown_rule(name))
        self._rules = tuple(rule for rule in RULES if rule.name in names or (rule.in_all and ALL in names))
        self._any = "|".join(f"(?:{rule.trigger})" for rule in self._rules)
        self.counts: dict[str, int] = {rule.name: 0 for rule in self._rules}
        """Replacements so far, by rule; holds every enabled rule."""

    @property
    def has_rules(self) -> bool:
        """Whether any rule is enabled; if none is, `redact` changes nothing."""
        return bool(self._rules)

    def suspects(self, column: Column) -> NDArray[np.int64]:
        """Return which of n texts, JSON without nulls, may hold a secret: ascending. One with an escape may hold it behind the escape."""
        return _find(column, rf"{self._any}|\\") if self._rules else np.empty(0, np.int64)

    def redact_column(self, column: Column) -> Column:
        """Redact n texts without nulls; the same column if none of them holds a secret."""
        rows, redacted = self._redact_found(column)
        return replace_rows(column, rows, redacted) if len(rows) else column

    def redact(self, texts: Sequence[str]) -> list[str]:
        """Redact n texts; returns n texts in the same order. In a text that is redacted, a lone surrogate becomes `?`."""
        after = list(texts)
        rows, redacted = self._redact_found(string_column(after))
        for row, text in zip(rows.tolist(), as_texts(redacted), strict=True):
            after[row] = text
        return after

    def _redact_found(self, column: Column) -> tuple[NDArray[np.int64], Column]:
        """Return the rows of texts that may hold a secret, ascending, and these texts redacted; no row if nothing changed."""
        rows = _find(column, self._any) if self._rules and len(column) else np.empty(0, np.int64)
        found = redacted = take(column, rows)
        for rule in self._rules if len(rows) else ():
            redacted = self._apply(rule, redacted)
        return (rows[:0], take(column, rows[:0])) if redacted is found else (rows, redacted)

    def _apply(self, rule: Rule, column: Column) -> Column:
        rows = _find(column, rule.trigger)
        if not len(rows):
            return column
        replace = _replace_checked if rule.replace else _replace_patterns
        after, count = replace(rule, take(column, rows))
        if not count:
            return column
        self.counts[rule.name] += count
        return replace_rows(column, rows, after)


def _find(column: Column, pattern: str) -> NDArray[np.int64]:
    return np.asarray(find_matching(column, pattern), np.int64)


def _replace_patterns(rule: Rule, column: Column) -> tuple[Column, int]:
    count = 0
    for pattern in rule.patterns:
        if len(_find(column, pattern)):
            longer = replace_matches(column, pattern, rf"\1{rule.replacement}{_COUNTED}")
            column = replace_matches(column, pattern, rf"\1{rule.replacement}")
            count += int(text_bytes(longer).sum() - text_bytes(column).sum())
    return column, count


def _replace_checked(rule: Rule, column: Column) -> tuple[Column, int]:
    results = [rule.replace(text, rule.replacement) for text in as_texts(column)] if rule.replace else []
    return string_column([text for text, _ in results]), sum(count for _, count in results)


def _unknown_rule(name: str) -> str:
    names = [ALL, *(rule.name for rule in RULES)]
    near = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0)
    return f"there is no redaction rule {name!r}; did you mean {near[0]!r}?"
