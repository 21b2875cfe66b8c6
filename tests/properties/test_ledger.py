"""The ledger as a state machine, against an oracle that keeps only the history and recounts everything after each step."""

from collections import Counter
from dataclasses import dataclass, field

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from consumers.ledger import Ledger, Receipt
from consumers.record import HEADER_BYTES, Partition, Record
from consumers.rejection import RejectedPiece, Rejection
from tests.consumers.records import rejection

PARTITIONS = [Partition("logs", 0), Partition("other", 0)]
CAP_RECORDS = 5
CAP_BYTES = 1_000

partitions = st.sampled_from(PARTITIONS)
some_partitions = st.lists(partitions, min_size=1, unique=True)
arrivals = st.fixed_dictionaries(
    {
        "gap": st.integers(0, 3),
        "key_bytes": st.sampled_from([0, 0, 0, 2]),
        "value_bytes": st.sampled_from([0, 10, 100, 200, 500, 501, 800, 1_000, 1_001, 2_500]),
        "header_bytes": st.sampled_from([0, 0, 0, 2]),
    }
)


@dataclass
class Told:
    """What the test has done with one record."""

    offset: int
    size_bytes: int
    receipt: Receipt
    pieces: int | None = None
    done: int = 0
    rejects: list[RejectedPiece] = field(default_factory=list)
    decoded_bytes: int = 0
    outcome: str | None = None
    """Set when the record is closed."""
    waits_for_letter: bool = False


@dataclass
class Assignment:
    """The records of one partition in one assignment, in arrival order."""

    partition: Partition
    records: list[Told] = field(default_factory=list)
    is_over: bool = False
    ends: list[int] = field(default_factory=lambda: [0])
    """Offsets that were reached: every record before them has arrived."""

    def unpopped(self) -> list[Told]:
        for n, told in enumerate(self.records):
            if told.outcome is None:
                return self.records[n:]
        return []

    def next_offset(self) -> int | None:
        settled = self.records[: len(self.records) - len(self.unpopped())]
        behind_last = settled[-1].offset + 1 if settled else 0
        open_offsets = [told.offset for told in self.unpopped()]
        return max(behind_last, *(end for end in self.ends if all(offset >= end for offset in open_offsets))) or None


