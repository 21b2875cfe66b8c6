"""Listings of templates: what `as: templates` asks for, most frequent first, or the best for a text first.

The answer step calls it, and `vectail templates` where it may read the index itself. Counts, first and last seen and the example come
from the lines of the window; a template has none of them itself.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from sinks.row import LineRow
from sinks.sink import Sink, TemplateCount
from worker.querying.search.ranking import RankedTemplate
from worker.querying.search.search import PreparedQuery, rank

MOST_LINES = 100_000
"""The newest lines that a worker counts for one query; a window with more gives an answer that is not complete."""


class TemplateSummary(NamedTuple):
    """A template with what its lines in the window say."""

    counted: TemplateCount
    text: str
    """Masked: what all of its lines have in common."""
    example: LineRow | None
    """Its newest line in the window; None when it was removed meanwhile."""
    score: float | None
    """How well it fits the text that was asked for, as the query's mode has it."""


class TemplateListing(NamedTuple):
    """The answer. Where it is not complete, counts are at least as high as it says."""

    templates: list[TemplateSummary]
    complete: bool
    """False when a bound or the deadline cut it short."""


class StopWhen(NamedTuple):
    """Asked between two reads: whether to stop there.

    Thread: one.
    """

    counted: Callable[[], bool]
    """Of counting lines."""
    all: Callable[[], bool]
    """Of all of it."""


def find_templates(sink: Sink, sought: PreparedQuery, enough: StopWhen, *, most_lines: int = MOST_LINES) -> TemplateListing:
    """Return the `k` first templates under the query's filters; without a text the most frequent. Raises SinkBusy."""
    query = sought.query
    only = query.filters.as_line_filter()
    if query.text is None:
        counted = sink.count_templates(only, templates=None, most_rows=most_lines, deadline_passed=enough.counted)
        counts, ranking = counted.counts[: query.k], None
        complete = counted.complete
    else:
        ranking = rank(sink, sought, query.k, 1, deadline_passed=enough.all)
        digests = [found.digest for found in ranking.templates[: query.k]]
        counted = sink.count_templates(only, templates=digests, most_rows=most_lines, deadline_passed=enough.counted)
        by_digest = {count.digest: count for count in counted.counts}
        counts = [by_digest.get(found.digest) or _at_least(found) for found in ranking.templates[: query.k]]
        complete = counted.complete and ranking.complete
    digests = [count.digest for count in counts]
    texts = sink.template_texts(digests)
    newest = {} if enough.all() else sink.newest_lines(digests, 1, only)
    scores = {} if ranking is None else {found.digest: found.score for found in ranking.templates}
    examples = {digest: lines[0] for digest, lines in newest.items()}
    templates = [
        TemplateSummary(count, texts.get(count.digest, ""), examples.get(count.digest), scores.get(count.digest)) for count in counts
    ]
    return TemplateListing(templates, complete=complete and not enough.all())


def _at_least(found: RankedTemplate) -> TemplateCount:
    """Return the count of a template that counting did not reach: it has at least the lines that the search has seen."""
    times = [line.time for line in found.lines]
    return TemplateCount(found.digest, len(found.lines), min(times), max(times))


def templates_document(listing: TemplateListing) -> dict[str, Any]:
    """Return the answer as a reply holds it."""
    return {"templates": [_shown(template) for template in listing.templates], "complete": listing.complete}


def _shown(template: TemplateSummary) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "template": template.counted.digest,
        "text": template.text,
        "lines": template.counted.lines,
        "first": template.counted.first_ms,
        "last": template.counted.last_ms,
        "example": None if template.example is None else template.example.text,
    }
    return shown if template.score is None else shown | {"score": round(template.score, 6)}
