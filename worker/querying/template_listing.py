"""Listings of templates one by one: what `as: templates` with `expand` asks for, most frequent first, or the best for a text first.

The answer step calls it, and `vectail templates` where it may read the index itself. Counts, first and last seen and the example come
from the lines under the filters; a template has none of them itself.
"""

from typing import NamedTuple, cast

from sinks.line import Line
from sinks.reading.counting import CountQuery
from sinks.row import TemplateId
from worker.asking.answers import FamilyJson, GroupJson, TemplatesJson
from worker.querying.answer_documents import say_closeness, shown_example, shown_fit
from worker.querying.family_counts import families_of
from worker.querying.family_listing import families_document, find_families, shown_group
from worker.querying.form import Answer, Form, Sources
from worker.querying.ranking import Index, OutOfTime, RankedTemplate, SearchBounds
from worker.querying.scope import scope_of
from worker.querying.search import PER_TEMPLATE, PreparedQuery, rank, similarities_of
from worker.querying.similarity import Fit
from worker.querying.template_groups import TemplateGroup


class TemplateCount(NamedTuple):
    """How often one template occurred."""

    template: TemplateId
    """Its id."""
    lines: int
    """Lines, and chunks of long lines."""
    first_ms: int
    last_ms: int
    """Times of its first and of its last line, both counted."""


class TemplateSummary(NamedTuple):
    """A template with what its lines under the filters say."""

    counted: TemplateCount
    text: str
    """Masked: what all of its lines have in common."""
    example: Line | None
    """Its newest line under the filters; None when it was removed meanwhile."""
    group: TemplateGroup | None
    """None when the deadline passed before its text was read."""
    fit: Fit | None
    """How well it fits the text that was asked for."""


class TemplateListing(NamedTuple):
    """The answer. Where it is not complete, counts are at least as high as it says."""

    templates: list[TemplateSummary]
    complete: bool
    """False when a bound or the deadline cut it short."""


def find_templates(index: Index, sought: PreparedQuery, deadline_passed: OutOfTime) -> TemplateListing:
    """Return the `k` first templates under the query's filters; without a text the most frequent. Raises SinkBusy."""
    query = sought.query
    scope = scope_of(index, query.filters, deadline_passed)
    only, fits = scope.only, dict[TemplateId, Fit | None]()
    if query.text is None:
        wanted = None if scope.templates is None else tuple(sorted(scope.templates))
        counted = index.reader.count(CountQuery(only, templates=wanted, by=("template",), top=query.k), deadline_passed=deadline_passed)
        counts = [_counted(row.key, row.lines, row.first_ms, row.last_ms) for row in counted.rows]
        complete = counted.complete and scope.complete
    else:
        ranking = rank(index, sought, SearchBounds(query.k, PER_TEMPLATE, only, deadline_passed, scope.templates))
        ranked = ranking.templates[: query.k]
        wanted = tuple(found.template for found in ranked)
        counted = index.reader.count(CountQuery(only, templates=wanted, by=("template",)), deadline_passed=deadline_passed)
        by_template = {count.template: count for count in (_counted(row.key, row.lines, row.first_ms, row.last_ms) for row in counted.rows)}
        counts = [by_template.get(found.template) or _at_least(found) for found in ranked]
        complete = counted.complete and ranking.complete and scope.complete
        similarities = similarities_of(index, sought, ranking)
        similarities.read(ranked)
        fits = {found.template: similarities.fit_of(found) for found in ranked}
    ids = [count.template for count in counts]
    examples: dict[TemplateId, list[Line]] = {}
    if ids and not deadline_passed():
        examples = index.reader.newest_lines(ids, 1, only, deadline_passed=deadline_passed).lines
    texts = index.sink.templates.texts(ids) if ids else {}
    index.templates.groups_of(texts)
    families = families_of(index, ids, deadline_passed)
    numbers = zip(ids, families.numbers.tolist(), families.is_known.tolist(), strict=True)
    groups = {template: index.templates.groups.group_of(number) for template, number, is_known in numbers if is_known}
    templates = [
        TemplateSummary(
            count,
            texts.get(count.template, ""),
            next(iter(examples.get(count.template, ())), None),
            groups.get(count.template),
            fits.get(count.template),
        )
        for count in counts
    ]
    return TemplateListing(templates, complete=complete and not deadline_passed())


def _counted(key: tuple[int | str, ...], lines: int, first_ms: int, last_ms: int) -> TemplateCount:
    return TemplateCount(TemplateId(str(key[0])), lines, first_ms, last_ms)


def _at_least(found: RankedTemplate) -> TemplateCount:
    """Return the count of a template that counting did not reach: it has at least the lines that the search has seen."""
    times = [line.time for line in found.lines]
    return TemplateCount(found.template, len(found.lines), min(times), max(times))


def templates_document(listing: TemplateListing) -> TemplatesJson:
    """Return the answer as a reply holds it."""
    answer: TemplatesJson = {"templates": [_shown(template) for template in listing.templates], "complete": listing.complete}
    say_closeness(answer, [template.fit for template in listing.templates])
    return answer


def _shown(template: TemplateSummary) -> FamilyJson:
    fields = {
        "template": template.counted.template,
        **(GroupJson() if template.group is None else shown_group(template.group)),
        "text": template.text,
        "lines": template.counted.lines,
        "first": template.counted.first_ms,
        "last": template.counted.last_ms,
        **shown_example(template.example),
        **shown_fit(template.fit),
    }
    return cast("FamilyJson", fields)


def _open(sources: Sources) -> Answer:
    def answer(sought: PreparedQuery, deadline_passed: OutOfTime, _stop_s: float) -> TemplatesJson:
        return answer_templates(sources.index, sought, deadline_passed)

    return answer


def answer_templates(index: Index, sought: PreparedQuery, deadline_passed: OutOfTime) -> TemplatesJson:
    """Return families, or templates one by one, as a reply holds them. Raises SinkBusy."""
    if sought.query.expand:
        return templates_document(find_templates(index, sought, deadline_passed))
    return families_document(find_families(index, sought, deadline_passed))


TEMPLATES = Form(
    "templates",
    _open,
    takes=("expand", "widen"),
    path="/api/templates",
    schema="Templates",
    summary="Kinds of log line, the most frequent or those nearest to a text",
)
