"""Fixtures of the page's tests: Chromium for a file of tests, watched pages and a stub world for each test."""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser

from tests.page.stub_world import StubWorld
from tests.page.watched import Watched, chromium
from tests.services.missing import skip_or_fail


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium for a file: while it runs, its loop runs on this thread, and other files' tests have loops of their own."""
    try:
        with chromium() as started:
            yield started
    except FileNotFoundError as missing:
        skip_or_fail(str(missing))


@pytest.fixture
def watched(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Watched]:
    """Opens pages; what no page may do fails the test at its end, and a picture of each is kept."""
    pages = Watched(browser)
    yield pages
    pages.close(re.sub(r"\W+", "_", request.node.name.removeprefix("test_")))


@pytest.fixture
def fresh_world() -> Iterator[Callable[..., StubWorld]]:
    """Makes worlds with settings of the test's."""
    worlds: list[StubWorld] = []

    def make(**settings: object) -> StubWorld:
        worlds.append(StubWorld(**settings))  # type: ignore[arg-type] # as StubWorld
        return worlds[-1]

    yield make
    for world in worlds:
        world.close()


@pytest.fixture
def world(fresh_world: Callable[..., StubWorld]) -> StubWorld:
    """A worker's server over lines that the test knows."""
    return fresh_world()


@pytest.fixture
def world_with_token(fresh_world: Callable[..., StubWorld]) -> StubWorld:
    """The same, which wants a token."""
    return fresh_world(token="a-secret-of-the-tests")  # noqa: S106 - nothing else has it
