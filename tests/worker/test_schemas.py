"""A whole service and a Schema Registry that is away, late, without a schema, and back."""

from collections.abc import Iterator
from typing import Any

import pytest

from consumers.record import Partition
from consumers.registry_settings import RegistrySettings
from consumers.schema import FetchedSchema
from tests.log_topics import log_topics
from tests.services.schema_registry import SchemaRegistryStub
from tests.worker.running import WAIT_S, World, wait_until
from worker.runtime.limits import LimitReached
from worker.service.shutdown import Ending
from worker.settings.service_tables import LimitTable, StatusTable
from worker.settings.settings import Settings

AVRO = FetchedSchema("AVRO", '"string"')


@pytest.fixture
def registry() -> Iterator[SchemaRegistryStub]:
    with SchemaRegistryStub() as stub:
        stub.add_schema(7, AVRO)
        yield stub


def settings(world: World, registry: SchemaRegistryStub, **tables: Any) -> Settings:  # noqa: ANN401 - whole tables
    return world.settings(**{"topic": log_topics(world.topic, format="auto"), "registry": RegistrySettings(url=registry.url), **tables})


def avro(text: str, schema: int = 7) -> bytes:
    """Return a string as a serialiser writes it."""
    encoded = text.encode()
    return b"\0" + schema.to_bytes(4, "big") + bytes([2 * len(encoded)]) + encoded


def wait_for_question(registry: SchemaRegistryStub, path: str) -> None:
    while path not in registry.questions:  # probes ask for other things
        assert registry.asked.acquire(timeout=WAIT_S)


def test_while_the_registry_is_away_its_records_wait_and_others_are_indexed(world: World, registry: SchemaRegistryStub) -> None:
    registry.fault = (503, b"")
    world.send([avro("first line"), "second line", avro("third line")])
    world.send(["another line"], partition=1)
    running = world.start(settings(world, registry)).opened()
    wait_for_question(registry, "/schemas/ids/7")
    wait_until(lambda: world.stored() == ["another line"], "the other partition")
    assert running.service.pipeline.indexing.ledger.committed().get(Partition(world.topic, 0)) is None
    registry.fault = None
    wait_until(lambda: len(world.stored()) == 4, "the records that waited")
    assert world.stored() == ["first line", "second line", "third line", "another line"]
    assert running.stop() == Ending.DRAINED
    assert world.committed() == 4
    assert world.dead_letters(0) == []
    assert sum("does not answer" in line for line in world.said) == 1


def test_a_drain_waits_for_an_answer_that_is_on_its_way(world: World, registry: SchemaRegistryStub) -> None:
    registry.ready.clear()
    world.send([avro("a line")])
    running = world.start(settings(world, registry)).opened()
    wait_for_question(registry, "/schemas/ids/7")
    running.service.stop()
    assert running.service.logs is not None
    assert running.service.logs.intake_ended.wait(WAIT_S)
    registry.ready.set()
    assert running.wait() == Ending.DRAINED
    assert (world.stored(), world.committed()) == (["a line"], 1)


def test_what_still_waits_at_the_end_of_a_drain_is_read_again(world: World, registry: SchemaRegistryStub) -> None:
    registry.fault = (503, b"")
    world.send([avro("a line"), "behind it"])
    running = world.start(settings(world, registry, limits=LimitTable(drain_timeout_s=1.0))).opened()
    wait_for_question(registry, "/schemas/ids/7")
    assert running.stop() == Ending.UNDRAINED
    assert (world.stored(), world.committed()) == ([], 0)
    registry.fault = None
    world.start(settings(world, registry)).opened()
    wait_until(lambda: world.stored() == ["a line", "behind it"], "the records that were left")


def test_a_registry_that_has_none_of_the_schemas_stops_the_worker(
    world: World, registry: SchemaRegistryStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worker.service.indexing_pipeline.MOST_UNDECODABLE", 3)
    world.send([avro("a line", 8)] * 5)
    running = world.start(settings(world, registry)).opened()
    assert running.wait() == Ending.CRASHED
    assert isinstance(running.service.crash_error, LimitReached)


def test_readiness_names_a_registry_that_is_away_and_goes_on(world: World, registry: SchemaRegistryStub) -> None:
    registry.fault = (503, b"")
    running = world.start(settings(world, registry, status=StatusTable(refresh_s=0.5))).opened()
    health = running.service.status.health
    wait_until(lambda: health.ready().status == "degraded", "the registry's absence to be the only thing amiss")
    assert health.ready().checks["registry"] == "it answers 503 Service Unavailable"
    assert health.alive().is_good
