"""Signing in with the worker's token, and out again: the token is nowhere but in the request that carries it."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.page.parts import hits
from tests.page.stub_world import StubWorld
from tests.page.watched import Watched

pytestmark = pytest.mark.process
TOKEN = "a-secret-of-the-tests"  # noqa: S105 - the fixture's


def sign_in(page: Page, token: str = TOKEN) -> None:
    dialog = page.get_by_role("dialog", name="Sign in")
    dialog.get_by_label("Token").fill(token)
    dialog.get_by_role("button", name="Sign in").click()


def test_a_question_that_needs_the_token_is_answered_after_signing_in(world_with_token: StubWorld, watched: Watched) -> None:
    watched.allow()
    page = watched.open(f"{world_with_token.url}/?q=disk+full&since=all")
    expect(page.get_by_role("dialog", name="Sign in")).to_be_visible()
    assert world_with_token.asked == []
    sign_in(page)
    expect(hits(page)).to_have_count(1)
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.reload()
    expect(hits(page)).to_have_count(1)


def test_a_wrong_token_is_refused_in_words_and_can_be_corrected(world_with_token: StubWorld, watched: Watched) -> None:
    watched.allow()
    page = watched.open(f"{world_with_token.url}/?since=all")
    sign_in(page, "a guess")
    expect(page.get_by_role("alert").filter(has_text="not the token")).to_be_visible()
    sign_in(page)
    expect(hits(page).first).to_be_visible()


def test_the_token_is_in_no_address_no_storage_and_no_cookie_that_a_script_can_read(world_with_token: StubWorld, watched: Watched) -> None:
    watched.allow()
    page = watched.open(f"{world_with_token.url}/?since=all")
    sign_in(page)
    expect(hits(page).first).to_be_visible()
    page.get_by_role("link", name="Dead letters").click()
    expect(page.get_by_text("not valid JSON").first).to_be_visible()
    assert not [address for address in watched.requests if TOKEN in address]
    assert TOKEN not in page.evaluate("JSON.stringify([localStorage, sessionStorage, document.cookie, history.state])")
    assert page.evaluate("document.cookie") == ""
    (cookie,) = page.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    assert TOKEN not in cookie["value"]
    assert TOKEN not in page.content()


def test_after_signing_out_nothing_is_shown_and_the_cookie_is_gone(world_with_token: StubWorld, watched: Watched) -> None:
    watched.allow()
    page = watched.open(f"{world_with_token.url}/?since=all")
    sign_in(page)
    expect(hits(page).first).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("dialog", name="Sign in")).to_be_visible()
    expect(hits(page)).to_have_count(0)
    assert page.context.cookies() == []


def test_a_replay_from_another_site_s_page_is_refused(world_with_token: StubWorld, watched: Watched) -> None:
    watched.allow()
    page = watched.open(f"{world_with_token.url}/?since=all")
    sign_in(page)
    expect(hits(page).first).to_be_visible()
    status = page.evaluate(
        """async () => (await fetch("/api/dead-letters/replay", {method: "POST", credentials: "same-origin",
            headers: {"Content-Type": "application/json"}, body: JSON.stringify({ids: ["0/0"]})})).status""",
    )
    assert status == 403
    assert world_with_token.replayed == []


def test_a_worker_without_a_token_asks_for_none(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?since=all")
    expect(hits(page).first).to_be_visible()
    watched.settle(page)  # whether a token is needed is asked for, too
    expect(page.get_by_role("button", name=re.compile("Sign"))).to_have_count(0)
