"""The mutations of small promises: what is said of a commit past the end, heads, bodies and signals, and what a lost partition gives back.

`tests.sabotage.mutations` has the others; `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.mutation import Changes

SMALL_MUTATIONS: Changes = {
    "worker/groups/offsets.py: a group that has committed past the end is behind by less than nothing": (
        "min(max(self.committed, self.first_offset), self.end_offset)",
        "max(self.committed, self.first_offset)",
        "worker/groups/test_offsets.py::the_lag_is_what_is_there_and_not_committed",
    ),
    "worker/groups/offsets.py: a group has committed past the end because records came during the look": (
        (
            "    committed = kafka.committed(group.name, partitions)  # before the ranges, so that no end is older than it\n"
            "    ranges = kafka.offset_ranges(partitions)\n"
        ),
        "    ranges = kafka.offset_ranges(partitions)\n    committed = kafka.committed(group.name, partitions)\n",
        "worker/groups/test_offsets.py::records_that_come_and_are_committed_during_the_look_are_not_past_the_end",
    ),
    "worker/cli/offsets_screen.py: `vectail offsets` says nothing of a commit past the end": (
        '    if position.is_beyond_end:\n        return "committed beyond the end"\n',
        "",
        "worker/cli/test_offsets_screen.py::each_partition_has_a_remark_where_its_numbers_do_not_say_all",
    ),
    "worker/http/request_checks.py: many short headers are no long head": (
        "sum(len(name) + len(content) + _HEADER_BYTES for name, content in headers)",
        "sum(len(content) for _, content in headers)",
        "worker/http/test_refusals.py::a_head_at_the_limit_is_taken_and_one_byte_more_is_not",
    ),
    "worker/http/guards.py: with a token a head that comes whole has any length": (
        '            check_head(scope["raw_path"], scope["query_string"], scope["headers"])\n            if checks_host:\n',
        '            if checks_host:\n                check_head(scope["raw_path"], scope["query_string"], scope["headers"])\n',
        "worker/http/test_bounds.py::a_head_that_comes_whole_is_no_longer_than_another",
    ),
    "worker/query.py: a search passes over a BOM": (
        'Query.model_validate_json(value or b"")',
        'Query.model_validate_json((value or b"").removeprefix(b"\\xef\\xbb\\xbf"))',
        "worker/http/test_refusals.py::an_export_reads_a_query_no_more_leniently_than_a_search",
    ),
    "worker/http/responses.py: an export in UTF-16 is told as a fault of the worker": (
        "except (ValueError, RecursionError) as error:",
        "except (json.JSONDecodeError, RecursionError) as error:",
        "worker/http/test_refusals.py::an_export_reads_a_query_no_more_leniently_than_a_search",
    ),
    "worker/__main__.py: Ctrl-C while `run` is imported is a crash": (
        "for number in (signal.SIGTERM, signal.SIGINT):",
        "for number in (signal.SIGTERM,):",
        "worker/cli/test_start.py::a_signal_while_it_still_loads_its_libraries_is_a_drain",
    ),
    "worker/__main__.py: a signal while `run` with an option is imported is a crash": (
        'sys.argv[1:2] == ["run"]',
        'sys.argv[1:] == ["run"]',
        "worker/cli/test_start.py::a_signal_while_it_still_loads_its_libraries_is_a_drain",
    ),
    "worker/indexing/compaction.py: inner blocks are deleted because the outer one was there a moment ago": (
        "        if outer not in columns:\n            return False",
        "        if outer not in columns:\n            return True",
        "worker/indexing/test_compaction.py::inner_blocks_stay_if_the_one_that_stands_for_them_is_gone_before_it_is_looked_at",
    ),
    "worker/indexing/compaction.py: a block that cannot be read is merged with those behind it": (
        "if one.id not in outer_of and fate.get(one.id, True)]",
        "if one.id not in outer_of]",
        "worker/indexing/test_compaction.py::inner_blocks_stay_while_the_one_that_stands_for_them_cannot_be_read",
    ),
    "worker/indexing/prepare.py: the open event of a partition that is lost while it is read back takes room until other records come": (
        "            self._open_events.drop_revoked()\n        for assignment, begin, end in revoked:",
        "            pass\n        for assignment, begin, end in revoked:",
        "worker/indexing/test_read_again.py::a_partition_that_is_lost_while_it_is_read_back_leaves_no_room_taken",
    ),
    "worker/indexing/prepare.py: the open event of a lost partition takes room while another one is kept": (
        "        if revoked:  # a held record",
        "        if len(revoked) == len(group.assignments):  # a held record",
        "worker/indexing/test_read_again.py::a_partition_that_is_lost_while_it_is_read_back_leaves_no_room_taken",
    ),
    "worker/indexing/open_events.py: only the first record of an open event is given back": (
        'assignment.drop(self._open.pop(assignment).receipt.arrival, "revoked")',
        'assignment.drop(self._open.pop(assignment).receipt.arrival[:1], "revoked")',
        "worker/indexing/test_multiline.py::the_records_of_an_open_event_are_given_back_when_its_assignment_ends",
    ),
    "worker/observability/lag_history.py: after a clock was set back only the last point of the history goes": (
        "            while points and points[-1][0] - at_ms > _SET_BACK_MS:",
        "            if points and points[-1][0] - at_ms > _SET_BACK_MS:",
        "worker/observability/test_group_lag.py::a_clock_that_was_set_back_stops_no_history",
    ),
    "worker/observability/lag_history.py: a look that ends late takes newer points out of the history": (
        "points[-1][0] - at_ms > _SET_BACK_MS:",
        "points[-1][0] > at_ms:",
        "worker/observability/test_group_lag.py::of_points_of_one_moment_the_first_stays_and_an_older_one_changes_nothing",
    ),
    "worker/query.py: a query with an unknown part keeps its sender waiting past the deadline": (
        "deadline_ms = _Deadline.model_validate_json(value).deadline_ms",
        "deadline_ms = Query.model_validate_json(value).deadline_ms",
        "worker/test_query.py::a_sender_waits_as_long_as_its_request_says_however_wrong_the_rest_is",
    ),
    "worker/cli/app.py: an error on a terminal has control characters as they are": (
        "{printable(str(failed))}",
        "{failed}",
        "worker/cli/test_terminal.py::a_verb_prints_nothing_that_a_terminal_interprets",
    ),
}
