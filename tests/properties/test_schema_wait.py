"""No receipt is lost, doubled or reordered within its partition while it waits for schemas, whatever the registry does."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from consumers.assignment import PartitionLedger, Receipt
from consumers.decode.registry_schemas import Schemas
from consumers.decode.registry_wire import find_keys
from consumers.record import Partition
from consumers.waiting_place import drop_ended
from tests.worker.indexing.test_schema_wait import LOGS_0, LOGS_1, PLAIN, Scene
from worker.indexing.schema_lookup import UNKNOWN_S

PARTITIONS = st.sampled_from([LOGS_0, LOGS_1, PLAIN])
NUMBERS = st.lists(st.integers(0, 5), min_size=1, max_size=4)


class SchemaWaitMachine(RuleBasedStateMachine):
    """Receipts come, the registry answers or not, partitions move."""

    def __init__(self) -> None:
        super().__init__()
        self.scene = Scene(Schemas(most=2))
        self.came: dict[PartitionLedger, list[Receipt]] = {}
        self.returned: dict[PartitionLedger, list[Receipt]] = {}

    @rule(batches=st.lists(st.tuples(PARTITIONS, NUMBERS), max_size=3))
    def admit(self, batches: list[tuple[Partition, list[int]]]) -> None:
        receipts = [self.scene.receipt(*numbers, partition=partition) for partition, numbers in batches]
        for receipt in receipts:
            self.came.setdefault(receipt.assignment, []).append(receipt)
        for receipt in self.scene.wait.admit(receipts):
            self.returned.setdefault(receipt.assignment, []).append(receipt)
            if receipt.is_alive and receipt.records.topic == "logs":
                keys = find_keys(receipt.records.value, None)
                assert all(self.scene.lookup.schemas.find(key) is not None for key in keys)

    @rule(is_away=st.booleans(), there=st.sets(st.integers(1, 5)))
    def change_registry(self, is_away: bool, there: set[int]) -> None:  # noqa: FBT001 - hypothesis draws it
        self.scene.registry.is_away, self.scene.registry.there = is_away, set(there)

    @rule()
    def answer_one(self) -> None:
        for key in list(self.scene.lookup.wanted)[:1]:
            self.scene.lookup.ask(key)

    @rule(seconds=st.sampled_from([1.0, UNKNOWN_S]))
    def pass_time(self, seconds: float) -> None:
        self.scene.now_s += seconds

    @rule(partition=PARTITIONS)
    def move_partition(self, partition: Partition) -> None:
        self.scene.ledger.revoke([partition])
        self.scene.ledger.assign([partition])
        drop_ended([self.scene.wait])

    @invariant()
    def what_came_back_is_what_came_first(self) -> None:
        for assignment, returned in self.returned.items():
            assert returned == self.came[assignment][: len(returned)]

    def teardown(self) -> None:
        """Once the registry answers for good, everything comes back but what was dropped because its assignment had ended."""
        self.change_registry(is_away=False, there={1, 2, 3, 4, 5})
        for _ in range(200):
            self.scene.answer()
            self.admit([])
            if self.scene.wait.is_empty:
                break
        sizes = [sum(one.records.size for several in these.values() for one in several) for these in (self.came, self.returned)]
        assert sizes[0] - sizes[1] == self.scene.ledger.tally["abandoned"]
        assert {one: these for one, these in self.returned.items() if one.alive} == {a: c for a, c in self.came.items() if a.alive}


TestSchemaWait = SchemaWaitMachine.TestCase
TestSchemaWait.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
