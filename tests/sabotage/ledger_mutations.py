"""The mutations of the ledger and the poll loop: what is settled, released, committed and let go.

`tests.sabotage.mutations` has the others; `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.mutation import Changes

LEDGER_MUTATIONS: Changes = {
    "consumers/ledger.py: one ledger across assignments": (
        "self._owned[partition] = self._new_assignment(partition)",
        'self._owned[partition] = vars(self).setdefault("kept", {}).setdefault(partition, self._new_assignment(partition))',
        "consumers/test_ledger.py::late_settle_after_reassignment_does_not_move_the_new_assignment",
        "consumers/test_poller.py::late_settle_does_not_rewind_what_the_next_owner_has_committed",
    ),
    "consumers/arrival.py: consecutive offsets: the position is counted through gaps": (
        "self.next_offset = int(self._columns.offset[self._begin - 1]) + 1",
        "self.next_offset = (int(self._columns.offset[self._begin - popped]) if self.next_offset is None else self.next_offset) + popped",
        "consumers/test_ledger.py::the_next_offset_is_one_after_the_last_of_the_settled_prefix",
    ),
    "consumers/arrival.py: the commit follows the last settled record, not the settled prefix": (
        "        self._columns.is_open[rows] = False\n",
        "        self._columns.is_open[rows] = False\n        self.next_offset = int(self._columns.offset[rows[-1]]) + 1\n",
        "consumers/test_poller.py::only_the_settled_prefix_is_committed",
    ),
    "consumers/arrival.py: the prefix is popped past an open record": (
        "if is_open.size and not is_open[popped]:",
        "if is_open.size and not is_open[-1]:",
        "consumers/test_ledger.py::a_settled_record_behind_an_open_one_still_counts",
    ),
    "consumers/arrival.py: the end of a partition is committed over open records": (
        "            self._begin == self._end or self._columns.offset[self._begin] >= self._end_offset\n",
        "            self._begin == self._end or self._end_offset\n",
        "consumers/test_poller_commits.py::behind_the_last_record_the_end_is_committed_once_all_before_it_is_settled",
    ),
    "consumers/arrival.py: several pieces of a record in one call count once": (
        "rows, times = np.unique(rows, return_counts=True)",
        "rows = np.unique(rows)",
        "consumers/test_ledger_batches.py::pieces_settle_in_any_order_and_grouping_across_batches",
    ),
    "consumers/arrival.py: a piece counts that was not expected": (
        "if left.min(initial=0) < 0:",
        "if left.min(initial=0) < -1_000:",
        "consumers/test_ledger_batches.py::misuse_of_one_record_raises_and_changes_nothing_of_the_others",
    ),
    "consumers/assignment.py: a record with rejected pieces settles without a dead letter": (
        "is_rejected = self._arrivals.rejected(arrival)",
        "is_rejected = np.zeros(arrival.size, np.bool_)",
        "consumers/test_ledger.py::a_record_with_rejects_is_committable_when_its_letter_is_delivered_not_before",
    ),
    "consumers/assignment.py: a record with rejected pieces settles before its dead letter is delivered": (
        'self._close(self._arrivals.with_followers(arrival[~is_rejected]), "indexed")',
        'self._close(self._arrivals.with_followers(arrival), "indexed")',
        "consumers/test_ledger.py::a_record_with_rejects_is_committable_when_its_letter_is_delivered_not_before",
    ),
    "consumers/originals.py: the dead letter of a record has another record of its batch": (
        "return batch.records.record(int(np.searchsorted(batch.arrival, arrival)))",
        "return batch.records.record(arrival - int(batch.arrival[0]))",
        "consumers/test_ledger_batches.py::a_letter_brings_the_original_though_its_batch_was_cut_several_times",
    ),
    "consumers/originals.py: one open record keeps its whole batch in memory": (
        "if 2 * self.open_bytes < self.kept_bytes or 2 * self.open_records < self.arrival.size:",
        "if not self.open_records:",
        "consumers/test_ledger_batches.py::values_of_finished_records_are_let_go_once_less_than_half_of_the_bytes_are_open",
    ),
    "consumers/ledger.py: commit without ownership: a revoked partition stays in the ledger": (
        "        assignment = self._owned.pop(partition, None)\n        if assignment is not None:\n            assignment.end()\n",
        "        pass\n",
        "consumers/test_poller.py::late_settle_after_revoke_commits_nothing",
    ),
    "consumers/poller.py: a lost partition is committed": (
        '        """Let go without a commit (Rebalance)."""\n',
        "        self._commit()\n",
        "consumers/test_poller.py::a_lost_partition_is_not_committed",
    ),
    "consumers/held.py: held records survive the revocation of their partition": (
        "for batch in self._batches if batch[0].source not in gone)",
        "for batch in self._batches if gone is not None)",
        "consumers/test_poller.py::held_records_of_a_revoked_partition_are_dropped_and_the_others_stay_in_order",
    ),
    "consumers/held.py: of a batch that was admitted in part the rest is dropped": (
        "                self._batches[0] = records.between(taken, records.size), sizes_bytes[taken:]\n",
        "                self._batches.popleft()\n",
        "consumers/test_poller.py::what_was_fetched_at_the_cap_is_held_and_delivered_in_order",
    ),
    "consumers/poller.py: commits continue after a crash": (
        '        """After a crash: from now on nothing is committed, whatever settles."""\n        self._may_commit = False',
        '        """Forbid nothing."""',
        "consumers/test_poller.py::after_forbid_commits_nothing_is_committed_whatever_settles",
        "worker/test_service.py::after_a_crash_nothing_more_is_committed",
    ),
    "consumers/poller.py: a refused commit counts as accepted": (
        'self._say(f"commit of {partition.topic}/{partition.partition} was refused ({reason}); trying again")',
        "self._ledger.mark_committed(partition, next_offset)",
        "consumers/test_poller.py::a_refused_commit_is_said_and_tried_again_and_the_others_are_not",
    ),
    "consumers/cap.py: the cap is ignored": (
        "return fitting or int(self._is_empty())",
        "return sizes_bytes.size",
        "consumers/test_poller.py::at_the_cap_it_pauses_and_keeps_polling",
        "consumers/test_ledger_batches.py::as_many_of_the_first_records_are_admitted_as_there_is_room_for",
    ),
    "consumers/assignment.py: a member sends dead letters for a lost partition": (
        "        if self.alive:\n            self._close(",
        "        if self.partition:\n            self._close(",
        "consumers/test_ledger.py::a_reject_in_a_dead_assignment_sends_no_letter",
    ),
    "consumers/poller.py: a partition lost during a drain is forgotten with its uncommitted records": (
        "if partition in is_open or partition in due]",
        "if partition in is_open]",
        "consumers/test_poller_commits.py::a_partition_that_is_lost_during_a_drain_before_its_commit_was_accepted_is_given_up",
    ),
}
