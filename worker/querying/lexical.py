"""Ranking by words: lines that have the text's identifiers whole come first, then the templates whose text shares words with it (BM25).

Blocks say which identifiers are in their lines, except those that are in a line's template: so an identifier is looked for in both.
Where identifiers are all that was asked for, no other line counts.
"""

from collections.abc import Collection, Sequence
from functools import partial
from typing import NamedTuple

from sinks.line import Line
from sinks.reading.selecting import Selection
from sinks.row import TemplateId
from worker.querying.dense import MOST_TEMPLATES, of_open_families, with_lines
from worker.querying.query_words import Identifier, Words, with_all
from worker.querying.ranking import Index, RankedTemplate, Ranking, SearchBounds, ranked

IDENTIFIER_SCORE = 100.0
"""What each identifier adds to the score of a line: more than any template gets for its words in practice."""
_FIRST_LINES = 100
_MOST_LINES = 1_600
"""Of a very frequent identifier not all lines are looked at."""
_MOST_BY_WORDS = 512
"""Templates tried, however few of them have lines under the filters."""


class FoundLines(NamedTuple):
    """Lines that have identifiers of the text."""

    lines: list[Line]
    """Those with more identifiers first; of those with as many, those with more of the other words, then the newest."""
    complete: bool


def rank_by_words(index: Index, words: Words, bounds: SearchBounds) -> Ranking:
    """Return the templates that match best, those with identifiers first. Raises SinkBusy."""
    exact = _templates_with_identifiers(index, words, bounds)
    if words.is_exact or bounds.is_met_by(exact.templates):
        return exact
    tried = {template.template for template in exact.templates}
    templates, complete = list(exact.templates), exact.complete
    limit = min(max(MOST_TEMPLATES, bounds.k), _MOST_BY_WORDS)
    while not bounds.deadline_passed():
        found = index.templates.matching(words, bounds.at_least(limit), bounds.deadline_passed)
        admitted = [hit for hit in found.hits if bounds.admits(hit.template)]
        new = [hit for hit in admitted[:limit] if hit.template not in tried]
        page = with_lines(index, of_open_families(index, new, bounds.full_families(templates)), bounds)
        templates += page.templates
        complete = complete and page.complete
        tried.update(hit.template for hit in new)
        if bounds.is_met_by(templates) or (found.complete and len(admitted) <= limit):
            return Ranking(templates, complete)
        if limit >= _MOST_BY_WORDS:
            break
        limit = _MOST_BY_WORDS
    return Ranking(templates, complete=False)


def lines_with_identifiers(index: Index, words: Words, limit: int, bounds: SearchBounds) -> FoundLines:
    """Return lines that have all identifiers and, if those are fewer than `limit`, lines that have any. Raises SinkBusy."""
    found: dict[str, Line] = {}
    holding: dict[str, list[TemplateId]] = {}
    complete = True
    for identifier in words.identifiers:
        held = index.templates.holding(identifier, bounds.deadline_passed)
        holding[identifier.text] = [hit.template for hit in held.hits if bounds.admits(hit.template)]
        complete = complete and held.complete
    alone = [(identifier,) for identifier in words.identifiers] if len(words.identifiers) > 1 else []
    for wanted in (words.identifiers, *alone):
        if len(found) >= limit or not wanted:
            break
        if bounds.deadline_passed():
            complete = False
            break
        templates = {template for identifier in wanted for template in holding[identifier.text]}
        read = _lines_with(index, wanted, templates, limit, bounds)
        found |= {line.id: line for line in read.lines}
        complete = complete and read.complete

    def rank_of(line: Line) -> tuple[float, float, int, str]:
        text = line.text or ""
        share = 0.0 if words.is_exact else words.share_in(text)
        return -words.identifiers_in(text), -share, -line.time, line.id

    return FoundLines(sorted(found.values(), key=rank_of)[:limit], complete)


def _lines_with(
    index: Index, wanted: Collection[Identifier], holding: Collection[TemplateId], limit: int, bounds: SearchBounds
) -> FoundLines:
    """Return the newest lines that have all of these identifiers; `holding` are the templates whose text has one of them."""
    literals = [identifier.text for identifier in wanted if identifier.text.isascii()]
    lines_with = partial(index.reader.lines_with, limit=limit, literals=literals, deadline_passed=bounds.deadline_passed)
    matching = Selection(bounds.only, bounds.templates, with_all(wanted))
    if bounds.templates is not None:
        only_these = lines_with(matching)
        return FoundLines(only_these.lines, only_these.complete)
    by_words = lines_with(matching._replace(keys=tuple({key for identifier in wanted for key in identifier.keys})))
    if not holding:
        return FoundLines(by_words.lines, by_words.complete)
    by_template = lines_with(matching._replace(templates=frozenset(holding)))
    return FoundLines([*by_words.lines, *by_template.lines], by_words.complete and by_template.complete)


def _templates_with_identifiers(index: Index, words: Words, bounds: SearchBounds) -> Ranking:
    """Return the templates of lines that have identifiers, in the order of each one's best line."""
    if not words.identifiers:
        return Ranking([], complete=True)
    most = max(_MOST_LINES, bounds.k)
    limit = min(max(_FIRST_LINES, 4 * bounds.k), most)
    while True:
        found = lines_with_identifiers(index, words, limit, bounds)
        templates = _grouped(index, words, found.lines)
        is_cut = bounds.deadline_passed()
        if bounds.is_met_by(templates) or (len(found.lines) < limit and not is_cut):
            return Ranking(templates, found.complete)
        if limit >= most or is_cut:
            return Ranking(templates, complete=False)
        limit = most


def _grouped(index: Index, words: Words, lines: Sequence[Line]) -> list[RankedTemplate]:
    """Group lines by their template; the order is that of each group's best line."""
    groups: dict[TemplateId, list[Line]] = {}
    for line in lines:
        groups.setdefault(line.template, []).append(line)
    return ranked(index, [(template, score_of(words, group[0]), group) for template, group in groups.items()])


def score_of(words: Words, line: Line) -> float:
    """Return the score of a line that has identifiers."""
    return IDENTIFIER_SCORE * words.identifiers_in(line.text or "")
