"""The tabs about the worker and its group: templates, lag, dead letters and their replay, doctor."""

import re
import time
from collections.abc import Callable
from contextlib import ExitStack

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.page import stub_documents
from tests.page.parts import hits, parameters, status
from tests.page.stub_documents import TOML, WORKER, served_models
from tests.page.stub_lines import KINDS, MINUTE_MS, shop_lines
from tests.page.stub_world import StubWorld
from tests.page.watched import Watched

pytestmark = pytest.mark.process


def templates(page: Page) -> Locator:
    return page.get_by_role("list", name="Templates").locator("> li")


def test_templates_lists_the_most_frequent_with_count_and_share(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?tab=templates&since=all")
    expect(templates(page)).to_have_count(len(KINDS))
    requests = [line for line in world.lines if line.service == "web" and " answered " in (line.text or "")]
    expect(templates(page).first).to_contain_text("/cart/")
    expect(templates(page).first).to_contain_text(str(len(requests)))
    expect(templates(page).first).to_contain_text("%")
    expect(templates(page).first.get_by_role("img")).to_be_visible()


def test_what_is_new_and_what_is_gone_against_the_hour_before(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?tab=templates&since=1h")
    page.get_by_role("button", name=re.compile("^New")).click()
    expect(templates(page)).to_have_count(1)
    expect(templates(page).first).to_contain_text("was declined by the bank")
    expect(templates(page).first).to_contain_text("new")
    expect(templates(page).first).to_contain_text("ERROR")
    page.get_by_role("button", name=re.compile("^Gone")).click()
    expect(templates(page)).to_have_count(1)
    expect(templates(page).first).to_contain_text("cache warmed")
    asked = world.asked_for("compare")[-1]
    assert asked.compare is not None
    assert asked.compare.until_ms == asked.filters.since_ms


def test_templates_begin_with_what_changed_and_are_filtered_as_search_is(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?tab=templates&since=1h")
    expect(templates(page)).to_have_count(2)
    expect(templates(page).first).to_contain_text(re.compile(r"ERROR.*was declined by the bank.*new.*↑", re.DOTALL))
    expect(templates(page).last).to_contain_text(re.compile(r"INFO.*cache warmed.*gone.*↓", re.DOTALL))
    page.get_by_role("group", name="Levels").get_by_role("button", name="INFO").click()
    expect(templates(page)).to_have_count(1)
    page.get_by_label("Add a field=value").fill("k8s.pod.name=web-2")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Remove k8s.pod.name web-2")).to_be_visible()
    assert (parameters(page)["level"], parameters(page)["field"]) == (["INFO"], ["k8s.pod.name=web-2"])
    watched.settle(page)
    asked = world.asked_for("compare")[-1]
    assert (asked.filters.level, asked.filters.fields) == (["INFO"], {"k8s.pod.name": ["web-2"]})
    page.get_by_role("button", name="Clear all").click()
    page.get_by_role("button", name="Most frequent").click()
    expect(templates(page).filter(has_text="/cart/")).to_contain_text(re.compile(r"[↑↓=] [\d.]+. as often as before"))
    expect(templates(page).filter(has_text="was declined by the bank")).to_contain_text("new")


def test_what_changed_stays_where_the_services_that_got_worse_cannot_be_told(world: StubWorld, watched: Watched) -> None:
    watched.allow()
    with ExitStack() as failing:
        with world.holding(lambda query: query.form == "compare" and query.by is not None):
            page = watched.open(f"{world.url}/?tab=templates&since=1h")
            world.wait_held()
            failing.enter_context(world.failing("expired", "there was no time"))
        watched.settle(page)
        expect(templates(page)).to_have_count(2)
        expect(page.get_by_role("group", name="Services with more errors")).to_be_empty()


def test_in_an_index_that_began_within_the_time_nothing_is_called_new(fresh_world: Callable[..., StubWorld], watched: Watched) -> None:
    now_ms = int(time.time() * 1000)
    young = fresh_world(lines=[one for one in shop_lines(now_ms) if one.time > now_ms - 80 * MINUTE_MS])
    page = watched.open(f"{young.url}/?tab=templates&since=1h&show=new")
    expect(status(page)).to_contain_text(re.compile(r"The index begins at .*: too late to call anything new or rising"))
    expect(templates(page)).to_have_count(0)
    page.get_by_role("button", name="Changed").click()
    expect(status(page)).to_contain_text(re.compile(r"The index begins at .* families in the last hour"))
    declined = templates(page).filter(has_text="was declined by the bank")
    expect(declined).to_be_visible()
    watched.settle(page)
    expect(declined.get_by_text("new", exact=True)).to_be_hidden()
    old = templates(watched.open(f"{fresh_world().url}/?tab=templates&since=1h&show=frequent")).filter(has_text="was declined by the bank")
    expect(old.get_by_text("new", exact=True)).to_be_visible()


def test_a_template_opens_its_members_and_leads_to_its_lines(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?tab=templates&since=all")
    first = templates(page).first
    first.get_by_role("button", expanded=False).first.click()
    expect(first).to_contain_text("GET /cart/<num>")
    expect(first).to_contain_text("GET /order/<num>")
    first.get_by_role("link", name=re.compile("[Ll]ines|[Ss]earch")).first.click()
    expect(hits(page).first).to_contain_text("/cart/")
    assert parameters(page)["family"] == [KINDS[0].id]


def test_suggested_masks_are_offered_as_toml_and_left_out_where_there_are_none(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?tab=templates&since=all")
    offered = page.get_by_text("6 families differ in one word: merge")
    expect(page.get_by_label("Suggested masks")).to_be_hidden()
    offered.click()
    expect(page.get_by_label("Suggested masks")).to_have_text(TOML)
    world.documents["/api/suggestions"]["families"] = 0
    page.get_by_role("button", name="Refresh").click()
    expect(offered).to_have_count(0)
    watched.allow()
    with world.away("/api/suggestions"):
        page.get_by_role("button", name="Refresh").click()
        expect(templates(page)).to_have_count(len(KINDS))


def test_words_filter_the_templates(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?tab=templates&since=all")
    page.get_by_label("Filter", exact=True).fill("disk")
    expect(templates(page)).to_have_count(1)
    expect(templates(page).first).to_contain_text("% full")


def test_charts_of_families_count_only_what_the_operators_of_the_words_let_pass(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?tab=templates&since=all&q=connection+-db-3.shop")
    expect(templates(page).first.get_by_role("img")).to_be_visible()
    watched.settle(page)
    charts = [query for query in world.asked_for("counts") if query.by == ["time", "family"]]
    assert charts
    assert all(query.filters.not_phrases == ["db-3.shop"] and query.text is None for query in charts)


def test_lag_shows_totals_partitions_and_whose_figures_they_are(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?tab=lag")
    view = page.locator("#view")
    for text in ("2,420", "vectail-7c1", WORKER, "llama.cpp", "99.9", "Indexing keeps up"):
        expect(view).to_contain_text(text)
    expect(page.get_by_role("row").filter(has_text="2,300").first.get_by_role("img")).to_be_visible()
    for condition in world.documents["/api/status"]["conditions"]:
        expect(view).to_contain_text(condition["summary"])
    expect(page.get_by_role("table", name="Savings by topic")).to_contain_text(re.compile(r"99\.9\d*%"))
    expect(page.get_by_role("term").filter(has_text="Tokens saved")).to_have_count(0)  # saving is not health


def test_lag_shows_the_models_of_the_embedding_service_only_where_it_is_on(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?tab=lag")
    card = page.get_by_role("region", name="Embedding service")
    expect(page.get_by_role("region", name="Engine and index")).to_be_visible()
    expect(card).to_be_hidden()
    world.documents["/api/status"]["served_models"] = served_models()
    rows = card.get_by_role("row")
    expect(rows).to_contain_text(
        [
            "Model",
            re.compile("MiniLM-L6-v2-logs.*ready.*beside the budget.*41.*250 ms"),
            re.compile("bge-small.*absent.*0 B.*12.*nothing"),
            re.compile("e5-small-v2.*failed no model in /models/e5: there is no such folder"),
        ]
    )


def test_lag_tells_how_far_a_change_of_the_model_is_only_while_the_index_has_two(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?tab=lag")
    card = page.get_by_role("region", name="Engine and index")
    expect(card).to_be_visible()
    watched.settle(page)
    assert not any("/api/reindex" in one for one in watched.requests)
    expect(card).not_to_contain_text("Model change")
    world.documents["/api/status"]["index_models"] = 2
    expect(card).to_contain_text("Model change" + "from all-MiniLM-L6-v2 to bge-small: 12,345 of 20,000 templates")
    old, new = world.documents["/api/reindex"]["views"]
    world.documents["/api/reindex"]["error"] = "not preferred: speed: 31 ms"
    expect(card).to_contain_text("20,000 templates. It stands still: not preferred: speed: 31 ms")
    world.documents["/api/reindex"] |= {
        "views": [{**old, "state": "old", "preferred": False}, {**new, "state": "ready", "preferred": True}],
        "asked": "space-2",
        "error": "",
    }
    expect(card).to_contain_text("asked: bge-small; all-MiniLM-L6-v2 is kept (roll back or drop with vectail reindex)")
    world.documents["/api/reindex"]["asked"] = "space-1"
    expect(card).to_contain_text("this worker goes on with all-MiniLM-L6-v2")
    world.documents["/api/status"]["index_models"] = 1
    expect(card).not_to_contain_text("Model change")


def test_lag_says_of_a_worker_that_indexes_nothing_that_it_only_answers(world: StubWorld, watched: Watched) -> None:
    world.documents["/api/status"] |= {"indexes": False, "savings": []}
    page = watched.open(f"{world.url}/?tab=lag")
    expect(page.get_by_role("region", name="Savings by topic")).to_contain_text("only answers questions: kafka.index is false")


def test_lag_asks_again_by_itself_while_it_is_looked_at(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?tab=lag")
    expect(page.get_by_role("row").filter(has_text="2,300").first).to_be_visible()
    world.documents["/api/lag"]["groups"][0]["partitions"][1]["records"] = 77_123
    expect(page.get_by_role("row").filter(has_text="77,123").first).to_be_visible()


def test_the_outlook_is_shown_in_the_words_of_the_worker(world: StubWorld, watched: Watched) -> None:
    group = world.documents["/api/lag"]["groups"][0]
    group |= {"seconds": 95.0, "outlook": "catches_up", "outlook_text": "caught up in 3 to 5 min", "caught_up_in_s": [170.0, 290.0]}
    group["partitions"][0] |= {"outlook": "stands_still", "outlook_text": "stands still"}
    page = watched.open(f"{world.url}/?tab=lag")
    expect(page.get_by_role("definition").filter(has_text="at the rates of the last minutes")).to_contain_text("caught up in 3 to 5 min")
    expect(page.locator("#view")).to_contain_text("the wait gets shorter")
    expect(page.get_by_role("row").filter(has_text="logs/0")).to_contain_text("stands still")


def test_the_partitions_can_be_sorted(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?tab=lag")
    table = page.get_by_role("table").filter(has=page.get_by_role("columnheader", name=re.compile("Partition"))).first
    partitions = table.locator("tbody td:first-child")
    expect(partitions).to_have_text(["logs/1", "logs/0"])  # the one that is behind most comes first
    heading = table.get_by_role("columnheader", name=re.compile("Records"))
    heading.get_by_role("button").click()
    expect(partitions).to_have_text(["logs/0", "logs/1"])
    heading.get_by_role("button").click()
    expect(partitions).to_have_text(["logs/1", "logs/0"])


def test_chosen_dead_letters_are_replayed_after_a_question_and_the_result_is_told(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?tab=letters")
    letters = page.get_by_role("list", name="Dead letters").locator("> li")
    expect(letters).to_have_count(3)
    expect(letters.nth(2)).to_contain_text("its bytes were not kept")
    letters.first.get_by_role("checkbox").check()
    page.get_by_role("button", name="Replay 1 letter").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name=re.compile("Cancel|Not now|No")).click()
    assert world.replayed == []
    page.get_by_role("button", name="Replay 1 letter").click()
    dialog.get_by_role("button", name=re.compile("^Replay")).click()
    expect(page.get_by_role("status").filter(has_text=re.compile("replayed"))).to_be_visible()
    assert world.replayed == [["0/0"]]
    expect(letters.first).to_contain_text(re.compile("replayed"))


def test_all_workers_are_on_one_page_with_those_that_do_not_answer(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?tab=lag")
    expect(page.get_by_role("region", name="Conditions")).to_be_visible()
    workers = page.get_by_role("region", name="Workers")
    expect(workers).to_be_hidden()
    world.documents["/api/workers"] = stub_documents.peers()
    page.reload()
    expect(workers).to_contain_text("1 worker of 3 did not answer")
    rows = workers.get_by_role("row")
    expect(rows.nth(1)).to_contain_text(f"{stub_documents.WORKER} (this one)")
    expect(rows.nth(2)).to_contain_text("not ready index: Milvus is away; VectailSinkDown")
    expect(rows.nth(3)).to_contain_text("no answer no answer within 1 s")


def test_a_reason_shows_only_its_letters(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?tab=letters")
    page.get_by_role("group", name="Reasons").get_by_role("button", name=re.compile("at most 1,000,000")).click()
    letters = page.get_by_role("list", name="Dead letters").locator("> li")
    expect(letters).to_have_count(1)
    expect(letters.first).to_contain_text("GIF89a")


def test_a_letter_that_does_not_hold_all_of_its_record_says_how_it_is_replayed(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?tab=letters")
    letters = page.get_by_role("list", name="Dead letters").locator("> li")
    expect(letters.nth(1)).to_contain_text("a replay reads the record again, while Kafka holds it")
    expect(letters.nth(1).get_by_role("checkbox")).to_be_enabled()
    page.get_by_role("group", name="Reasons").get_by_role("button", name=re.compile("at most 1,000,000")).click()
    expect(letters).to_contain_text("decided by decode.max_record_bytes")
    expect(page.get_by_label("None of these can be replayed: each letter says why")).to_be_disabled()


def test_a_link_to_a_record_that_is_a_dead_letter_says_why_it_is_not_in_the_index(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?line=logs/0@77000")
    expect(page.get_by_role("article")).to_contain_text("it was never indexed, or has been removed")
    page = watched.open(f"{world.url}/?tab=letters")
    letter = world.documents["/api/dead-letters"]["letters"][2]
    letter["offset"] = 77_000
    page.get_by_role("button", name="Refresh").click()
    page.get_by_role("link", name="logs/0@77000").click()
    article = page.get_by_role("article")
    expect(article).to_contain_text(f"This record is a dead letter: {letter['reason']}")
    expect(article).to_contain_text("vectail dlq show 0/2")
    article.get_by_role("link", name="Dead letters").click()
    expect(page.get_by_role("list", name="Dead letters").locator("> li")).to_have_count(3)


def test_doctor_names_the_problem_first_with_what_to_do(world: StubWorld, watched: Watched) -> None:
    page = watched.open(f"{world.url}/?tab=doctor")
    expect(page.locator("#view").get_by_role("status").first).to_contain_text("1 problem and 1 warning")
    first = page.get_by_role("region", name="What to do").get_by_role("listitem").first
    expect(first).to_contain_text("at most 256 open files")
    expect(first).to_contain_text("ulimit -n 4096")
    page.clock.install(time=0)
    page.clock.pause_at(1)  # the button says so for two seconds, and a busy machine may not look in them
    page.get_by_role("button", name="Copy as text").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    page.clock.run_for(2_000)
    expect(page.get_by_role("button", name="Copy as text")).to_be_visible()
    assert "PROBLEM  machine: open files" in page.evaluate("navigator.clipboard.readText()")
