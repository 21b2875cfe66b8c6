"""The mutations of the ledger and the poll loop: what is settled, released, committed and let go.

`tests.sabotage.mutations` has the others; `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.mutation import Mutation

_LEDGER = "consumers/ledger.py"
_ARRIVAL = "consumers/arrival.py"
_ASSIGNMENT = "consumers/assignment.py"
_CAP = "consumers/cap.py"
_HELD = "consumers/held.py"
_ORIGINALS = "consumers/originals.py"
_POLLER = "consumers/poller.py"

LEDGER_MUTATIONS = (
    Mutation(
        "one ledger across assignments",
        _LEDGER,
        "self._owned[partition] = self._new_assignment(partition)",
        'self._owned[partition] = vars(self).setdefault("kept", {}).setdefault(partition, self._new_assignment(partition))',
        (
            "tests/consumers/test_ledger.py::test_late_settle_after_reassignment_does_not_move_the_new_assignment",
            "tests/consumers/test_poller.py::test_late_settle_does_not_rewind_what_the_next_owner_has_committed",
        ),
    ),
    Mutation(
        "consecutive offsets: the position is counted through gaps",
        _ARRIVAL,
        "self.next_offset = int(self._columns.offset[self._begin - 1]) + 1",
        "self.next_offset = (int(self._columns.offset[self._begin - popped]) if self.next_offset is None else self.next_offset) + popped",
        ("tests/consumers/test_ledger.py::test_the_next_offset_is_one_after_the_last_of_the_settled_prefix",),
    ),
    Mutation(
        "the commit follows the last settled record, not the settled prefix",
        _ARRIVAL,
        "        self._columns.is_open[rows] = False\n",
        "        self._columns.is_open[rows] = False\n        self.next_offset = int(self._columns.offset[rows[-1]]) + 1\n",
        ("tests/consumers/test_poller.py::test_only_the_settled_prefix_is_committed",),
    ),
    Mutation(
        "the prefix is popped past an open record",
        _ARRIVAL,
        "if is_open.size and not is_open[popped]:",
        "if is_open.size and not is_open[-1]:",
        ("tests/consumers/test_ledger.py::test_a_settled_record_behind_an_open_one_still_counts",),
    ),
    Mutation(
        "the end of a partition is committed over open records",
        _ARRIVAL,
        "            self._begin == self._end or self._columns.offset[self._begin] >= self._end_offset\n",
        "            self._begin == self._end or self._end_offset\n",
        ("tests/consumers/test_poller_commits.py::test_behind_the_last_record_the_end_is_committed_once_all_before_it_is_settled",),
    ),
    Mutation(
        "several pieces of a record in one call count once",
        _ARRIVAL,
        "rows, times = np.unique(rows, return_counts=True)",
        "rows = np.unique(rows)",
        ("tests/consumers/test_ledger_batches.py::test_pieces_settle_in_any_order_and_grouping_across_batches",),
    ),
    Mutation(
        "a piece counts that was not expected",
        _ARRIVAL,
        "if left.min(initial=0) < 0:",
        "if left.min(initial=0) < -1_000:",
        ("tests/consumers/test_ledger_batches.py::test_misuse_of_one_record_raises_and_changes_nothing_of_the_others",),
    ),
    Mutation(
        "a record with rejected pieces settles without a dead letter",
        _ASSIGNMENT,
        "is_rejected = self._arrivals.rejected(arrival)",
        "is_rejected = np.zeros(arrival.size, np.bool_)",
        ("tests/consumers/test_ledger.py::test_a_record_with_rejects_is_committable_when_its_letter_is_delivered_not_before",),
    ),
    Mutation(
        "a record with rejected pieces settles before its dead letter is delivered",
        _ASSIGNMENT,
        'self._close(self._arrivals.with_followers(arrival[~is_rejected]), "indexed")',
        'self._close(self._arrivals.with_followers(arrival), "indexed")',
        ("tests/consumers/test_ledger.py::test_a_record_with_rejects_is_committable_when_its_letter_is_delivered_not_before",),
    ),
    Mutation(
        "the dead letter of a record has another record of its batch",
        _ORIGINALS,
        "return batch.records.record(int(np.searchsorted(batch.arrival, arrival)))",
        "return batch.records.record(arrival - int(batch.arrival[0]))",
        ("tests/consumers/test_ledger_batches.py::test_a_letter_brings_the_original_though_its_batch_was_cut_several_times",),
    ),
    Mutation(
        "one open record keeps its whole batch in memory",
        _ORIGINALS,
        "if 2 * self.open_bytes < self.kept_bytes or 2 * self.open_records < self.arrival.size:",
        "if not self.open_records:",
        ("tests/consumers/test_ledger_batches.py::test_values_of_finished_records_are_let_go_once_less_than_half_of_the_bytes_are_open",),
    ),
    Mutation(
        "commit without ownership: a revoked partition stays in the ledger",
        _LEDGER,
        "        assignment = self._owned.pop(partition, None)\n        if assignment is not None:\n            assignment.end()\n",
        "        pass\n",
        ("tests/consumers/test_poller.py::test_late_settle_after_revoke_commits_nothing",),
    ),
    Mutation(
        "a lost partition is committed",
        _POLLER,
        '        """Let go without a commit (Rebalance)."""\n',
        "        self._commit()\n",
        ("tests/consumers/test_poller.py::test_a_lost_partition_is_not_committed",),
    ),
    Mutation(
        "held records survive the revocation of their partition",
        _HELD,
        "for batch in self._batches if batch[0].source not in gone)",
        "for batch in self._batches if gone is not None)",
        ("tests/consumers/test_poller.py::test_held_records_of_a_revoked_partition_are_dropped_and_the_others_stay_in_order",),
    ),
    Mutation(
        "of a batch that was admitted in part the rest is dropped",
        _HELD,
        "                self._batches[0] = records.between(taken, records.size), sizes_bytes[taken:]\n",
        "                self._batches.popleft()\n",
        ("tests/consumers/test_poller.py::test_what_was_fetched_at_the_cap_is_held_and_delivered_in_order",),
    ),
    Mutation(
        "commits continue after a crash",
        _POLLER,
        '        """After a crash: from now on nothing is committed, whatever settles."""\n        self._may_commit = False',
        '        """Forbid nothing."""',
        (
            "tests/consumers/test_poller.py::test_after_forbid_commits_nothing_is_committed_whatever_settles",
            "tests/worker/test_service.py::test_after_a_crash_nothing_more_is_committed",
        ),
    ),
    Mutation(
        "a refused commit counts as accepted",
        _POLLER,
        'self._say(f"commit of {partition.topic}/{partition.partition} was refused ({reason}); trying again")',
        "self._ledger.mark_committed(partition, next_offset)",
        ("tests/consumers/test_poller.py::test_a_refused_commit_is_said_and_tried_again_and_the_others_are_not",),
    ),
    Mutation(
        "the cap is ignored",
        _CAP,
        "return fitting or int(self._is_empty())",
        "return sizes_bytes.size",
        (
            "tests/consumers/test_poller.py::test_at_the_cap_it_pauses_and_keeps_polling",
            "tests/consumers/test_ledger_batches.py::test_as_many_of_the_first_records_are_admitted_as_there_is_room_for",
        ),
    ),
    Mutation(
        "a member sends dead letters for a lost partition",
        _ASSIGNMENT,
        "        if self.alive:\n            self._close(",
        "        if self.partition:\n            self._close(",
        ("tests/consumers/test_ledger.py::test_a_reject_in_a_dead_assignment_sends_no_letter",),
    ),
    Mutation(
        "a partition lost during a drain is forgotten with its uncommitted records",
        _POLLER,
        "if partition in is_open or partition in due]",
        "if partition in is_open]",
        (
            "tests/consumers/test_poller_commits.py::test_a_partition_that_is_lost_during_a_drain_before_its_commit_was_accepted_is_given_up",
        ),
    ),
)
