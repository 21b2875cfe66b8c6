"""Filters mean what their values say, whatever they hold."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sinks.milvus.searching import Window, any_of, in_window, in_windows, line_expression, literal
from sinks.milvus.sink import MilvusSettings, MilvusSink
from sinks.row import LEVEL_BYTES, SERVICE_BYTES
from sinks.sink import LineFilter
from tests.fakes.sink import FakeSink
from tests.sinks.rows import DIM, SPACE, line, newest

nasty = st.text(st.one_of(st.characters(codec="utf-8"), st.sampled_from("\"'\\\x00\n\r\t(),[]%{}$ =")), max_size=12) | st.sampled_from(
    ['" or 1 == 1 or service == "', "' or true or '", "\\", '\\"', '"', "{service}", "x\\' ", "\u2028", 'a"] or template in ["b']
)


@pytest.fixture(scope="module")
def lite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MilvusSink]:
    folder: Path = tmp_path_factory.mktemp("filters") / "milvus"
    sink = MilvusSink(MilvusSettings(uri=str(folder)), SPACE)
    sink.open()
    yield sink
    sink.close()


examples = itertools.count()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
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
    assert newest(lite, digest, 10, only) == newest(fake, digest, 10, only)
    assert newest(lite, digest, 10, LineFilter()) == newest(fake, digest, 10, LineFilter())


def _cut(text: str, most_bytes: int) -> str:
    return text.encode()[:most_bytes].decode(errors="ignore")


@pytest.mark.parametrize("template", ['" or "" == "', "\\", "'", "a\nb"])
def test_a_templates_digest_is_quoted_too(lite: MilvusSink, template: str) -> None:
    lite.upsert_lines([line(1, id=f"quoted {template}", template=template), line(2, id="plain", template="plain")])
    assert [one.template for one in newest(lite, template, 5, LineFilter())] == [template]
    assert lite.template_vectors([template, "plain"]) == {}


def test_expressions_are_as_milvus_wants_them() -> None:
    assert literal('a"b\\c\nd') == '"a\\"b\\\\c\\nd"'
    assert any_of("level", ["INFO", "INFO", "\ud800"]) == 'level in ["INFO"]'
    assert any_of("level", ["\ud800"]) is None
    only = LineFilter(services=("sshd", "cron"), topics=("logs",))
    assert line_expression(["d"], only) == 'template in ["d"] and service in ["sshd", "cron"] and topic in ["logs"]'
    assert line_expression(["d"], LineFilter(services=("\ud800",))) is None
    asks = [(["d", "e"], Window(1, None)), (["f"], Window(None, 2)), (["\ud800"], Window(None, None))]
    assert in_windows(asks[:1], "") == 'template in ["d", "e"] and time >= 1'
    assert in_windows(asks, "x") == '((template in ["d", "e"] and time >= 1) or (template in ["f"] and time < 2)) and x'
    assert in_windows(asks[2:], "x") is None
    assert in_window("x", Window(1, None)) == "x and time >= 1"
    assert in_window("x", Window(None, -2)) == "x and time < -2"
