"""The documents of a whole service, as the page asks for them: what it does, how far behind it is, and what it could not index."""

import json
from typing import Any

import pytest

from tests.worker.running import Ended, World, lines_of, wait_until
from tests.worker.serving.schemas import check
from worker.asking.refusals import Refused
from worker.runtime.logs import recent_faults
from worker.runtime.process import vectail_version
from worker.service.shutdown import Ending
from worker.service.status_document import worker_name
from worker.settings.tables import DecodeTable, RedactTable

STRICT = DecodeTable(errors="strict")
SCHEMAS = {"/api/status": "Status", "/api/lag": "Lag", "/api/dead-letters": "DeadLetters"}
CHECKS = {"kafka", "index", "engine", "assignment"}


def ask(running: Ended, path: str, **params: str) -> Any:  # noqa: ANN401 - JSON
    """Return what the page gets: the document after JSON. It is as `/openapi.json` says."""
    document = json.loads(json.dumps(running.service.view().documents[path](params), allow_nan=False))
    check(SCHEMAS[path], document)
    return document


def indexed(running: Ended, records: int) -> None:
    wait_until(lambda: running.service.pipeline.indexing.ledger.tally["indexed"] >= records, f"{records} indexed records")


def test_a_worker_that_works_says_who_it_is_and_what_it_did(world: World) -> None:
    world.send(lines_of(300))
    running = world.start(world.settings()).opened()
    indexed(running, 300)
    ask(running, "/api/status")
    wait_until(lambda: ask(running, "/api/status")["index"]["blocks"], "a count of the index")
    status = ask(running, "/api/status")
    assert (status["version"], status["worker"], status["phase"]) == (vectail_version(), worker_name(), "running")
    assert set(status["ready"]["checks"]) == CHECKS
    assert {one["name"] for one in status["dependencies"]} == {"kafka", "index", "engine"}
    assert (status["index"]["templates"], status["index"]["written_lines"]) == (7, 300)
    (saved,) = status["savings"]
    assert (saved["topic"], saved["lines"], saved["chunks"]) == (world.topic, 300, 300)
    assert saved["saved_share"] == pytest.approx(saved["tokens_saved"] / saved["tokens"], abs=1e-3)
    assert status["searchable"]["lines"] == 300
    assert 0 <= status["searchable"]["p50_s"] <= status["searchable"]["p99_s"]
    assert {one["topic"] for one in status["assignments"]} == {world.topic, world.kafka.query_topic}
    assert {one["state"] for one in status["conditions"]} == {"ok"}
    assert all(one["summary"] for one in status["conditions"])
    assert status["canary"] is None
    assert running.stop() == Ending.DRAINED


def since_ms(running: Ended) -> float:
    """Return since when the dependency is away that is."""
    (away,) = (one for one in ask(running, "/api/status")["dependencies"] if one["state"] == "away")
    return float(away["since_ms"])


def test_a_dependency_that_is_away_is_named_alike_everywhere_and_since_when(world: World) -> None:
    running = world.start(world.settings(status={"refresh_s": 0.5})).opened()
    wait_until(lambda: ask(running, "/api/status")["ready"]["status"] == "ready", "readiness")
    world.fake_sink.busy_calls = 10**9
    wait_until(lambda: ask(running, "/api/status")["ready"]["checks"]["index"] != "ok", "an index that is away")
    status = ask(running, "/api/status")
    (away,) = (one for one in status["dependencies"] if one["state"] == "away")
    assert (away["name"], away["reason"]) == ("index", status["ready"]["checks"]["index"])
    assert status["now_ms"] - 60_000 < away["since_ms"] <= status["now_ms"]
    wait_until(lambda: ask(running, "/api/status")["now_ms"] >= status["now_ms"] + 2_000, "two seconds of the outage")
    # A process that stands still between its two clocks tells a later time, but not at every look.
    wait_until(lambda: since_ms(running) <= away["since_ms"] + 100, "a look that has not begun the outage anew")
    world.fake_sink.busy_calls = 0
    wait_until(lambda: ask(running, "/api/status")["ready"]["status"] == "ready", "readiness again")
    assert {one["state"] for one in ask(running, "/api/status")["dependencies"]} == {"ok"}


