"""Counts: how many lines there are, by time, template, family, service, level and topic."""

import random
from collections import Counter
from typing import Any

import pytest

from consumers.decode.line_zones import DAY_MS
from consumers.text.families import family_of
from sinks.line import Line
from sinks.reading.group_names import FIELD_NAMES
from tests.template_ids import id_of
from tests.worker.querying.families_world import World, same_family, world
from tests.world import index_of, line, open_sink, template, unit
from worker.asking.question import GROUPINGS, Query
from worker.querying.counts import WIDTHS_MS, CountListing, counts_document, find_counts, width_ms
from worker.querying.dense import MOST_TEMPLATES
from worker.querying.ranking import Index
from worker.querying.search import PreparedQuery
from worker.querying.template_groups import named_family
from worker.settings.template_tables import TemplateTable

TEXTS = ("disk full", "network down", "login failed", "login failed!", "Login failed.")
"""The last three are one family."""
MINUTE_MS = 60_000
NOW_MS = 3_700_000
FAR_MS = [(1 << 63) - 1, (1 << 62) + 1, NOW_MS + DAY_MS + 1, -1, -1 << 63]


def some_lines(count: int = 200) -> list[Line]:
    """Return lines of every template, service, level and topic, over about an hour."""
    draw = random.Random(5)
    lines = [
        line(
            n,
            topic=draw.choice(("logs", "audit")),
            template_text=draw.choice(TEXTS),
            time=draw.randrange(3_600_000),
            service=draw.choice(("web", "db", "")),
            level=draw.choice(("INFO", "ERROR")),
        )
        for n in range(count)
    ]
    return sorted(lines, key=lambda one: one.topic)


@pytest.fixture(scope="module")
def index() -> Index:
    vectors = [unit(1.0), unit(1.0, 0.5), *(unit(0.0, 1.0) for _ in TEXTS[2:])]
    return index_of(open_sink(template(text, vector) for text, vector in zip(TEXTS, vectors, strict=True)), some_lines())


def find_all(index: Index, *, reads: int = 100_000, **request: Any) -> list[CountListing]:  # noqa: ANN401 - any part of a query
    """Count until the deadline, which passes after `reads` readings of the clock."""
    left = iter(range(reads))
    query = Query.model_validate({"as": "counts", **request})
    return find_counts(index, PreparedQuery(query, unit(1.0)), lambda: next(left, None) is None, now_ms=NOW_MS).listings


def rows_of(listing: CountListing) -> Any:  # noqa: ANN401 - JSON
    document: Any = counts_document([listing])
    return document["counts"]


def find(index: Index, **request: Any) -> CountListing:  # noqa: ANN401 - any part of a query
    """Count by one grouping."""
    (found,) = find_all(index, **request)
    return found


