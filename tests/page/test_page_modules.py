"""The page's modules without a page around them, in the same browser: what is quoted for a shell, what an address says, what is marked."""

import json
import subprocess
from typing import Any

import pytest

from tests.page.hostile import TEXTS
from tests.page.stub_world import StubWorld
from tests.page.watched import Watched
from tests.worker.asking.one_more_filter import Filters
from worker.asking.filters import filters_of
from worker.querying.forms import parse_query
from worker.serving.page_files import filters_module

pytestmark = pytest.mark.process

ODD = (
    *("", "it's", "-k", "a b", "$HOME `id` $(id) !x", "back\\slash'", "new\nline", "bell\x07 \x1b[31m", "turn \u202eback"),
    *("ünïcode 日本 🙂", "a=b&c=d#e", "100%", "a+b c", "constructor"),
    *(text.replace("\0", "") for text in TEXTS if len(text) < 10_000),
)
"""Texts that a shell, a terminal or an address could take for something else."""


def call(watched: Watched, world: StubWorld, script: str, argument: object) -> Any:  # noqa: ANN401 - whatever the page returns
    """Return what a function of `page` (a function that imports a module) and of `argument` returns."""
    page = watched.open(f"{world.url}/?tab=doctor")
    return page.evaluate(
        f"async ([root, argument]) => ({script})((name) => import(`${{root}}/page/${{name}}.js`), argument)", [world.url, argument]
    )


def test_a_shell_reads_the_very_text_that_was_quoted_and_a_terminal_shows_no_control_character(world: StubWorld, watched: Watched) -> None:
    words = call(watched, world, "async (page, texts) => texts.map((await page('commands')).shellWord)", ODD)
    assert all(one.isprintable() for word in words for one in word)
    read = subprocess.run(["bash", "-c", "printf '%s\\0' " + " ".join(words)], check=True, capture_output=True, timeout=30)
    assert read.stdout.decode().split("\0")[:-1] == list(ODD)


def test_the_curl_command_sends_the_very_query_and_the_worker_takes_it(world: StubWorld, watched: Watched) -> None:
    body = {"text": "it's \u202e$HOME `x`\n", "k": 30, "mode": "dense", "filters": {"level": ["ERROR", ""], "fields": {"a'b": ["$(id)"]}}}
    command = call(watched, world, "async (page, body) => (await page('commands')).curlCommand('/api/search', body)", body)
    script = 'curl() { printf "%s\\0" "$@"; }; TOKEN=secret; ' + command
    words = subprocess.run(["bash", "-c", script], check=True, capture_output=True, timeout=30).stdout.decode().split("\0")
    assert json.loads(words[words.index("-d") + 1]) == body
    assert "Authorization: Bearer secret" in words
    assert parse_query(words[words.index("-d") + 1].encode()).text == body["text"]


def test_every_state_comes_back_from_its_own_address(world: StubWorld, watched: Watched) -> None:
    states = [
        {
            "tab": "live",
            "q": text,
            "service": [text, "x"] if text else ["x"],
            "fields": {"k8s.pod": [text, "", text], "constructor": [text]},
            "not_service": ["x", text] if text else ["x"],
            "not_fields": {"k8s.pod": [text, ""], "a": [text]},
            "k": "30",
        }
        for text in ODD
    ]
    script = """async (page, states) => {
        const { href, parse } = await page("state");
        return states.map((state) => parse(href(state, parse(""))));
    }"""
    for state, restored in zip(states, call(watched, world, script, states), strict=True):
        assert {name: restored[name] for name in state} == state