def test_recent_errors_are_shown_newest_first_and_without_what_redaction_would_remove(world: World) -> None:
    recent_faults().note("warning", "the registry at https://user:hunter2@registry.example does not answer")
    recent_faults().note("error", "newest")
    running = world.start().opened()
    first, second = (one for one in ask(running, "/api/status")["errors"] if one["event"] == "newest" or "registry" in one["event"])
    assert (first["level"], first["event"], first["count"]) == ("error", "newest", 1)
    assert second["event"] == "the registry at https://<login>@registry.example does not answer"
    assert second["time_ms"] <= first["time_ms"]


def test_the_lag_is_that_of_both_groups_and_has_the_past_that_the_worker_saw(world: World) -> None:
    world.send(lines_of(50))
    running = world.start(world.settings(status={"refresh_s": 0.5})).opened()
    indexed(running, 50)
    wait_until(lambda: ask(running, "/api/lag")["groups"][0]["records"] == 0, "an empty lag")
    lag = ask(running, "/api/lag")
    assert lag["error"] is None
    assert [one["kind"] for one in lag["groups"]] == ["logs", "queries"]
    logs = lag["groups"][0]
    assert (logs["group"], logs["seconds"], logs["outlook"]) == (world.kafka.group, 0.0, "caught_up")
    (read,) = (one for one in logs["partitions"] if one["end"])
    assert (read["topic"], read["committed"], read["end"]) == (world.topic, 50, 50)
    assert read["history"][-1][1] == 0
    assert running.stop() == Ending.DRAINED


def test_dead_letters_are_shown_with_reason_place_and_a_redacted_beginning(world: World) -> None:
    secret = b'\xff{"user": "a", "p\\u0061ssword": "hunter2"} ' + b"x" * 1_000
    world.send([b"\xffone", "good", secret], partition=1)
    running = world.start(world.settings(decode=STRICT, redact=RedactTable(rules=("all",)))).opened()
    wait_until(lambda: ask(running, "/api/dead-letters")["total"] == 2, "two dead letters")
    document = ask(running, "/api/dead-letters")
    assert (document["complete"], document["dead_letter_topic"]) == (True, world.kafka.dead_letter_topic)
    assert document["by_reason"] == [{"reason": "undecodable", "topic": world.topic, "letters": 2}]
    one, hidden = sorted(document["letters"], key=lambda letter: letter["offset"])
    assert (one["topic"], one["partition"], one["offset"], one["preview"]) == (world.topic, 1, 0, "�one")
    assert (one["replayable"], one["replayed"], one["obstacle"], one["size_bytes"]) == (True, False, "", 4)
    assert (one["setting"], one["way_back"]) == ("topic.format", "")
    assert one["reason"].startswith("undecodable")
    assert "hunter2" not in hidden["preview"]
    assert len(hidden["preview"]) == 300
    assert [len(ask(running, "/api/dead-letters", limit=limit)["letters"]) for limit in ("1", "2", "1000")] == [1, 2, 2]
    (found,) = ask(running, "/api/dead-letters", record=f"{world.topic}/1@2")["letters"]
    assert found["id"] == hidden["id"]
    assert ask(running, "/api/dead-letters", record=f"{world.topic}/1@1")["letters"] == []
    with pytest.raises(Refused) as refused:
        running.service.view().documents["/api/dead-letters"]({"record": "logs"})
    assert (refused.value.code, refused.value.field) == ("bad_query", "record")


@pytest.mark.parametrize("limit", ["0", "1001", "-1", "ten", "1.5", "٣"])
def test_a_limit_that_is_none_is_refused_by_name(world: World, limit: str) -> None:
    running = world.start().opened()
    with pytest.raises(Refused) as refused:
        running.service.view().documents["/api/dead-letters"]({"limit": limit})
    assert (refused.value.code, refused.value.field) == ("bad_query", "limit")


def test_while_kafka_is_away_each_document_says_so(world: World) -> None:
    running = world.start(world.settings(status={"refresh_s": 0.5})).opened()
    wait_until(lambda: ask(running, "/api/lag")["groups"][0]["records"] == 0, "a lag")
    world.broker.close()
    wait_until(lambda: (ask(running, "/api/lag")["error"] or "").startswith("Kafka does not answer: "), "a lag that says it")
    wait_until(lambda: ask(running, "/api/status")["ready"]["checks"]["kafka"] != "ok", "a status that says it too")
    with pytest.raises(Refused) as refused:
        ask(running, "/api/dead-letters")
    assert (refused.value.code, refused.value.reason.partition(":")[0]) == ("unavailable", "Kafka does not answer")