def key_of(one: Line, by: list[str], bucket_ms: int) -> tuple[int | str, ...]:
    parts: dict[str, int | str] = {"time": one.time // (bucket_ms or 1) * (bucket_ms or 1), "template": one.template, "topic": one.topic}
    parts |= {"family": family_of(one.template_text), "service": one.service, "level": one.level}
    return tuple(parts[name] for name in by)


KEYS = [one for one in GROUPINGS if one != FIELD_NAMES]
PAIRS = [[one] for one in KEYS] + [[one, other] for place, one in enumerate(KEYS) for other in KEYS[place + 1 :]]


@pytest.mark.parametrize("by", PAIRS, ids="-".join)
@pytest.mark.parametrize("window", [{}, {"since_ms": 500_000, "until_ms": 2_000_000}], ids=["all", "a window"])
def test_every_grouping_counts_as_counting_by_hand_does(index: Index, by: list[str], window: dict[str, int]) -> None:
    found = find(index, by=by, filters={**window, "level": ["ERROR"]}, top=1000)
    wanted = [
        one for one in some_lines() if one.level == "ERROR" and window.get("since_ms", 0) <= one.time < window.get("until_ms", 1 << 62)
    ]
    by_hand = Counter(key_of(one, by, found.bucket_ms or 0) for one in wanted)
    assert {row.key: row.lines for row in found.rows} == by_hand
    assert found.complete
    assert (found.bucket_ms is not None) == ("time" in by)


@pytest.mark.parametrize("filters", [{}, {"since_ms": 500_000}, {"since_ms": 500_000, "until_ms": 2_000_000, "level": ["ERROR"]}], ids=str)
def test_several_groupings_are_counted_as_each_alone_and_read_once(filters: dict[str, Any]) -> None:
    sink = open_sink(map(template, TEXTS))
    index = index_of(sink, some_lines())

    def find_blocks(by: list[list[str]]) -> tuple[list[CountListing], int]:
        before = len(sink.calls)
        found = find_all(index_of(sink, []), by=by, filters=filters, top=1000)
        return found, sink.calls[before:].count("find_blocks")

    found, listings = find_blocks(PAIRS)
    assert found == [find(index, by=by, filters=filters, top=1000) for by in PAIRS]
    assert listings == find_blocks([["time", "family"]])[1], "which lists the blocks of the largest families once more"


def test_a_facet_counts_what_its_own_filter_leaves_out(index: Index) -> None:
    filters = {"service": ["web"], "not_level": ["INFO"], "not_topic": ["audit"], "since_ms": 500_000}
    by = [["time", "level"], ["service"], ["level"], ["topic"]]
    over_time, *facets = find_all(index, by=by, filters=filters, facets=True)
    assert over_time == find(index, by=["time", "level"], filters=filters)
    for name, found in zip(("service", "level", "topic"), facets, strict=True):
        others = {key: value for key, value in filters.items() if not key.endswith(name)}
        assert found == find(index, by=[name], filters=others)
        assert len(found.rows) > 1
    pods = index_of(open_sink(), [line(n, fields=f'{{"pod":"{n % 3}","trace_id":"{n % 2}"}}') for n in range(9)])
    of_fields = {"fields": {"pod": "1"}, "trace_id": "1"}
    pod, trace = find_all(pods, by=[["field:pod"], ["field:trace_id"]], filters=of_fields, facets=True)
    assert ({row.key[0] for row in pod.rows}, {row.key[0] for row in trace.rows}) == ({"0", "1", "2"}, {"0", "1"})


def test_without_a_grouping_templates_are_counted_or_buckets(index: Index) -> None:
    assert [row["text"] for row in rows_of(find(index))] == [
        text for text, _ in Counter(one.template_text for one in some_lines()).most_common()
    ]
    assert find(index, buckets=5).by == ("time",)
    assert find(index, by=["template", "time"], buckets=5).by == ("time", "template")


def test_the_buckets_cover_the_window_or_all_lines(index: Index) -> None:
    times = [one.time for one in some_lines()]
    found = find(index, buckets=7)
    assert found.bucket_ms == 10 * MINUTE_MS
    assert (found.rows[0].first_ms, found.rows[-1].last_ms) == (min(times), max(times))
    narrow = find(index, buckets=7, filters={"since_ms": 600_000, "until_ms": 1_200_000})
    assert narrow.bucket_ms == 2 * MINUTE_MS
    assert find(index, buckets=7, filters={"since_ms": 0, "until_ms": 7_200_000}).bucket_ms == 30 * MINUTE_MS
    assert sum(row.lines for row in narrow.rows) == sum(600_000 <= time < 1_200_000 for time in times)


def test_a_text_counts_the_templates_that_fit_it_best() -> None:
    texts = [f"disk {'a' * n}" for n in range(1, MOST_TEMPLATES + 10)]
    rows = [template(text, unit(1.0, n / 100)) for n, text in enumerate(texts)]
    index = index_of(open_sink(rows), [line(n, template_text=text) for n, text in enumerate(texts)])
    found = find(index, text="x", mode="dense", top=1000)
    assert set(found.texts.values()) == set(texts[:MOST_TEMPLATES])
    assert (found.complete, {row.lines for row in found.rows}) == (True, {1})
    assert sum(row.lines for row in find(index, text="x", mode="dense", by=["level"]).rows) == MOST_TEMPLATES
    far = find(index, text=texts[-1], mode="hybrid", by=["level"])
    assert sum(row.lines for row in far.rows) == MOST_TEMPLATES, "those that both rankings find are more"


def test_a_text_that_nothing_fits_counts_nothing(index: Index) -> None:
    query = Query.model_validate({"as": "counts", "text": "ab-123"})
    (found,) = find_counts(index, PreparedQuery(query, None, is_exact=True), lambda: False, now_ms=NOW_MS).listings
    assert (found.rows, found.complete) == ([], True)


def test_templates_count_pieces_and_the_rest_counts_lines() -> None:
    pieces = [line(1, chunk=chunk, chunks=3, cut=7, text=f"part {chunk}", template_text=TEXTS[chunk]) for chunk in range(3)]
    index = index_of(open_sink(map(template, TEXTS)), pieces)
    for by in (["template"], ["family"]):
        assert sum(row.lines for row in find(index, by=by).rows) == 3
    assert [row.lines for row in find(index, by=["level"]).rows] == [1]
    assert [row.lines for row in find(index, by=["time"]).rows] == [1]


def test_a_deadline_that_cuts_it_is_said(index: Index) -> None:
    filters = {"since_ms": 500_000}
    assert find(index, by=["service"], filters=filters, reads=100).complete
    assert not find(index, by=["service"], filters=filters, reads=0).complete


@pytest.mark.parametrize("buckets", [2, 3, 10, 60, 1000])
@pytest.mark.parametrize("span_ms", [1, 999, 60_000, 3_599_999, 86_400_000, 10**12, 1 << 62])
@pytest.mark.parametrize("since_ms", [0, 17, -123_456_789, 1_700_000_000_123])
def test_a_width_is_the_smallest_with_few_enough_buckets(since_ms: int, span_ms: int, buckets: int) -> None:
    def touched(width: int) -> int:
        return (since_ms + span_ms - 1) // width - since_ms // width + 1

    width = width_ms(since_ms, since_ms + span_ms, buckets)
    assert touched(width) <= buckets
    narrower = [one for one in WIDTHS_MS if one < width] or [width]
    assert width == WIDTHS_MS[0] or touched(max(narrower)) > buckets


@pytest.mark.slow
@pytest.mark.parametrize("far_ms", FAR_MS)
@pytest.mark.parametrize("by", [["time"], ["time", "level"], ["time", "family"], ["time", "template"]], ids="-".join)
@pytest.mark.parametrize("filters", [{}, {"since_ms": -1 << 62, "until_ms": 1 << 62}], ids=["open", "wide"])
def test_a_stored_line_of_a_far_time_counts_in_the_nearest_bucket_and_makes_none_wider(
    index: Index, by: list[str], far_ms: int, filters: dict[str, int]
) -> None:
    far = line(500, time=far_ms, template_text=TEXTS[0], level="INFO")
    other = index_of(open_sink(map(template, TEXTS)), [*some_lines(), far])
    found, usual = (find(one, by=by, buckets=30, filters=filters, top=1000) for one in (other, index))
    assert found.bucket_ms == usual.bucket_ms == 2 * MINUTE_MS
    is_wanted = filters.get("since_ms", far_ms) <= far_ms < filters.get("until_ms", 1 << 63)
    nearest = (max if far_ms > 0 else min)(row.key[0] for row in usual.rows)
    by_hand = Counter(key_of(one, by, 2 * MINUTE_MS) for one in some_lines())
    by_hand[nearest, *key_of(far, by, 1)[1:]] += is_wanted
    assert {row.key: row.lines for row in found.rows} == +by_hand
    ends = {row.last_ms if far_ms > 0 else row.first_ms for row in found.rows}
    assert (far_ms in ends) == is_wanted


def test_where_all_times_are_far_they_are_counted_as_they_are() -> None:
    first_ms = (1 << 61) // MINUTE_MS * MINUTE_MS
    index = index_of(open_sink(map(template, TEXTS)), [line(n, time=first_ms + n * MINUTE_MS) for n in range(10)])
    for filters in ({}, {"since_ms": 1 << 60}):
        assert find(index, by=["time"], buckets=10, filters=filters).bucket_ms == MINUTE_MS


def test_a_field_with_too_many_values_is_counted_in_part_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [line(n, fields=f'{{"id":"u{n % 7}","even":{"true" if n % 2 == 0 else "false"}}}') for n in range(30)]
    index = index_of(open_sink(), lines)
    monkeypatch.setattr("sinks.reading.count_keys.MOST_VALUES", 3)
    found = find(index, by=["field:id"])
    assert not found.complete
    assert len(found.rows) == 3
    by_hand = Counter(f"u{n % 7}" for n in range(30))
    assert all(row.lines == by_hand[str(row.key[0])] for row in found.rows)
    assert sum(row.lines for row in find(index, by=["field:id", "field:even"]).rows) < 30


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
