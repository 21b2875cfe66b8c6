"""Asking the Schema Registry on a thread of its own: away, refusing, slow, without the schema, and back."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from consumers.decode.registry_schemas import Schemas, Unknown
from consumers.registry import RegistryClient
from consumers.registry_settings import RegistrySettings
from consumers.schema import FetchedSchema
from tests.services.schema_registry import SchemaRegistryStub
from worker.indexing.schema_lookup import UNKNOWN_S, SchemaLookup
from worker.runtime.retry import REMIND_S

AVRO = FetchedSchema("AVRO", '"string"')
_PATIENCE_S = 20.0
_MOST_ATTEMPTS = 6


@dataclass
class Scene:
    """A registry and a lookup that asks it; the clock is the test's."""

    registry: SchemaRegistryStub
    now_s: float = 100.0
    said: list[str] = field(default_factory=list)
    woken: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def __post_init__(self) -> None:
        client = RegistryClient(RegistrySettings(url=self.registry.url), timeout_s=0.5)
        self.lookup = SchemaLookup(client, Schemas(), wake=self.woken.release, say=self.said.append, clock=lambda: self.now_s)
        self.schemas = self.lookup.schemas
        self._thread = threading.Thread(target=self.lookup.body, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wait_for(self, is_so: Callable[[], bool]) -> None:
        """Wait until something is true after an answer."""
        for _ in range(_MOST_ATTEMPTS):
            if is_so():
                return
            assert self.woken.acquire(timeout=_PATIENCE_S)
        raise AssertionError("not so after many questions")

    def wait_for_questions(self, count: int) -> None:
        for _ in range(count):
            assert self.registry.asked.acquire(timeout=_PATIENCE_S)

    def end(self) -> None:
        self.lookup.stop()
        if self._thread.ident is not None:
            self._thread.join(_PATIENCE_S)
            assert not self._thread.is_alive()


@pytest.fixture
def scene() -> Iterator[Scene]:
    with SchemaRegistryStub() as registry:
        made = Scene(registry)
        yield made
        registry.ready.set()
        made.end()


@pytest.mark.slow
@pytest.mark.parametrize("fault", [(503, b""), (401, b'{"error_code":40101}'), (404, b"no registry here")])
def test_a_registry_that_does_not_answer_is_asked_until_it_does(scene: Scene, fault: tuple[int, bytes]) -> None:
    scene.registry.fault = fault
    scene.registry.add_schema(7, AVRO)
    scene.lookup.want({7})
    scene.start()
    scene.wait_for_questions(3)
    assert scene.schemas.find(7) is None
    scene.registry.fault = None
    scene.wait_for(lambda: scene.schemas.find(7) is not None)
    began, ended = scene.said
    assert f"the schema registry {scene.registry.url} does not answer (it answers {fault[0]}" in began
    assert ended == "the schema registry answers again, after 0 s"


def test_an_answer_that_is_late_is_asked_for_again(scene: Scene) -> None:
    scene.registry.add_schema(7, AVRO)
    scene.registry.ready.clear()
    scene.lookup.want({7})
    scene.start()
    scene.wait_for_questions(2)
    scene.registry.ready.set()
    scene.wait_for(lambda: scene.schemas.find(7) is not None)


def test_only_the_answer_that_there_is_no_such_schema_makes_it_unknown_and_that_for_a_minute(scene: Scene) -> None:
    assert scene.lookup.ask(7)
    assert scene.schemas.find(7) == Unknown(scene.now_s + UNKNOWN_S)
    assert not scene.schemas.missing({7}, scene.now_s + UNKNOWN_S - 1)
    assert scene.schemas.missing({7}, scene.now_s + UNKNOWN_S) == {7}
    scene.registry.add_schema(7, AVRO)
    assert scene.lookup.ask(7)
    assert not scene.schemas.missing({7}, scene.now_s + 10 * UNKNOWN_S)
    assert not scene.said


def test_a_schema_that_the_registry_fails_at_does_not_keep_the_others_waiting(scene: Scene) -> None:
    scene.registry.answers["/schemas/ids/1"] = (500, b"")
    scene.registry.add_schema(2, AVRO)
    scene.lookup.want([1, 2])
    scene.start()
    scene.wait_for(lambda: scene.schemas.find(2) is not None)
    assert scene.schemas.find(1) is None


def test_what_is_wanted_no_longer_is_not_asked_for(scene: Scene) -> None:
    scene.registry.add_schema(2, AVRO)
    scene.lookup.want({1})
    scene.lookup.want({2})
    scene.start()
    scene.wait_for(lambda: scene.schemas.find(2) is not None)
    assert scene.registry.questions == ["/schemas/ids/2"]


def test_an_outage_is_said_once_and_then_once_a_minute(scene: Scene) -> None:
    scene.registry.fault = (503, b"")
    for now_s in (0.0, 1.0, REMIND_S - 1, REMIND_S, REMIND_S + 1):
        scene.now_s = now_s
        assert not scene.lookup.ask(7)
    assert len(scene.said) == 2
    assert scene.said[1].startswith("the schema registry has not answered for 60 s")


def test_an_unusable_schema_is_an_answer(scene: Scene) -> None:
    scene.registry.add_answer("/schemas/ids/7", {"schema": "{"})
    assert scene.lookup.ask(7)
    assert not scene.schemas.missing({7}, scene.now_s)
