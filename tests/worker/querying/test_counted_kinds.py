"""Counts with a text are of what a search shows first, as far as it is near enough, and say of which families."""

import math
from typing import Any

import pytest

from consumers.text.families import family_of
from tests.world import DIM, index_of, line, open_sink, template, unit
from worker.asking.filters import Filters
from worker.asking.question import Query
from worker.embedding.model.nearness import Nearness
from worker.querying.answer_documents import MOST_REPLY_BYTES, bounded_json
from worker.querying.compare import compare_windows
from worker.querying.counts import COUNTS
from worker.querying.export import export_lines
from worker.querying.form import Sources
from worker.querying.line_search import LINES
from worker.querying.ranking import Index
from worker.querying.search import PreparedQuery
from worker.runtime.surroundings import Surroundings

NEARNESS = Nearness(near=0.3, strong=0.6, floor=0.1, bearing=(0.0,) * DIM)
WRONG = [f"{name} typed the wrong password" for name in ("liam", "nadia", "jonas")]
COSINES = {WRONG[0]: 0.9, WRONG[1]: 0.85, WRONG[2]: 0.8, "liam signed in with it": 0.6, "cache was cleared by cron": 0.2}
FAR = {"cache was cleared by cron": 0.2, "run of the report took long": 0.15}


def index_with(cosines: dict[str, float], nearness: Nearness | None = NEARNESS) -> Index:
    """Return an index of templates with these cosines to `unit(1.0)`; the n-th has n + 1 lines."""
    rows = [template(text, unit(cosine, math.sqrt(1 - cosine**2))) for text, cosine in cosines.items()]
    texts = [text for place, text in enumerate(cosines) for _ in range(place + 1)]
    return index_of(open_sink(rows), [line(n, text=text, template_text=text) for n, text in enumerate(texts)])._replace(nearness=nearness)


def ask(index: Index, form: str, vector: Any = unit(1.0), **request: Any) -> Any:  # noqa: ANN401, B008 - JSON; read only
    query = Query.model_validate({"as": form, "text": "what is it", **request})
    answer = {"counts": COUNTS, "lines": LINES}[form].open(Sources(index, Surroundings()))
    return answer(PreparedQuery(query, vector), lambda: False, math.inf)


def lines_of(answer: Any) -> int:  # noqa: ANN401 - JSON
    return sum(one["lines"] for one in answer["counts"])


@pytest.mark.parametrize("mode", ["dense", "hybrid"])
def test_what_is_much_farther_than_the_nearest_is_not_counted(mode: str) -> None:
    answer = ask(index_with(COSINES), "counts", mode=mode, by=["level"])
    assert lines_of(answer) == 1 + 2 + 3
    (counted,) = answer["families"]
    assert (counted["text"], counted["similarity"], counted["family"]) == (WRONG[0], "strong", family_of(WRONG[0]))
    assert [one["word"] for one in counted["alike"]] == ["nadia", "jonas"]
    assert "nothing_close" not in answer


def test_of_a_kind_only_the_families_that_are_near_enough_count() -> None:
    answer = ask(index_with(COSINES | {WRONG[2]: 0.4}), "counts", by=["level"])
    assert lines_of(answer) == 1 + 2
    assert [one["word"] for one in answer["families"][0]["alike"]] == ["nadia"]


def test_with_phrases_all_that_has_them_counts_however_far_it_is() -> None:
    answer = ask(index_with(COSINES), "counts", by=["level"], filters=Filters(phrases=[["was cleared", "signed in"]]))
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
    answer = ask(index_with(COSINES), "lines")
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


@pytest.mark.parametrize(("cosines", "texts"), [(COSINES, WRONG), (FAR, [])], ids=["near", "far"])
def test_a_comparison_and_an_export_are_of_the_same_lines(cosines: dict[str, float], texts: list[str]) -> None:
    index = index_with(cosines)
    windows = {"filters": {"since_ms": 0, "until_ms": 100_000}, "compare": {"since_ms": 100_000, "until_ms": 200_000}}
    compared = PreparedQuery(Query.model_validate({"as": "compare", "text": "what is it", **windows}), unit(1.0))
    answer = compare_windows(index, compared, lambda: False)
    assert {one.get("text") for one in answer["compare"]} == set(texts)
    assert answer.get("nothing_close", False) is not bool(texts)
    exported = PreparedQuery(Query.model_validate({"as": "export", "text": "what is it"}), unit(1.0))
    assert {one["template_text"] for one in export_lines(index, exported, lambda: False)["lines"]} == set(texts)
