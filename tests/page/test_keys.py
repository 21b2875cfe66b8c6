"""The keyboard alone: from loading the page to the copy of an expanded hit, every tab, the brush, and the list of keys."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.page.parts import TABS, hits, parameters, question, ready
from tests.page.stub_world import StubWorld
from tests.page.watched import Watched

pytestmark = pytest.mark.process
MOST_TABS = 60


def tab_to(page: Page, name: str) -> None:
    """Press Tab until the element that has the focus has this text or label."""
    seen = []
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        seen.append(focused(page))
        if name in seen[-1]:
            return
    raise AssertionError(f"Tab does not reach {name}, but {seen}")


def focused(page: Page) -> str:
    """Return the label or text of what has the focus."""
    found: str = page.evaluate("(document.activeElement?.getAttribute('aria-label') || document.activeElement?.innerText || '').trim()")
    return found


def test_from_loading_to_the_copy_of_an_expanded_hit_without_a_mouse(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/")
    expect(hits(page).first).to_be_visible()
    page.keyboard.press("/")
    expect(question(page)).to_be_focused()
    page.keyboard.type("connection to db-2.shop refused")
    page.keyboard.press("Enter")
    expect(hits(page).first).to_contain_text("db-2.shop")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("j")
    expect(hits(page).first.get_by_role("button", expanded=False).first).to_be_focused()
    page.keyboard.press("Enter")
    expect(hits(page).first.get_by_role("region", name="Text of the line")).to_be_visible()
    tab_to(page, "Copy")
    page.keyboard.press("Enter")
    tab_to(page, "Text of the line")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").filter(has_text="Copied").first).to_be_visible()
    assert "db-2.shop" in page.evaluate("navigator.clipboard.readText()")


def test_j_and_k_move_e_shows_more_and_escape_closes(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?since=all")
    expect(hits(page).nth(2)).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("j")
    second = hits(page).nth(1)
    expect(second.locator(".hit-line")).to_be_focused()
    page.keyboard.press("k")
    expect(hits(page).first.locator(".hit-line")).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.press("e")
    expect(second.get_by_role("region", name="Neighbours").get_by_role("listitem").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(second.get_by_role("region", name="Neighbours")).to_have_count(0)


def test_while_somebody_types_no_key_acts(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?since=all")
    expect(hits(page).first).to_be_visible()
    question(page).press_sequentially("jk/e?t")
    expect(question(page)).to_have_value("jk/e?t")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_the_question_mark_lists_the_keys_that_act(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?since=all")
    expect(hits(page).first).to_be_visible()
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    for key in ("/", "j", "k", "Enter", "e", "?", "Esc"):
        expect(dialog.locator("kbd").get_by_text(key, exact=True).first).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)


@pytest.mark.parametrize("steps", [0, 5])
def test_the_brush_works_with_arrow_keys(steps: int, world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?since=all")
    plot = page.get_by_role("slider", name="Part of the time")
    expect(plot).not_to_have_attribute("aria-valuemax", "0")
    plot.focus()
    page.keyboard.press("Home")
    for _ in range(steps):
        page.keyboard.press("Shift+ArrowRight")
    expect(plot).to_have_attribute("aria-valuetext", re.compile("line"))
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("until="))
    since_ms, until_ms = int(parameters(page)["since"][0]), int(parameters(page)["until"][0])
    assert since_ms <= world.lines[0].time < until_ms < world.now_ms


@pytest.mark.parametrize("name", TABS)
def test_every_tab_is_reached_and_all_that_acts_on_it_can_have_the_focus(name: str, world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/")
    page.keyboard.press("Tab")
    assert focused(page) == "Skip to content"
    tab_to(page, name)
    page.keyboard.press("Enter")
    link = page.get_by_role("navigation", name="Views").get_by_role("link", name=name, exact=True)
    expect(link).to_have_attribute("aria-current", "page")
    ready(watched, page, name)
    unreachable = page.evaluate(
        """() => [...document.querySelectorAll("#view [onclick], #view button, #view a, #view summary, #view input, #view select")]
            .filter((one) => one.checkVisibility() && !one.disabled && one.tabIndex < 0)
            .map((one) => one.outerHTML.slice(0, 100))""",
    )
    assert unreachable == []
