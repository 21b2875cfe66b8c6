"""What the reply to a query holds, by what the query asks for: the one place that knows all forms of answers."""

from collections.abc import Callable, Sequence
from typing import Any

from sinks.sink import TemplateHit
from worker.messages import ReadyQuery
from worker.query import Around
from worker.querying.around import lines_around
from worker.querying.compare import compare_windows
from worker.querying.counts import counts_document, find_counts
from worker.querying.documents import shown_line
from worker.querying.export import export_lines
from worker.querying.family_listing import families_document, find_families, shown_group
from worker.querying.hit_families import HitFamilies
from worker.querying.ranking import Index, OutOfTime, groups_of_lines
from worker.querying.scope import scope_of
from worker.querying.search import Hit, PreparedQuery, mode_of, search
from worker.querying.tail import Tail
from worker.querying.templates import find_templates, templates_document


class FormAnswers:
    """Answers of every form from one index.

    Thread: one, the answer thread.
    """

    def __init__(self, index: Index, clock: Callable[[], float], wall_ms: Callable[[], float]) -> None:
        self._index = index
        self._clock = clock
        self._wall_ms = wall_ms
        self._hit_families = HitFamilies(index, clock)
        self._tail = Tail(index, clock)

    def document(self, ready: ReadyQuery, near: Sequence[TemplateHit] | None, stop_s: float) -> dict[str, Any]:
        """Return what the reply holds; reading ends at `stop_s`, complete or not. Raises SinkBusy."""

        def deadline_passed() -> bool:
            return self._clock() >= stop_s or ready.requester.is_gone()

        query = ready.query
        if query.around is not None:
            return self._around(query.around, deadline_passed)
        prepared = PreparedQuery(query, ready.vector, ready.is_exact, near)
        mode = {} if query.text is None else {"mode": mode_of(prepared)}
        if query.form == "lines":
            return self._hits(prepared, deadline_passed, stop_s) | mode
        return self._listing(prepared, deadline_passed) | mode

    def _listing(self, prepared: PreparedQuery, deadline_passed: OutOfTime) -> dict[str, Any]:
        query = prepared.query
        if query.form == "counts":
            return counts_document(find_counts(self._index, prepared, deadline_passed, now_ms=self._wall_ms()))
        if query.form == "compare":
            return compare_windows(self._index, prepared, deadline_passed)
        if query.form == "export":
            return export_lines(self._index, prepared, deadline_passed)
        if query.form == "tail":
            return self._tail.new_lines(prepared, deadline_passed)
        if query.expand:
            return templates_document(find_templates(self._index, prepared, deadline_passed))
        return families_document(find_families(self._index, prepared, deadline_passed))

    def _around(self, place: Around, deadline_passed: OutOfTime) -> dict[str, Any]:
        around = lines_around(self._index.reader, place, deadline_passed, now_ms=self._wall_ms())
        groups = groups_of_lines(self._index, around.lines)
        return {"hits": [shown_line(line) | shown_group(groups[line.template]) for line in around.lines], "complete": around.complete}

    def _hits(self, prepared: PreparedQuery, deadline_passed: OutOfTime, stop_s: float) -> dict[str, Any]:
        scope = scope_of(self._index, prepared.query.filters, deadline_passed)
        found = search(self._index, prepared, deadline_passed=deadline_passed, scope=scope)
        families = self._hit_families.shown(found.hits, scope, stop_s)
        hits = [_shown_hit(hit) | family for hit, family in zip(found.hits, families, strict=True)]
        return {"hits": hits, "complete": found.complete}


def _shown_hit(hit: Hit) -> dict[str, Any]:
    score = {} if hit.score is None else {"score": round(hit.score, 6)}
    return score | shown_line(hit.line)
