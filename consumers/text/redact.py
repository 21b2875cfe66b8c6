"""Redaction: what nobody may read again is take out of a text before it is embedded and before it is stored.

Off unless rules are named. Prepare and the queries redact whole lists: one native pass says which texts hold anything at all, and only
those meet the single rules. Every other text is handed back as the object it was. Nothing here is logged, and no error holds a text.
"""

import difflib
from collections.abc import Collection, Sequence

from consumers.text.redact_rules import RULES, Rule
from consumers.text.regex import Column, as_column, as_texts, matching, replaced, take

ALL = "all"
_COUNTED = "_"
"""Lengthens a stand-in by one, so that lengths count replacements."""


class BadRule(ValueError):
    """There is no rule of that name; one line, with the nearest there is."""


class Redactor:
    """Redacting twice is the same as redacting once, and nothing but the secrets changes.

    Thread: one; `counts` may be read from any.
    """

    def __init__(self, rules: Collection[str]) -> None:
        """Names of rules, in any order; `all` stands for every rule but those for addresses. Raises BadRule."""
        names = {rules} if isinstance(rules, str) else set(rules)
        for name in sorted(names - {ALL} - {rule.name for rule in RULES}):
            raise BadRule(_unknown(name))
        self._rules = tuple(rule for rule in RULES if rule.name in names or (rule.in_all and ALL in names))
        self._any = "|".join(f"(?:{rule.trigger})" for rule in self._rules)
        self.counts: dict[str, int] = {rule.name: 0 for rule in self._rules}
        """Replacements so far, by rule; holds every rule that is on."""

    def redact(self, texts: Sequence[str]) -> list[str]:
        """Redact n texts; returns n texts in the same order. In a text that is redacted, a lone surrogate becomes `?`."""
        redacted = list(texts)
        if not self._rules or not redacted:
            return redacted
        column = as_column(redacted)
        places = matching(column, self._any)
        if places:
            column = take(column, places)
            for rule in self._rules:
                column = self._apply(rule, column)
            for place, text in zip(places, as_texts(column), strict=True):
                redacted[place] = text
        return redacted

    def _apply(self, rule: Rule, column: Column) -> Column:
        places = matching(column, rule.trigger)
        if not places:
            return column
        after, count = _checked(rule, take(column, places)) if rule.replace else _native(rule, take(column, places))
        if not count:
            return column
        self.counts[rule.name] += count
        texts = as_texts(column)
        for place, text in zip(places, after, strict=True):
            texts[place] = text
        return as_column(texts)


def _native(rule: Rule, column: Column) -> tuple[list[str], int]:
    count = 0
    for pattern in rule.patterns:
        if matching(column, pattern):
            longer = replaced(column, pattern, rf"\1{rule.replacement}{_COUNTED}")
            column = replaced(column, pattern, rf"\1{rule.replacement}")
            count += _characters(longer) - _characters(column)
    return as_texts(column), count


def _checked(rule: Rule, column: Column) -> tuple[list[str], int]:
    results = [rule.replace(text, rule.replacement) for text in as_texts(column)] if rule.replace else []
    return [text for text, _ in results], sum(count for _, count in results)


def _characters(column: Column) -> int:
    return sum(map(len, as_texts(column)))


def _unknown(name: str) -> str:
    names = [ALL, *(rule.name for rule in RULES)]
    near = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0)
    return f"there is no redaction rule {name!r}; did you mean {near[0]!r}?"
