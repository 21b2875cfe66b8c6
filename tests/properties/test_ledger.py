"""The ledger as a state machine, against an oracle that keeps only the history and recounts everything after each step.

Records arrive in batches and are expected, settled and dropped in groups; the oracle knows only single records.
"""

from collections import Counter

from hypothesis import settings
from hypothesis.stateful import invariant

from tests.properties.ledger_actions import CAP_BYTES, CAP_RECORDS, LedgerActions


class LedgerStory(LedgerActions):
    """Any order of assignments, arrivals, settles, rejects, letters, commits and misuse."""

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
        assert set(self.ledger.owned()) == set(self._owned())
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
        first = {partition: assignment.records[0].offset for partition, assignment in self._owned().items() if assignment.records}
        assert self.ledger.positions() == first | self.accepted
        assert self.ledger.oldest_open_s().keys() == {p for p, assignment in self._present().items() if assignment.has_open()}

    @invariant()
    def assignments_know_whether_they_are_over(self) -> None:
        for assignment in self.story:
            assert assignment.ledger is None or assignment.ledger.alive != assignment.is_over
            assert assignment.ledger is None or assignment.ledger.begin_again_at == assignment.begin_again_at
        asked = {partition: one.begin_again_at for partition, one in self._owned().items() if one.begin_again_at is not None}
        assert self.ledger.asked_to_begin_again() == asked

    @invariant()
    def at_most_twice_the_open_values_of_a_batch_can_be_reached_and_all_open_ones(self) -> None:
        on_their_way = {(claim.assignment, claim.arrival) for claim, _, _ in self.posted}
        for assignment in self.story:
            for batch in assignment.batches:
                if batch[0].receipt is None:
                    kept = [told for told in batch if told.has_value and told.number not in self.freed]
                    if assignment.is_over:
                        assert all((assignment.ledger, told.arrival) in on_their_way for told in kept)
                        continue
                    still_open = [told for told in batch if told.outcome is None]
                    assert {told for told in still_open if told.has_value} <= set(kept)
                    assert len(kept) <= 2 * len(still_open)
                    assert sum(told.size_bytes for told in kept) <= 2 * sum(told.size_bytes for told in still_open)


TestLedgerStory = LedgerStory.TestCase
TestLedgerStory.settings = settings(max_examples=200, stateful_step_count=40, deadline=None)
