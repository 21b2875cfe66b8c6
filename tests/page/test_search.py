"""The search tab in Chromium, over lines that the test knows: from opening the page to the neighbours of a line."""

import json
import re
import time
from collections import Counter
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from sinks.row import TemplateText
from tests.page.parts import ask, hit, hits, open_hit, parameters, question, status, tab, texts
from tests.page.stub_lines import DISK, KINDS, MINUTE_MS, PAYMENT, shop_lines
from tests.page.stub_world import StubWorld
from tests.page.watched import Watched
from worker.asking.answers import TopicReachJson
from worker.querying.template_groups import named_family

pytestmark = pytest.mark.process


def test_it_opens_on_errors_of_the_last_hour_what_is_new_and_then_the_most_frequent(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/")
    expect(page).to_have_title("Search · vectail")
    expect(hits(page)).to_have_count(sum(kind.until_min < 60 for kind in KINDS))
    expect(hits(page).nth(0)).to_contain_text(re.compile("was declined by the bank.*new", re.DOTALL))
    expect(hits(page).nth(1)).to_contain_text("refused")
    expect(hits(page).nth(2)).to_contain_text("/cart/")
    assert world.asked_for("templates")[0].filters.since_ms is not None
    assert watched.requests[0] == f"GET {world.url}/"


def test_a_tab_that_there_is_none_of_is_said_and_the_page_leads_to_the_description_of_the_api(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?tab=nonsense")
    expect(page.get_by_text("There is no tab “nonsense”: this is Search.")).to_be_visible()
    tab(page, "Lag")
    expect(page.get_by_text("There is no tab")).to_have_count(0)
    description = page.request.get(f"{world.url}/{page.get_by_role('link', name='HTTP API').get_attribute('href')}")
    assert description.json()["openapi"].startswith("3.")


def test_a_question_brings_families_with_similarity_count_words_marked_and_when(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/")
    ask(page, "payment declined by the bank")
    first = hits(page).first
    expect(first).to_contain_text("was declined by the bank")
    expect(first.locator("mark").filter(has_text="payment")).to_be_visible()
    expect(first).to_contain_text("payment declined")  # the name that users gave
    expect(first).to_contain_text("ERROR")
    expect(first).to_contain_text(re.compile(r"similarity strong 0\.\d\d"))
    lines = [line for line in world.lines if line.service == PAYMENT.service]
    expect(first).to_contain_text(f"{len(lines)} lines")
    expect(first).to_contain_text("first")
    expect(first.locator("svg")).to_be_visible()  # the sparkline
    assert parameters(page)["q"] == ["payment declined by the bank"]


def test_where_nothing_is_close_that_is_said_and_the_nearest_are_shown(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?q=my+grandmother+went+to+the+bank+with+her+little+old+dog&since=all")
    expect(page.get_by_text("Nothing close to this is in the index.")).to_be_visible()
    expect(hits(page).first).to_contain_text(re.compile(r"similarity none 0\.\d\d"))
    expect(page.get_by_text("Nothing is close to the question, so no lines are counted.")).to_be_visible()
    expect(page.get_by_role("group", name="Level")).to_have_count(0)
    ask(page, "payment declined by the bank")
    expect(page.get_by_text("Nothing close to this")).to_have_count(0)
    expect(page.get_by_text("lines of what fits")).to_be_visible()
    counted = next(query for query in reversed(world.asked) if query.form == "counts" and query.facets)
    assert counted.filters.family == [named_family(PAYMENT.name)], "of what is shown, what is near enough"


def test_while_records_wait_in_kafka_answers_say_so_and_the_lag_tab_has_a_dot(world: StubWorld, watched: Watched) -> None:
    logs: TopicReachJson = {
        "topic": "logs",
        "behind_records": 241_000,
        "indexed_until_ms": world.now_ms,
        "outlook": "catches_up",
        "outlook_text": "caught up in 3 to 5 min",
        "caught_up_in_s": (180.0, 300.0),
    }
    tabs = watched.open(f"{world.url}/?q=disk+is+full&since=all").get_by_role("navigation", name="Views")
    page = tabs.page
    lag, said = tabs.get_by_role("link", name="Lag (the index is behind)"), "241,000 records are to come (logs: caught up in 3 to 5 min)."
    expect(hit(page, "% full")).to_be_visible()
    expect(lag).to_have_count(0)
    with world.behind(logs, until_ms=world.now_ms):
        ask(page, "payment declined by the bank")
        expect(status(page)).to_contain_text(re.compile(r"Not everything is here yet: it is indexed up to .*\d, and "))
        expect(status(page)).to_contain_text(said)
        expect(lag).to_be_visible()
        ask(page, "zebra")
        expect(status(page)).to_contain_text(said)
        expect(status(page)).to_contain_text(f"Nothing fits among the {len(world.lines)} lines in all time.")
        tab(page, "Templates")
        expect(status(page)).to_contain_text(said)
    with world.behind():
        page.goto(f"{world.url}/?q=disk+is+full&since=all")
        expect(status(page)).to_contain_text("How far the index is behind is not known")
    ask(page, "payment declined by the bank")
    expect(lag).to_have_count(0)
    expect(status(page)).not_to_contain_text("behind")


def test_all_that_is_counted_and_listed_passes_the_operators_of_the_question(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?since=all&q=connection+refused+-db-3.shop+level:ERROR")
    found = open_hit(page, "connection to db-2.shop")
    count = sum("db-2.shop" in (line.text or "") for line in world.lines)
    expect(found).to_contain_text(f"{count} lines")
    expect(page.get_by_role("region", name="Lines over time")).to_contain_text(f"{count} lines of what fits")
    expect(page.get_by_role("group", name="Service").get_by_title(f"Service: database, {count} lines")).to_be_visible()
    found.get_by_role("button", name=re.compile("^Lines of this family")).click()
    found.get_by_role("button", name=re.compile("^Templates")).click()
    expect(found.get_by_role("region", name="Templates").get_by_role("row")).to_have_count(2)
    watched.settle(page)
    asked = [query for query in world.asked if query.around is None]
    assert {query.form for query in asked} == {"lines", "counts", "templates"}
    assert all((query.filters.not_phrases, query.filters.level) == (["db-3.shop"], ["ERROR"]) for query in asked)
    assert [query.text for query in asked[1:]] == [None] * (len(asked) - 1), "the families are known"
    assert world.refused == []


def test_hits_are_asked_for_before_all_else_because_the_worker_answers_one_query_at_a_time(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?q=disk+is+full&since=all")
    expect(hit(page, "% full")).to_be_visible()
    expect(page.get_by_role("group", name="Level")).to_be_visible()
    assert world.asked[0].form == "lines"
    assert world.asked[0].k <= 10


@pytest.mark.parametrize(
    "address",
    [
        "",
        "?since=15m",
        "?q=disk+is+full",
        "?q=disk+is+full&level=WARN&field=k8s.pod.name=web-1&not_service=web&facet=trace_id",
        "?q=submarine",
        "?q=submarine&level=WARN",
        "?since=15m&level=FATAL&service=web",
    ],
)
@pytest.mark.parametrize("age_ms", [0, MINUTE_MS * 600], ids=["fresh", "old"])
def test_a_search_sends_at_most_three_requests_and_the_first_screen_six(
    fresh_world: Callable[..., StubWorld], watched: Watched, address: str, age_ms: int
) -> None:
    now_ms = int(time.time() * 1000)
    world = fresh_world(lines=shop_lines(now_ms - age_ms))
    page = watched.open(f"{world.url}/{address}")
    watched.settle(page)
    expect(status(page)).not_to_be_empty()
    assert 0 < len([one for one in watched.requests if one.startswith("POST")]) <= (3 if "q=" in address else 6)
    assert world.refused == []
    counts = [query for query in world.asked_for("counts") if query.facets]
    assert all(["service"] in query.groupings for query in counts)


def test_where_the_last_hour_has_no_line_all_time_is_searched(fresh_world: Callable[..., StubWorld], watched: Watched) -> None:
    world = fresh_world(lines=shop_lines(int(time.time() * 1000) - MINUTE_MS * 600))
    page = watched.open(f"{world.url}/")
    expect(hits(page)).to_have_count(len(KINDS))
    expect(status(page)).to_contain_text("nothing in the last hour")
    expect(page.get_by_role("button", name="All time")).to_have_attribute("aria-pressed", "true")


def test_a_part_of_the_histogram_that_is_dragged_over_becomes_the_time_that_is_asked_for(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?since=all")
    plot = page.get_by_role("slider", name="Part of the time")
    expect(plot).not_to_have_attribute("aria-valuemax", "0")
    box = plot.bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.05, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.30, middle, steps=4)
    page.mouse.up()
    expect(hit(page, "declined")).to_have_count(0)  # it began later
    expect(hit(page, "cache warmed")).to_be_visible()
    watched.settle(page)  # the counts come after the hits
    since_ms, until_ms = int(parameters(page)["since"][0]), int(parameters(page)["until"][0])
    assert world.lines[0].time - MINUTE_MS * 5 < since_ms < until_ms < world.now_ms - 60 * MINUTE_MS
    in_it = [query for query in world.asked if (query.filters.since_ms, query.filters.until_ms) == (since_ms, until_ms)]
    assert {query.form for query in in_it} >= {"templates", "counts"}


def test_a_facet_s_value_narrows_hits_histogram_and_the_other_facets(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?since=all")
    page.get_by_role("group", name="Service").get_by_role("checkbox", name=re.compile("^Service: database|database")).check()
    expect(hit(page, "query took")).to_be_visible()
    expect(hits(page)).to_have_count(2)
    page.get_by_role("group", name="Level").get_by_role("checkbox", name=re.compile("ERROR")).check()
    expect(hits(page)).to_have_count(1)
    assert parameters(page)["service"] == ["database"]
    assert parameters(page)["level"] == ["ERROR"]
    service = page.get_by_role("group", name="Service")
    expect(service.get_by_role("checkbox", name=re.compile("^web"))).to_have_count(0)  # it has no errors
    expect(service.get_by_role("checkbox", name=re.compile("payments"))).to_be_visible()
    page.get_by_role("button", name=re.compile("^Remove level")).click()
    expect(hits(page)).to_have_count(2)


def test_a_field_that_is_picked_has_its_figures_and_a_value_of_it_is_asked_for_or_left_out(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?since=all&q=connection+refused")
    page.locator("summary", has_text="Fields").click()
    page.get_by_role("button", name="http.response.status_code", exact=True).click()
    facet = page.get_by_role("group", name="http.response.status_code")
    counted = Counter(
        json.loads(line.fields or "{}")["http.response.status_code"] for line in world.lines if "connection to" in str(line.text)
    )
    total = counted.total()
    expect(facet).to_contain_text(f"in {total} of {total} lines, 100%")
    figures = dict(zip(texts(facet.locator("dt")), texts(facet.locator("dd")), strict=True))
    assert figures == {"min": "502", "p50": str(sorted(counted.elements())[(total - 1) // 2]), "p95": "503", "p99": "503", "max": "503"}
    facet.get_by_role("checkbox", name=re.compile("502")).check()
    expect(page.get_by_role("button", name=re.compile("^Remove http.response.status_code"))).to_be_visible()
    watched.settle(page)  # the button is there before the worker is asked
    assert world.asked_for("lines")[-1].filters.fields == {"http.response.status_code": ["502"]}
    expect(facet).to_contain_text(f"in {total} of {total} lines")  # a facet counts what its own filter leaves out
    facet.get_by_role("button", name="Exclude http.response.status_code: 503").click()
    watched.settle(page)
    assert world.asked_for("lines")[-1].filters.not_fields == {"http.response.status_code": ["503"]}


def test_facets_stay_where_they_are_while_they_are_counted(world: StubWorld, watched: Watched) -> None:
    with world.holding(lambda query: query.facets is True):
        page = watched.open(f"{world.url}/?since=all&facet=k8s.pod.name")
        world.wait_held()
        expect(hits(page).first).to_be_visible()
        expect(page.get_by_role("group", name="Service")).to_have_attribute("aria-busy", "true")
        room = page.get_by_role("group", name="Service").bounding_box()
    watched.settle(page)
    service = page.get_by_role("group", name="Service")
    expect(service.get_by_title("Service: web")).to_be_visible()
    assert room is not None
    assert room["height"] > 150, "there is room for values before there are any"
    before = page.locator(".facets fieldset").evaluate_all("all => all.map((one) => one.getBoundingClientRect().top)")
    with world.holding(lambda query: query.facets is True):
        page.get_by_role("group", name="Service").get_by_role("checkbox", name=re.compile("^web")).check()
        world.wait_held()
        expect(service).to_have_attribute("aria-busy", "true")
        expect(service.get_by_title("Service: database")).to_be_visible()  # the old until the new is there
        chips = page.get_by_role("list", name="Filters").bounding_box()
        now = page.locator(".facets fieldset").evaluate_all("all => all.map((one) => one.getBoundingClientRect().top)")
    assert chips is not None
    assert len({round(one - other) for one, other in zip(now, before, strict=True)}) == 1, "none moves against another"


def test_an_expanded_hit_has_all_fields_neighbours_templates_and_copies(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?since=all&q=connection+to+db-2.shop+refused")
    found = open_hit(page, "connection to db-2.shop")
    table = found.get_by_role("table", name="Fields of the line")
    for name in ("service", "level", "topic", "k8s.pod.name", "trace_id", "http.response.status_code"):
        expect(table.get_by_role("rowheader", name=name, exact=True)).to_be_visible()
    around = found.get_by_role("region", name="Neighbours")
    expect(around.get_by_role("listitem")).to_have_count(11)
    expect(around.locator("[aria-current=true]")).to_have_count(1)
    around.get_by_role("button", name="More neighbours").click()
    expect(around.get_by_role("listitem").nth(20)).to_be_visible()
    found.get_by_role("button", name=re.compile(r"^Templates")).click()
    expect(found.get_by_role("region", name="Templates").get_by_role("row")).to_have_count(2)  # the other has no such identifier
    found.get_by_text("Copy", exact=True).click()
    found.get_by_role("button", name="This search as vectail command").click()
    expect(status_with(page, "Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == "vectail search 'connection to db-2.shop refused'"


def test_a_pasted_line_says_above_the_hits_how_often_its_kind_came_and_a_question_does_not(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?since=all")
    told = page.get_by_role("status", name="The line that you pasted")
    world.store([line._replace(offset=line.offset + 9_000, template_text=TemplateText("disk is full")) for line in world.lines[:3]])
    ask(page, "the disk 7 is full")
    expect(hits(page)).not_to_have_count(0)
    expect(told).to_be_empty()
    ask(page, "disk 7 is full")
    expect(told).to_contain_text(re.compile("Lines like this one: 3, since .*, as disk is full"))
    told.get_by_role("link", name="Only these").click()
    expect(page).to_have_url(re.compile("template="))


def test_neighbours_are_of_the_partition_or_of_what_the_line_has_in_common_with_others(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?since=all&q=connection+to+db-2.shop+refused")
    around = open_hit(page, "connection to db-2.shop").get_by_role("region", name="Neighbours")
    ways = around.get_by_role("group", name="Neighbours by").get_by_role("button")
    assert texts(ways) == ["Same partition", "Same service", "Same trace"], "it has no host"
    ways.get_by_text("Same service").click()
    expect(around.get_by_role("status")).to_contain_text("of service database, by time, in all partitions")
    assert {line.split(" ")[0] for line in texts(around.locator(".what"))} == {"database"}
    ways.get_by_text("Same trace").click()
    expect(around.get_by_role("status")).to_contain_text("0 lines before and 0 after, of trace")
    expect(around.get_by_role("listitem")).to_have_count(1)
    expect(ways.get_by_text("Same trace")).to_have_attribute("aria-pressed", "true")


def test_the_copied_curl_command_asks_the_same_and_holds_no_token(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?since=all&q=disk+is+full&level=WARN")
    found = open_hit(page, "% full")
    found.get_by_text("Copy", exact=True).click()
    found.get_by_role("button", name="This search as curl").click()
    expect(status_with(page, "Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert f"{world.url}/api/search" in copied
    assert '"Authorization: Bearer $TOKEN"' in copied
    assert '"text":"disk is full"' in copied
    assert '"level":["WARN"]' in copied


def test_a_link_to_a_line_opens_the_very_line_with_its_neighbours(world: StubWorld, watched: Watched) -> None:
    line = next(line for line in world.lines if line.service == DISK.service)
    page = watched.open(f"{world.url}/?line=logs/{line.partition}@{line.offset}")
    article = page.get_by_role("article")
    expect(article.get_by_role("region", name="Text of the line")).to_have_text(line.text or "")
    expect(article.get_by_role("region", name="Neighbours").get_by_role("listitem")).not_to_have_count(0)


def test_back_forward_and_a_shared_link_restore_what_was_shown(world: StubWorld, watched: Watched) -> None:
    page = open_at_a_standstill(f"{world.url}/?since=all", world, watched)
    expect(hits(page)).to_have_count(len(KINDS))
    ask(page, "disk full")
    expect(hits(page)).to_have_count(1)
    page.get_by_role("group", name="Level").get_by_role("checkbox", name=re.compile("WARN")).check()
    expect(page.get_by_role("button", name=re.compile("^Remove level"))).to_be_visible()
    shared = page.url
    page.go_back()
    expect(page.get_by_role("button", name=re.compile("^Remove level"))).to_have_count(0)
    expect(question(page)).to_have_value("disk full")
    page.go_back()
    expect(hits(page)).to_have_count(len(KINDS))
    expect(question(page)).to_have_value("")
    page.go_forward()
    page.go_forward()
    expect(page.get_by_role("button", name=re.compile("^Remove level"))).to_be_visible()
    expect(page).to_have_url(shared)
    expect(hits(page)).to_have_count(1)
    watched.settle(page)  # the small chart brings the times of the first and the last line
    other = open_at_a_standstill(shared, world, watched)
    expect(question(other)).to_have_value("disk full")
    expect(other.get_by_role("button", name=re.compile("^Remove level"))).to_be_visible()
    expect(hits(other)).to_have_text(texts(hits(page)), use_inner_text=True)


def test_an_identifier_finds_the_lines_that_have_it(world: StubWorld, watched: Watched) -> None:
    address = next((line.text or "").split()[-1] for line in world.lines if line.service == "auth")
    page = watched.open(f"{world.url}/?since=all")
    ask(page, address)
    expect(hits(page)).to_have_count(sum((line.text or "").endswith(f" {address}") for line in world.lines))


def test_where_nothing_fits_that_says_among_how_many_lines_and_what_to_try(fresh_world: Callable[..., StubWorld], watched: Watched) -> None:
    now_ms = int(time.time() * 1000)
    world = fresh_world(lines=[line for line in shop_lines(now_ms) if line.time > now_ms - 40 * MINUTE_MS])
    page = watched.open(f"{world.url}/?since=15m&q=submarine")
    expect(status(page)).to_have_text(re.compile(r"^Nothing fits among the [1-9]\d* lines in the last 15 minutes\. Search all time $"))
    status(page).get_by_role("button", name="Search all time").click()
    expect(page).to_have_url(re.compile(r"[?&]since=all(&|$)"))
    expect(status(page)).to_have_text(f"Nothing fits among the {len(world.lines)} lines in all time. Try fewer or other words.")
    page.goto(f"{world.url}/?since=6h&q=submarine&level=WARN&mode=words")
    warnings = sum(line.level == "WARN" for line in world.lines)
    said = rf"^Nothing fits among the {warnings} lines in the last 6 hours that pass the filters, the first of which is of \d{{4}}-.*\d\. "
    expect(status(page)).to_have_text(re.compile(rf"{said}Search all time Search by meaning, too Clear the filters $"))
    page.goto(f"{world.url}/?since=0&until={now_ms - 60 * MINUTE_MS}&q=submarine&level=WARN")
    expect(status(page)).to_contain_text(re.compile(rf"No line .* passes the filters. There are {warnings} lines at other times, from "))
    page.goto(f"{world.url}/?since=15m&q=submarine&service=nobody")
    expect(status(page)).to_contain_text("No line passes these filters, at any time.")


def test_an_index_without_lines_is_not_a_blank_page(fresh_world: Callable[..., StubWorld], watched: Watched) -> None:
    world = fresh_world(lines=[])
    page = watched.open(f"{world.url}/")
    expect(status(page)).to_contain_text(re.compile("no lines|nothing|empty", re.IGNORECASE))


def open_at_a_standstill(address: str, world: StubWorld, watched: Watched) -> Page:
    """Open a page whose clock stands still: its "4 min ago" is the same on two pages, whenever each is drawn."""
    context = watched.context()
    context.clock.set_fixed_time(world.now_ms / 1000)
    return watched.open(address, context=context)


def status_with(page: Page, text: str) -> Locator:
    return page.get_by_role("status").filter(has_text=text).first
