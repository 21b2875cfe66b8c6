"""Hits are families: ten hits are ten of them, the best template of each stands for it."""

from typing import Any

import pytest

from consumers.text.families import family_of
from sinks.row import TemplateText
from tests.template_ids import id_of
from tests.worker.querying.families_world import World, best_lines, same_family, world
from tests.world import counted, index_of, line, open_sink, template, unit, write
from worker.asking.filters import Filters
from worker.asking.question import Query
from worker.querying.dense import MOST_NEAR, MOST_TEMPLATES
from worker.querying.ranking import Index
from worker.querying.search import PreparedQuery, SearchResult, search
from worker.querying.template_groups import TemplateGroups
from worker.querying.template_index import TemplateIndex
from worker.settings.template_tables import TemplateTable


def find(index: Index, *, vector: Any = None, is_exact: bool = False, **request: Any) -> SearchResult:  # noqa: ANN401 - any part of a query
    query = Query.model_validate({"text": "x", **request})
    sought = PreparedQuery(query, unit(1.0) if vector is None and not is_exact else vector, is_exact)
    return search(index, sought, deadline_passed=lambda: False)


def texts(found: SearchResult) -> list[str]:
    return [hit.line.template_text for hit in found.hits]


@pytest.mark.slow
@pytest.mark.parametrize("service", [None, "web"])
@pytest.mark.parametrize("k", [1, 3, 10, 100])
@pytest.mark.parametrize("seed", range(6))
def test_a_search_finds_the_families_that_brute_force_finds(seed: int, k: int, service: str | None) -> None:
    made = world(seed)
    vector = unit(0.3, -0.5, 0.7, 0.1)
    filters = {} if service is None else {"service": [service]}
    found = find(made.opened(), vector=vector, k=k, mode="dense", filters=filters)
    wanted = best_lines(made, vector, k, service)
    assert [hit.line.id for hit in found.hits] == [one for one, _ in wanted]
    assert [hit.score for hit in found.hits] == pytest.approx([score for _, score in wanted], abs=1e-6)
    assert found.complete


def near_and_far(near: int, far: int = 20) -> World:
    """Return a family of so many templates nearest to the query, and as many other families farther away."""
    crowd = [template(text, unit(1.0, n / 10_000)) for n, text in enumerate(same_family("disk full", near))]
    others = [template(f"network {chr(97 + n)} down", unit(0.1, 1.0, n / 10)) for n in range(far)]
    return World([*crowd, *others], [line(n, template_text=row.text) for n, row in enumerate([*crowd, *others])])


