"""Counts by family are exact: they are sums of the counts by template, whatever the order, the blocks and the reader."""

from typing import Any

import pytest

from consumers.text.families import family_of
from tests.template_ids import id_of
from tests.worker.querying.families_world import World, same_family, world
from tests.worker.querying.test_counts import rows_of
from tests.world import line, template
from worker.asking.question import Query
from worker.querying.counts import CountListing, find_counts
from worker.querying.ranking import Index
from worker.querying.search import PreparedQuery
from worker.querying.template_groups import named_family
from worker.settings.template_tables import TemplateTable

NOW_MS = 10_000_000


def find(index: Index, *, reads: int = 100_000, **request: Any) -> CountListing:  # noqa: ANN401 - any part of a query
    left = iter(range(reads))
    query = Query.model_validate({"as": "counts", **request})
    (found,) = find_counts(index, PreparedQuery(query, None), lambda: next(left, None) is None, now_ms=NOW_MS).listings
    return found


def lines_by(listing: CountListing) -> dict[tuple[int | str, ...], int]:
    return {row.key: row.lines for row in listing.rows}


def test_the_largest_groups_are_chosen_after_they_were_summed_up() -> None:
    lines = [
        *(line(n, template_text=text) for n, text in enumerate(same_family("disk full", 4))),
        *(line(9 + n, template_text="login") for n in range(3)),
    ]
    index = World([template(text) for text in {one.template_text for one in lines}], lines).opened()
    assert lines_by(find(index, by=["family"], top=1)) == {(family_of("disk full"),): 4}
    assert {key[1]: lines for key, lines in lines_by(find(index, by=["time", "family"], top=1, buckets=1000)).items()} == {
        family_of("disk full"): 1
    }
    assert sum(row.lines for row in find(index, by=["time", "family"], top=1, buckets=3).rows) == 4
    assert lines_by(find(index, by=["family", "level"], top=1)) == {(family_of("disk full"), "INFO"): 4}


def test_each_row_has_the_text_of_the_most_frequent_template_and_its_name() -> None:
    lines = [line(n, template_text=text) for n, text in enumerate(("disk full", "disk full!", "disk full!", "login", "login"))]
    rows = [template(text) for text in {one.template_text for one in lines}]
    index = World(rows, lines).opened([TemplateTable(name="who", pattern="login")])
    assert rows_of(find(index, by=["family"])) == [
        {"family": family_of("disk full"), "text": "disk full!", "lines": 3, "first": 0, "last": 2_000},
        {"family": named_family("who"), "text": "login", "name": "who", "lines": 2, "first": 3_000, "last": 4_000},
    ]
    by_template = rows_of(find(index, by=["template"]))
    assert {row["text"]: row.get("name") for row in by_template} == {"login": "who", "disk full!": None, "disk full": None}
    both = rows_of(find(index, by=["template", "family"]))
    assert [(row["text"], row["family"], row.get("name"), row["lines"]) for row in both if "name" in row] == [
        ("login", named_family("who"), "who", 2)
    ]


def test_a_deadline_that_cuts_it_is_said_and_nothing_is_counted_too_high() -> None:
    made = world(2)
    wanted = lines_by(find(made.opened(), by=["time", "family"], top=1000))
    found = [find(made.opened(), by=["time", "family"], top=1000, reads=reads) for reads in range(25)]
    assert {one.complete for one in found} == {True, False}
    for one in found:
        if one.complete:
            assert lines_by(one) == wanted


def test_texts_that_are_many_are_read_in_pieces_and_only_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.querying.family_counts._TEXTS_AT_ONCE", 4)
    made = world(6)
    index = made.opened()
    sink = index.sink
    assert find(index, by=["family"]).complete
    templates = {id_of(one.template_text) for one in made.lines}
    first = sink.calls.count("templates.texts")  # type: ignore[attr-defined]
    assert first == -(-len(templates) // 4) + 1, "and once for the texts that are shown"
    find(index, by=["family"])
    assert sink.calls.count("templates.texts") == first + 1  # type: ignore[attr-defined]
