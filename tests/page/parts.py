"""Where a person finds things on the page: by role and name. The tests have no other way to them."""

import re
from collections.abc import Mapping
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Locator, Page, expect

from tests.page.watched import Watched

TABS = ("Search", "Templates", "Live", "Lag", "Dead letters", "Doctor")


def question(page: Page) -> Locator:
    """The search box."""
    return page.get_by_role("searchbox", name="Search the logs")


def ask(page: Page, text: str) -> None:
    """Type a question, and Enter."""
    question(page).fill(text)
    question(page).press("Enter")


def hits(page: Page) -> Locator:
    """All hits: the items of the list, without those inside an open one."""
    return page.locator("#view li.hit")


def hit(page: Page, text: str) -> Locator:
    """The hit whose line has this text."""
    return hits(page).filter(has=page.locator(".hit-line", has_text=text))


def opener(of: Locator) -> Locator:
    """What opens and closes a hit."""
    return of.locator("button.hit-line")


def open_hit(page: Page, text: str) -> Locator:
    """Open a hit; return it once its line is there in full."""
    found = hit(page, text).first
    opener(found).click()
    expect(found.get_by_role("region", name="Text of the line")).to_be_visible()
    return found


def status(page: Page) -> Locator:
    """What the view says it is doing, of what is empty, or of what is wrong; the first one is the view's own."""
    return page.locator("#view").get_by_role("status").first


def tab(page: Page, name: str) -> None:
    """Go to a tab."""
    page.get_by_role("navigation", name="Views").get_by_role("link", name=name, exact=True).click()


def ready(watched: Watched, page: Page, name: str) -> None:
    """Wait until this tab is the one that is open, and all that it asks for is there."""
    expect(page.locator("#view").get_by_role("heading", level=1)).to_have_text(name)
    expect(status(page)).not_to_be_empty()
    if name == "Live":
        expect(status(page)).to_contain_text(re.compile("Connected|Live"))
    watched.settle(page)


def parameters(page: Page) -> Mapping[str, list[str]]:
    """What the address says."""
    return parse_qs(urlsplit(page.url).query)


def texts(of: Locator) -> list[str]:
    """The texts of elements, with plain spaces."""
    return [re.sub(r"\s+", " ", text).strip() for text in of.all_inner_texts()]
