"""Where records wait for their schemas: order, other partitions, revocation, a list longer than the memory."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from consumers.assignment import Receipt
from consumers.decode.registry_schemas import Schemas, Unknown
from consumers.decode.registry_wire import VALUE_SCHEMA_ID
from consumers.ledger import Ledger
from consumers.record import Header, Partition, Record
from consumers.registry import RegistryAway, SchemaNotFound
from consumers.schema import FetchedSchema, SchemaKey
from consumers.waiting_place import drop_ended
from tests.consumers.records import admit_batch
from tests.worker.letters import Letters
from worker.indexing.schema_lookup import UNKNOWN_S, SchemaLookup
from worker.indexing.schema_wait import SchemaWait

LOGS_0, LOGS_1, PLAIN = Partition("logs", 0), Partition("logs", 1), Partition("plain", 0)
GUID = "01010101-0101-0101-0101-010101010101"


class FakeRegistry:
    """Has the schemas that a test gives it."""

    address = "http://registry"

    def __init__(self) -> None:
        self.there: set[SchemaKey] = set()
        self.is_away = False
        self.asked: list[SchemaKey] = []

    def fetch(self, key: SchemaKey) -> FetchedSchema:
        self.asked.append(key)
        if self.is_away:
            raise RegistryAway("away")
        if key not in self.there:
            raise SchemaNotFound
        return FetchedSchema("AVRO", '"string"')

    def ping(self) -> None:
        pass


@dataclass
class Scene:
    """A ledger, a registry and records that wait for it; the test asks by hand."""

    schemas: Schemas = field(default_factory=Schemas)
    registry: FakeRegistry = field(default_factory=FakeRegistry)
    now_s: float = 100.0

    def __post_init__(self) -> None:
        self.ledger = Ledger(cap_records=1000, cap_bytes=1 << 20, dead_letter=Letters())
        self.ledger.assign([LOGS_0, LOGS_1, PLAIN])
        self.lookup = SchemaLookup(self.registry, self.schemas, wake=lambda: None, say=lambda _line: None, clock=lambda: self.now_s)
        self.wait = SchemaWait(self.lookup, reads=lambda topic: topic == "logs", clock=lambda: self.now_s)
        self._next_offset = 0

    def receipt(self, *numbers: int, partition: Partition = LOGS_0, headers: tuple[Header, ...] = ()) -> Receipt:
        """Admit values of these schemas; 0 is a value that names none."""
        values = [b"\0" + number.to_bytes(4, "big") + b"\x02x" if number else b"plain" for number in numbers]
        records = [Record(*partition, self._next_offset + i, "e1", 0, None, value, headers) for i, value in enumerate(values)]
        self._next_offset += len(values)
        return admit_batch(self.ledger, *records)

    def answer(self) -> None:
        """Ask for everything that is wanted now, once."""
        for key in list(self.lookup.wanted):
            self.lookup.ask(key)


def test_later_receipts_of_the_partition_wait_behind_it_and_other_partitions_go_on() -> None:
    scene = Scene()
    scene.registry.there = {1}
    first, second, other = scene.receipt(1), scene.receipt(0), scene.receipt(0, partition=LOGS_1)
    assert scene.wait.admit([first, other]) == [other]
    assert scene.wait.admit([second]) == []
    scene.answer()
    third = scene.receipt(0)
    assert scene.wait.admit([third]) == [first, second, third]


def test_a_topic_that_has_no_schemas_never_waits() -> None:
    scene = Scene()
    receipt = scene.receipt(1, partition=PLAIN)
    assert scene.wait.admit([receipt]) == [receipt]


def test_a_schema_in_a_header_is_waited_for() -> None:
    scene = Scene()
    receipt = scene.receipt(5, headers=((VALUE_SCHEMA_ID, b"\x01" * 17),))
    assert scene.wait.admit([receipt]) == []
    assert set(scene.lookup.wanted) == {GUID}


def test_an_unknown_schema_lets_its_records_go_and_is_asked_for_again_after_a_minute() -> None:
    scene = Scene()
    first, second, third = scene.receipt(9), scene.receipt(9), scene.receipt(9)
    scene.wait.admit([first])
    scene.answer()
    assert scene.wait.admit([second]) == [first, second]
    scene.now_s += UNKNOWN_S
    assert scene.wait.admit([third]) == []
    scene.answer()
    assert scene.wait.admit([]) == [third]
    assert scene.registry.asked == [9, 9]


def test_receipts_of_a_revoked_partition_want_nothing_once_they_are_dropped() -> None:
    scene = Scene()
    scene.wait.admit([scene.receipt(1), scene.receipt(0)])
    scene.ledger.revoke([LOGS_0])
    drop_ended([scene.wait])
    assert scene.wait.admit([]) == []
    assert not scene.lookup.wanted


def test_more_schemas_than_are_kept_become_ready_all_the_same() -> None:
    scene = Scene(Schemas(most=2))
    scene.registry.there = set(range(1, 10))
    many, again = scene.receipt(*range(1, 10)), scene.receipt(1)
    assert scene.wait.admit([many, again]) == []
    scene.answer()
    assert scene.wait.admit([]) == [many, again]
    assert len(scene.lookup.schemas) == 9
    assert scene.wait.admit([]) == []
    assert len(scene.lookup.schemas) == 2


def test_what_was_returned_stays_known_until_the_next_list() -> None:
    scene = Scene(Schemas(most=1))
    scene.registry.there = {1, 2}
    scene.wait.admit([scene.receipt(1)])
    scene.answer()
    scene.wait.admit([])
    scene.lookup.ask(2)
    assert scene.lookup.schemas.find(1) is not None


class OtherAnswers(Schemas):
    """Gets another schema just after each look at what is missing, as if the lookup's thread were quick."""

    def missing(self, keys: Iterable[SchemaKey], now_s: float) -> set[SchemaKey]:
        found = super().missing(keys, now_s)
        self.add_schema(99, Unknown(0.0))
        return found


