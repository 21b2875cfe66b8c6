"""A worker that only answers (`kafka.index = false`), beside one that indexes: what it does, says and leaves alone."""

import json
from typing import Any

import pytest

from sinks.milvus.milvus_settings import MilvusSettings
from sinks.sink import SinkMismatch
from tests.worker.running import PARTITIONS, Ended, World, lines_of, wait_until
from tests.worker.serving.schemas import check
from worker.asking.refusals import Refused
from worker.service.shutdown import Ending
from worker.settings.settings import Settings

CHANGES = {"write_blocks", "delete_blocks", "drop_expired", "templates.upsert"}


def answering(world: World, **kafka: object) -> Settings:
    """Return the settings of a worker that only answers."""
    server, status = MilvusSettings(uri="http://milvus:19530"), {"refresh_s": 0.5}
    return world.settings(kafka={"index": False, **kafka}, milvus=server, status=status)


def filled(world: World, lines: int) -> None:
    """Index some lines, with a worker that has ended when this returns."""
    world.send(lines_of(lines))
    indexing = world.start().opened()
    wait_until(lambda: len(world.stored()) >= lines, f"{lines} lines")
    assert indexing.stop() == Ending.DRAINED


def document_of(running: Ended, path: str, schema: str) -> Any:  # noqa: ANN401 - JSON
    document = json.loads(json.dumps(running.service.view().documents[path]({})))
    check(schema, document)
    return document


def status_of(running: Ended) -> Any:  # noqa: ANN401 - JSON
    return document_of(running, "/api/status", "Status")


def exposed(running: Ended) -> list[str]:
    page = running.service.view().pages["/metrics"]("")
    return [line for line in page.body.decode().splitlines() if not line.startswith("#")]


def test_it_answers_from_what_others_have_indexed_and_reads_no_log_topic(world: World) -> None:
    filled(world, 40)
    running = world.start(answering(world)).opened()
    world.send(["disk sdb failed"] * 3)
    wait_until(lambda: status_of(running)["ready"]["status"] == "ready", "readiness")
    (reply,) = world.ask({"text": "disk failed", "k": 3})
    assert reply["hits"]
    wait_until(lambda: world.ask({"text": "disk failed", "k": 3})[0]["behind_records"] == 3, "a look at the log group")
    assert running.stop() == Ending.DRAINED
    assert (len(world.stored()), world.committed()) == (40, 40), "what it has not read stays with those that read"


def test_it_changes_nothing_in_the_index_and_runs_no_stage_that_would(world: World) -> None:
    filled(world, 40)
    world.fake_sink.calls.clear()
    running = world.start(answering(world)).opened()
    world.send(["disk sdb failed"] * 3)
    world.ask({"text": "disk failed", "k": 3})
    alive = running.service.status.health.alive().checks
    assert set(alive) == {"poller-queries", "prepare-queries", "embed", "engine", "answer"}
    assert running.stop() == Ending.DRAINED
    assert CHANGES.isdisjoint(world.fake_sink.calls)


def test_an_index_that_is_not_there_is_refused_and_not_created(world: World) -> None:
    world.fake_sink.exists = False
    running = world.start(answering(world))
    with pytest.raises(SinkMismatch, match="does not exist; nothing has been indexed yet"):
        running.wait()
    assert not world.fake_sink.exists


def test_its_figures_tell_of_no_logs_and_its_status_says_why(world: World) -> None:
    filled(world, 40)
    running = world.start(answering(world)).opened()
    wait_until(lambda: any(line.startswith("vectail_consumer_lag_records") for line in exposed(running)), "a look at the query group")
    of_logs = ('group="logs"', f'topic="{world.topic}"')
    assert [line for line in exposed(running) if any(label in line for label in of_logs)] == []
    assert [line for line in exposed(running) if 'group="queries"' in line]
    status = status_of(running)
    assert status["indexes"] is False
    assert {one["topic"] for one in status["assignments"]} == {world.kafka.query_topic}
    assert len(status["assignments"]) == PARTITIONS
    assert (status["savings"], status["searchable"], status["index"]["written_lines"]) == ([], None, 0)
    lag = document_of(running, "/api/lag", "Lag")
    (logs, _queries) = lag["groups"]
    assert (logs["kind"], logs["members"], logs["records"]) == ("logs", [], 0)
    assert running.stop() == Ending.DRAINED


def test_dead_letters_are_replayed_by_workers_that_index(world: World) -> None:
    filled(world, 1)
    running = world.start(answering(world)).opened()
    with pytest.raises(Refused, match="indexes nothing"):
        running.service.view().actions["/api/dead-letters/replay"]({"ids": ["0/1"]})
