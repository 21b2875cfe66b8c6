"""The mutations of the page: what it asks, what of an answer it shows, and what it hands to a shell.

`tests.sabotage.mutations` has the others; `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.mutation import Mutation

_PAGE = "worker/http/page"
_TEST_MODULES = "tests/page/test_page_modules.py"
_TEST_EXCLUSIONS = "tests/page/test_exclusions.py"

PAGE_MUTATIONS = (
    Mutation(
        "an answer that comes late replaces that of a newer question",
        f"{_PAGE}/search.js",
        "    asked.abort();\n    asked = new AbortController();\n",
        "    asked = new AbortController();\n",
        ("tests/page/test_faults.py::test_an_answer_that_comes_late_never_replaces_that_of_a_newer_question",),
    ),
    Mutation(
        "a log line is read as HTML",
        f"{_PAGE}/dom.js",
        "(one instanceof Node ? one : String(one))",
        "(one instanceof Node ? one : document.createRange().createContextualFragment(String(one)))",
        ("tests/page/test_hostile.py::test_hostile_lines_are_text_wherever_they_are_shown",),
    ),
    Mutation(
        "a copied command runs what stands behind a quotation mark",
        f"{_PAGE}/commands.js",
        "return `'${text.replaceAll(\"'\", \"'\\\\''\")}'`;",
        "return `'${text}'`;",
        (f"{_TEST_EXCLUSIONS}::test_copied_commands_leave_out_what_the_page_leaves_out",),
    ),
    Mutation(
        "an export holds the lines that the page's filters leave out",
        f"{_PAGE}/search_request.js",
        "export function exportBody(state, range) {\n  return { ...questionOf(state), filters: filtersOf(state, range) };",
        "export function exportBody(state, range) {\n  return { ...questionOf(state), filters: timeFilters(range) };",
        (f"{_TEST_EXCLUSIONS}::test_not_this_holds_for_counts_export_live_lines_and_other_tabs",),
    ),
    Mutation(
        "the last bar that is marked is not in the time that is asked for",
        f"{_PAGE}/histogram.js",
        "series.since + (marked.to + 1) * series.bucketMs",
        "series.since + marked.to * series.bucketMs",
        ("tests/page/test_keys.py::test_the_brush_works_with_arrow_keys",),
    ),
    Mutation(
        "the last fifteen minutes are fifteen seconds",
        f"{_PAGE}/range.js",
        "m: 60_000,",
        "m: 1_000,",
        (f"{_TEST_MODULES}::test_times_before_now_are_the_same_window_for_hits_charts_and_export",),
    ),
    Mutation(
        "a live line that comes in two pieces is lost",
        f"{_PAGE}/tail_stream.js",
        'rest = lines.pop() ?? "";',
        'lines.pop();\n    rest = "";',
        (f"{_TEST_MODULES}::test_the_events_of_a_stream_are_the_same_in_whatever_pieces_it_comes",),
    ),
    Mutation(
        "live lines fill the memory of the browser",
        f"{_PAGE}/tail.js",
        "while (list.childElementCount > MOST_ROWS) {",
        "while (list.childElementCount > 1000 * MOST_ROWS) {",
        ("tests/page/test_live.py::test_more_lines_than_the_page_keeps_are_bounded_and_told",),
    ),
    Mutation(
        "all dead letters that are shown are replayed and not the chosen ones",
        f"{_PAGE}/dead_letters.js",
        "const ids = [...selected];",
        "const ids = [...rows.keys()];",
        ("tests/page/test_operations.py::test_chosen_dead_letters_are_replayed_after_a_question_and_the_result_is_told",),
    ),
)
