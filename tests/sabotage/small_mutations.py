"""The mutations of small promises: what is said of a commit past the end, heads, bodies and signals, and what a lost partition gives back.

`tests.sabotage.mutations` has the others; `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.mutation import Mutation

_OFFSETS = "worker/groups/offsets.py"
_MAIN = "worker/__main__.py"
_COMPACTION = "worker/indexing/compaction.py"
_PREPARE = "worker/indexing/prepare.py"
_HISTORY = "worker/observability/lag_history.py"
_TEST_OFFSETS = "tests/worker/groups/test_offsets.py"
_TEST_REFUSALS = "tests/worker/http/test_refusals.py"
_TEST_COMPACTION = "tests/worker/indexing/test_compaction.py"
_TEST_GROUP_LAG = "tests/worker/observability/test_group_lag.py"
_LENIENT = f"{_TEST_REFUSALS}::test_an_export_reads_a_query_no_more_leniently_than_a_search"
_EARLY_SIGNAL = "tests/worker/cli/test_start.py::test_a_signal_while_it_still_loads_its_libraries_is_a_drain"
_LOST = "tests/worker/indexing/test_read_again.py::test_a_partition_that_is_lost_while_it_is_read_back_leaves_no_room_taken"

SMALL_MUTATIONS = (
    Mutation(
        "a group that has committed past the end is behind by less than nothing",
        _OFFSETS,
        "min(max(self.committed, self.first_offset), self.end_offset)",
        "max(self.committed, self.first_offset)",
        (f"{_TEST_OFFSETS}::test_the_lag_is_what_is_there_and_not_committed",),
    ),
    Mutation(
        "a group has committed past the end because records came during the look",
        _OFFSETS,
        "    committed = kafka.committed(group.name, partitions)  # before the ranges, so that no end is older than it\n"
        "    ranges = kafka.offset_ranges(partitions)\n",
        "    ranges = kafka.offset_ranges(partitions)\n    committed = kafka.committed(group.name, partitions)\n",
        (f"{_TEST_OFFSETS}::test_records_that_come_and_are_committed_during_the_look_are_not_past_the_end",),
    ),
    Mutation(
        "`vectail offsets` says nothing of a commit past the end",
        "worker/cli/offsets_screen.py",
        '    if position.is_beyond_end:\n        return "committed beyond the end"\n',
        "",
        ("tests/worker/cli/test_offsets_screen.py::test_each_partition_has_a_remark_where_its_numbers_do_not_say_all",),
    ),
    Mutation(
        "many short headers are no long head",
        "worker/http/request_checks.py",
        "sum(len(name) + len(content) + _HEADER_BYTES for name, content in headers)",
        "sum(len(content) for _, content in headers)",
        (f"{_TEST_REFUSALS}::test_a_head_at_the_limit_is_taken_and_one_byte_more_is_not",),
    ),
    Mutation(
        "with a token a head that comes whole has any length",
        "worker/http/guards.py",
        '            check_head(scope["raw_path"], scope["query_string"], scope["headers"])\n            if checks_host:\n',
        '            if checks_host:\n                check_head(scope["raw_path"], scope["query_string"], scope["headers"])\n',
        ("tests/worker/http/test_bounds.py::test_a_head_that_comes_whole_is_no_longer_than_another",),
    ),
    Mutation(
        "a search passes over a BOM",
        "worker/query.py",
        'Query.model_validate_json(value or b"")',
        'Query.model_validate_json((value or b"").removeprefix(b"\\xef\\xbb\\xbf"))',
        (_LENIENT,),
    ),
    Mutation(
        "an export in UTF-16 is told as a fault of the worker",
        "worker/http/responses.py",
        "except (ValueError, RecursionError) as error:",
        "except (json.JSONDecodeError, RecursionError) as error:",
        (_LENIENT,),
    ),
    Mutation(
        "Ctrl-C while `run` is imported is a crash",
        _MAIN,
        "for number in (signal.SIGTERM, signal.SIGINT):",
        "for number in (signal.SIGTERM,):",
        (_EARLY_SIGNAL,),
    ),
    Mutation(
        "a signal while `run` with an option is imported is a crash",
        _MAIN,
        'sys.argv[1:2] == ["run"]',
        'sys.argv[1:] == ["run"]',
        (_EARLY_SIGNAL,),
    ),
    Mutation(
        "inner blocks are deleted because the outer one was there a moment ago",
        _COMPACTION,
        "        if outer not in columns:\n            return False",
        "        if outer not in columns:\n            return True",
        (f"{_TEST_COMPACTION}::test_inner_blocks_stay_if_the_one_that_stands_for_them_is_gone_before_it_is_looked_at",),
    ),
    Mutation(
        "a block that cannot be read is merged with those behind it",
        _COMPACTION,
        "if one.id not in outer_of and fate.get(one.id, True)]",
        "if one.id not in outer_of]",
        (f"{_TEST_COMPACTION}::test_inner_blocks_stay_while_the_one_that_stands_for_them_cannot_be_read",),
    ),
    Mutation(
        "the open event of a partition that is lost while it is read back takes room until other records come",
        _PREPARE,
        "            self._open_events.drop_revoked()\n        for assignment, begin, end in revoked:",
        "            pass\n        for assignment, begin, end in revoked:",
        (_LOST,),
    ),
    Mutation(
        "the open event of a lost partition takes room while another one is kept",
        _PREPARE,
        "        if revoked:  # a held record",
        "        if len(revoked) == len(group.assignments):  # a held record",
        (_LOST,),
    ),
    Mutation(
        "only the first record of an open event is given back",
        "worker/indexing/open_events.py",
        'assignment.drop(self._open.pop(assignment).receipt.arrival, "revoked")',
        'assignment.drop(self._open.pop(assignment).receipt.arrival[:1], "revoked")',
        ("tests/worker/indexing/test_multiline.py::test_the_records_of_an_open_event_are_given_back_when_its_assignment_ends",),
    ),
    Mutation(
        "after a clock was set back only the last point of the history goes",
        _HISTORY,
        "            while points and points[-1][0] - at_ms > _SET_BACK_MS:",
        "            if points and points[-1][0] - at_ms > _SET_BACK_MS:",
        (f"{_TEST_GROUP_LAG}::test_a_clock_that_was_set_back_stops_no_history",),
    ),
    Mutation(
        "a look that ends late takes newer points out of the history",
        _HISTORY,
        "points[-1][0] - at_ms > _SET_BACK_MS:",
        "points[-1][0] > at_ms:",
        (f"{_TEST_GROUP_LAG}::test_of_points_of_one_moment_the_first_stays_and_an_older_one_changes_nothing",),
    ),
    Mutation(
        "a query with an unknown part keeps its sender waiting past the deadline",
        "worker/query.py",
        "deadline_ms = _Deadline.model_validate_json(value).deadline_ms",
        "deadline_ms = Query.model_validate_json(value).deadline_ms",
        ("tests/worker/test_query.py::test_a_sender_waits_as_long_as_its_request_says_however_wrong_the_rest_is",),
    ),
    Mutation(
        "an error on a terminal has control characters as they are",
        "worker/cli/app.py",
        "{printable(str(failed))}",
        "{failed}",
        ("tests/worker/cli/test_terminal.py::test_a_verb_prints_nothing_that_a_terminal_interprets",),
    ),
)