def test_a_filter_that_is_declared_is_in_the_address_the_question_the_chips_and_the_commands(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?tab=doctor", goto=False)
    declared = filters_module(filters_of(Filters))
    page.route("**/page/filters.js", lambda route: route.fulfill(body=declared, content_type="text/javascript"))
    page.goto(f"{world.url}/?tab=doctor")
    script = """async (root) => {
        const page = (name) => import(`${root}/page/${name}.js`);
        const [{ parse, tabHref, href }, { filtersOf }, { filterChips }, { vectailCommand }] = await Promise.all(
            ["state", "search_request", "chips", "commands"].map(page));
        const state = parse("?pod=web-2&service=web");
        const filters = filtersOf(state, { since_ms: null, until_ms: null });
        const chips = filterChips();
        chips.update(state);
        history.replaceState(null, "", "?pod=web-2");
        const shown = [...chips.node.querySelectorAll("li > bdi")].map((one) => one.textContent);
        return [href({}, state), filters, shown, vectailCommand({ filters }), tabHref("live"), href({ pod: "" }, state)];
    }"""
    assert page.evaluate(script, world.url) == [
        "?pod=web-2&service=web",
        {"service": ["web"], "pod": "web-2"},
        ["web", "web-2"],
        "vectail search --service web --pod web-2",
        "?tab=live&pod=web-2",
        "?service=web",
    ]


def test_a_field_in_the_address_is_cut_at_its_first_equals_sign_as_on_the_command_line(world: StubWorld, watched: Watched) -> None:
    address = "?field=url%3Dhttp%3A%2F%2Fx%2F%3Fa%3Db&field=url%3Dy&field=broken&field=__proto__%3Dz"
    script = "async (page, text) => Object.entries((await page('state')).parse(text).fields)"
    assert call(watched, world, script, address) == [["url", ["http://x/?a=b", "y"]], ["__proto__", ["z"]]]


def test_the_words_of_the_question_are_marked_whole_and_whatever_their_case(world: StubWorld, watched: Watched) -> None:
    texts = [
        ("Disk /dev/sdb1 full: DISK", ["disk", "full"], ["Disk", "full", "DISK"]),
        ("diskette undisk", ["disk"], []),
        ("a.b(c) [x]", ["a.b(c)", "[x]"], ["a.b(c)", "[x]"]),
        ("größe Größe", ["größe"], ["größe", "Größe"]),
        ("🙂 error", ["error"], ["error"]),
    ]
    script = """async (page, texts) => {
        const { highlight } = await page("format");
        return texts.map(([text, words]) => highlight(text, words).map(([start, end]) => text.slice(start, end)));
    }"""
    assert call(watched, world, script, texts) == [marked for _, _, marked in texts]


def test_a_share_is_all_or_nothing_only_if_it_is(world: StubWorld, watched: Watched) -> None:
    script = "async (page, shares) => shares.map((await page('format')).percent)"
    assert call(watched, world, script, [0, 0.00001, 0.9995, 0.999_999_9, 1]) == ["0%", "<0.1%", "99.95%", "99.99%", "100%"]


def test_times_before_now_are_the_same_window_for_hits_charts_and_export(world: StubWorld, watched: Watched) -> None:
    script = """async (page, [since, until, now]) => {
        const { rangeOf } = await page("range");
        const { since_ms, until_ms, automatic } = rangeOf({ since, until }, now);
        return [since_ms, until_ms, automatic];
    }"""
    now = 10_000_000
    assert call(watched, world, script, ["15m", "", now]) == [now - 900_000, None, False]
    assert call(watched, world, script, ["", "", now]) == [now - 3_600_000, None, True]
    assert call(watched, world, script, ["all", "", now]) == [None, None, False]
    assert call(watched, world, script, ["1000", "2000", now]) == [1_000, 2_000, False]
    assert call(watched, world, script, ["nonsense", "", now]) == [None, None, False]


def test_the_events_of_a_stream_are_the_same_in_whatever_pieces_it_comes(world: StubWorld, watched: Watched) -> None:
    stream = 'retry: 2000\n\nid: c1\nevent: lines\ndata: {"n": 1}\n\n: nothing new\n\n'
    stream += "id: c2\r\nevent: problem\r\ndata: one\r\ndata: two\r\n\r\n"
    script = """async (page, [stream, sizes]) => {
        const { eventParser } = await page("tail_stream");
        return sizes.map((size) => {
            const heard = [];
            const take = eventParser((...event) => heard.push(event));
            for (let at = 0; at < stream.length; at += size) take(stream.slice(at, at + size));
            return heard;
        });
    }"""
    events = [["lines", '{"n": 1}', "c1"], ["problem", "one\ntwo", "c2"]]
    assert call(watched, world, script, [stream, [1, 7, len(stream)]]) == [events] * 3


def test_a_count_by_a_field_that_was_cut_says_what_it_covers(world: StubWorld, watched: Watched) -> None:
    counts = [
        {"complete": complete, "statistics": {"lines": 12_000, "all_values": has_all}}
        for complete, has_all in ((True, True), (False, True), (False, False))
    ]
    said = call(watched, world, "async (page, counts) => counts.map((await page('field_figures')).whyFieldIsCut)", counts)
    assert said == [
        "",
        "Of the 12,000 lines that could be read in time; there are more.",
        "It has more values than are counted one by one: the most frequent may be missing.",
    ]
