"""A hit stands for the families that differ from its own in one word, and others take their places."""

import math
from collections.abc import Sequence
from typing import Any

import pytest

from consumers.text.families import family_of
from tests.world import index_of, line, open_sink, template, unit
from worker.asking.filters import Filters
from worker.asking.question import Query
from worker.querying.ranking import Index
from worker.querying.search import PreparedQuery, SearchResult, search
from worker.querying.template_groups import TemplateGroups
from worker.querying.template_index import TemplateIndex
from worker.settings.template_tables import TemplateTable

OTHERS = [f"{word} came to an end" for word in ("opening", "closing", "starting", "stopping", "loading", "saving", "mounting", "parsing")]
"""No two are of one kind: what differs is a state."""


def names(count: int) -> list[str]:
    return [f"{chr(97 + n // 26)}{chr(97 + n % 26)}x was weighed again" for n in range(count)]


def index_of_texts(texts: Sequence[str], lacking: Sequence[str] = (), named: Sequence[TemplateTable] = ()) -> Index:
    """Return an index of templates, each farther from `unit(1.0)` than the one before it, with a line unless it lacks one."""
    rows = [template(text, unit(math.cos(n / len(texts)), math.sin(n / len(texts)))) for n, text in enumerate(texts)]
    found = index_of(open_sink(rows), [line(n, text=text, template_text=text) for n, text in enumerate(texts) if text not in lacking])
    return found._replace(templates=TemplateIndex(lambda: found.sink.templates, lambda: 0.0, TemplateGroups(named)))


def find(index: Index, **request: Any) -> SearchResult:  # noqa: ANN401 - any part of a query
    query = Query.model_validate({"text": "unknown", "k": 5, **request})
    return search(index, PreparedQuery(query, unit(1.0)), deadline_passed=lambda: False)


def shown(found: SearchResult) -> list[tuple[str, list[str]]]:
    return [(hit.line.template_text, [one.word for one in hit.alike]) for hit in found.hits]


@pytest.mark.parametrize("mode", ["dense", "hybrid"])
def test_names_stand_behind_the_best_of_them_and_others_take_their_places(mode: str) -> None:
    found = find(index_of_texts([*names(12), *OTHERS]), mode=mode)
    assert [name for name, _ in shown(found)] == [names(1)[0], *OTHERS[:4]]
    assert [one.family for one in found.hits[0].alike] == [family_of(name) for name in names(12)[1:]]
    assert shown(found)[0][1] == [name.split()[0] for name in names(12)[1:]]
    assert not any(words for _, words in shown(found)[1:])
    assert found.complete


def test_what_is_near_but_not_ranked_stands_behind_its_kind_too() -> None:
    far = [*names(1), *OTHERS, *names(4)[1:]]
    assert len(shown(find(index_of_texts(far), k=2))[0][1]) == 3


def test_where_most_are_of_one_kind_more_are_ranked() -> None:
    found = find(index_of_texts([*names(200), *OTHERS]), mode="dense")
    assert [name for name, _ in shown(found)] == [names(1)[0], *OTHERS[:4]]


def test_under_a_filter_on_lines_only_families_with_such_lines_are_named() -> None:
    texts = names(4)
    index = index_of_texts([*texts, *OTHERS], lacking=texts[1:2])
    found = find(index, filters=Filters(since_ms=0).model_dump(exclude_unset=True))
    assert shown(found)[0] == (texts[0], [texts[2].split()[0], texts[3].split()[0]])


def test_with_templates_or_families_named_each_stands_for_itself() -> None:
    index = index_of_texts(names(3))
    found = find(index, filters={"family": [family_of(name) for name in names(3)]})
    assert shown(found) == [(name, []) for name in names(3)]


def test_a_family_that_a_user_named_stands_for_itself() -> None:
    named = [TemplateTable.model_validate({"name": "ours", "pattern": names(2)[1]})]
    found = find(index_of_texts(names(3), named=named))
    assert shown(found) == [(names(1)[0], [names(3)[2].split()[0]]), (names(2)[1], [])]
