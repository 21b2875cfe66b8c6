"""Hits say how well they fit, and an answer says where nothing does."""

import math
from typing import Any

import pytest

from tests.world import DIM, index_of, line, open_sink, template, unit
from worker.asking.filters import Filters
from worker.asking.question import Query
from worker.embedding.model.nearness import Nearness
from worker.querying.answer_documents import shown_fit
from worker.querying.family_listing import families_document, find_families
from worker.querying.ranking import Index
from worker.querying.search import PreparedQuery, SearchResult, search
from worker.querying.similarity import is_nothing_close
from worker.querying.template_listing import find_templates, templates_document

NEARNESS = Nearness(near=0.3, strong=0.6, floor=0.1, bearing=(0.0,) * DIM)
COSINES = {"disk is full": 0.9, "link was lost": 0.4, "user liam left": 0.2}


def index_with(cosines: dict[str, float], nearness: Nearness | None = NEARNESS) -> Index:
    """Return an index of templates with these cosines to `unit(1.0)`, each with a line."""
    rows = [template(text, unit(cosine, math.sqrt(1 - cosine**2))) for text, cosine in cosines.items()]
    return index_of(open_sink(rows), [line(n, text=text, template_text=text) for n, text in enumerate(cosines)])._replace(nearness=nearness)


def find(index: Index, text: str = "what is it", **request: Any) -> SearchResult:  # noqa: ANN401 - any part of a query
    return search(index, PreparedQuery(Query(text=text, **request), unit(1.0)), deadline_passed=lambda: False)


def shown(found: SearchResult) -> list[tuple[str, dict[str, Any]]]:
    return [(hit.line.template_text, dict(shown_fit(hit.fit))) for hit in found.hits]


@pytest.mark.parametrize("mode", ["dense", "hybrid"])
def test_a_hit_has_its_cosine_and_what_that_means(mode: str) -> None:
    assert shown(find(index_with(COSINES), mode=mode)) == [
        ("disk is full", {"score": pytest.approx(0.9), "similarity": "strong"}),
        ("link was lost", {"score": pytest.approx(0.4), "similarity": "weak"}),
        ("user liam left", {"score": pytest.approx(0.2), "similarity": "none"}),
    ]


def test_in_a_space_that_was_not_measured_there_are_cosines_and_nothing_is_refused() -> None:
    found = find(index_with({"user liam left": -0.5}, nearness=None))
    assert shown(found) == [("user liam left", {"score": pytest.approx(-0.5)})]
    assert not is_nothing_close([hit.fit for hit in found.hits])


def test_nothing_is_close_where_no_hit_is_and_the_nearest_come_nevertheless() -> None:
    far = index_with({"user liam left": 0.2, "link was lost": 0.29})
    found = find(far)
    assert [name for name, _ in shown(found)] == ["link was lost", "user liam left"]
    assert is_nothing_close([hit.fit for hit in found.hits])
    assert not is_nothing_close([hit.fit for hit in find(index_with(COSINES)).hits])
    assert not is_nothing_close([])


@pytest.mark.parametrize("mode", ["dense", "hybrid"])
def test_a_line_with_every_word_or_an_identifier_of_the_question_is_close_however_far_its_template(mode: str) -> None:
    index = index_with({"user liam left": 0.1, "link was lost": 0.2})
    by_words = dict(shown(find(index, "liam left", mode=mode)))
    assert [by_words[name]["similarity"] for name in COSINES if name in by_words] == ["none", "weak"]
    held = index_of(open_sink([template("sent", unit(0.1, 1.0))]), [line(0, text="sent ab-123", template_text="sent")])
    (hit,) = find(held._replace(nearness=NEARNESS), "where is ab-123", mode="hybrid").hits
    assert shown_fit(hit.fit)["similarity"] == "weak"


def test_a_line_with_a_phrase_of_the_question_is_close_however_far_its_template() -> None:
    index = index_with({"user liam left": 0.1, "link was lost": 0.2})
    (hit,) = find(index, filters=Filters(phrases=[["liam left"]])).hits
    assert shown_fit(hit.fit)["similarity"] == "weak"


def test_by_words_there_is_a_score_and_no_similarity() -> None:
    sought = PreparedQuery(Query(text="disk", mode="words"), None)
    (hit,) = search(index_with(COSINES), sought, deadline_passed=lambda: False).hits
    assert hit.score is not None
    assert dict(shown_fit(hit.fit)) == {"score": round(hit.score, 6)}


def test_the_newest_lines_of_a_family_have_neither() -> None:
    index = index_with(COSINES)
    query = Query.model_validate({"filters": {"template": [row.template for row in index.sink.templates.nearest(unit(1.0)[None], 1)[0]]}})
    (hit,) = search(index, PreparedQuery(query, None), deadline_passed=lambda: False).hits
    assert shown_fit(hit.fit) == {}


@pytest.mark.parametrize("expand", [True, False])
@pytest.mark.parametrize("mode", ["dense", "hybrid"])
def test_listings_say_the_same(mode: str, *, expand: bool) -> None:
    def listed(index: Index) -> Any:  # noqa: ANN401 - JSON
        sought = PreparedQuery(Query.model_validate({"as": "templates", "text": "what is it", "mode": mode}), unit(1.0))
        if expand:
            return templates_document(find_templates(index, sought, lambda: False))
        return families_document(find_families(index, sought, lambda: False))

    near, far = listed(index_with(COSINES)), listed(index_with({"user liam left": 0.2}))
    assert [one["similarity"] for one in near["templates"]] == ["strong", "weak", "none"]
    assert [one["score"] for one in near["templates"]] == pytest.approx([0.9, 0.4, 0.2], abs=1e-5)
    assert ("nothing_close" in near, far["nothing_close"]) == (False, True)
