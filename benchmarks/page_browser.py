"""The page in Debian's Chromium, for `benchmarks.page`: when it is painted, when the first result is there, and what it asks for.

Times are the browser's own, from the start of the navigation; what is on the screen is noticed by the page's own observer of changes.
The only file here that knows Playwright.
"""

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser as OpenBrowser
from playwright.sync_api import Page, Request, sync_playwright

from benchmarks.page_clients import Sent
from benchmarks.race import Missing, Wrong

CHROMIUM = Path("/usr/bin/chromium")
__all__ = ["OpenBrowser", "chromium", "first_paint_s", "requests_of", "seen_s"]
_WAIT_MS = 30_000
_FIRST_S, _LOOK_S = 60.0, 0.1
"""How long all pages together may take to ask their first."""
_PAINTED = """new Promise((resolve) => new PerformanceObserver((list) => {
  for (const entry of list.getEntriesByName("first-contentful-paint")) resolve(entry.startTime);
}).observe({type: "paint", buffered: true}))"""
_SEEN = """window.seen = new Promise((resolve) => new MutationObserver(() => {
  if (document.querySelector(%s)) resolve(performance.now());
}).observe(document, {subtree: true, childList: true}))"""
"""Both are promises, which the browser's own debugger awaits: the page's policy allows no evaluation of strings within it."""


@contextmanager
def chromium() -> Iterator[OpenBrowser]:
    """Start it. Raises Missing."""
    if not CHROMIUM.exists():
        raise Missing(f"{CHROMIUM} is missing: apt-get install chromium")
    arguments = ["--disable-dev-shm-usage"] + (["--no-sandbox"] if os.geteuid() == 0 else [])
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=arguments)
        try:
            yield browser
        finally:
            browser.close()


def first_paint_s(browser: OpenBrowser, address: str) -> float:
    """Open an address in a browser that has nothing cached; return when there was something to read."""
    with _new_page(browser) as page:
        page.goto(address)
        return float(page.evaluate(_PAINTED)) / 1000


def seen_s(browser: OpenBrowser, address: str, selector: str) -> float:
    """Open an address likewise; return when the first element that fits was there. Raises Playwright's TimeoutError."""
    with _new_page(browser) as page:
        page.add_init_script(_SEEN % json.dumps(selector))
        page.goto(address)
        page.wait_for_selector(selector, state="attached", timeout=_WAIT_MS)
        return float(page.evaluate("window.seen")) / 1000


def requests_of(browser: OpenBrowser, addresses: Sequence[str], seconds: float) -> list[list[Sent]]:
    """Open these pages, one at least, all at once; return what each asks of the API, until so many seconds after all have asked.

    Raises Wrong if one asks nothing.
    """
    found: list[list[Sent]] = [[] for _ in addresses]
    began_s: dict[int, float] = {}
    with ExitStack() as stack:
        pages = [stack.enter_context(_new_page(browser)) for _ in addresses]
        for number, (page, address) in enumerate(zip(pages, addresses, strict=True)):
            page.on("request", partial(_note, found[number], partial(began_s.setdefault, number)))
            page.goto(address, wait_until="commit")
        until_s = time.monotonic() + _FIRST_S
        while len(began_s) < len(pages) and time.monotonic() < until_s:
            pages[-1].wait_for_timeout(_LOOK_S * 1000)
        if silent := [address for number, address in enumerate(addresses) if number not in began_s]:
            raise Wrong(f"these pages asked nothing for {_FIRST_S:.0f} s: {', '.join(silent)}")
        pages[-1].wait_for_timeout(seconds * 1000)
    return found


def _note(found: list[Sent], first_s: Callable[[float], float], request: Request) -> None:
    """Note a request with its time after the page's first one; `first_s` takes the time now and returns that of the first."""
    parts = urlsplit(request.url)
    if parts.path.startswith("/api/"):
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        now_s = time.monotonic()
        found.append(Sent(round(now_s - first_s(now_s), 3), request.method, path, request.post_data or ""))


@contextmanager
def _new_page(browser: OpenBrowser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 900}, locale="en-GB", timezone_id="UTC")
    try:
        yield context.new_page()
    finally:
        context.close()
