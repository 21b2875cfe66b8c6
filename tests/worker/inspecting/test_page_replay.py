"""A replay from the page, while the worker runs: what failed for a reason that is gone is found afterwards, once."""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from producers.envelope import envelope
from sinks.index_spaces import VectorSpace
from sinks.milvus.milvus_settings import MilvusSettings
from sinks.milvus.milvus_sink import MilvusSink
from sinks.sink import Sink
from tests.fakes.sink import FakeSink
from tests.model_fixture import CACHE
from tests.worker.inspecting.audited_index import dead_letter, record
from tests.worker.running import Ended, World, wait_until
from tests.worker.serving.schemas import check
from worker.asking.refusals import Refused
from worker.connections import vector_space
from worker.embedding.loaded import space_of
from worker.embedding.model.prepared import PreparedModel
from worker.inspecting.page_replay import MOST_IDS, DeadLetterReplay, read_ids
from worker.service.shutdown import Ending
from worker.settings.settings import Settings
from worker.settings.tables import DecodeTable, EngineTable, ModelTable

REPLAY = "/api/dead-letters/replay"
BAD = b"caf\xe9 closed"
READ = "caf� closed"


def settings(world: World, *, errors: str) -> Settings:
    """Return settings under which `BAD` is a dead letter (strict) or a line (replace)."""
    decode = DecodeTable.model_validate({"errors": errors})
    return world.settings(decode=decode, model=ModelTable(cache=CACHE), engine=EngineTable(name="llama"))


def replay(running: Ended, *ids: str) -> Any:  # noqa: ANN401 - JSON
    replayed = json.loads(json.dumps(running.service.view().actions[REPLAY]({"ids": list(ids)})))
    check("Replayed", replayed)
    return replayed


def letters(running: Ended) -> list[Any]:
    document: Any = running.service.view().documents["/api/dead-letters"]({})
    return list(document["letters"])


def refusal(call: Callable[[], object]) -> Refused:
    with pytest.raises(Refused) as refused:
        call()
    return refused.value


def failed_once(world: World, values: list[bytes | str], bad: int) -> Ended:
    """Let a strict worker fail on some of these, and return a worker of better settings."""
    world.send(values)
    strict = world.start(settings(world, errors="strict")).opened()
    wait_until(lambda: strict.service.pipeline.indexing.ledger.tally["dead_letter"] == bad, f"{bad} dead letters")
    assert strict.stop() == Ending.DRAINED
    running = world.start(settings(world, errors="replace")).opened()
    wait_until(lambda: running.service.status.health.phase() == "running", "a worker that runs")
    return running


@pytest.fixture(params=["memory", "a local Milvus folder"])
def sink(request: pytest.FixtureRequest, world: World, prepared_model: PreparedModel, tmp_path: Path) -> Sink:
    """The worker's own, which the replay must use: a folder belongs to one process."""
    if request.param != "memory":
        space = vector_space(space_of(prepared_model))
        world.sink = MilvusSink(MilvusSettings(uri=str(tmp_path / "index")), space, consumer_group=world.kafka.group)
    return world.sink


def test_a_replayed_letter_is_found_and_replaying_it_twice_changes_nothing_for_a_reader(world: World, sink: Sink) -> None:
    running = failed_once(world, ["before", BAD, BAD, "after"], 2)
    ids = [one["id"] for one in letters(running)]
    done = replay(running, *ids, "0/999")
    assert (done["replayed"], done["lines"], done["left"]) == (2, 2, 0)
    assert done["unresolved"] == [{"id": "0/999", "reason": f"there is no such dead letter in {world.kafka.dead_letter_topic}"}]
    assert [line.text or "" for line in world.lines()] == ["before", READ, READ, "after"]
    assert world.sink is sink
    assert [(one["replayed"], one["replayable"]) for one in letters(running)] == [(True, False)] * 2
    again = replay(running, *ids)
    assert (again["replayed"], again["already"], again["lines"]) == (0, 2, 0)
    assert [line.text or "" for line in world.lines()] == ["before", READ, READ, "after"]
    world.send(["the stream goes on"])
    wait_until(lambda: running.service.pipeline.indexing.ledger.tally["indexed"] >= 1, "a line after the replay")
    assert running.stop() == Ending.DRAINED


