"""Listings of families: what a query with `as: templates` gets back."""

from collections import Counter
from typing import Any

import pytest

from consumers.text.families import family_of
from tests.worker.querying.families_world import World, same_family, world
from tests.world import index_of, line, open_sink, template, unit
from worker.asking.question import Query
from worker.querying.family_listing import FamilyListing, families_document, find_families
from worker.querying.ranking import Index
from worker.querying.search import PreparedQuery
from worker.querying.template_groups import TemplateGroups, named_family
from worker.querying.template_index import TemplateIndex
from worker.querying.template_listing import find_templates, templates_document
from worker.settings.template_tables import TemplateTable


def listed(index: Index, *, reads: int = 100_000, **request: Any) -> FamilyListing:  # noqa: ANN401 - any part of a query
    left = iter(range(reads))
    query = Query.model_validate({"as": "templates", **request})
    return find_families(index, PreparedQuery(query, unit(1.0)), lambda: next(left, None) is None)


def rows(index: Index, **request: Any) -> Any:  # noqa: ANN401 - any part of a query
    return families_document(listed(index, **request))["templates"]


def expanded(index: Index, **request: Any) -> Any:  # noqa: ANN401 - any part of a query
    query = Query.model_validate({"as": "templates", "expand": True, **request})
    return templates_document(find_templates(index, PreparedQuery(query, unit(1.0)), lambda: False))["templates"]


@pytest.fixture
def made() -> World:
    """Three templates of one family, with 1, 2 and 3 lines, and one template of another with 4."""
    texts = [*same_family("disk full", 3), "network down"]
    found = [line(n, template_text=text) for n, text in enumerate(text for place, text in enumerate(texts) for _ in range(place + 1))]
    return World([template(text, unit(1.0, n)) for n, text in enumerate(texts)], found)


def test_with_a_text_the_best_families_come_first_with_the_score_of_the_best_template(made: World) -> None:
    found = rows(made.opened(), text="x", mode="dense")
    assert [(row["text"], row["templates"], row["lines"]) for row in found] == [("disk full!!", 3, 6), ("network down", 1, 4)]
    assert found[0]["score"] == pytest.approx(1.0)
    assert found[1]["score"] == pytest.approx(float(unit(1.0, 3.0)[0]), abs=1e-6)
    assert len(rows(made.opened(), text="x", mode="dense", k=1)) == 1


def test_templates_of_one_name_are_one_row(made: World) -> None:
    index = made.opened([TemplateTable(name="out of order", pattern="full!|network")])
    assert [(row["family"], row.get("name"), row["templates"], row["lines"]) for row in rows(index)] == [
        (named_family("out of order"), "out of order", 3, 9),
        (family_of("disk full"), None, 1, 1),
    ]
    assert [row.get("name") for row in expanded(index)] == ["out of order", "out of order", "out of order", None]
    only = {"family": [named_family("out of order")]}
    assert [row["lines"] for row in rows(index, filters=only)] == [9]


def test_a_template_whose_row_is_gone_is_still_of_its_family(made: World) -> None:
    sink = open_sink([])
    index = index_of(sink, made.lines)
    assert [(row["family"], row["templates"], row["lines"]) for row in rows(index)] == [
        (family_of("disk full"), 3, 6),
        (family_of("network down"), 1, 4),
    ]


@pytest.mark.parametrize("filters", [{}, {"service": ["web"]}], ids=["all", "service"])
@pytest.mark.parametrize("seed", range(3))
def test_every_figure_is_what_counting_by_hand_finds(seed: int, filters: dict[str, list[str]]) -> None:
    made = world(seed)
    passing = [one for one in made.lines if one.service in filters.get("service", ["web", "db"])]
    found = rows(made.opened(), k=1000, filters=filters)
    assert {row["family"] for row in found} == {family_of(one.template_text) for one in passing}
    for row in found:
        lines = [one for one in passing if family_of(one.template_text) == row["family"]]
        counts = Counter(one.template for one in lines)
        frequent = min(counts, key=lambda template: (-counts[template], template))
        assert (row["templates"], row["lines"]) == (len(counts), len(lines))
        assert (row["first"], row["last"]) == (min(one.time for one in lines), max(one.time for one in lines))
        assert row["text"] == next(one.template_text for one in lines if one.template == frequent)
        example = tuple(row[name] for name in ("example", "service", "level", "time", "kafka_time"))
        assert example in {(one.text, one.service, one.level, one.time, one.kafka_time) for one in lines if one.time == row["last"]}
    assert [(row["lines"], row["family"]) for row in found] == sorted(
        ((row["lines"], row["family"]) for row in found), key=lambda row: (-row[0], row[1])
    )


@pytest.mark.parametrize("seed", range(3))
def test_a_search_and_a_listing_say_the_same_of_a_family(seed: int) -> None:
    index = world(seed).opened()
    of_all = {row["family"]: row for row in rows(index, k=1000)}
    of_search = rows(index, k=1000, text="x", mode="dense")
    assert {row["family"]: {key: row[key] for key in row if key != "score"} for row in of_search} == of_all


def test_a_listing_that_was_cut_short_says_so_and_counts_no_line_too_many(made: World) -> None:
    wanted = {row["family"]: row["lines"] for row in rows(made.opened())}
    for request in ({}, {"text": "x", "mode": "dense"}):
        found = [listed(made.opened(), reads=reads, **request) for reads in range(30)]
        assert {one.complete for one in found} == {True, False}
        for one in found:
            assert all(1 <= family.counted.lines <= wanted[family.counted.group.family] for family in one.families)
            assert not one.complete or len(one.families) == 2


def test_more_templates_than_are_remembered_are_counted_all_the_same(made: World) -> None:
    for request in ({}, {"text": "x", "mode": "dense", "k": 2}):

        def found(reads: int, request: dict[str, Any] = request) -> list[int]:
            index = made.opened()
            index = index._replace(templates=TemplateIndex(lambda: index.sink.templates, lambda: 0.0, TemplateGroups(most=1)))
            return [one.counted.lines for one in listed(index, reads=reads, **request).families]

        assert found(100_000) == [6, 4]
        for reads in range(30):
            assert all(lines in range(1, 7) for lines in found(reads))


def test_a_family_that_is_too_large_to_be_asked_for_is_counted_all_the_same(made: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.querying.family_listing.MOST_MEMBERS", 1)
    found = rows(made.opened(), text="x", mode="dense")
    assert [(row["templates"], row["lines"]) for row in found] == [(3, 6), (1, 4)]
