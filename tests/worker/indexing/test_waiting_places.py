"""Every place where records wait drops what is of an ended assignment and nothing else, and no place is missing.

The places are listed in docs/design.md, "Where a record can wait".
"""

import ast
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from consumers.assignment import PartitionLedger
from consumers.held import HeldRecords
from consumers.kafka.epochs import TopicEpochs
from consumers.kafka.fetch_position import FetchPosition
from consumers.kafka.intake import Intake
from consumers.kafka.leader_epochs import LeaderEpochs
from consumers.kafka.offset_reset import OffsetReset, PendingStartCommits
from consumers.kafka.resume_point import OffsetGone
from consumers.kafka.source_settings import KafkaSourceSettings
from consumers.kafka.waiting import Arrived, WaitingRecords
from consumers.record import Partition, Record, records_of
from consumers.waiting_place import AssignmentPlace, WaitingPlace
from tests.consumers.kafka.messages import Message
from tests.consumers.records import admit_batch
from tests.consumers.scene import Scene
from tests.worker.chain_values import LOGS
from tests.worker.conftest import NewChain
from tests.worker.indexing.test_schema_wait import Scene as SchemaScene
from worker.settings.rule_tables import SampleTable
from worker.settings.topic_tables import MultilineTable

GONE, KEPT = LOGS, Partition(LOGS.topic, LOGS.partition + 1)
BOTH = (GONE, KEPT)
ROOT = Path(__file__).parents[3]
BESIDE_THE_TUPLES = {"TopicEpochs": "an assignment that begins again is read under the same epoch, so `Intake.end` alone drops that"}
NO_PLACE = {
    "Commits": "the poller ends them with the assignment",
    "Intake": "drops its own notes with its places",
    "KafkaSource": "which partitions are paused follows from the intake",
    "Ledger": "ends the assignments",
    "Poller": "ends the assignments, and drops its own notes with its places",
}


class Filled(NamedTuple):
    """A place that holds something of both partitions, and a question whether it holds something of one."""

    place: WaitingPlace[Partition]
    holds: Callable[[Partition], bool]


def filled_waiting() -> Filled:
    waiting = WaitingRecords()
    for partition in BOTH:
        waiting.add(Arrived(0.0, partition, np.array([5]), [Message(partition, 5)]))
    return Filled(waiting, lambda partition: partition in waiting.partitions())


def filled_held() -> Filled:
    held = HeldRecords()
    held.add(records_of([Record(*partition, 5, "e", 0, None, b"x", ())]) for partition in BOTH)
    return Filled(held, lambda partition: partition in held.partitions and held.size == len(held.partitions))


def filled_position() -> Filled:
    position = FetchPosition()
    for partition in BOTH:
        position.start_at(partition, 5)
        position.schedule_refetch(partition, 0.0)
    return Filled(position, lambda partition: position.next_offset(partition) == 5 or position.is_refetching(partition))


def filled_leader_epochs() -> Filled:
    epochs = LeaderEpochs()
    for partition in BOTH:
        epochs.start_at(partition, 5, 3)
    return Filled(epochs, lambda partition: epochs.before(partition, 5) == 3)


def filled_reset() -> Filled:
    reset = OffsetReset(start="earliest", expired="earliest")
    for partition in BOTH:
        reset.note_offset_gone(partition, OffsetGone(None))
    return Filled(reset, reset.is_pending)


def filled_starts() -> Filled:
    starts = PendingStartCommits()
    for partition in BOTH:
        starts.add_start(partition, 5, comes_first=True)
    return Filled(starts, lambda partition: starts.comes_first(partition) or partition in starts.take_unsent())


def filled_epochs() -> Filled:
    epochs = TopicEpochs(fixed=None, ask=lambda _topics: {}, say=lambda _line: None)
    epochs.begin_assignment(BOTH, 0.0)
    return Filled(epochs, lambda partition: partition in epochs.partitions())


BEFORE_ADMISSION = (
    filled_waiting, filled_held, filled_position, filled_leader_epochs, filled_reset, filled_starts, filled_epochs,
)  # fmt: skip


