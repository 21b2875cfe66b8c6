"""The mutations of the page: what it asks, what of an answer it shows, and what it hands to a shell.

`tests.sabotage.mutations` has the others; `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.mutation import Changes

PAGE_MUTATIONS: Changes = {
    "worker/http/page/search.js: an answer that comes late replaces that of a newer question": (
        "    asked.abort();\n    asked = new AbortController();\n",
        "    asked = new AbortController();\n",
        "page/test_faults.py::an_answer_that_comes_late_never_replaces_that_of_a_newer_question",
    ),
    "worker/http/page/dom.js: a log line is read as HTML": (
        "(one instanceof Node ? one : String(one))",
        "(one instanceof Node ? one : document.createRange().createContextualFragment(String(one)))",
        "page/test_hostile.py::hostile_lines_are_text_wherever_they_are_shown",
    ),
    "worker/http/page/commands.js: a copied command runs what stands behind a quotation mark": (
        "return `'${text.replaceAll(\"'\", \"'\\\\''\")}'`;",
        "return `'${text}'`;",
        "page/test_exclusions.py::copied_commands_leave_out_what_the_page_leaves_out",
    ),
    "worker/http/page/search_request.js: an export holds the lines that the page's filters leave out": (
        "export function exportBody(state, range) {\n  return { ...questionOf(state), filters: filtersOf(state, range) };",
        "export function exportBody(state, range) {\n  return { ...questionOf(state), filters: timeFilters(range) };",
        "page/test_exclusions.py::not_this_holds_for_counts_export_live_lines_and_other_tabs",
    ),
    "worker/http/page/histogram.js: the last bar that is marked is not in the time that is asked for": (
        "series.since + (marked.to + 1) * series.bucketMs",
        "series.since + marked.to * series.bucketMs",
        "page/test_keys.py::the_brush_works_with_arrow_keys",
    ),
    "worker/http/page/range.js: the last fifteen minutes are fifteen seconds": (
        "m: 60_000,",
        "m: 1_000,",
        "page/test_page_modules.py::times_before_now_are_the_same_window_for_hits_charts_and_export",
    ),
    "worker/http/page/tail_stream.js: a live line that comes in two pieces is lost": (
        'rest = lines.pop() ?? "";',
        'lines.pop();\n    rest = "";',
        "page/test_page_modules.py::the_events_of_a_stream_are_the_same_in_whatever_pieces_it_comes",
    ),
    "worker/http/page/tail.js: live lines fill the memory of the browser": (
        "while (list.childElementCount > MOST_ROWS) {",
        "while (list.childElementCount > 1000 * MOST_ROWS) {",
        "page/test_live.py::more_lines_than_the_page_keeps_are_bounded_and_told",
    ),
    "worker/http/page/dead_letters.js: all dead letters that are shown are replayed and not the chosen ones": (
        "const ids = [...selected];",
        "const ids = [...rows.keys()];",
        "page/test_operations.py::chosen_dead_letters_are_replayed_after_a_question_and_the_result_is_told",
    ),
}
