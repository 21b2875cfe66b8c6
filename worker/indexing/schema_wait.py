"""Where records wait until the schemas of their values are known: before prepare, which asks no registry.

Prepare hands it every list of receipts that it takes (`admit`) and works those that come back.

Theory of operation
1. A receipt waits while a schema that one of its values names is not known. All later receipts of its assignment wait behind it, so the
   order within a partition holds. Other partitions go on.
2. `worker.indexing.schema_lookup` asks the registry, and wakes prepare after each answer; prepare takes an empty list from its lane and
   hands it to `admit`, which returns what has become ready.
3. What waits is open: the ledger's cap bounds it, and nothing of it is committed. While the service drains, prepare goes on until nothing
   waits or the time is up; what is left is read again.
4. The schemas of what was returned last, and of the first receipt of each assignment that waits, are kept: a list of schemas that is longer
   than their memory becomes ready all the same.
5. Whoever writes records may name any number of schemas that are not there. So each assignment asks for few at a time, and those of the
   others come between; an answer is looked at once, however many are missing; and the answer that there is no such schema holds for every
   record that was there when it came, or the first of many would have to be asked for again before the last is answered.

Not taken: receipts that go back to the lane's end, where later ones of their partition are before them; rejecting while the registry is
away.
"""

import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final

from consumers.assignment import PartitionLedger, Receipt
from consumers.decode.registry_wire import find_keys
from consumers.schema import SchemaKey
from worker.indexing.schema_lookup import SchemaLookup

_ASKED_AT_ONCE: Final = 16
"""Schemas that an assignment asks for at a time."""


@dataclass(slots=True)
class _Waiting:
    """A receipt, and the schemas that its values name.

    Thread: one, prepare's.
    """

    receipt: Receipt
    keys: set[SchemaKey]
    since_s: float
    open: list[SchemaKey]
    """Those of `keys` that were not there when they were last looked for; only grows shorter, from the end, while this is the first."""


class SchemaWait:
    """Returns every receipt once, those of an assignment in their order.

    Thread: one, prepare's.
    """

    def __init__(self, lookup: SchemaLookup, *, reads: Callable[[str], bool], clock: Callable[[], float] = time.monotonic) -> None:
        """`reads` says whether values of a topic may name schemas; `clock` is the lookup's."""
        self._lookup = lookup
        self._schemas = lookup.schemas
        self._reads = reads
        self._clock = clock
        self._waiting: dict[PartitionLedger, deque[_Waiting]] = {}
        """By assignment, those without any left out."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits."""
        return not self._waiting

    def assignments(self) -> Collection[PartitionLedger]:
        """Return the assignments whose receipts wait (AssignmentPlace)."""
        return self._waiting.keys()

    def drop(self, gone: Collection[PartitionLedger]) -> None:
        """Drop the records of these assignments that wait: their new owners read them again (WaitingPlace)."""
        for assignment in self._waiting.keys() & gone:
            for waiting in self._waiting.pop(assignment):
                assignment.drop(waiting.receipt.arrival, "revoked")

    def admit(self, receipts: Sequence[Receipt]) -> list[Receipt]:
        """Take receipts in; return those, of now and of before, whose records can be read."""
        now_s = self._clock()
        for receipt in receipts:
            keys: set[SchemaKey] = set()
            if self._reads(receipt.records.topic) and receipt.is_alive:
                keys = find_keys(receipt.records.value, receipt.records.headers)
            self._waiting.setdefault(receipt.assignment, deque()).append(_Waiting(receipt, keys, now_s, list(keys)))
        if not receipts and self._waiting and all(self._missing(queue[0]) for queue in self._waiting.values()):
            self._want()
            return []
        # First all of them: none may be forgotten between the look whether it is there and the end of this list.
        self._schemas.keep({key for queue in self._waiting.values() for waiting in queue for key in waiting.keys})
        ready: list[Receipt] = []
        in_use: set[SchemaKey] = set()
        for assignment, queue in list(self._waiting.items()):
            while queue:
                in_use |= queue[0].keys
                if self._missing(queue[0]):
                    break
                ready.append(queue.popleft().receipt)
            if not queue:
                del self._waiting[assignment]
        self._schemas.keep(in_use)
        self._want()
        return ready

    def wait(self, timeout_s: float) -> None:
        """Wait until the registry was asked once more, or until the time is up."""
        self._lookup.wait_for_attempt(timeout_s)

    def _missing(self, waiting: _Waiting) -> set[SchemaKey]:
        """Return what the first receipt of an assignment asks for now; empty if it can be read."""
        keys = waiting.open
        while keys:
            missing = self._schemas.missing(keys[-_ASKED_AT_ONCE:], waiting.since_s)
            if missing:
                return missing
            del keys[-_ASKED_AT_ONCE:]
        return set()

    def _want(self) -> None:
        """Say what is missing; the first of each assignment is kept, so what `_missing` has found is still there."""
        self._lookup.want({key for queue in self._waiting.values() for key in self._missing(queue[0])})
