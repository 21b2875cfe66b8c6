"""Searches that the browser keeps: saved under a name, and the last ones."""

import pytest
from playwright.sync_api import Page, expect

from tests.page.parts import ask, hits, parameters, question
from tests.page.stub_world import StubWorld
from tests.page.watched import Watched

pytestmark = pytest.mark.process


def open_menu(page: Page) -> None:
    page.locator("summary", has_text="Saved").click()


def test_a_search_is_saved_under_a_name_opened_after_a_reload_and_deleted(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?since=6h&level=ERROR&not_service=web&field=k8s.pod.name%3Dweb-1")
    expect(hits(page).first).to_be_visible()
    ask(page, "connection refused")
    expect(hits(page).first).to_contain_text("refused")
    watched.settle(page)
    before = parameters(page)
    open_menu(page)
    name = page.get_by_label("Save this search as")
    expect(name).to_have_value("connection refused · ERROR · k8s.pod.name=web-1 · not web")
    name.fill("<b>refused</b>")
    page.get_by_role("button", name="Save", exact=True).click()
    page.goto(f"{world.url}/")
    expect(hits(page).first).to_be_visible()
    open_menu(page)
    saved = page.get_by_role("list", name="Saved searches")
    saved.get_by_role("link", name="<b>refused</b>").click()
    expect(question(page)).to_have_value("connection refused")
    expect(saved).to_be_hidden()
    assert parameters(page) == before, "a span stays one: the saved search is of the last six hours whenever it is opened"
    open_menu(page)
    page.get_by_role("button", name="Delete <b>refused</b>").click()
    expect(saved).to_have_count(0)


def test_the_last_searches_are_listed_once_each_the_newest_first_and_forgotten_when_asked(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?since=all")
    for text in ("disk", "payment", "disk"):
        ask(page, text)
        expect(page).to_have_title(f"{text} · Search · vectail")
        watched.settle(page)
    open_menu(page)
    recent = page.get_by_role("list", name="Recent searches")
    expect(recent.get_by_role("link")).to_have_text(["disk", "payment"])
    page.get_by_role("button", name="Clear", exact=True).click()
    expect(recent).to_have_count(0)
    page.evaluate("localStorage.setItem('vectail.recent', '{\"a\": 1}')")
    page.reload()
    expect(hits(page).first).to_be_visible()
