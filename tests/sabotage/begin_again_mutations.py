"""The mutations of reading that begins again at the first record of a stored event: in the worker, and where a group is moved.

`tests.sabotage.mutations` has the others; `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.mutation import Mutation

_POLLER = "consumers/poller.py"
_TEST = "tests/consumers/test_begin_again.py"
_GROUPS = "worker/groups/offsets.py"
_GROUPS_TEST = "tests/worker/groups/test_offsets.py"
_KAFKA_TEST = "tests/consumers/kafka/test_begin_again.py"

BEGIN_AGAIN_MUTATIONS = (
    Mutation(
        "an assignment that asks to begin again ends, and none begins",
        _POLLER,
        "        self._begin_again()\n",
        "",
        (f"{_TEST}::test_the_records_from_there_on_come_again_with_an_assignment_of_their_own",),
    ),
    Mutation(
        "an assignment that is to begin again still commits",
        "consumers/ledger.py",
        "for partition, one in self._owned.items() if one.alive]",
        "for partition, one in self._owned.items()]",
        (
            f"{_TEST}::test_the_old_assignment_commits_nothing_and_the_new_one_begins_with_a_commit_of_its_start",
            "tests/properties/test_ledger.py",
        ),
    ),
    Mutation(
        "an assignment begins again and its position stays",
        "consumers/kafka/executor.py",
        "            self.intake.begin_again(partition, begins[partition], now_s)\n",
        "",
        (f"{_KAFKA_TEST}::test_the_client_is_moved_there_and_nothing_leaves_before_that_is_committed",),
    ),
    Mutation(
        "records that are read again leave before their start is committed",
        "consumers/kafka/intake.py",
        "return None if self.start_commits.comes_first(partition) else self._epochs.epoch(partition, came_s)",
        "return self._epochs.epoch(partition, came_s)",
        (f"{_KAFKA_TEST}::test_the_client_is_moved_there_and_nothing_leaves_before_that_is_committed",),
    ),
    Mutation(
        "a partition begins again for ever where Kafka no longer holds the event's first record",
        "consumers/assignment.py",
        "offset >= self._asked_before",
        "offset > self._asked_before",
        (f"{_TEST}::test_what_kafka_no_longer_holds_is_not_waited_for_and_is_asked_for_once",),
    ),
    Mutation(
        "a reset inside a stored event stays inside it",
        _GROUPS,
        "after=max(start, move.position.first_offset)",
        "after=move.after",
        (f"{_GROUPS_TEST}::test_a_move_inside_a_stored_event_goes_to_the_first_record_of_it_that_is_there",),
    ),
    Mutation(
        "a reset goes back to a record that Kafka does not hold any more",
        _GROUPS,
        "after=max(start, move.position.first_offset)",
        "after=start",
        (f"{_GROUPS_TEST}::test_a_move_inside_a_stored_event_goes_to_the_first_record_of_it_that_is_there",),
    ),
    Mutation(
        "a reset to the last record does not ask whether an event holds it",
        _GROUPS,
        "< move.after < move.position.end_offset",
        "< move.after < move.position.end_offset - 1",
        (f"{_GROUPS_TEST}::test_only_an_offset_with_records_on_both_sides_may_be_inside_an_event",),
    ),
)
