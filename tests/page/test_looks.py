"""How the page looks: every tab in light and dark and on a phone, judged by axe-core, and kept as a picture."""

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped] # it has no types
from playwright.sync_api import Page, expect

from tests.page.parts import TABS, hits, open_hit, ready, tab
from tests.page.stub_documents import served_models
from tests.page.stub_world import StubWorld
from tests.page.watched import Watched, sideways

pytestmark = pytest.mark.process
PHONE = 390
ADDRESSES = {
    name: f"/?since=all&tab={tab}" for name, tab in zip(TABS, ("search", "templates", "live", "lag", "letters", "doctor"), strict=True)
}


def violations(page: Page) -> list[str]:
    """Return what axe-core finds, each rule with the first elements that break it."""
    found = Axe().run(page).response["violations"]
    return [f"{one['id']}: {one['help']}: {[node['html'][:160] for node in one['nodes'][:3]]}" for one in found]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", TABS)
def test_axe_core_finds_nothing_and_nothing_scrolls_sideways_on(name: str, scheme: str, world: StubWorld, watched: Watched) -> None:
    world.documents["/api/status"] |= {"served_models": served_models(), "index_models": 2}
    for width in (1440, 1024, PHONE):
        page = watched.open(f"{world.url}{ADDRESSES[name]}", width=width, scheme="dark" if scheme == "dark" else "light")
        ready(watched, page, name)
        watched.picture(page, f"{name}-{scheme}-{width}", whole=True)
        assert sideways(page) <= 0
        assert violations(page) == []
        filters = page.get_by_role("button", name="Filters")
        if width == PHONE and filters.count():
            filters.click()
            watched.settle(page)
            watched.picture(page, f"{name}-{scheme}-{PHONE}-filters", whole=True)
            assert sideways(page) <= 0
            assert violations(page) == []


def test_on_a_phone_one_button_holds_what_narrows_down_and_says_how_much_of_it_is_set(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?level=ERROR&service=payments", width=PHONE)
    ready(watched, page, "Search")
    box = hits(page).first.bounding_box()
    assert box is not None
    assert box["y"] <= 350
    rows = page.get_by_role("navigation", name="Views").get_by_role("link").evaluate_all("all => all.map((one) => one.offsetTop)")
    assert len(set(rows)) == 1
    times = page.get_by_role("group", name="Time range")
    expect(times).to_be_hidden()
    button = page.get_by_role("button", name="Filters (2)")
    expect(button).to_have_attribute("aria-expanded", "false")
    button.focus()
    page.keyboard.press("Enter")
    expect(button).to_have_attribute("aria-expanded", "true")
    expect(times).to_be_visible()
    expect(page.get_by_role("group", name="Service").get_by_role("checkbox", name="payments")).to_be_checked()
    for menu in ("Saved", "Export", "Custom"):
        page.locator("summary", has_text=menu).click()
        assert sideways(page) <= 0
        page.keyboard.press("Escape")
    page.get_by_role("button", name="Remove service payments").click()
    expect(page.get_by_role("button", name="Filters (1)")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_core_finds_nothing_on_an_expanded_hit_a_line_and_the_dialogs(scheme: str, world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?since=all&q=connection+refused", scheme="dark" if scheme == "dark" else "light")
    found = open_hit(page, "connection")
    expect(found.get_by_role("region", name="Neighbours").get_by_role("listitem").first).to_be_visible()
    watched.settle(page)
    watched.picture(page, f"expanded-{scheme}", whole=True)
    assert violations(page) == []
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    assert violations(page) == []
    page.keyboard.press("Escape")
    page.goto(f"{world.url}/?line=logs/0@20")
    expect(page.get_by_role("article").get_by_role("listitem").first).to_be_visible()
    watched.settle(page)
    assert violations(page) == []


def test_axe_core_finds_nothing_on_the_sign_in_form(world_with_token: StubWorld, watched: Watched) -> None:
    watched.allow()
    page = watched.open(f"{world_with_token.url}/")
    expect(page.get_by_role("dialog", name="Sign in")).to_be_visible()
    watched.settle(page)
    assert violations(page) == []


def test_dark_is_dark_and_the_switch_is_remembered(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?since=all", scheme="dark")
    expect(hits(page).first).to_be_visible()
    assert brightness(page) < 80
    page.get_by_role("button", name="Light or dark").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    assert brightness(page) > 180
    page.reload()
    expect(hits(page).first).to_be_visible()
    assert brightness(page) > 180
    tab(page, "Lag")
    ready(watched, page, "Lag")
    assert brightness(page) > 180


def brightness(page: Page) -> float:
    """Return that of the background, 0 to 255."""
    found: float = page.evaluate(
        """() => {
          const canvas = document.createElement("canvas").getContext("2d");
          canvas.fillStyle = getComputedStyle(document.documentElement).backgroundColor;
          canvas.fillRect(0, 0, 1, 1);
          const [red, green, blue] = canvas.getImageData(0, 0, 1, 1).data;
          return 0.3 * red + 0.6 * green + 0.1 * blue;
        }""",
    )
    return found
