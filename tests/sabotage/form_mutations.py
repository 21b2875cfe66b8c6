"""The mutations of exports, tails and comparisons.

`tests.sabotage.mutations` has the others; `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.mutation import Changes

FORM_MUTATIONS: Changes = {
    "sinks/reading/ordered.py: an export that stopped inside a millisecond begins that one again": (
        "rows = rows[(lines.time[rows] != since_ms) | self._after.is_before(one.place, lines, rows)]",
        "rows = rows[lines.time[rows] >= since_ms]",
        "worker/querying/test_export.py::an_answer_ends_between_two_milliseconds_unless_one_has_more_lines_than_it_may_hold",
    ),
    "sinks/reading/ordered.py: an export gives out lines before it knows what comes between them": (
        "order = order[((found.time < begin_ms) | ((found.time == begin_ms) & is_before))[order]]",
        "order = order[(found.time <= max(begin_ms, int(found.time.max(initial=0))))[order]]",
        "sinks/reading/test_ordered.py::no_line_comes_before_one_of_a_block_that_is_not_unpacked_yet",
    ),
    "sinks/reading/ordered.py: an export whose blocks are too many for a window is cut there": (
        "        if is_all:\n            break\n        if not has_learnt:",
        "        if is_all or heads.size:\n            break\n        if not has_learnt:",
        "sinks/reading/test_ordered.py::a_window_that_too_many_blocks_overlap_is_made_narrower",
    ),
    "sinks/reading/arrivals.py: a block that was overtaken by the next one is not looked for": (
        "-1 if known.missing else known.last",
        "known.last",
        "sinks/reading/test_arrivals.py::a_block_that_was_overtaken_arrives_when_it_is_there",
    ),
    "sinks/reading/arrivals.py: a merged block is new": (
        "self._arrivals.append(Arrival(one, unseen == one.last - one.first + 1))",
        "self._arrivals.append(Arrival(one, unseen > 0))",
        "sinks/reading/test_arrivals.py::merged_blocks_arrive_if_none_of_their_lines_did",
    ),
    "sinks/reading/fresh.py: a line that another worker stores a second time is new": (
        "    held = unite([*parts, *before])\n",
        "    held = unite(parts)\n",
        "worker/querying/test_tail.py::a_line_that_another_run_stored_before_is_not_new",
    ),
    "worker/querying/compare.py: any difference between two windows is a change": (
        "is_sure = (surprise >= LEAST_G)",
        "is_sure = (surprise >= 0)",
        "worker/querying/test_compare.py::few_lines_more_or_less_are_noise",
    ),
}