@pytest.mark.parametrize("fill", BEFORE_ADMISSION)
def test_a_place_before_the_ledger_drops_what_is_of_a_partition_and_nothing_else(fill: Callable[[], Filled]) -> None:
    place, holds = fill()
    assert [holds(partition) for partition in BOTH] == [True, True]
    place.drop({GONE})
    assert [holds(partition) for partition in BOTH] == [False, True]


def filled_steps(new_chain: NewChain) -> tuple[tuple[AssignmentPlace, ...], dict[Partition, PartitionLedger]]:
    """Return the places of prepare and store, each of which holds something of both partitions, and their assignments."""
    schemas = SchemaScene()
    rules = {"multiline": MultilineTable(pattern="^>"), "sample": [SampleTable(name="some", above_per_s=1)]}
    chain = new_chain(**rules, schema_wait=schemas.wait)
    schemas.ledger = chain.ledger
    chain.ledger.assign(BOTH)
    assignments: dict[Partition, PartitionLedger] = {}
    for partition in BOTH:
        values = (b"> an event", b"> and one that is open")
        receipt = admit_batch(chain.ledger, *(Record(*partition, i, "e", 0, None, value, ()) for i, value in enumerate(values)))
        assignments[partition] = receipt.assignment
        chain.prepare.step([receipt])
        chain.prepare.step([schemas.receipt(1, partition=partition)])
    chain.embed()
    while items := chain.store_lane.take(1_000, wait=False):
        chain.store_step.step(items)
    return (*chain.prepare.places, *chain.store_step.places), assignments


def test_a_place_behind_the_ledger_drops_what_is_of_an_assignment_and_nothing_else(new_chain: NewChain) -> None:
    places, assignments = filled_steps(new_chain)
    for place in places:
        assert set(place.assignments()) == set(assignments.values()), type(place).__name__
        place.drop({assignments[GONE]})
        assert list(place.assignments()) == [assignments[KEPT]], type(place).__name__
    assert not assignments[GONE].has_open, "every record is released"
    assert assignments[KEPT].has_open


def test_a_new_place_is_in_a_tuple_of_those_that_a_revocation_drops(new_chain: NewChain) -> None:
    epochs = TopicEpochs(fixed="e", ask=lambda _topics: {}, say=lambda _line: None)
    intake = Intake(KafkaSourceSettings(bootstrap_servers="nowhere:1", group="g", topic_epoch="e"), epochs)
    tuples = (intake.places, Scene().poller.places, filled_steps(new_chain)[0])
    in_tuples = {type(place).__name__ for places in tuples for place in places}
    of_partitions = {type(place).__name__ for places in tuples[:2] for place in places}
    assert {type(fill().place).__name__ for fill in BEFORE_ADMISSION} == of_partitions | set(BESIDE_THE_TUPLES)
    drops = {one.name for one in classes() if any(isinstance(part, ast.FunctionDef) and _is_drop(part) for part in one.body)}
    assert drops - {"WaitingPlace"} == in_tuples | set(BESIDE_THE_TUPLES)
    assert {one.name for one in classes() if _keeps_by_assignment(one)} - drops == NO_PLACE.keys()


def classes() -> Iterator[ast.ClassDef]:
    """Yield every class of the two rooms through which records go."""
    for room in ("consumers", "worker/indexing"):
        for path in sorted((ROOT / room).rglob("*.py")):
            yield from (node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef))


def _is_drop(function: ast.FunctionDef) -> bool:
    return function.name == "drop" and [one.arg for one in function.args.args] == ["self", "gone"]


def _keeps_by_assignment(one: ast.ClassDef) -> bool:
    """Whether an attribute is annotated as several of something by partition or assignment, or as receipts or records."""
    names = {"Partition", "PartitionLedger", "Receipt", "Claim", "Records"}
    kept = [node.annotation for node in ast.walk(one) if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Attribute)]
    return any(
        isinstance(part, ast.Subscript) and any(isinstance(name, ast.Name) and name.id in names for name in ast.walk(part.slice))
        for annotation in kept
        for part in ast.walk(annotation)
    )
