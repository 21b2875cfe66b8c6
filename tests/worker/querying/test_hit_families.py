"""What a hit says of its family: figures that are exact or not there, and templates that are read while no query waits."""

from collections.abc import Sequence
from typing import Any

import pytest

from consumers.text.families import family_of
from sinks.row import TemplateId, TemplateText
from sinks.sink import SinkBusy
from tests.fakes.sink import FakeSink
from tests.worker.chain import Chain
from tests.worker.querying.families_world import World, same_family, world
from tests.world import index_of, line, template, unit
from worker.asking.answers import HitFamilyJson
from worker.asking.filters import Filters
from worker.asking.question import Query
from worker.asking.refusals import QueryReply
from worker.asking.requests import Requester
from worker.querying.answer import Answer
from worker.querying.hit_families import LONGEST_S, HitFamilies
from worker.querying.ranking import Index
from worker.querying.ready_query import Answerable, ReadyQuery
from worker.querying.scope import scope_of
from worker.querying.search import Hit, PreparedQuery, search
from worker.querying.template_groups import named_family
from worker.runtime.lane import Lane
from worker.runtime.surroundings import Surroundings
from worker.settings.template_tables import TemplateTable


class Clock:
    """A clock that every listing of blocks moves.

    Thread: the test's.
    """

    def __init__(self, sink: FakeSink, find_s: float = 0.0) -> None:
        self.now_s = 0.0
        self.find_s = find_s
        self._find = sink.find_blocks
        sink.find_blocks = self._slow_find  # type: ignore[method-assign]

    def __call__(self) -> float:
        return self.now_s

    def _slow_find(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as the sink's
        self.now_s += self.find_s
        return self._find(*args, **kwargs)


def sink_of(index: Index) -> FakeSink:
    assert isinstance(index.sink, FakeSink)
    return index.sink


def hits_of(index: Index, **request: Any) -> list[Hit]:  # noqa: ANN401 - any part of a query
    query = Query.model_validate({"text": "x", "mode": "dense", **request})
    return search(index, PreparedQuery(query, unit(1.0)), deadline_passed=lambda: False).hits


def shown(index: Index, families: HitFamilies, stop_s: float = 5.0, **filters: Any) -> list[HitFamilyJson]:  # noqa: ANN401 - any filter
    scope = scope_of(index, Filters.model_validate(filters), lambda: False)
    return families.shown(hits_of(index, k=100, filters=filters), scope, stop_s)


def family(count: int = 3) -> World:
    texts = same_family("disk full", count)
    return World([template(text) for text in texts], [line(n, template_text=texts[n % count]) for n in range(2 * count)])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("filters", [{}, {"service": ["web"]}, {"since_ms": 30_000}], ids=["all", "service", "window"])
def test_the_figures_are_what_counting_by_hand_finds(seed: int, filters: dict[str, Any]) -> None:
    made = world(seed)
    index = made.opened()
    passing = [one for one in made.lines if one.service in filters.get("service", ["web", "db"]) and one.time >= filters.get("since_ms", 0)]
    said = shown(index, HitFamilies(index, lambda: 0.0), **filters)
    assert said
    for one in said:
        of_family = [other for other in passing if family_of(other.template_text) == one["family"]]
        assert one["family_lines"] == len(of_family)
        assert one["family_templates"] == len({other.template for other in of_family})


def test_a_count_that_took_long_is_not_done_again_for_a_while() -> None:
    index = family().opened()
    clock = Clock(sink_of(index), find_s=(LONGEST_S + 0.1) / 2)  # blocks are listed twice: those asked for, and copies
    families = HitFamilies(index, clock)
    names = {"family": family_of("disk full")}
    counted = [names | {"family_templates": 3, "family_lines": 6, "family_first": 0, "family_last": 5_000}]
    assert shown(index, families) == counted
    clock.find_s = 0.0
    clock.now_s += 5.0
    assert shown(index, families, stop_s=60.0) == [names]
    clock.now_s += 5.0
    assert shown(index, families, stop_s=60.0) == counted
    assert shown(index, families, stop_s=clock.now_s) == [names], "no time is left"


def test_a_count_that_is_cut_short_gives_no_figures() -> None:
    index = world(1).opened()
    clock = Clock(sink_of(index))
    families, window = HitFamilies(index, clock), {"since_ms": 30_000}
    hits, scope = hits_of(index, filters=window), scope_of(index, Filters.model_validate(window), lambda: False)
    clock.find_s = LONGEST_S / 2
    assert not any("family_lines" in one for one in families.shown(hits, scope, 5.0))
    clock.find_s = 0.0
    assert all("family_lines" in one for one in families.shown(hits, scope, 5.0))


def test_a_sink_that_is_busy_then_costs_the_figures_and_not_the_hits() -> None:
    index = family().opened()
    families = HitFamilies(index, lambda: 0.0)
    hits, scope = hits_of(index), scope_of(index, Filters(), lambda: False)
    sink_of(index).busy_calls = 1
    assert families.shown(hits, scope, 5.0) == [{"family": family_of("disk full")}]
    assert families.shown(hits, scope, 5.0)[0]["family_lines"] == 6


def test_a_family_with_too_many_templates_has_no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    index = family().opened()
    monkeypatch.setattr("worker.querying.hit_families.MOST_MEMBERS", 2)
    assert shown(index, HitFamilies(index, lambda: 0.0)) == [{"family": family_of("disk full")}]


def test_until_all_templates_are_read_there_are_no_figures_and_each_query_reads_one_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.querying.template_index._PAGE", 2)
    index = family(5).opened()
    families = HitFamilies(index, lambda: 0.0)
    said = [("family_lines" in shown(index, families)[0], index.templates.is_behind) for _ in range(3)]
    assert said == [(False, True), (False, True), (True, False)]
    assert sink_of(index).calls.count("templates.all_above") == 3


class Asked:
    """Takes replies.

    Thread: the test's.
    """

    def __init__(self) -> None:
        self.replies: list[QueryReply] = []

    def __call__(self, reply: QueryReply, *, deadline_s: float | None) -> None:
        assert deadline_s is None
        self.replies.append(reply)

    def query(self) -> Sequence[Answerable]:
        """Return a query that any template answers."""
        return [ReadyQuery(Requester(self, 0.0), Query(text="x", mode="dense"), unit(1.0), 0.0, 0.0)]


@pytest.mark.parametrize("is_busy", [False, True])
def test_templates_are_read_while_no_query_waits(monkeypatch: pytest.MonkeyPatch, *, is_busy: bool) -> None:
    monkeypatch.setattr("worker.querying.template_index._PAGE", 2)
    sink = sink_of(family(9).opened())
    asked, lane = Asked(), Lane[Answerable]("answer")
    step = Answer(sink=sink, reader=index_of(sink).reader, surroundings=Surroundings(clock=lambda: 0.0, wall_ms=lambda: 0.0))
    whole, take = sink.templates.all_above, lane.take

    def read(last: str, limit: int) -> list[tuple[TemplateId, TemplateText]]:
        page = whole(last, limit)
        assert sink.calls.count("templates.all_above") <= 5, "it is asked again and again"
        if asked.replies and is_busy:
            raise SinkBusy("away")
        return page

    def take_or_end(most: int, *, wait: bool = True, timeout_s: float | None = None) -> list[Answerable] | None:
        if wait and not len(lane):
            lane.close()
        return take(most, wait=wait, timeout_s=timeout_s)

    sink.templates.all_above = read  # type: ignore[method-assign]
    lane.take = take_or_end  # type: ignore[method-assign]
    lane.put(asked.query())
    step.body(lane)
    assert len(asked.replies) == 1
    assert sink.calls.count("templates.all_above") == (2 if is_busy else 5)


def test_a_query_that_comes_meanwhile_is_answered_before_the_next_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.querying.template_index._PAGE", 2)
    sink = sink_of(family(9).opened())
    asked, lane = Asked(), Lane[Answerable]("answer")
    step = Answer(sink=sink, reader=index_of(sink).reader, surroundings=Surroundings(clock=lambda: 0.0, wall_ms=lambda: 0.0))
    whole, answered = sink.templates.all_above, list[int]()

    def read(last: str, limit: int) -> list[tuple[TemplateId, TemplateText]]:
        answered.append(len(asked.replies))
        if len(answered) == 2:
            lane.put(asked.query())
        page = whole(last, limit)
        if len(page) < limit:
            lane.close()
        return page

    sink.templates.all_above = read  # type: ignore[method-assign]
    lane.put(asked.query())
    step.body(lane)
    assert answered == [0, 1, 1, 2, 2], "the second query reads a page itself"


def test_hits_and_the_lines_around_one_name_their_family(chain: Chain) -> None:
    chain.index("disk full on 10.0.0.1", "disk full, on 10.0.0.2", "network down")
    named = [TemplateTable(name="no network", pattern="^network")]
    step = Answer(sink=chain.sink, reader=chain.reader, surroundings=chain.surroundings, named=named)
    chain.answer_step = step
    chain.ask({"text": "disk full on", "k": 2})
    chain.ask({"around": {"topic": "logs", "partition": 0, "offset": 1}})
    chain.ask({"as": "counts", "by": ["family"]})
    chain.ask({"as": "templates"})
    chain.embed()
    found, around, counts, templates = chain.answer()
    first, second = found["hits"]
    assert (first["family"], first["family_templates"], first["family_lines"]) == (family_of("disk full on"), 2, 2)
    assert "name" not in first
    assert (second["family"], second["name"], second["family_lines"]) == (named_family("no network"), "no network", 1)
    assert [hit["family"] for hit in around["hits"]] == [first["family"], first["family"], second["family"]]
    assert around["hits"][2]["name"] == "no network"
    assert "family_lines" not in around["hits"][0]
    assert [(row["lines"], row.get("name")) for row in counts["counts"]] == [(2, None), (1, "no network")]
    assert [(row["templates"], row["lines"], row.get("name")) for row in templates["templates"]] == [(2, 2, None), (1, 1, "no network")]
