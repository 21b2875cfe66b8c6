"""The mutations of reading that begins again at the first record of a stored event: in the worker, and where a group is moved.

`tests.sabotage.mutations` has the others; `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.mutation import Changes

BEGIN_AGAIN_MUTATIONS: Changes = {
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
    "worker/groups/offsets.py: a reset inside a stored event stays inside it": (
        "after=max(start, move.position.first_offset)",
        "after=move.after",
        "worker/groups/test_offsets.py::a_move_inside_a_stored_event_goes_to_the_first_record_of_it_that_is_there",
    ),
    "worker/groups/offsets.py: a reset goes back to a record that Kafka does not hold any more": (
        "after=max(start, move.position.first_offset)",
        "after=start",
        "worker/groups/test_offsets.py::a_move_inside_a_stored_event_goes_to_the_first_record_of_it_that_is_there",
    ),
    "worker/groups/offsets.py: a reset to the last record does not ask whether an event holds it": (
        "< move.after < move.position.end_offset",
        "< move.after < move.position.end_offset - 1",
        "worker/groups/test_offsets.py::only_an_offset_with_records_on_both_sides_may_be_inside_an_event",
    ),
}
