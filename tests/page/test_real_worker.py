"""The page before a real worker: lines that went through Kafka, the model and the index, and Kafka away and back."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.page.hostile import LONG, SCRIPT
from tests.page.parts import ask, hit, hits, open_hit, opener, status, tab
from tests.page.real_worker import RealWorker
from tests.page.watched import Watched, sideways

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealWorker]:
    running = RealWorker(Path(tmp_path_factory.mktemp("page")))
    yield running
    running.close()


def test_a_question_in_one_s_own_words_finds_lines_that_have_none_of_them(worker: RealWorker, watched: Watched) -> None:
    page = watched.open(f"{worker.url}/")
    expect(hits(page).first).to_be_visible()
    ask(page, "storage runs out of room")
    watched.settle(page)  # until the answer is there the hits of before are
    expect(hits(page).filter(has_text=re.compile("filesystem|disk", re.IGNORECASE)).first).to_be_visible()
    found = hits(page).first
    opener(found).click()
    expect(found.get_by_role("region", name="Neighbours").get_by_role("listitem")).not_to_have_count(0)


def test_hostile_lines_went_all_the_way_and_are_text(worker: RealWorker, watched: Watched) -> None:
    page = watched.open(f"{worker.url}/?q=window.pwned+alert+script&mode=words")
    expect(hit(page, SCRIPT[:20]).first).to_be_visible()
    found = open_hit(page, SCRIPT[:20])
    expect(found.get_by_role("region", name="Neighbours").get_by_role("listitem").first).to_be_visible()
    page.goto(f"{worker.url}/?tab=templates&since=all&k=1000")
    expect(page.get_by_role("list", name="Templates").get_by_role("listitem").filter(has_text=LONG[:200]).first).to_be_attached()
    watched.settle(page)
    assert sideways(page) <= 0


def test_a_new_line_is_seen_live_and_then_found(worker: RealWorker, watched: Watched) -> None:
    page = watched.open(f"{worker.url}/?tab=live&q=zeppelin")
    expect(status(page)).to_contain_text(re.compile("Connected|Live"))
    worker.send([b"2026-05-01 10:00:00 ERROR hangar: zeppelin 4711 has left without its crew"])
    log = page.get_by_role("log", name="Live lines")
    expect(log).to_contain_text("without its crew")
    log.get_by_role("listitem").filter(has_text="without its crew").get_by_role("link").first.click()
    expect(page.get_by_role("article").get_by_role("region", name="Text of the line")).to_contain_text("zeppelin 4711")


def test_export_holds_every_line_of_the_index(worker: RealWorker, watched: Watched) -> None:
    page = watched.open(f"{worker.url}/?since=all")
    expect(hits(page).first).to_be_visible()
    page.get_by_text("Export", exact=True).click()
    with page.expect_download() as coming:
        page.get_by_role("link", name="Download as NDJSON").click()
    *lines, end = [json.loads(line) for line in coming.value.path().read_text(encoding="utf-8").split("\n") if line]
    assert end["export"]["state"] == "complete"
    places = [(line["partition"], line["offset"], line["chunk"]) for line in lines]
    assert len(places) == len(set(places))
    assert {(partition, offset) for partition, offset, _ in places} == {(number % 4, number // 4) for number in range(worker.sent)}
    times = [line["time"] for line in lines]
    assert times == sorted(times)


def test_while_kafka_is_away_the_page_names_it_and_all_is_well_when_it_is_back(worker: RealWorker, watched: Watched) -> None:
    watched.allow()
    page = watched.open(f"{worker.url}/?tab=lag")
    dependencies = page.get_by_role("region", name="Dependencies")
    kafka = dependencies.get_by_role("listitem").filter(has_text=re.compile("kafka", re.IGNORECASE))
    expect(kafka).to_contain_text("answers")
    worker.kafka.refuse()
    try:
        expect(kafka).not_to_contain_text(re.compile("✓"), timeout=60_000)
        tab(page, "Search")
        expect(hits(page).first).to_be_visible()  # what is indexed can be searched
        tab(page, "Lag")
    finally:
        worker.kafka.release()
    expect(kafka).to_contain_text("✓", timeout=60_000)
    worker.send([b"2026-05-01 10:00:01 INFO hangar: all is well again"])
