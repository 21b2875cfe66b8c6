"""The mutations of consumer groups: a lag that is off, and a group that is moved where it must not be, or not as was asked.

`tests.sabotage.mutations` has the others; `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.mutation import Changes

GROUPS_MUTATIONS: Changes = {
    "worker/groups/offsets.py: the lag leaves out the last record": (
        "return self.end_offset - self.next_offset\n",
        "return max(self.end_offset - self.next_offset - 1, 0)\n",
        "worker/groups/test_offsets.py::the_lag_is_what_is_there_and_not_committed",
    ),
    "worker/groups/lag.py: the age of the oldest record is milliseconds that count as seconds": (
        "max(now.at_ms - oldest_ms, 0) / 1000",
        "max(now.at_ms - oldest_ms, 0)",
        "worker/groups/test_lag.py::after_one_look_no_rate_is_known",
    ),
    "worker/groups/offsets.py: the query group is shown and moved as if it began at the end": (
        'Subscription(names=(kafka.query_topic,)), "earliest")',
        'Subscription(names=(kafka.query_topic,)), "latest")',
        "worker/groups/test_offsets.py::the_query_group_begins_at_the_first_query_whatever_the_log_group_does",
    ),
    "worker/groups/offsets.py: a group that is rebalancing counts as one that may be moved": (
        "    if found.members:\n",
        '    if found.members and found.state == "stable":\n',
        "worker/groups/test_offsets.py::a_group_at_rest_may_be_moved_and_one_with_members_not",
    ),
    "worker/groups/offsets.py: a reset of one partition moves all of them": (
        "[partition for partition in kafka.partitions(topics) if chosen(partition)]",
        "list(kafka.partitions(topics))",
        "worker/groups/test_offsets.py::only_the_chosen_partitions_are_read",
    ),
    "worker/groups/kafka.py: a group that has committed the first offset counts as one that never committed": (
        "place.offset if place.offset >= 0 else None",
        "place.offset if place.offset > 0 else None",
        "worker/groups/test_offsets.py::a_broker_that_does_not_say_who_reads_can_be_read_all_the_same",
    ),
    "worker/groups/kafka.py: a position that the broker did not take counts as moved": (
        "                )\n            raise failure_of(KafkaException(place.error))\n",
        "                )\n",
        "worker/groups/test_offsets.py::a_position_that_the_broker_does_not_take_is_an_error",
    ),
    "worker/groups/described.py: members that left hours ago are still shown": (
        "self._clock() - self._asked_s > self._keep_s",
        "self._clock() - self._asked_s > 1000 * self._keep_s",
        "worker/groups/test_described.py::all_groups_are_asked_for_at_once_and_remembered_for_a_while",
    ),
    "worker/groups/described.py: a process that ended without an answer says that there are no groups": (
        '        raise BrokerAway("the connection broke while the groups were asked for")\n',
        "        return {}\n",
        "worker/groups/test_described.py::a_process_that_ends_without_an_answer_costs_the_answer_only",
    ),
}
