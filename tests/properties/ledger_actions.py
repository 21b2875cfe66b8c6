"""What can happen to a ledger, as the rules of a state machine, and an oracle that notes it record by record.

`tests.properties.test_ledger` recounts everything after each step. Records arrive in batches and are expected, settled and dropped in
groups; the oracle knows only single records.
"""

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from consumers.assignment import Claim
from consumers.ledger import Ledger
from consumers.record import Partition, records_of
from consumers.rejection import RejectedPiece, Rejection
from tests.consumers.records import rejection
from tests.properties.ledger_history import Assignment, Told, arrivals, new_records, places_of, size_bytes_of

PARTITIONS = [Partition("logs", 0), Partition("other", 0)]
CAP_RECORDS = 7
CAP_BYTES = 1_000
MOST_PIECES = 3

partitions = st.sampled_from(PARTITIONS)
some_partitions = st.lists(partitions, min_size=1, unique=True)


class LedgerActions(RuleBasedStateMachine):
    """Any order of assignments, arrivals, settles, rejects, letters, commits and misuse."""

    def __init__(self) -> None:
        super().__init__()
        self.posted: list[tuple[Claim, Rejection, list[RejectedPiece]]] = []
        self.ledger = Ledger(cap_records=CAP_RECORDS, cap_bytes=CAP_BYTES, dead_letter=lambda *letter: self.posted.append(letter))
        self.story: list[Assignment] = []
        self.accepted: dict[Partition, int] = {}
        """Committed in the present assignment."""
        self.group: dict[Partition, int] = {}
        """The group's committed offset, where a new assignment begins."""
        self.records = 0
        """Offered so far."""
        self.freed: set[int] = set()
        """Numbers of the values that nothing can reach any more; `None` counts as reachable."""

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

    @rule(partition=partitions, offset=st.integers(0, 12))
    def ask_to_begin_again(self, partition: Partition, offset: int) -> None:
        assignment = self._present().get(partition)
        if assignment is not None and assignment.ledger is not None:
            is_earlier = assignment.asked_before is None or offset < assignment.asked_before
            assert assignment.ledger.begin_again(offset) == is_earlier
            if is_earlier:
                assignment.is_over, assignment.begin_again_at = True, offset
                assert not assignment.ledger.begin_again(max(offset - 1, 0)), "the first request stays"

    @rule(partition=partitions)
    def begin_again(self, partition: Partition) -> None:
        assignment = self._owned().get(partition)
        if assignment is not None and assignment.begin_again_at is not None:
            self.ledger.begin_again(partition)
            self._end([partition])
            self.group[partition] = assignment.begin_again_at
            self.story.append(Assignment(partition, asked_before=assignment.begin_again_at))

    @rule(partition=partitions, arrived=st.lists(arrivals, min_size=1, max_size=8), tries=st.integers(1, 2))
    def arrive(self, partition: Partition, arrived: list[dict[str, int]], tries: int) -> None:
        assignment = self._owned().get(partition)
        if assignment is not None:
            for _ in range(tries):
                if arrived:
                    arrived = arrived[self._arrive(assignment, arrived) :]

    @rule(partition=partitions, markers=st.integers(0, 3))
    def reach(self, partition: Partition, markers: int) -> None:
        assignment = self._owned().get(partition)
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
    @rule(draw=st.data())
    def expect(self, draw: st.DataObject) -> None:
        some = self._draw_some(draw, self._untouched())
        pieces = draw.draw(st.lists(st.integers(1, MOST_PIECES), min_size=len(some), max_size=len(some)))
        decoded_bytes = draw.draw(st.lists(st.integers(0, 1_500), min_size=len(some), max_size=len(some)))
        self._expect(some, pieces, decoded_bytes)

    @precondition(lambda self: self._untouched())
    @rule(draw=st.data())
    def follow(self, draw: st.DataObject) -> None:
        """Let neighbours end together: several stretches of untouched records of one assignment, each with its first record."""
        assignment = draw.draw(st.sampled_from(self._untouched())).assignment
        stretches: list[list[Told]] = [[]]
        for told in assignment.records:
            is_free = told in self._untouched() and not told.followers
            if not is_free or draw.draw(st.booleans()):
                stretches.append([])
            if is_free:
                stretches[-1].append(told)
        stretches = [stretch for stretch in stretches if len(stretch) > 1]
        if stretches:
            leaders = [stretch[0].arrival for stretch in stretches]
            stretches[0][0].ledger.follow(np.array(leaders), np.array([len(stretch) - 1 for stretch in stretches]))
        for leader, *followers in stretches:
            leader.followers = followers
            for told in followers:
                told.leader = leader

    @rule(partition=partitions, draw=st.data())
    def hold(self, partition: Partition, draw: st.DataObject) -> None:
        """Let the last records of a partition wait for the next one, or no more."""
        assignment = self._present().get(partition)
        if assignment is not None and assignment.records:
            number = draw.draw(st.integers(0, len(assignment.records)))
            assignment.held = assignment.records[len(assignment.records) - number :]
            first = assignment.held[0].arrival if number else 0
            assignment.records[0].ledger.hold(first, number)

    @precondition(lambda self: self._in_work())
    @rule(draw=st.data())
    def settle(self, draw: st.DataObject) -> None:
        """Settle some pieces of some records, all mixed."""
        some = self._draw_some(draw, self._in_work())
        pieces = [told for told in some for _ in range(draw.draw(st.integers(1, told.left)))]
        self._settle(draw.draw(st.permutations(pieces)))

    @precondition(lambda self: self._in_work())
    @rule(draw=st.data(), reason=st.sampled_from(["too long", "not finite"]))
    def reject(self, draw: st.DataObject, reason: str) -> None:
        self._reject(draw.draw(st.sampled_from(self._in_work())), reason)

    @precondition(lambda self: self._unfollowed())
    @rule(draw=st.data(), reason=st.sampled_from(["tombstone", "empty"]))
    def drop(self, draw: st.DataObject, reason: str) -> None:
        some = self._draw_some(draw, self._unfollowed())
        receipt, places = places_of(some)
        if receipt is None:
            some[0].ledger.drop(places, reason)
        else:
            receipt.drop(places, reason)
        for told in some:
            told.pieces = 0
            self._close(told, f"dropped:{reason}")

    @precondition(lambda self: self._unfollowed())
    @rule(draw=st.data())
    def refuse(self, draw: st.DataObject) -> None:
        told = draw.draw(st.sampled_from(self._unfollowed()))
        if told.receipt is None:
            told.claim().refuse(rejection("undecodable"))
        else:
            told.receipt.refuse(told.row, rejection("undecodable"))
        told.pieces = 0
        self._expect_letter(told, "undecodable")

    @precondition(lambda self: self.posted)
    @rule(draw=st.data())
    def deliver_a_letter(self, draw: st.DataObject) -> None:
        claim, _, _ = self.posted.pop(draw.draw(st.integers(0, len(self.posted) - 1)))
        told = self._told_of(claim)
        assert told.waits_for_letter
        claim.dead_letter_delivered()
        told.waits_for_letter = False
        self._close_one(told, "dead_letter")

    @precondition(lambda self: self._all())
    @rule(draw=st.data())
    def let_go_of_a_batch(self, draw: st.DataObject) -> None:
        """Prepare is done with a batch: only the ledger, and letters on their way, may hold its records now."""
        assignment = draw.draw(st.sampled_from([assignment for assignment in self.story if assignment.batches]))
        for told in draw.draw(st.sampled_from(assignment.batches)):
            told.receipt = None

    @precondition(lambda self: self._all())
    @rule(draw=st.data())
    def misuse(self, draw: st.DataObject) -> None:
        """Break the contract for one record, among others for which the call would be right."""
        told = draw.draw(st.sampled_from(self._all()))
        assignment = told.ledger
        in_work = [other.arrival for other in self._in_work() if other.assignment is told.assignment and other is not told]
        untouched = [other.arrival for other in self._untouched() if other.assignment is told.assignment and other is not told]
        too_many = np.array([*in_work, *[told.arrival] * (told.left + 1)])
        one, among = np.array([told.arrival]), np.array([*untouched, told.arrival])
        with pytest.raises(RuntimeError, match="not expected"):
            assignment.settle(too_many)
        if not told.left:
            with pytest.raises(RuntimeError, match="not expected"):
                assignment.reject(told.arrival, 0, 0, rejection("again"))
        if told.followers:
            with pytest.raises(RuntimeError, match="as a whole"):
                assignment.drop(among, "again")
        if told.pieces is not None or told.leader is not None:
            with pytest.raises(RuntimeError, match="neither follows nor is followed"):
                assignment.follow(one, np.array([1]))
            with pytest.raises(RuntimeError, match="expects once"):
                assignment.expect(among, np.ones_like(among), np.full_like(among, 7))
            with pytest.raises(RuntimeError, match="as a whole"):
                assignment.drop(among, "again")
            with pytest.raises(RuntimeError, match="as a whole"):
                told.claim().refuse(rejection("again"))
        else:
            with pytest.raises(RuntimeError, match="neither follows nor is followed"):
                assignment.follow(one, np.array([len(told.assignment.records) - told.arrival]))
            with pytest.raises(RuntimeError, match="one piece or more"):
                assignment.expect(one, np.array([0]), np.array([7]))
            with pytest.raises(RuntimeError, match="expects once"):
                assignment.expect(np.array([told.arrival] * 2), np.array([1, 1]), np.array([7, 7]))
        if not told.waits_for_letter:
            with pytest.raises(RuntimeError, match="expects none"):
                told.claim().dead_letter_delivered()

    @precondition(lambda self: self._untouched() or self._in_work())
    @rule(draw=st.data(), rejected=st.booleans())
    def finish(self, draw: st.DataObject, *, rejected: bool) -> None:
        """Finish some records: most histories are about the order in which records finish."""
        some = self._draw_some(draw, self._untouched() + self._in_work())
        if untouched := [told for told in some if told.pieces is None]:
            self._expect(untouched, [1] * len(untouched), [5] * len(untouched))
        if not rejected:
            self._settle([told for told in some for _ in range(told.left)])
        for told in some:
            while told.left:
                self._reject(told, "too long")

    # What must hold after every step

    def _present(self) -> dict[Partition, Assignment]:
        return {assignment.partition: assignment for assignment in self.story if not assignment.is_over}

    def _owned(self) -> dict[Partition, Assignment]:
        return {assignment.partition: assignment for assignment in self.story if assignment.is_owned}

    def _all(self) -> list[Told]:
        return [told for assignment in self.story for told in assignment.records]

    def _untouched(self) -> list[Told]:
        return [told for told in self._all() if told.pieces is None and told.leader is None]

    def _unfollowed(self) -> list[Told]:
        return [told for told in self._untouched() if not told.followers]

    def _in_work(self) -> list[Told]:
        return [told for told in self._all() if told.left]

    def _open_records(self) -> int:
        return sum(len(assignment.unpopped()) for assignment in self.story)

    def _open_bytes(self) -> int:
        return sum(told.size_bytes for told in self._all() if told.outcome is None)

    def _end(self, gone: list[Partition]) -> None:
        for assignment in self.story:
            if assignment.partition in gone:
                assignment.is_over, assignment.is_owned = True, False
        for partition in gone:
            self.accepted.pop(partition, None)

    def _arrive(self, assignment: Assignment, arrived: list[dict[str, int]]) -> int:
        """Offer records to the ledger in one call; return how many it took."""
        sizes_bytes = [size_bytes_of(**one) for one in arrived]
        fitting, fitting_bytes = 0, 0
        for size_bytes in sizes_bytes:
            if self._open_records() + fitting >= CAP_RECORDS or self._open_bytes() + fitting_bytes + size_bytes > CAP_BYTES:
                break
            fitting, fitting_bytes = fitting + 1, fitting_bytes + size_bytes
        is_empty = not any(assignment.unpopped() for assignment in self.story)
        fitting = fitting or int(is_empty)
        next_offset = max(self._arrived_up_to(assignment), assignment.ends[-1])
        number, self.records = self.records, self.records + len(arrived)
        records = new_records(assignment.partition, next_offset, arrived, number=number, freed=self.freed)
        receipt = self.ledger.admit(records_of(records))
        assert (0 if receipt is None else receipt.records.size) == fitting
        if receipt is not None:
            arrival: list[int] = receipt.arrival.tolist()
            before = len(assignment.records)
            assert arrival == list(range(before, before + fitting))
            assert [receipt.records.record(row) for row in range(fitting)] == records[:fitting]
            assert assignment.ledger in (None, receipt.assignment)
            assignment.ledger = receipt.assignment
            batch = [
                Told(one.offset, sizes_bytes[row], number + row, one.value is not None, assignment, arrival[row], receipt, row)
                for row, one in enumerate(records[:fitting])
            ]
            assignment.batches.append(batch)
        return fitting

    def _arrived_up_to(self, assignment: Assignment) -> int:
        return assignment.arrived_up_to() or self.group.get(assignment.partition, 0)

    def _draw_some(self, draw: st.DataObject, records: list[Told]) -> list[Told]:
        """Draw records of one assignment, each once, in any order."""
        first = draw.draw(st.sampled_from(records))
        return draw.draw(
            st.lists(st.sampled_from([told for told in records if told.assignment is first.assignment]), min_size=1, unique=True)
        )

    def _told_of(self, claim: Claim) -> Told:
        return next(told for told in self._all() if told.assignment.ledger is claim.assignment and told.arrival == claim.arrival)

    def _expect(self, some: list[Told], pieces: list[int], decoded_bytes: list[int]) -> None:
        receipt, places = places_of(some)
        if receipt is None:
            some[0].ledger.expect(places, np.array(pieces), np.array(decoded_bytes))
        else:
            receipt.expect(places, np.array(pieces), np.array(decoded_bytes))
        for told, count, size_bytes in zip(some, pieces, decoded_bytes, strict=True):
            told.pieces, told.decoded_bytes = count, size_bytes

    def _settle(self, pieces: list[Told]) -> None:
        """Settle one piece for each time that a record occurs."""
        receipt, places = places_of(pieces)
        if receipt is None:
            pieces[0].ledger.settle(places)
        else:
            receipt.settle(places)
        for told in pieces:
            told.done += 1
        for told in set(pieces):
            self._finish_if_done(told)

    def _reject(self, told: Told, reason: str) -> None:
        told.rejects.append(RejectedPiece(0, told.done, rejection(reason)))
        if told.receipt is None:
            told.ledger.reject(told.arrival, 0, told.done, rejection(reason))
        else:
            told.receipt.reject(told.row, 0, told.done, rejection(reason))
        told.done += 1
        self._finish_if_done(told)

    def _finish_if_done(self, told: Told) -> None:
        if told.left:
            assert self._letters_of(told) == []
        elif told.rejects:
            self._expect_letter(told, told.rejects[0].rejection.reason)
        else:
            self._close(told, "indexed")

    def _expect_letter(self, told: Told, reason: str) -> None:
        if told.assignment.is_over:
            self._close(told, "abandoned")
            return
        for one in (told, *told.followers):
            one.waits_for_letter = True
            ((claim, first, rejects),) = self._letters_of(one)
            assert (claim.record.offset, first.reason, rejects) == (one.offset, reason, one.rejects)

    def _letters_of(self, told: Told) -> list[tuple[Claim, Rejection, list[RejectedPiece]]]:
        return [letter for letter in self.posted if self._told_of(letter[0]) is told]

    def _close(self, told: Told, outcome: str) -> None:
        for one in (told, *told.followers):
            self._close_one(one, outcome)

    def _close_one(self, told: Told, outcome: str) -> None:
        told.outcome = "abandoned" if told.assignment.is_over else outcome