def test_a_letter_that_needs_a_record_which_kafka_no_longer_holds_is_left_and_says_so(world: World) -> None:
    running = failed_once(world, [BAD], 1)
    gone = record(0, "x" * 100_000)._replace(topic=world.topic, epoch="older")
    shaped = envelope(dead_letter(gone, "too_large: 100000 bytes"), version="1", max_bytes=1_000)
    producer = Producer({"bootstrap.servers": world.kafka.bootstrap_servers})
    producer.produce(world.kafka.dead_letter_topic, shaped.value, headers=[*shaped.headers], partition=0)
    assert producer.flush(30) == 0
    wait_until(lambda: len(letters(running)) == 2, "both letters")
    (cut,) = (one for one in letters(running) if one["kind"] == "too_large")
    assert (cut["replayable"], cut["obstacle"]) == (True, "")
    done = replay(running, *(one["id"] for one in letters(running)))
    assert (done["replayed"], done["left"]) == (1, 1)
    assert done["unresolved"] == [{"id": cut["id"], "reason": "Kafka no longer holds the record, and the letter does not hold all of it"}]


def test_one_replay_at_a_time_and_another_is_told_so(world: World) -> None:
    running = failed_once(world, [BAD], 1)
    (letter,) = letters(running)
    action = running.service.view().actions[REPLAY]
    looks = world.fake_sink.calls.count("find_blocks")
    world.fake_sink.gate.clear()
    outcome: list[Any] = []
    first = threading.Thread(target=lambda: outcome.append(action({"ids": [letter["id"]]})))
    first.start()
    wait_until(lambda: world.fake_sink.calls.count("find_blocks") > looks, "a replay that has begun")
    refused = refusal(lambda: action({"ids": [letter["id"]]}))
    world.fake_sink.gate.set()
    first.join(60)
    assert refused.code == "busy"
    assert outcome[0]["replayed"] == 1


def test_an_index_that_is_away_leaves_the_letter_as_it_was(world: World) -> None:
    running = failed_once(world, [BAD], 1)
    (letter,) = letters(running)
    world.fake_sink.busy_calls = 10**9
    running.service.abandon.set()  # or it would be patient for ten seconds
    refused = refusal(lambda: replay(running, letter["id"]))
    assert refused.code == "unavailable"
    assert refused.reason.startswith("the index does not answer")
    assert not letters(running)[0]["replayed"]


def test_a_worker_that_ends_replays_nothing(world: World) -> None:
    running = failed_once(world, [BAD], 1)
    action = running.service.view().actions[REPLAY]
    assert running.stop() == Ending.DRAINED
    refused = refusal(lambda: action({"ids": ["0/0"]}))
    assert (refused.code, refused.reason) == ("unavailable", "the worker is starting or stopping")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"ids": []},
        {"ids": "0/1"},
        {"ids": [1]},
        {"ids": ["0/1", "logs/0/1"]},
        {"ids": ["0/-1"]},
        {"ids": ["٣/1"]},
        {"ids": [f"0/{number}" for number in range(MOST_IDS + 1)]},
    ],
)
def test_ids_that_are_none_are_refused(body: dict[str, Any]) -> None:
    refused = refusal(lambda: read_ids(body))
    assert (refused.code, refused.field) == ("bad_query", "ids")


def test_a_letter_that_is_named_twice_is_one_and_an_unknown_field_is_refused() -> None:
    assert [str(one) for one in read_ids({"ids": ["0/1", "1/0", "0/1"]})] == ["0/1", "1/0"]
    assert refusal(lambda: read_ids({"ids": ["0/1"], "all": True})).field == "all"


def test_after_a_change_of_the_model_nothing_is_embedded_with_the_one_before() -> None:
    sink = FakeSink()
    sink.open()
    replay = DeadLetterReplay(Settings(), sink, is_running=lambda: True, pause=lambda _s: False)
    sink.open_view(VectorSpace(384, "space-2"), create=True)
    sink.prefer("space-2")
    refused = refusal(lambda: replay.replay({"ids": ["0/1"]}))
    assert (refused.code, "has changed its model" in refused.reason) == ("unavailable", True)
