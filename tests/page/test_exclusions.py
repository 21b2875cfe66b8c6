"""What is left out, on the page: of facets, of hits and of lines; every part follows it, and so do the address and the copied commands."""

import json
import re
from collections import Counter

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.page.parts import ask, hit, hits, open_hit, parameters, ready, status, tab, texts
from tests.page.stub_lines import DISK, KINDS, PAYMENT, REQUEST, masked
from tests.page.stub_world import StubWorld
from tests.page.test_page_modules import call
from tests.page.watched import Watched
from worker.querying.forms import parse_query

pytestmark = pytest.mark.process


def facet(page: Page, name: str) -> Locator:
    return page.get_by_role("group", name=name)


def test_a_button_beside_a_facet_s_value_leaves_its_lines_out_and_takes_them_back(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?since=all")
    expect(hits(page)).to_have_count(len(KINDS))
    not_web = facet(page, "Service").get_by_role("button", name="Exclude Service: web")
    expect(not_web).to_have_attribute("aria-pressed", "false")
    not_web.focus()
    page.keyboard.press("Enter")
    expect(hits(page)).to_have_count(sum(kind.service != "web" for kind in KINDS))
    expect(not_web).to_have_attribute("aria-pressed", "true")
    expect(not_web).to_be_focused()
    expect(facet(page, "Service").get_by_role("checkbox", name=re.compile("^web"))).not_to_be_checked()
    assert parameters(page)["not_service"] == ["web"]
    counted = [query for query in world.asked_for("counts") if query.facets][-1]
    assert counted.groupings[:3] == [["time", "level"], ["level"], ["service"]]
    assert counted.filters.not_service == ["web"], "the histogram follows, and the facet shows all"
    page.get_by_role("button", name="Remove not service web").click()
    expect(hits(page)).to_have_count(len(KINDS))
    expect(not_web).to_have_attribute("aria-pressed", "false")


def test_a_value_is_either_asked_for_or_left_out(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?since=all&service=web&service=auth")
    expect(hits(page)).to_have_count(sum(kind.service in ("web", "auth") for kind in KINDS))
    facet(page, "Service").get_by_role("button", name="Exclude Service: web").click()
    expect(hits(page)).to_have_count(1)
    assert (parameters(page)["service"], parameters(page)["not_service"]) == (["auth"], ["web"])
    web = facet(page, "Service").get_by_role("checkbox", name=re.compile("^web"))
    expect(web).not_to_be_checked()  # the facet comes after the hits
    web.check()
    expect(hits(page)).to_have_count(sum(kind.service in ("web", "auth") for kind in KINDS))
    assert "not_service" not in parameters(page)


def test_a_value_of_a_field_is_left_out(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?since=all&q=connection+refused&facet=k8s.pod.name")
    facet(page, "k8s.pod.name").get_by_role("button", name="Exclude k8s.pod.name: web-2").click()
    expect(page.get_by_role("button", name="Remove not k8s.pod.name web-2")).to_be_visible()
    watched.settle(page)  # the button is there before the worker is asked
    assert world.asked_for("lines")[-1].filters.not_fields == {"k8s.pod.name": ["web-2"]}
    assert parameters(page)["not_field"] == ["k8s.pod.name=web-2"]
    facet(page, "k8s.pod.name").get_by_role("button", name="Remove the facet k8s.pod.name").click()
    expect(page.get_by_role("button", name="Remove not k8s.pod.name web-2")).to_have_count(0)


def test_not_this_holds_for_counts_export_live_lines_and_other_tabs(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?since=all")
    open_hit(page, "% full").get_by_role("button", name="Not this").click()
    expect(hit(page, "% full")).to_have_count(0)
    expect(hits(page)).to_have_count(len(KINDS) - 1)
    left = sum(line.template_text != masked(DISK.texts[0]) for line in world.lines)
    expect(page.get_by_role("region", name="Lines over time")).to_contain_text(f"{left} lines")
    page.get_by_text("Export", exact=True).click()
    link = page.get_by_role("link", name="Download as NDJSON").get_attribute("href")
    assert link is not None
    assert DISK.id in link
    ask(page, "disk full")
    expect(status(page)).to_contain_text("Nothing fits")
    expect(hits(page)).to_have_count(0)
    for name, form in (("Templates", "templates"), ("Live", "tail")):
        before = len(world.asked)
        tab(page, name)
        ready(watched, page, name)
        expect(page.get_by_role("button", name=f"Remove not family {DISK.id[:8]}")).to_be_visible()
        asked = [query.filters.not_family for query in world.asked[before:] if query.form == form]
        assert asked
        assert all(left_out == [DISK.id] for left_out in asked)


def test_an_address_of_before_leaves_out_what_it_hid_and_one_family_can_be_shown_alone(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?since=all&not={DISK.id}&not={PAYMENT.id}")
    expect(hits(page)).to_have_count(len(KINDS) - 2)
    assert world.asked_for("templates")[-1].filters.not_family == [DISK.id, PAYMENT.id]
    page.get_by_role("button", name="Clear all").click()
    expect(hits(page)).to_have_count(len(KINDS))
    open_hit(page, "% full").get_by_role("link", name="Only this family").click()
    expect(hit(page, "% full")).to_have_count(10)
    expect(hits(page)).to_have_count(10)


def test_a_value_of_an_open_line_is_left_out_with_its_button(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?since=all&not_service=auth")
    found = open_hit(page, "% full")
    found.get_by_role("button", name="Exclude service storage").click()
    expect(hit(page, "% full")).to_have_count(0)
    assert parameters(page)["not_service"] == ["auth", "storage"]
    open_hit(page, "/cart/").get_by_role("button", name=re.compile("^Exclude k8s.pod.name")).click()
    expect(page.get_by_role("button", name=re.compile("^Remove not k8s.pod.name"))).to_be_visible()
    (pair,) = parameters(page)["not_field"]
    assert pair.startswith("k8s.pod.name=web-")


def test_all_fields_are_listed_with_how_many_lines_have_each(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?since=all&not_family={REQUEST.id}")
    expect(hits(page).first).to_be_visible()
    fields = page.locator("summary", has_text="Fields")
    fields.click()
    templates = {masked(text) for text in REQUEST.texts}
    there = Counter(name for line in world.lines if line.template_text not in templates for name in json.loads(line.fields or "{}"))
    offered = page.locator(".field-list li")
    expect(offered).to_have_count(len(there))
    shown = dict(zip(texts(offered.locator(".pick")), texts(offered.locator(".num")), strict=True))
    assert shown == {name: str(count) for name, count in there.items()}
    asked = [query for query in world.asked_for("counts") if query.by == ["field"]]
    assert [query.filters.not_family for query in asked] == [[REQUEST.id]]
    fields.click()
    fields.click()
    watched.settle(page)
    assert len([query for query in world.asked_for("counts") if query.by == ["field"]]) == 1, "of one question they are asked for once"


def test_copied_commands_leave_out_what_the_page_leaves_out(world: StubWorld, watched: Watched) -> None:
    filters = {
        "level": ["ERROR"],
        "not_service": ["a b", "-x"],
        "not_family": [DISK.id],
        "not_template": ["0" * 32],
        "not_fields": {"pod": ["it's"]},
    }
    script = "async (page, body) => (await page('commands')).vectailCommand(body)"
    command = call(watched, world, script, {"text": "disk", "filters": filters})
    assert command == (
        f"vectail search --level ERROR --not-service 'a b' --not-service=-x --not-template {'0' * 32} --not-family {DISK.id}"
        " --not-field 'pod=it'\\''s' disk"
    )
    script = "async (page, body) => (await page('commands')).curlCommand('/api/search', body)"
    curl = call(watched, world, script, {"text": "disk", "filters": filters})
    assert '"not_family":' in curl
    assert parse_query(json.dumps({"text": "disk", "filters": filters}).encode()).filters.not_fields == {"pod": ["it's"]}
