"""The mutations of consumer groups: a lag that is off, and a group that is moved where it must not be, or not as was asked.

`tests.sabotage.mutations` has the others; `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.mutation import Mutation

_DESCRIBED = "worker/groups/described.py"
_KAFKA = "worker/groups/kafka.py"
_LAG = "worker/groups/lag.py"
_OFFSETS = "worker/groups/offsets.py"
_TEST_DESCRIBED = "tests/worker/groups/test_described.py"
_TEST_LAG = "tests/worker/groups/test_lag.py"
_TEST_OFFSETS = "tests/worker/groups/test_offsets.py"

GROUPS_MUTATIONS = (
    Mutation(
        "the lag leaves out the last record",
        _OFFSETS,
        "return self.end_offset - self.next_offset\n",
        "return max(self.end_offset - self.next_offset - 1, 0)\n",
        (f"{_TEST_OFFSETS}::test_the_lag_is_what_is_there_and_not_committed",),
    ),
    Mutation(
        "the age of the oldest record is milliseconds that count as seconds",
        _LAG,
        "max(now.at_ms - oldest_ms, 0) / 1000",
        "max(now.at_ms - oldest_ms, 0)",
        (f"{_TEST_LAG}::test_after_one_look_no_rate_is_known",),
    ),
    Mutation(
        "the query group is shown and moved as if it began at the end",
        _OFFSETS,
        'Subscription(names=(kafka.query_topic,)), "earliest")',
        'Subscription(names=(kafka.query_topic,)), "latest")',
        (f"{_TEST_OFFSETS}::test_the_query_group_begins_at_the_first_query_whatever_the_log_group_does",),
    ),
    Mutation(
        "a group that is rebalancing counts as one that may be moved",
        _OFFSETS,
        "    if found.members:\n",
        '    if found.members and found.state == "stable":\n',
        (f"{_TEST_OFFSETS}::test_a_group_at_rest_may_be_moved_and_one_with_members_not",),
    ),
    Mutation(
        "a reset of one partition moves all of them",
        _OFFSETS,
        "[partition for partition in kafka.partitions(topics) if chosen(partition)]",
        "list(kafka.partitions(topics))",
        (f"{_TEST_OFFSETS}::test_only_the_chosen_partitions_are_read",),
    ),
    Mutation(
        "a group that has committed the first offset counts as one that never committed",
        _KAFKA,
        "place.offset if place.offset >= 0 else None",
        "place.offset if place.offset > 0 else None",
        (f"{_TEST_OFFSETS}::test_a_broker_that_does_not_say_who_reads_can_be_read_all_the_same",),
    ),
    Mutation(
        "a position that the broker did not take counts as moved",
        _KAFKA,
        "                )\n            raise failure_of(KafkaException(place.error))\n",
        "                )\n",
        (f"{_TEST_OFFSETS}::test_a_position_that_the_broker_does_not_take_is_an_error",),
    ),
    Mutation(
        "members that left hours ago are still shown",
        _DESCRIBED,
        "self._clock() - self._asked_s > self._keep_s",
        "self._clock() - self._asked_s > 1000 * self._keep_s",
        (f"{_TEST_DESCRIBED}::test_all_groups_are_asked_for_at_once_and_remembered_for_a_while",),
    ),
    Mutation(
        "a process that ended without an answer says that there are no groups",
        _DESCRIBED,
        '        raise BrokerAway("the connection broke while the groups were asked for")\n',
        "        return {}\n",
        (f"{_TEST_DESCRIBED}::test_a_process_that_ends_without_an_answer_costs_the_answer_only",),
    ),
)