class LedgerStory(RuleBasedStateMachine):
    """Any order of assignments, arrivals, settles, rejects, letters, commits and misuse."""

    def __init__(self) -> None:
        super().__init__()
        self.posted: list[tuple[Receipt, Rejection, list[RejectedPiece]]] = []
        self.ledger = Ledger(cap_records=CAP_RECORDS, cap_bytes=CAP_BYTES, dead_letter=lambda *letter: self.posted.append(letter))
        self.story: list[Assignment] = []
        self.accepted: dict[Partition, int] = {}
        """Committed in the present assignment."""
        self.group: dict[Partition, int] = {}
        """The group's committed offset, where a new assignment begins."""
        self.letters = 0

    @initialize(assigned=some_partitions)
    def begin(self, assigned: list[Partition]) -> None:
        self.assign(assigned)

    # What the poller does

    @rule(assigned=some_partitions)
    def assign(self, assigned: list[Partition]) -> None:
        self.ledger.assign(assigned)
        self._end(assigned)
        self.story += [Assignment(partition) for partition in assigned]

    @rule(gone=some_partitions)
    def revoke(self, gone: list[Partition]) -> None:
        self.ledger.revoke(gone)
        self._end(gone)

    @rule(partition=partitions, arrived=st.lists(arrivals, min_size=1, max_size=4))
    def arrive(self, partition: Partition, arrived: list[dict[str, int]]) -> None:
        assignment = self._present().get(partition)
        if assignment is not None:
            for numbers in arrived:
                self._arrive(assignment, **numbers)

    @rule(partition=partitions, markers=st.integers(0, 3))
    def reach(self, partition: Partition, markers: int) -> None:
        assignment = self._present().get(partition)
        if assignment is not None:
            assignment.ends.append(max(assignment.ends[-1], self._arrived_up_to(assignment)) + markers)
            self.ledger.reach(partition, assignment.ends[-1])

    @rule(refused=st.sets(partitions))
    def commit(self, refused: set[Partition]) -> None:
        for partition, next_offset in self.ledger.committable().items():
            if partition not in refused:
                self.ledger.mark_committed(partition, next_offset)
                self.accepted[partition] = self.group[partition] = next_offset

    # What the stages do, with records of any assignment

    @precondition(lambda self: self._untouched())
    @rule(draw=st.data(), pieces=st.integers(1, 3), decoded_bytes=st.integers(0, 1_500))
    def expect(self, draw: st.DataObject, pieces: int, decoded_bytes: int) -> None:
        self._expect(draw.draw(st.sampled_from(self._untouched())), pieces, decoded_bytes)

    @precondition(lambda self: self._in_work())
    @rule(draw=st.data())
    def settle(self, draw: st.DataObject) -> None:
        self._settle(draw.draw(st.sampled_from(self._in_work())))

    @precondition(lambda self: self._in_work())
    @rule(draw=st.data(), reason=st.sampled_from(["too long", "not finite"]))
    def reject(self, draw: st.DataObject, reason: str) -> None:
        self._reject(draw.draw(st.sampled_from(self._in_work())), reason)

    @precondition(lambda self: self._untouched())
    @rule(draw=st.data(), reason=st.sampled_from(["tombstone", "empty"]))
    def drop(self, draw: st.DataObject, reason: str) -> None:
        told = draw.draw(st.sampled_from(self._untouched()))
        told.receipt.drop(reason)
        told.pieces = 0
        self._close(told, f"dropped:{reason}")

    @precondition(lambda self: self._untouched())
    @rule(draw=st.data())
    def refuse(self, draw: st.DataObject) -> None:
        told = draw.draw(st.sampled_from(self._untouched()))
        told.receipt.refuse(rejection("undecodable"))
        told.pieces = 0
        self._expect_letter(told, "undecodable")

    @precondition(lambda self: self.posted)
    @rule(draw=st.data())
    def deliver_a_letter(self, draw: st.DataObject) -> None:
        letter = draw.draw(st.sampled_from(self.posted))
        self.posted.remove(letter)
        told = next(told for told in self._all() if told.receipt is letter[0])
        assert told.waits_for_letter
        told.receipt.dead_letter_delivered()
        told.waits_for_letter = False
        self._close(told, "dead_letter")

    @precondition(lambda self: self._all())
    @rule(draw=st.data())
    def misuse(self, draw: st.DataObject) -> None:
        receipt = (told := draw.draw(st.sampled_from(self._all()))).receipt
        if told.pieces is None or told.done == told.pieces:
            with pytest.raises(RuntimeError, match="not expected"):
                receipt.settle()
            with pytest.raises(RuntimeError, match="not expected"):
                receipt.reject(0, 0, rejection("again"))
        if told.pieces is not None:
            with pytest.raises(RuntimeError, match="expects once"):
                receipt.expect(1, decoded_bytes=7)
            with pytest.raises(RuntimeError, match="as a whole"):
                receipt.drop("again")
            with pytest.raises(RuntimeError, match="as a whole"):
                receipt.refuse(rejection("again"))
        else:
            with pytest.raises(RuntimeError, match="one piece or more"):
                receipt.expect(0, decoded_bytes=7)

    @precondition(lambda self: self._untouched() or self._in_work())
    @rule(draw=st.data(), rejected=st.booleans())
    def finish(self, draw: st.DataObject, *, rejected: bool) -> None:
        """Finish one record: most histories are about the order in which records finish."""
        told = draw.draw(st.sampled_from(self._untouched() + self._in_work()))
        if told.pieces is None:
            self._expect(told, 1, 5)
        while told.done < (told.pieces or 0):
            if rejected:
                self._reject(told, "too long")
            else:
                self._settle(told)

    # What must hold after every step

    @invariant()
    def what_may_be_committed_is_the_settled_prefix_of_what_is_owned_now(self) -> None:
        expected = {
            partition: next_offset
            for partition, assignment in self._present().items()
            if (next_offset := assignment.next_offset()) is not None and next_offset != self.accepted.get(partition)
        }
        assert self.ledger.committable() == expected
        assert self.ledger.committed() == self.accepted

    @invariant()
    def nothing_committable_passes_an_open_record_or_an_offset_not_reached(self) -> None:
        present = self._present()
        assert set(self.ledger.owned()) == set(present)
        for partition, next_offset in self.ledger.committable().items():
            records = present[partition].records
            assert all(next_offset <= told.offset for told in records if told.outcome is None)
            assert next_offset - 1 in [told.offset for told in records] or next_offset in present[partition].ends

    @invariant()
    def the_cap_counts_what_is_open_in_all_assignments(self) -> None:
        assert self.ledger.open_records == self._open_records()
        assert self.ledger.open_bytes == self._open_bytes()
        decoded_bytes = sum(told.decoded_bytes for told in self._all() if told.outcome is None)
        assert self.ledger.decoded_bytes == decoded_bytes
        assert self.ledger.has_decoded_room() == (decoded_bytes < CAP_BYTES)
        assert self.ledger.has_room() == (self._open_records() <= CAP_RECORDS // 2 and self._open_bytes() <= CAP_BYTES // 2)

    @invariant()
    def every_record_of_a_topic_counts_under_one_outcome(self) -> None:
        expected: dict[str, Counter[str]] = {}
        for assignment in self.story:
            counts = expected.setdefault(assignment.partition.topic, Counter())
            counts.update(told.outcome or "in_flight" for told in assignment.records)
            counts["admitted"] += len(assignment.records)
        assert self.ledger.outcomes() == expected
        assert self.ledger.tally == sum(expected.values(), Counter())

    @invariant()
    def a_record_has_one_letter_or_none(self) -> None:
        assert len(self.posted) == sum(told.waits_for_letter for told in self._all())

    @invariant()
    def a_partition_stands_where_it_was_committed_or_where_it_began(self) -> None:
        first = {partition: assignment.records[0].offset for partition, assignment in self._present().items() if assignment.records}
        assert self.ledger.positions() == first | self.accepted

    @invariant()
    def receipts_know_whether_their_assignment_is_over(self) -> None:
        for assignment in self.story:
            assert all(told.receipt.is_alive != assignment.is_over for told in assignment.records)

    def _present(self) -> dict[Partition, Assignment]:
        return {assignment.partition: assignment for assignment in self.story if not assignment.is_over}

    def _all(self) -> list[Told]:
        return [told for assignment in self.story for told in assignment.records]

    def _untouched(self) -> list[Told]:
        return [told for told in self._all() if told.pieces is None]

    def _in_work(self) -> list[Told]:
        return [told for told in self._all() if told.pieces is not None and told.done < told.pieces]

    def _open_records(self) -> int:
        return sum(len(assignment.unpopped()) for assignment in self.story)

    def _open_bytes(self) -> int:
        return sum(told.size_bytes for told in self._all() if told.outcome is None)

    def _end(self, gone: list[Partition]) -> None:
        for assignment in self.story:
            if assignment.partition in gone:
                assignment.is_over = True
        for partition in gone:
            self.accepted.pop(partition, None)

    def _arrive(self, assignment: Assignment, gap: int, key_bytes: int, value_bytes: int, header_bytes: int) -> None:
        begin = max(self._arrived_up_to(assignment), assignment.ends[-1])
        headers = (("h", b"x" * header_bytes), ("none", None)) if header_bytes else ()
        value = b"v" * value_bytes or None
        record = Record(*assignment.partition, begin + gap, "e", 0, b"k" * key_bytes or None, value, headers)
        size_bytes = key_bytes + value_bytes + (2 * HEADER_BYTES + len("hnone") + header_bytes if header_bytes else 0)
        is_empty = not any(assignment.unpopped() for assignment in self.story)
        fits = self._open_records() < CAP_RECORDS and self._open_bytes() + size_bytes <= CAP_BYTES
        receipt = self.ledger.admit(record)
        assert (receipt is not None) == (fits or is_empty)
        if receipt is not None:
            assert receipt.record is record
            assignment.records.append(Told(record.offset, size_bytes, receipt))

    def _arrived_up_to(self, assignment: Assignment) -> int:
        return assignment.records[-1].offset + 1 if assignment.records else self.group.get(assignment.partition, 0)

    def _expect(self, told: Told, pieces: int, decoded_bytes: int) -> None:
        told.receipt.expect(pieces, decoded_bytes=decoded_bytes)
        told.pieces, told.decoded_bytes = pieces, decoded_bytes

    def _settle(self, told: Told) -> None:
        told.receipt.settle()
        self._finish_piece(told)

    def _reject(self, told: Told, reason: str) -> None:
        told.rejects.append(RejectedPiece(0, told.done, rejection(reason)))
        told.receipt.reject(0, told.done, rejection(reason))
        self._finish_piece(told)

    def _finish_piece(self, told: Told) -> None:
        told.done += 1
        if told.done < (told.pieces or 0):
            assert not any(receipt is told.receipt for receipt, _, _ in self.posted)
        elif told.rejects:
            self._expect_letter(told, told.rejects[0].rejection.reason)
        else:
            self._close(told, "indexed")

    def _expect_letter(self, told: Told, reason: str) -> None:
        if self._is_over(told):
            self._close(told, "abandoned")
        else:
            told.waits_for_letter = True
            receipt, first, rejects = self.posted[-1]
            assert (receipt, first.reason, rejects) == (told.receipt, reason, told.rejects)

    def _close(self, told: Told, outcome: str) -> None:
        told.outcome = "abandoned" if self._is_over(told) else outcome

    def _is_over(self, told: Told) -> bool:
        return next(assignment.is_over for assignment in self.story if any(one is told for one in assignment.records))


TestLedgerStory = LedgerStory.TestCase
TestLedgerStory.settings = settings(max_examples=200, stateful_step_count=40, deadline=None)