@pytest.mark.parametrize("near", [MOST_TEMPLATES // 2, MOST_TEMPLATES, 3 * MOST_TEMPLATES, MOST_NEAR + 100])
@pytest.mark.parametrize("mode", ["dense", "hybrid"])
def test_a_family_of_many_near_templates_does_not_keep_the_others_out(near: int, mode: str) -> None:
    found = find(near_and_far(near).opened(), k=10, mode=mode)
    assert texts(found)[0] == "disk full"
    assert len({family_of(text) for text in texts(found)}) == len(found.hits) == 10
    assert found.complete


def test_lines_of_templates_that_are_passed_over_are_not_read() -> None:
    made = near_and_far(3 * MOST_TEMPLATES)
    index = made.opened()
    asked = counted(index)
    find(index, k=10, mode="dense")
    assert asked == [1, 9], "the best of the family, then the others that are shown"


def test_of_a_family_as_many_lines_come_as_were_asked_for_the_best_template_first() -> None:
    rows = [template(text, unit(1.0, n / 10)) for n, text in enumerate(same_family("disk full", 3))]
    rows.append(template("network down", unit(0.0, 1.0)))
    lines = [line(n, template_text=rows[n % 4].text) for n in range(12)]
    index = index_of(open_sink(rows), lines)

    def found(**request: Any) -> list[int]:  # noqa: ANN401 - any part of a query
        return [hit.line.offset for hit in find(index, mode="dense", **request).hits]

    assert found() == [8, 11]
    assert found(per_family=2) == [8, 9, 11]
    assert found(per_family=100) == [8, 9, 10, 11]
    assert found(per_template=2) == [8, 4, 11, 7]
    assert found(per_template=3, per_family=4) == [8, 4, 0, 9, 11, 7, 3]
    assert found(per_template=2, per_family=1) == [8, 11]
    assert found(per_family=3, k=2) == [8, 9]
    scores = [hit.score for hit in find(index, mode="dense", per_family=3).hits]
    assert scores[:3] == pytest.approx([1.0] * 3), "that of the best template of the family"


def test_under_a_filter_on_templates_or_families_every_template_is_a_hit() -> None:
    rows = [template(text, unit(1.0, n / 10)) for n, text in enumerate([*same_family("disk full", 3), "network down"])]
    index = index_of(open_sink(rows), [line(n, template_text=row.text) for n, row in enumerate(rows)])
    family = [family_of("disk full")]
    assert texts(find(index, mode="dense", filters={"family": family})) == same_family("disk full", 3)
    assert texts(find(index, mode="dense", filters={"family": family}, per_family=1)) == ["disk full"]
    both = [id_of("disk full!"), id_of("network down")]
    assert texts(find(index, mode="dense", filters={"template": both})) == ["disk full!", "network down"]
    assert texts(find(index, mode="dense", filters={"template": both, "family": family})) == ["disk full!"]
    nothing = find(index, mode="dense", filters={"family": ["0" * 16]})
    assert (nothing.hits, nothing.complete) == ([], True)


def test_without_a_text_the_newest_lines_of_a_family_come() -> None:
    rows = [template(text) for text in [*same_family("disk full", 3), "network down"]]
    index = index_of(open_sink(rows), [line(n, template_text=rows[n % 4].text) for n in range(12)])

    def found(**request: Any) -> list[int]:  # noqa: ANN401 - any part of a query
        return [hit.line.offset for hit in find(index, text=None, filters={"family": [family_of("disk full")]}, **request).hits]

    assert found(k=4) == [10, 9, 8, 6]
    assert found(per_template=1) == [10, 9, 8]
    assert found(per_family=2) == [10, 9]
    assert find(index, text=None, filters={"family": ["0" * 16]}) == SearchResult([], complete=True)


def test_every_line_with_the_identifier_comes_whatever_its_family() -> None:
    rows = [template(text) for text in same_family("sent <id>", 3)]
    index = index_of(open_sink(rows), [line(n, text=f"sent ab-123 {n}", template_text=rows[n % 3].text) for n in range(6)])
    assert len(find(index, text="ab-123", is_exact=True).hits) == 6
    assert len(find(index, text="ab-123", is_exact=True, per_family=2).hits) == 2


def test_templates_of_one_name_are_one_hit() -> None:
    rows = [template(text, unit(1.0, n / 10)) for n, text in enumerate(("disk full", "volume crowded", "network down"))]
    named = [TemplateTable(name="no space", pattern="disk|volume")]
    index = World(rows, [line(n, template_text=row.text) for n, row in enumerate(rows)]).opened(named)
    assert texts(find(index, mode="dense")) == ["disk full", "network down"]
    family = index.templates.groups_of({id_of("disk full"): TemplateText("disk full")})[id_of("disk full")]
    assert family.name == "no space"
    assert texts(find(index, mode="dense", filters={"family": [family.family]})) == ["disk full", "volume crowded"]


def test_a_family_with_too_many_templates_to_ask_for_is_cut_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.querying.scope.MOST_MEMBERS", 2)
    rows = [template(text) for text in same_family("disk full", 3)]
    index = index_of(open_sink(rows), [line(n, template_text=row.text) for n, row in enumerate(rows)])
    found = find(index, mode="dense", filters={"family": [family_of("disk full")]})
    assert (len(found.hits), found.complete) == (2, False)


@pytest.mark.parametrize("ranks_words", [True, False])
def test_a_template_that_came_since_is_of_its_family(*, ranks_words: bool) -> None:
    sink = open_sink([template("disk full")], ranks_words=ranks_words)
    now_s = 0.0
    index = index_of(sink, [line(1, template_text="disk full")])
    index = index._replace(templates=TemplateIndex(lambda: sink.templates, lambda: now_s, TemplateGroups()))
    only = Filters(family=[family_of("disk full")]).model_dump(exclude_unset=True)
    assert texts(find(index, mode="dense", filters=only)) == ["disk full"]
    sink.templates.upsert([template("disk full!")])
    now_s = 2.0
    write(sink, line(2, template_text="disk full!"))
    assert set(texts(find(index, mode="dense", filters=only))) == {"disk full", "disk full!"}
