"""Export from the page: a link downloads everything that matches, and the last line says that it is all."""

import json

import pytest
from playwright.sync_api import Page, expect

from tests.page.parts import hits
from tests.page.stub_world import StubWorld
from tests.page.watched import Watched

pytestmark = pytest.mark.process


def exported(page: Page, name: str) -> tuple[str, str]:
    """Return the file's name and its text."""
    page.get_by_text("Export", exact=True).click()
    with page.expect_download() as coming:
        page.get_by_role("link", name=f"Download as {name}").click()
    download = coming.value
    return download.suggested_filename, download.path().read_text(encoding="utf-8")


def test_ndjson_comes_in_several_windows_and_its_last_line_says_complete(world: StubWorld, watched: Watched) -> None:
    world.write(1_500)
    page = watched.open(f"{world.url}/?since=all")
    expect(hits(page).first).to_be_visible()
    name, text = exported(page, "NDJSON")
    assert name.endswith(".ndjson")
    *lines, end = [json.loads(line) for line in text.splitlines()]
    assert (end["export"]["state"], end["export"]["lines"]) == ("complete", len(world.lines))
    assert {line["id"] for line in lines} == {line.id for line in world.lines}
    assert len(world.asked_for("export")) > 1
