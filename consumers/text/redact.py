"""Redaction: replaces secrets in a text before it is embedded and before it is stored.

Off unless rules are named. Prepare and the queries redact whole lists: one native pass finds the texts that may hold a secret, and only to
these the single rules are applied. Every other text is returned as the same object. Nothing is logged here, and no error contains a text.
"""

import difflib
from collections.abc import Collection, Sequence

from consumers.text.redact_rules import RULES, Rule
from consumers.text.regex import Column, as_column, as_texts, find_matching, replace_matches, take_texts

ALL = "all"
_COUNTED = "_"
"""Makes each replacement one character longer, so that the difference in length is their number."""


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

    def redact(self, texts: Sequence[str]) -> list[str]:
        """Redact n texts; returns n texts in the same order. In a text that is redacted, a lone surrogate becomes `?`."""
        redacted = list(texts)
        if not self._rules or not redacted:
            return redacted
        column = as_column(redacted)
        places = find_matching(column, self._any)
        if places:
            column = take_texts(column, places)
            for rule in self._rules:
                column = self._apply(rule, column)
            for place, text in zip(places, as_texts(column), strict=True):
                redacted[place] = text
        return redacted

    def _apply(self, rule: Rule, column: Column) -> Column:
        places = find_matching(column, rule.trigger)
        if not places:
            return column
        replace = _replace_checked if rule.replace else _replace_patterns
        after, count = replace(rule, take_texts(column, places))
        if not count:
            return column
        self.counts[rule.name] += count
        texts = as_texts(column)
        for place, text in zip(places, after, strict=True):
            texts[place] = text
        return as_column(texts)


def _replace_patterns(rule: Rule, column: Column) -> tuple[list[str], int]:
    count = 0
    for pattern in rule.patterns:
        if find_matching(column, pattern):
            longer = replace_matches(column, pattern, rf"\1{rule.replacement}{_COUNTED}")
            column = replace_matches(column, pattern, rf"\1{rule.replacement}")
            count += _characters(longer) - _characters(column)
    return as_texts(column), count


def _replace_checked(rule: Rule, column: Column) -> tuple[list[str], int]:
    results = [rule.replace(text, rule.replacement) for text in as_texts(column)] if rule.replace else []
    return [text for text, _ in results], sum(count for _, count in results)


def _characters(column: Column) -> int:
    return sum(map(len, as_texts(column)))


def _unknown_rule(name: str) -> str:
    names = [ALL, *(rule.name for rule in RULES)]
    near = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0)
    return f"there is no redaction rule {name!r}; did you mean {near[0]!r}?"
