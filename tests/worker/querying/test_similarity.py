"""Hits say how well they fit, an answer says where nothing does, and counts with a text are of what a search shows first."""

import math
from typing import Any

import pytest

from consumers.text.families import family_of
from tests.world import DIM, index_of, line, open_sink, template, unit
from worker.asking.filters import Filters
from worker.asking.question import Query
from worker.embedding.model.nearness import Nearness
from worker.querying.answer_documents import MOST_REPLY_BYTES, bounded_json, shown_fit
from worker.querying.compare import compare_windows
from worker.querying.counts import COUNTS
from worker.querying.export import export_lines
from worker.querying.family_listing import families_document, find_families
from worker.querying.form import Sources
from worker.querying.line_search import LINES
from worker.querying.ranking import Index
from worker.querying.search import PreparedQuery, SearchResult, search
from worker.querying.similarity import is_nothing_close
from worker.querying.template_listing import find_templates, templates_document
from worker.runtime.surroundings import Surroundings

NEARNESS = Nearness(near=0.3, strong=0.6, floor=0.1, bearing=(0.0,) * DIM)
COSINES = {"disk is full": 0.9, "link was lost": 0.4, "user liam left": 0.2}
WRONG = [f"{name} typed the wrong password" for name in ("liam", "nadia", "jonas")]
COUNTED = {WRONG[0]: 0.9, WRONG[1]: 0.85, WRONG[2]: 0.8, "liam signed in with it": 0.6, "cache was cleared by cron": 0.2}
FAR = {"cache was cleared by cron": 0.2, "run of the report took long": 0.15}


def index_with(cosines: dict[str, float], nearness: Nearness | None = NEARNESS) -> Index:
    """Return an index of templates with these cosines to `unit(1.0)`; the n-th has n + 1 lines."""
    rows = [template(text, unit(cosine, math.sqrt(1 - cosine**2))) for text, cosine in cosines.items()]
    texts = [text for place, text in enumerate(cosines) for _ in range(place + 1)]
    return index_of(open_sink(rows), [line(n, text=text, template_text=text) for n, text in enumerate(texts)])._replace(
        own_nearness=nearness
    )


def ask(index: Index, form: str, vector: Any = unit(1.0), **request: Any) -> Any:  # noqa: ANN401, B008 - JSON; read only
    query = Query.model_validate({"as": form, "text": "what is it", **request})
    answer = {"counts": COUNTS, "lines": LINES}[form].open(Sources(index, Surroundings()))
    return answer(PreparedQuery(query, vector), lambda: False, math.inf)


def lines_of(answer: Any) -> int:  # noqa: ANN401 - JSON
    return sum(one["lines"] for one in answer["counts"])


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
    (hit,) = find(held._replace(own_nearness=NEARNESS), "where is ab-123", mode="hybrid").hits
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


@pytest.mark.parametrize("mode", ["dense", "hybrid"])
def test_what_is_much_farther_than_the_nearest_is_not_counted(mode: str) -> None:
    answer = ask(index_with(COUNTED), "counts", mode=mode, by=["level"])
    assert lines_of(answer) == 1 + 2 + 3
    (counted,) = answer["families"]
    assert (counted["text"], counted["similarity"], counted["family"]) == (WRONG[0], "strong", family_of(WRONG[0]))
    assert [one["word"] for one in counted["alike"]] == ["nadia", "jonas"]
    assert "nothing_close" not in answer


def test_of_a_kind_only_the_families_that_are_near_enough_count() -> None:
    answer = ask(index_with(COUNTED | {WRONG[2]: 0.4}), "counts", by=["level"])
    assert lines_of(answer) == 1 + 2
    assert [one["word"] for one in answer["families"][0]["alike"]] == ["nadia"]


def test_with_phrases_all_that_has_them_counts_however_far_it_is() -> None:
    answer = ask(index_with(COUNTED), "counts", by=["level"], filters=Filters(phrases=[["was cleared", "signed in"]]))
    assert lines_of(answer) == 4 + 5
    assert "nothing_close" not in answer


def test_a_family_counts_whole_also_by_templates_that_are_far() -> None:
    cosines = {"disk is full": 0.9, "Disk is full!": 0.3}
    answer = ask(index_with(cosines), "counts", by=["family"])
    assert [(one["family"], one["lines"]) for one in answer["counts"]] == [(family_of("disk is full"), 3)]


@pytest.mark.parametrize("by", [["level"], ["time", "level"], [["service"], ["level"]]], ids=str)
def test_where_nothing_is_close_nothing_is_counted_and_the_nearest_are_named(by: Any) -> None:  # noqa: ANN401 - JSON
    answer = ask(index_with(FAR), "counts", by=by)
    assert answer["nothing_close"] is True
    assert all(not one["counts"] for one in answer.get("groups", [answer]))
    assert [one["text"] for one in answer["families"]] == list(FAR)


@pytest.mark.parametrize("form", ["lines", "counts"])
def test_words_of_any_length_leave_a_reply_in_its_bounds(form: str) -> None:
    names = ["".join(chr(97 + n // 26) + chr(97 + n % 26) for _ in range(15_000)) for n in range(40)]
    answer = ask(index_with({f"{name} typed the wrong password": 0.9 for name in ("liam", *names)}), form)
    (shown,) = answer["families" if form == "counts" else "hits"]
    assert {len(one["word"]) for one in shown["alike"]} == {100}
    assert len(shown["alike"]) == len(names)
    assert len(bounded_json(answer)) <= MOST_REPLY_BYTES


def test_a_search_says_which_of_its_families_counts_would_count() -> None:
    answer = ask(index_with(COUNTED), "lines")
    assert answer["counted"] == [family_of(text) for text in WRONG]
    assert len(answer["hits"]) == 3
    far = ask(index_with(FAR), "lines")
    assert (far["counted"], far["nothing_close"], len(far["hits"])) == ([], True, 2)
    assert "counted" not in ask(index_with(FAR), "lines", None, mode="words", text="cache")


def test_in_a_space_that_was_not_measured_all_is_counted() -> None:
    answer = ask(index_with(FAR, nearness=None), "counts", by=["level"])
    assert lines_of(answer) == 1 + 2
    assert [set(one) for one in answer["families"]] == [{"family", "text", "score"}] * 2


def test_without_a_text_no_family_is_named() -> None:
    answer = ask(index_with(FAR), "counts", None, text=None, by=["level"])
    assert (lines_of(answer), "families" in answer) == (3, False)


@pytest.mark.parametrize(("cosines", "texts"), [(COUNTED, WRONG), (FAR, [])], ids=["near", "far"])
def test_a_comparison_and_an_export_are_of_the_same_lines(cosines: dict[str, float], texts: list[str]) -> None:
    index = index_with(cosines)
    windows = {"filters": {"since_ms": 0, "until_ms": 100_000}, "compare": {"since_ms": 100_000, "until_ms": 200_000}}
    compared = PreparedQuery(Query.model_validate({"as": "compare", "text": "what is it", **windows}), unit(1.0))
    answer = compare_windows(index, compared, lambda: False)
    assert {one.get("text") for one in answer["compare"]} == set(texts)
    assert answer.get("nothing_close", False) is not bool(texts)
    exported = PreparedQuery(Query.model_validate({"as": "export", "text": "what is it"}), unit(1.0))
    assert {one["template_text"] for one in export_lines(index, exported, lambda: False)["lines"]} == set(texts)