def test_what_was_there_at_the_look_is_not_forgotten_before_it_is_read() -> None:
    scene = Scene(OtherAnswers(most=1))
    scene.registry.there = {1}
    scene.lookup.ask(1)
    receipt = scene.receipt(1)
    assert scene.wait.admit([receipt]) == [receipt]
    assert scene.schemas.find(1) is not None


def test_many_schemas_that_are_not_there_hold_up_neither_their_own_partition_for_ever_nor_another_one() -> None:
    scene = Scene()
    scene.registry.there = {1_000}
    many = scene.receipt(*range(1, 201))
    other = scene.receipt(1_000, partition=LOGS_1)
    assert scene.wait.admit([many]) == []
    assert scene.wait.admit([other]) == []
    came: dict[int, list[Receipt]] = {}
    for questions in range(1, 202):
        scene.lookup.ask(scene.lookup.wanted[0])
        scene.now_s += UNKNOWN_S / 100  # all of them take longer than an answer holds
        if ready := scene.wait.admit([]):
            came[questions] = ready
    (early, first), (late, last) = came.items()
    assert (first, last, late) == ([other], [many], 201)
    assert early < 20
    assert sorted(scene.registry.asked) == [*range(1, 201), 1_000]
    assert scene.wait.is_empty


def test_a_look_after_an_answer_costs_the_same_however_many_schemas_are_missing() -> None:
    looked: list[int] = []

    class Counted(Schemas):
        def missing(self, keys: Iterable[SchemaKey], now_s: float) -> set[SchemaKey]:
            several = list(keys)
            looked.append(len(several))
            return super().missing(several, now_s)

    scene = Scene(Counted())
    scene.wait.admit([scene.receipt(*range(1, 501))])
    looked.clear()
    scene.lookup.ask(scene.lookup.wanted[0])
    scene.wait.admit([])
    assert sum(looked) < 100
