"""The lines that fit a question, each with what it says of its family: the answer that a query gets unless `as` says otherwise."""

from typing import TypedDict

from worker.asking.answers import AlikeJson, HitJson, HitsJson
from worker.asking.question import Query
from worker.asking.refusals import BadQuery
from worker.querying.answer_documents import say_closeness, shown_fit, shown_line
from worker.querying.family_kinds import shown_alike_families
from worker.querying.form import Answer, Form, Sources
from worker.querying.hit_families import HitFamilies
from worker.querying.ranking import OutOfTime
from worker.querying.scope import scope_of
from worker.querying.search import Hit, PreparedQuery, search


class _Alike(TypedDict, total=False):
    alike: list[AlikeJson]


def _check(query: Query) -> None:
    if query.text is None and not (query.filters.template or query.filters.family):
        raise BadQuery("text", "say what to look for, or name templates or families")


def _open(sources: Sources) -> Answer:
    index = sources.index
    families = HitFamilies(index, sources.surroundings.clock)

    def answer(sought: PreparedQuery, deadline_passed: OutOfTime, stop_s: float) -> HitsJson:
        scope = scope_of(index, sought.query.filters, deadline_passed)
        found = search(index, sought, deadline_passed=deadline_passed, scope=scope)
        of_families = families.shown(found.hits, scope, stop_s)
        hits: list[HitJson] = [
            {**shown_fit(hit.fit), **shown_line(hit.line), **family, **_shown_alike(hit)}
            for hit, family in zip(found.hits, of_families, strict=True)
        ]
        shown: HitsJson = {"hits": hits, "complete": found.complete}
        say_closeness(shown, [hit.fit for hit in found.hits])
        if found.counted is not None:
            shown["counted"] = list(found.counted)
        return shown

    return answer


def _shown_alike(hit: Hit) -> _Alike:
    return {"alike": shown_alike_families(hit.alike)} if hit.alike else {}


LINES = Form(
    "lines",
    _open,
    takes=("per_template", "per_family", "widen"),
    check=_check,
    head_start_s=4.0,
    path="/api/search",
    schema="Searched",
    summary="Ask: the answer holds what `as` says, lines by default",
)
