"""Chromium, and pages that are watched: what no page may do fails the test, whatever the test is about.

No error in the console, no exception, no dialog, no violation of the page's policy, no request to another host, and no script of a log
line: hostile texts set `window.pwned`.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Dialog, Page, Request, Response, expect, sync_playwright

CHROMIUM = Path("/usr/bin/chromium")
PICTURES = Path(__file__).parents[2] / ".cache" / "page"
WAIT_MS = 60_000
"""How long anything may take to appear: far more than it takes on a busy machine."""
WIDE, HIGH = 1280, 900
REFUSED = "Failed to load resource"
"""What Chromium itself writes for an answer that is an error."""
ENDLESS = "/api/tail"
"""Its answer lasts as long as somebody follows it."""
TWO_FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"

expect.set_options(timeout=WAIT_MS)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start Debian's Chromium. Raises FileNotFoundError."""
    if not CHROMIUM.exists():
        raise FileNotFoundError(f"{CHROMIUM}: apt-get install chromium")
    arguments = ["--disable-dev-shm-usage"] + (["--no-sandbox"] if os.geteuid() == 0 else [])
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=arguments)
        try:
            yield browser
        finally:
            browser.close()


class Watched:
    """Opens pages and collects their faults.

    Thread: the test's.
    """

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._contexts: list[BrowserContext] = []
        self.pages: list[Page] = []
        self.faults: list[str] = []
        """One line each: what a page did that none may do."""
        self.allowed: list[str] = []
        """Parts of console errors that the test provokes."""
        self.requests: list[str] = []
        """Addresses that were asked for, in order, with their methods."""
        self._unanswered: dict[Page, set[Request]] = {}

    def open(
        self,
        address: str,
        *,
        width: int = WIDE,
        height: int = HIGH,
        scheme: Literal["light", "dark"] = "light",
        context: BrowserContext | None = None,
        goto: bool = True,
    ) -> Page:
        """Open a page in a browser that remembers nothing, or in that of another page."""
        context = context or self.context(width=width, height=height, scheme=scheme)
        page = context.new_page()
        page.set_default_timeout(WAIT_MS)
        origin = "/".join(address.split("/")[:3])
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.faults.append(f"exception: {error}"))
        page.on("request", lambda request: self._request(page, request, origin))
        page.on("response", lambda response: self._response(page, response))
        page.on("requestfinished", lambda request: self._end(page, request))
        page.on("requestfailed", lambda request: self._end(page, request))
        page.on("dialog", self._dialog)
        page.on("popup", lambda popup: self.faults.append(f"popup: {popup.url[:80]}"))
        self.pages.append(page)
        self._unanswered[page] = set()
        if goto:
            page.goto(address)
        return page

    def context(
        self, *, width: int = WIDE, height: int = HIGH, scheme: Literal["light", "dark"] = "light", zone: str = "UTC"
    ) -> BrowserContext:
        """Return a browser that remembers nothing."""
        context = self._browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=scheme,
            locale="en-GB",
            timezone_id=zone,
            permissions=["clipboard-read", "clipboard-write"],
        )
        self._contexts.append(context)
        return context

    def allow(self, part: str = REFUSED) -> None:
        """Let console errors with this part pass: the test provokes them."""
        self.allowed.append(part)

    def settle(self, page: Page) -> None:
        """Wait until the page has drawn every answer that it asked for, so that nothing moves and no request is still to come.

        `wait_for_load_state("networkidle")` is no such wait: it holds from the first idle moment on, whatever a click asks for after it.
        """
        until_s = time.monotonic() + WAIT_MS / 1000
        seen = -1
        while self._unanswered[page] or seen < len(self.requests):
            assert time.monotonic() < until_s, f"no answer to {[request.url for request in self._unanswered[page]]}"
            seen = len(self.requests)
            page.evaluate(TWO_FRAMES)

    def picture(self, page: Page, name: str, *, whole: bool = False) -> Path:
        """Keep a screenshot."""
        PICTURES.mkdir(parents=True, exist_ok=True)
        path = PICTURES / f"{name}.png"
        page.screenshot(path=path, full_page=whole)
        return path

    def close(self, name: str) -> None:
        """Keep a picture of each page that is open, close everything, and fail if there was a fault."""
        for number, page in enumerate(page for page in self.pages if not page.is_closed()):
            if pwned := page.evaluate("window.pwned"):
                self.faults.append(f"a script of a log line ran: {pwned}")
            self.picture(page, name + (f"-{number}" if number else ""))
        for context in self._contexts:
            context.close()
        faults = [fault for fault in self.faults if not any(part in fault for part in self.allowed)]
        assert faults == []

    def _dialog(self, dialog: Dialog) -> None:
        self.faults.append(f"dialog: {dialog.message[:80]}")
        dialog.dismiss()

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error" or "Content Security Policy" in message.text or "Content-Security-Policy" in message.text:
            self.faults.append(f"console: {message.text[:300]}")

    def _request(self, page: Page, request: Request, origin: str) -> None:
        self.requests.append(f"{request.method} {request.url}")
        if request.is_navigation_request():
            self._unanswered[page].clear()  # what the page before it asked for may end without a word
        if ENDLESS not in request.url:
            self._unanswered[page].add(request)
        if not request.url.startswith((f"{origin}/", "blob:")):
            self.faults.append(f"asked another host: {request.url[:200]}")

    def _response(self, page: Page, response: Response) -> None:
        if response.status == HTTPStatus.UNAUTHORIZED:
            self._end(page, response.request)  # the page does not read the rest, so this one never finishes

    def _end(self, page: Page, request: Request) -> None:
        self._unanswered[page].discard(request)


def sideways(page: Page) -> int:
    """Return by how many pixels the page is wider than its window."""
    found: int = page.evaluate("document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth")
    return found
