"""What the page does when a worker does not: it says what is wrong, asks again by itself, and never shows an old answer as a new one."""

import re

import pytest
from playwright.sync_api import expect

from tests.page.parts import ask, hit, hits, question, status, tab
from tests.page.stub_lines import MINUTE_MS
from tests.page.stub_world import StubWorld
from tests.page.watched import Watched

pytestmark = pytest.mark.process


def test_an_index_that_is_away_is_told_in_words_and_asked_again_until_it_answers(world: StubWorld, watched: Watched) -> None:
    watched.allow()
    with world.failing("unavailable", "the index does not answer: connection refused"):
        page = watched.open(f"{world.url}/?q=disk+full&since=all")
        expect(status(page)).to_contain_text("the index does not answer: connection refused")
        expect(status(page)).to_contain_text(re.compile(r"[Aa]sking again"))
    expect(hit(page, "% full")).to_be_visible()  # nobody clicked
    expect(status(page)).not_to_contain_text("does not answer")


def test_a_refused_question_names_what_to_change_and_the_next_one_works(world: StubWorld, watched: Watched) -> None:
    watched.allow()
    page = watched.open(f"{world.url}/?q=disk+full&since=all")
    expect(hit(page, "% full")).to_be_visible()
    with world.failing("bad_query", "must not be a riddle", field="text"):
        ask(page, "what am I")
        expect(status(page)).to_contain_text("text")
        expect(status(page)).to_contain_text("must not be a riddle")
    ask(page, "disk full")
    expect(hit(page, "% full")).to_be_visible()


def test_a_worker_that_is_gone_is_told_and_its_return_noticed(world: StubWorld, watched: Watched) -> None:
    watched.allow()
    watched.allow("ERR_")
    page = watched.open(f"{world.url}/?since=all")
    expect(hits(page).first).to_be_visible()
    page.context.set_offline(offline=True)
    ask(page, "disk full")
    expect(status(page)).to_contain_text("The worker does not answer")
    page.context.set_offline(offline=False)
    expect(hits(page)).to_have_count(1)


def test_what_was_answered_last_stays_dimmed_with_its_time_while_the_worker_is_gone(world: StubWorld, watched: Watched) -> None:
    watched.allow()
    watched.allow("ERR_")
    page = watched.open(f"{world.url}/?since=all")
    expect(hits(page).first).to_be_visible()
    watched.settle(page)
    found = hits(page).count()
    page.context.set_offline(offline=True)
    page.keyboard.press("r")
    kept = re.compile(r"does not answer.*What is below is as it was at \d\d:\d\d:\d\d\. .*Asking again")
    expect(status(page)).to_have_text(kept)
    expect(hits(page)).to_have_count(found)
    expect(page.locator(".stale .hits")).to_have_css("opacity", "0.6")
    expect(page.get_by_role("region", name="Lines over time").locator("rect").first).to_be_attached()
    ask(page, "disk full")
    expect(status(page)).to_contain_text(re.compile(r"as it was at \d\d:\d\d:\d\d, for the question before this one"))
    expect(hits(page)).to_have_count(found)
    page.context.set_offline(offline=False)
    expect(hits(page)).to_have_count(1)
    expect(page.locator(".stale")).to_have_count(0)
    with world.failing("bad_query", "must not be a riddle", field="text"):
        ask(page, "what am I")
        expect(status(page)).to_contain_text("must not be a riddle")
        expect(hits(page)).to_have_count(0)


def test_the_groups_of_the_lag_tab_are_as_they_were_while_the_worker_is_gone(world: StubWorld, watched: Watched) -> None:
    watched.allow()
    page = watched.open(f"{world.url}/?tab=lag")
    group = page.get_by_role("region", name=re.compile("^Group ")).first
    expect(group).to_contain_text("reads log topics")
    with world.away("/api/lag"):
        expect(group).to_contain_text(re.compile(r"as it was at .*\d\d:\d\d:\d\d"))
        expect(group).to_have_class(re.compile(r"\bold\b"))
    expect(group).to_contain_text("reads log topics")


def test_an_answer_that_comes_late_never_replaces_that_of_a_newer_question(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?since=all")
    expect(hits(page).first).to_be_visible()
    with world.holding(lambda query: query.text == "payment declined"):
        ask(page, "payment declined")
        expect(status(page)).to_contain_text(re.compile("…"))
        world.wait_held()
        ask(page, "disk full")
        expect(hit(page, "% full")).to_be_visible()
    watched.settle(page)  # the late answer is there by now, if the page still waits for it
    expect(hits(page)).to_have_count(1)
    expect(hit(page, "% full")).to_be_visible()
    expect(question(page)).to_have_value("disk full")


def test_a_dependency_that_is_away_is_named_with_since_when_and_ok_again_when_it_is_back(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?tab=lag")
    dependencies = page.get_by_role("region", name="Dependencies")
    expect(dependencies.get_by_text("kafka").first).to_be_visible()
    healthy = dict(world.documents["/api/status"])
    away = {"name": "kafka", "state": "away", "reason": "no broker answers at kafka:9092", "since_ms": world.now_ms - 3 * MINUTE_MS}
    firing = healthy["conditions"][0] | {"state": "firing", "what_to_do": "Look at the brokers", "since_ms": away["since_ms"]}
    world.documents["/api/status"] = healthy | {
        "dependencies": [away, *healthy["dependencies"][1:]],
        "conditions": [firing, *healthy["conditions"][1:]],
        "ready": {"status": "unready", "checks": healthy["ready"]["checks"] | {"kafka": "no broker answers at kafka:9092"}},
    }
    expect(page.get_by_text("no broker answers at kafka:9092").first).to_be_visible()
    expect(page.get_by_text("Look at the brokers").first).to_be_visible()
    world.documents["/api/status"] = healthy
    expect(page.get_by_text("no broker answers at kafka:9092")).to_have_count(0)


def test_while_kafka_does_not_answer_the_last_figures_stay_with_their_age(world: StubWorld, watched: Watched) -> None:
    watched.allow()
    page = watched.open(f"{world.url}/?tab=lag")
    expect(page.get_by_role("row").filter(has_text="2,300").first).to_be_visible()
    world.documents["/api/lag"] = world.documents["/api/lag"] | {"error": "no broker answers", "asked_ms": world.now_ms - 2 * MINUTE_MS}
    expect(page.get_by_text("no broker answers").first).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="2,300").first).to_be_visible()
    with world.away("/api/lag"):
        tab(page, "Search")
        tab(page, "Lag")
        expect(page.get_by_text(re.compile("cannot answer|stub says so")).first).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="2,300").first).to_be_visible()
