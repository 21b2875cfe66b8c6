"""What a text means where lines are counted, compared or exported: what a search shows first, as far as it is near enough.

The rest of what a search shows is there because ten hits were asked for. What is near enough (`Similarities.are_counted`) is told with the
number, so that a reader can judge it; where nothing is close, nothing counts. In a space that was not measured all 64 kinds count.
"""

from typing import NamedTuple, cast

from sinks.reading.line_filter import LineFilter
from sinks.row import TemplateId
from worker.asking.answers import AnsweredJson, CountedFamilyJson
from worker.querying.answer_documents import say_closeness, shown_fit
from worker.querying.family_kinds import FamilyKind, shown_alike_families
from worker.querying.family_listing import shown_group
from worker.querying.ranking import Index, OutOfTime, SearchBounds
from worker.querying.scope import MOST_MEMBERS, Scope
from worker.querying.search import PreparedQuery, rank_kinds

MOST_KINDS = 64
"""Of the kinds that fit a text, these many are looked at."""
_NEAREST = 3
"""Shown where nothing is close."""
_SHOWN_CHARACTERS = 300


class MeantLines(NamedTuple):
    """The lines that a text means.

    Thread: any.
    """

    kinds: list[FamilyKind]
    """Those that count; where nothing is close, the nearest, which do not."""
    templates: frozenset[TemplateId]
    """Of which lines count."""
    complete: bool


def meant_lines(index: Index, sought: PreparedQuery, scope: Scope, only: LineFilter, deadline_passed: OutOfTime) -> MeantLines:
    """Return the lines of `scope` that a query's text means, judged by those that pass `only`. Raises SinkBusy."""
    found = rank_kinds(index, sought, SearchBounds(MOST_KINDS, 1, only, deadline_passed, scope.templates, per_family=1))
    complete = scope.complete and (found.complete or len(found.kinds) >= MOST_KINDS)
    kinds = found.counted(MOST_KINDS)
    if not kinds:
        return MeantLines(found.kinds[:_NEAREST], frozenset(), complete)
    templates = {one.template for kind in kinds for one in kind.templates} | {one.template for kind in kinds for one in kind.alike}
    if sought.vector is not None:
        members = index.templates.members({family for kind in kinds for family in kind.families}, deadline_passed)
        whole = templates | (set(members.templates) if scope.templates is None else scope.templates.intersection(members.templates))
        complete = complete and members.complete and len(whole) <= MOST_MEMBERS
        templates = whole if len(whole) <= MOST_MEMBERS else templates
    return MeantLines(kinds, frozenset(templates - only.not_templates), complete)


def say_meant(index: Index, answer: AnsweredJson, meant: MeantLines) -> None:
    """Let an answer say which families count, and whether nothing is close."""
    say_closeness(answer, [kind.fit for kind in meant.kinds])
    answer["families"] = [_shown(index, kind) for kind in meant.kinds]


def _shown(index: Index, kind: FamilyKind) -> CountedFamilyJson:
    best = kind.templates[0]
    group = index.templates.groups.group_of(int(best.family, 16))
    text = best.lines[0].template_text[:_SHOWN_CHARACTERS]
    alike = {"alike": shown_alike_families(kind.alike)} if kind.alike else {}
    return cast("CountedFamilyJson", {**shown_group(group), "text": text, **shown_fit(kind.fit), **alike})
