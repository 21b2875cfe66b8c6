"""Filters mean what their values say, whatever they hold; the newest lines are found with few bounded queries."""

import itertools
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sinks.milvus.searching import MOST_ROWS, PAGE_ROWS, Place, Window, any_of, in_window, line_expression, literal, newest
from sinks.milvus.sink import MilvusSettings, MilvusSink
from sinks.row import LEVEL_BYTES, SERVICE_BYTES
from sinks.sink import LineFilter
from tests.fakes.sink import FakeSink
from tests.sinks.rows import DIM, line

QUERIES = 66
"""One page, 64 steps, one last."""

nasty = st.text(st.one_of(st.characters(codec="utf-8"), st.sampled_from("\"'\\\x00\n\r\t(),[]%{}$ =")), max_size=12) | st.sampled_from(
    ['" or 1 == 1 or service == "', "' or true or '", "\\", '\\"', '"', "{service}", "x\\' ", "\u2028", 'a"] or template in ["b']
)


@pytest.fixture(scope="module")
def lite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MilvusSink]:
    folder: Path = tmp_path_factory.mktemp("filters") / "milvus"
    sink = MilvusSink(MilvusSettings(uri=str(folder), dim=DIM, space="space-1"))
    sink.open()
    yield sink
    sink.close()


examples = itertools.count()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    stored=st.lists(st.tuples(nasty, nasty, nasty, st.integers(-3, 3)), min_size=1, max_size=6),
    services=st.lists(nasty, max_size=2),
    levels=st.lists(nasty, max_size=2),
    since_ms=st.none() | st.integers(-3, 3),
    until_ms=st.none() | st.integers(-3, 3),
    taken=st.sets(st.integers(0, 5)),
)
@example(stored=[('a"', "b", "c", 0)], services=['" or 1 == 1 or service == "'], levels=[], since_ms=None, until_ms=None, taken=set())
@example(stored=[("a\x00b", "\n", "\\", 0)], services=["a\x00b"], levels=["\n"], since_ms=0, until_ms=1, taken={0})
def test_a_filter_finds_what_the_fake_finds_and_nothing_else(
    lite: MilvusSink,
    stored: list[tuple[str, str, str, int]],
    services: list[str],
    levels: list[str],
    since_ms: int | None,
    until_ms: int | None,
    taken: set[int],
) -> None:
    number = next(examples)
    digest = f"{number:032x}"
    lines = [
        line(
            offset,
            id=f"{number}/{offset}",
            template=digest,
            service=_cut(service, SERVICE_BYTES),
            level=_cut(level, LEVEL_BYTES),
            text=text,
            time=time,
        )
        for offset, (service, level, text, time) in enumerate(stored)
    ]
    chosen = [one for offset, one in enumerate(lines) if offset in taken]
    only = LineFilter(
        since_ms=since_ms,
        until_ms=until_ms,
        services=(*services, *(one.service for one in chosen)),
        levels=(*levels, *(one.level for one in chosen)),
    )
    fake = FakeSink(dim=DIM)
    fake.open()
    for sink in (fake, lite):
        sink.upsert_lines([*lines, line(99, id=f"{number}/decoy", template="decoy")])
    assert lite.newest_lines(digest, 10, only) == fake.newest_lines(digest, 10, only)
    assert lite.newest_lines(digest, 10, LineFilter()) == fake.newest_lines(digest, 10, LineFilter())


def _cut(text: str, most_bytes: int) -> str:
    return text.encode()[:most_bytes].decode(errors="ignore")


@pytest.mark.parametrize("template", ['" or "" == "', "\\", "'", "a\nb"])
def test_a_templates_digest_is_quoted_too(lite: MilvusSink, template: str) -> None:
    lite.upsert_lines([line(1, id=f"quoted {template}", template=template), line(2, id="plain", template="plain")])
    assert [one.template for one in lite.newest_lines(template, 5, LineFilter())] == [template]
    assert lite.template_vectors([template, "plain"]) == {}


def test_expressions_are_as_milvus_wants_them() -> None:
    assert literal('a"b\\c\nd') == '"a\\"b\\\\c\\nd"'
    assert any_of("level", ["INFO", "INFO", "\ud800"]) == 'level in ["INFO"]'
    assert any_of("level", ["\ud800"]) is None
    only = LineFilter(services=("sshd", "cron"), topics=("logs",))
    assert line_expression(["d"], only) == 'template in ["d"] and service in ["sshd", "cron"] and topic in ["logs"]'
    assert line_expression(["d"], LineFilter(services=("\ud800",))) is None
    assert in_window("x", Window(1, None)) == "x and time >= 1"
    assert in_window("x", Window(None, -2)) == "x and time < -2"


class Backend:
    """Answers as a backend that cannot order: the first rows that it comes by."""

    def __init__(self, places: list[Place]) -> None:
        self.places = places
        self.queries = 0

    def read(self, window: Window, rows: int) -> list[Place]:
        assert rows <= MOST_ROWS
        self.queries += 1
        since, until = window
        found = (one for one in self.places if (since is None or one.time >= since) and (until is None or one.time < until))
        return list(itertools.islice(found, rows))


def at(time: int, number: int) -> Place:
    """Return a place at a time; `number` tells it from others."""
    return Place(time, "logs", 0, number, 0, 0, str(number))


times = st.one_of(
    st.lists(st.integers(-(1 << 63), (1 << 63) - 1), max_size=30),
    st.lists(st.integers(0, 5), max_size=30),
    st.builds(
        lambda start, step, count: [start + step * n for n in range(count)],
        st.integers(0, 1 << 41),
        st.integers(0, 10_000),
        st.integers(0, 900),
    ),
)


@settings(deadline=None)
@given(
    groups=st.lists(times, max_size=4),
    order=st.randoms(use_true_random=False),
    limit=st.integers(1, 300),
    latest_ms=st.integers(-10, 1 << 42),
    until_ms=st.none() | st.integers(0, 1 << 41),
)
def test_the_newest_are_found_in_any_order_of_rows_and_from_any_guess(
    groups: list[list[int]], order: random.Random, limit: int, latest_ms: int, until_ms: int | None
) -> None:
    places = [at(time, number) for number, time in enumerate(itertools.chain.from_iterable(groups))]
    order.shuffle(places)
    backend = Backend(places)
    found = newest(backend.read, limit, Window(None, until_ms), latest_ms)
    assert found == sorted((one for one in places if until_ms is None or one.time < until_ms), reverse=True)[:limit]
    assert backend.queries <= QUERIES


def test_a_rare_template_takes_one_query() -> None:
    backend = Backend([at(number, number) for number in range(PAGE_ROWS - 1)])
    assert newest(backend.read, 2, Window(None, None), 0) == [at(254, 254), at(253, 253)]
    assert backend.queries == 1


def test_a_steady_busy_template_takes_few_queries_when_the_guess_is_good() -> None:
    backend = Backend([at(1_000 * number, number) for number in range(100_000)])
    assert newest(backend.read, 1, Window(None, None), 99_999_000) == [at(99_999_000, 99_999)]
    assert backend.queries == 2


def test_lines_of_one_millisecond_are_ordered_up_to_the_most_that_a_query_returns() -> None:
    backend = Backend([at(7, number) for number in range(MOST_ROWS)] + [at(9, MOST_ROWS)])
    assert newest(backend.read, 2, Window(None, None), 0) == [at(9, MOST_ROWS), at(7, MOST_ROWS - 1)]
