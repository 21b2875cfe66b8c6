"""Ranking by meaning and by words together: the two rankings of templates are fused (reciprocal rank fusion).

`search` calls it. Both rank dozens of templates and show few. So where a question has no filter on lines, lines are read last,
and only of the templates that are shown.
"""

from collections.abc import Mapping, Sequence

from sinks.line import Line
from sinks.reading.line_filter import never
from sinks.row import TemplateId, Vector
from sinks.sink import TemplateHit
from worker.querying.dense import rank_by_meaning
from worker.querying.lexical import votes_by_words
from worker.querying.query_words import Words
from worker.querying.ranking import Index, RankedTemplate, Ranking, SearchBounds, by_family

LEAST_SHARE = 0.5
"""A template votes only if its text has this share of the query's words, or a line of it an identifier."""
_RANK_OFFSET = 60
"""The constant of the paper: how slowly a rank loses weight (Cormack, Clarke and Büttcher 2009)."""


def rank_by_both(index: Index, vector: Vector, words: Words, bounds: SearchBounds, near: Sequence[TemplateHit] | None = None) -> Ranking:
    """Return templates by their fused ranks; `near` are the nearest templates of all, if they are read already. Raises SinkBusy.

    Without a filter on lines, and with one line of each template, only the templates to be shown are returned. Every template that is
    not read is taken to have a line: nearly all do. One has none until its first block is written, and once all of its lines have
    expired; it may then take a place in a ranking, so that templates behind it have a lower score.
    """
    bounds = bounds._replace(deep=True)
    if bounds.per_template == 1 and not bounds.only.is_on_lines:
        bounds = bounds._replace(reads_lines_last=True)
        ranking = _with_lines_of_shown(index, *_rankings(index, vector, words, bounds, near), words, bounds)
        if ranking is not None:
            return ranking
        bounds = bounds._replace(reads_lines_last=False)
    return fuse(*_rankings(index, vector, words, bounds, near), words)


def fuse(by_meaning: Ranking, by_words: Ranking, words: Words) -> Ranking:
    """Return the templates of both. Where the text has identifiers, words decide between equal ones and their lines are shown first."""
    scores: dict[TemplateId, float] = {}
    families: dict[TemplateId, str] = {}
    lines: dict[TemplateId, dict[str, Line]] = {}
    for ranking in (by_words, by_meaning) if words.identifiers else (by_meaning, by_words):
        for place, template in enumerate(ranking.templates, start=1):
            scores[template.template] = scores.get(template.template, 0.0) + 1 / (_RANK_OFFSET + place)
    for ranking in (by_words, by_meaning):
        for template in ranking.templates:
            families[template.template] = template.family
            shown = lines.setdefault(template.template, {})
            for line in template.lines:
                shown.setdefault(line.id, line)
    best = sorted(scores, key=lambda template: -scores[template])
    templates = [RankedTemplate(template, scores[template], list(lines[template].values()), families[template]) for template in best]
    return Ranking(templates, by_meaning.complete and by_words.complete)


def _rankings(
    index: Index, vector: Vector, words: Words, bounds: SearchBounds, near: Sequence[TemplateHit] | None
) -> tuple[Ranking, Ranking]:
    """Return the rankings by meaning and by words."""
    by_meaning = rank_by_meaning(index, vector, bounds, near)
    if bounds.deadline_passed():
        return by_meaning, Ranking([], complete=False)
    return by_meaning, votes_by_words(index, words, bounds, least_share=LEAST_SHARE)


def _with_lines_of_shown(index: Index, by_meaning: Ranking, by_words: Ranking, words: Words, bounds: SearchBounds) -> Ranking | None:
    """Return the templates to be shown, each with a line; None if too few have one.

    What has no line is left out of both rankings, and they are fused again: others move up.
    """
    # If ranking took all the time, lines are read nevertheless, once: without them there is no answer.
    passed = never if bounds.deadline_passed() else bounds.deadline_passed
    read: dict[TemplateId, list[Line]] = {}
    while True:
        fused = fuse(_with_lines(by_meaning, read), _with_lines(by_words, read), words)
        unread = [template.template for template in _shown(fused.templates, bounds) if not template.lines]
        is_over = bool(read) and bounds.deadline_passed()
        if not unread or is_over:
            break
        found = index.reader.newest_lines(unread, 1, bounds.only, deadline_passed=passed)
        read |= {template: found.lines.get(template, []) for template in unread}
        by_meaning = by_meaning._replace(complete=by_meaning.complete and found.complete)
    templates = [template for template in fused.templates if template.lines]
    if [] in read.values() and not is_over and not bounds.is_met_by(templates):
        return None
    return Ranking(templates, fused.complete and not unread)


def _with_lines(ranking: Ranking, read: Mapping[TemplateId, list[Line]]) -> Ranking:
    """Return a ranking with the lines that were read, without the templates that have none."""
    templates = [template._replace(lines=template.lines or read.get(template.template, [])) for template in ranking.templates]
    return ranking._replace(templates=[template for template in templates if template.lines or template.template not in read])


def _shown(templates: Sequence[RankedTemplate], bounds: SearchBounds) -> Sequence[RankedTemplate]:
    """Return the templates that show a line, if each has one."""
    if bounds.per_family is not None:
        templates = [one for members in by_family(templates).values() for one in members[: bounds.per_family]]
    return templates[: bounds.k]
