"""Mutations of what reads and answers Kafka: positions, records, dead letters."""

from tests.sabotage.mutation import Changes

SOURCE_MUTATIONS: Changes = {
    "consumers/poller.py: an assignment that asks to begin again ends, and none begins": (
        "        self._begin_again()\n",
        "",
        "consumers/test_begin_again.py::the_records_from_there_on_come_again_with_an_assignment_of_their_own",
    ),
    "consumers/ledger.py: an assignment that is to begin again still commits": (
        "for partition, one in self._owned.items() if one.alive]",
        "for partition, one in self._owned.items()]",
        "consumers/test_begin_again.py::the_old_assignment_commits_nothing_and_the_new_one_begins_with_a_commit_of_its_start",
        "properties/test_ledger.py",
    ),
    "consumers/kafka/executor.py: an assignment begins again and its position stays": (
        "            self.intake.begin_again(partition, begins[partition], now_s)\n",
        "",
        "consumers/kafka/test_begin_again.py::the_client_is_moved_there_and_nothing_leaves_before_that_is_committed",
    ),
    "consumers/kafka/intake.py: records that are read again leave before their start is committed": (
        "return None if self.start_commits.comes_first(partition) else self._epochs.epoch(partition, came_s)",
        "return self._epochs.epoch(partition, came_s)",
        "consumers/kafka/test_begin_again.py::the_client_is_moved_there_and_nothing_leaves_before_that_is_committed",
    ),
    "consumers/assignment.py: a partition begins again for ever where Kafka no longer holds the event's first record": (
        "offset >= self._asked_before",
        "offset > self._asked_before",
        "consumers/test_begin_again.py::what_kafka_no_longer_holds_is_not_waited_for_and_is_asked_for_once",
    ),
    "consumers/native.py: a library is compared with its C file by their times": (
        "if sha256(source.read_bytes()).hexdigest().encode() in library.read_bytes():",
        "if source.stat().st_mtime <= library.stat().st_mtime:",
        "test_compiled.py::a_library_of_another_source_is_refused_whatever_its_time_until_make_compiles_it_again",
    ),
    "consumers/ledger.py: one ledger across assignments": (
        "self._owned[partition] = self._new_assignment(partition)",
        'self._owned[partition] = vars(self).setdefault("kept", {}).setdefault(partition, self._new_assignment(partition))',
        "properties/test_ledger.py",
        "consumers/test_poller.py::late_settle_does_not_rewind_what_the_next_owner_has_committed",
    ),
    "consumers/arrival.py: consecutive offsets: the position is counted through gaps": (
        "self.next_offset = int(self._columns.offset[self._begin - 1]) + 1",
        "self.next_offset = (int(self._columns.offset[self._begin - popped]) if self.next_offset is None else self.next_offset) + popped",
        "properties/test_ledger.py",
    ),
    "consumers/arrival.py: the commit follows the last settled record, not the settled prefix": (
        "        self._columns.is_open[rows] = False\n",
        "        self._columns.is_open[rows] = False\n        self.next_offset = int(self._columns.offset[rows[-1]]) + 1\n",
        "consumers/test_poller.py::only_the_settled_prefix_is_committed",
    ),
    "consumers/arrival.py: the prefix is popped past an open record": (
        "if is_open.size and not is_open[popped]:",
        "if is_open.size and not is_open[-1]:",
        "properties/test_ledger.py",
    ),
    "consumers/arrival.py: the end of a partition is committed over open records": (
        "            self._begin == self._end or self._columns.offset[self._begin] >= self._end_offset\n",
        "            self._begin == self._end or self._end_offset\n",
        "consumers/test_poller_commits.py::behind_the_last_record_the_end_is_committed_once_all_before_it_is_settled",
    ),
    "consumers/arrival.py: several pieces of a record in one call count once": (
        "rows, times = np.unique(rows, return_counts=True)",
        "rows = np.unique(rows)",
        "properties/test_ledger.py",
    ),
    "consumers/arrival.py: a piece counts that was not expected": (
        "if left.min(initial=0) < 0:",
        "if left.min(initial=0) < -1_000:",
        "properties/test_ledger.py",
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
        "        self.commits.begin()\n",
        "consumers/test_poller.py::a_lost_partition_is_not_committed",
    ),
    "consumers/kafka/intake.py: messages that wait survive the revocation of their partition": (
        "            self._waiting,\n",
        "",
        "worker/indexing/test_waiting_places.py::a_new_place_is_in_a_tuple_of_those_that_a_revocation_drops",
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
    "consumers/commits.py: commits continue after a crash": (
        '        """After a crash: from now on nothing is committed, whatever settles."""\n        self._is_allowed = False',
        '        """Forbid nothing."""',
        "consumers/test_poller.py::once_commits_are_forbidden_nothing_is_committed_whatever_settles",
        "worker/service/test_service.py::after_a_crash_nothing_more_is_committed",
    ),
    "consumers/commits.py: a refused commit counts as accepted": (
        'self._say(f"commit of {partition.topic}/{partition.partition} was refused ({reason}); trying again")',
        "self._ledger.mark_committed(partition, next_offset)",
        "consumers/test_poller.py::a_refused_commit_is_said_and_tried_again_and_the_others_are_not",
    ),
    "consumers/cap.py: the cap is ignored": (
        "return fitting or int(self._is_empty())",
        "return sizes_bytes.size",
        "consumers/test_poller.py::at_the_cap_it_pauses_and_keeps_polling",
        "properties/test_ledger.py",
    ),
    "consumers/assignment.py: a member sends dead letters for a lost partition": (
        "        if self.alive:\n            self._close(",
        "        if self.partition:\n            self._close(",
        "properties/test_ledger.py",
    ),
    "consumers/commits.py: a partition lost during a drain is forgotten with its uncommitted records": (
        "if partition in is_open or partition in due]",
        "if partition in is_open]",
        "consumers/test_poller_commits.py::a_partition_that_is_lost_during_a_drain_before_its_commit_was_accepted_is_given_up",
    ),
    "consumers/kafka/epochs.py: an old answer about a topic's id is used after a new assignment": (
        "answer.asked_s < max(self._valid_since_s[partition], arrived_s - FRESH_S)",
        "False",
        "consumers/kafka/test_epochs.py::what_comes_soon_after_a_question_has_its_epoch_and_what_comes_later_waits_for_another",
    ),
    "consumers/kafka/intake.py: records polled before a rebalance in the same fetch are delivered": (
        "return partition in self.assigned and not is_elsewhere",
        "return not is_elsewhere",
        "consumers/kafka/test_source_world.py::what_was_polled_before_a_rebalance_inside_the_same_fetch_is_not_delivered",
    ),
    "consumers/kafka/intake.py: the client continues after a damaged batch": (
        "if name in _DAMAGED:",
        'if name == "never":',
        "consumers/kafka/test_source_damaged.py",
    ),
    "consumers/kafka/resume_point.py: expired records are skipped silently": (
        'if expired == "stop":',
        'if expired == "never":',
        "consumers/kafka/test_offset_reset.py",
    ),
    "consumers/kafka/intake.py: a start whose position the broker does not say waits for ever": (
        "                self._start_again(now_s)\n",
        "                pass\n",
        "consumers/kafka/test_intake.py::partitions_that_wait_for_the_groups_position_in_vain_are_assigned_again",
    ),
    "consumers/registry.py: any answer 404 means that there is no such schema": (
        "if error.code == 404 and code in _NOT_FOUND:",
        "if error.code == 404:",
        "consumers/test_registry.py::whatever_else_it_answers_is_the_worlds_fault",
    ),
    "consumers/kafka/message.py: what the client says of leaders is lost on the way into the index": (
        "NO_LEADER_EPOCH if said is None else said",
        "NO_LEADER_EPOCH",
        "properties/test_intake.py",
    ),
}
