"""What every place where records wait can do when their assignment ends (design: where a record can wait).

Before a record is admitted, its owner is its partition: the source and the poller drop it in the callback of the rebalance. From then on
its owner is its assignment. A revocation, on the poller's thread, only ends that; the thread that owns a place drops what is of ended
assignments at its next turn (`drop_ended`). `tests/worker/indexing/test_waiting_places.py` iterates over all places.
"""

from collections.abc import Collection, Sequence
from typing import Protocol, TypeVar

from consumers.assignment import PartitionLedger

Owner_contra = TypeVar("Owner_contra", contravariant=True)


class WaitingPlace(Protocol[Owner_contra]):
    """Where records wait, or what is remembered of them."""

    def drop(self, gone: Collection[Owner_contra]) -> None:
        """Drop all that waits here of these owners, and nothing else; what is open in the ledger is released there."""


class AssignmentPlace(WaitingPlace[PartitionLedger], Protocol):
    """Where admitted records wait."""

    def assignments(self) -> Collection[PartitionLedger]:
        """Return the assignments of which anything is here."""


def drop_ended(places: Sequence[AssignmentPlace]) -> None:
    """Drop what waits in places of one thread and is of an assignment that has ended."""
    gone = {one for place in places for one in place.assignments() if not one.alive}
    if gone:
        for place in places:
            place.drop(gone)
