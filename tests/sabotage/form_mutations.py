"""The mutations of exports, tails and comparisons.

`tests.sabotage.mutations` has the others; `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.mutation import Mutation

_ORDERED = "sinks/reading/ordered.py"
_ARRIVALS = "sinks/reading/arrivals.py"
_FRESH = "sinks/reading/fresh.py"
_TEST_EXPORT = "tests/worker/querying/test_export.py"
_TEST_ORDERED = "tests/sinks/reading/test_ordered.py"
_TEST_ARRIVALS = "tests/sinks/reading/test_arrivals.py"
_TEST_TAIL = "tests/worker/querying/test_tail.py"

FORM_MUTATIONS = (
    Mutation(
        "an export that stopped inside a millisecond begins that one again",
        _ORDERED,
        "rows = rows[(lines.time[rows] != since_ms) | self._after.is_before(one.place, lines, rows)]",
        "rows = rows[lines.time[rows] >= since_ms]",
        (f"{_TEST_EXPORT}::test_an_answer_ends_between_two_milliseconds_unless_one_has_more_lines_than_it_may_hold",),
    ),
    Mutation(
        "an export gives out lines before it knows what comes between them",
        _ORDERED,
        "order = order[((found.time < begin_ms) | ((found.time == begin_ms) & is_before))[order]]",
        "order = order[(found.time <= max(begin_ms, int(found.time.max(initial=0))))[order]]",
        (f"{_TEST_ORDERED}::test_no_line_comes_before_one_of_a_block_that_is_not_unpacked_yet",),
    ),
    Mutation(
        "an export whose blocks are too many for a window is cut there",
        _ORDERED,
        "        if is_all:\n            break\n        if not has_learnt:",
        "        if is_all or heads.size:\n            break\n        if not has_learnt:",
        (f"{_TEST_ORDERED}::test_a_window_that_too_many_blocks_overlap_is_made_narrower",),
    ),
    Mutation(
        "a block that was overtaken by the next one is not looked for",
        _ARRIVALS,
        "-1 if known.missing else known.last",
        "known.last",
        (f"{_TEST_ARRIVALS}::test_a_block_that_was_overtaken_arrives_when_it_is_there",),
    ),
    Mutation(
        "a merged block is new",
        _ARRIVALS,
        "self._arrivals.append(Arrival(one, unseen == one.last - one.first + 1))",
        "self._arrivals.append(Arrival(one, unseen > 0))",
        (f"{_TEST_ARRIVALS}::test_merged_blocks_arrive_if_none_of_their_lines_did",),
    ),
    Mutation(
        "a line that another worker stores a second time is new",
        _FRESH,
        "    held = unite([*parts, *before])\n",
        "    held = unite(parts)\n",
        (f"{_TEST_TAIL}::test_a_line_that_another_run_stored_before_is_not_new",),
    ),
    Mutation(
        "any difference between two windows is a change",
        "worker/querying/compare.py",
        "is_sure = (surprise >= LEAST_G)",
        "is_sure = (surprise >= 0)",
        ("tests/worker/querying/test_compare.py::test_few_lines_more_or_less_are_noise",),
    ),
)
