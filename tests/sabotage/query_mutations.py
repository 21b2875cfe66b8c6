"""Mutations of questions: ranking, kinds, counts, HTTP."""

from tests.sabotage.mutation import Changes

QUERY_MUTATIONS: Changes = {
    "worker/querying/kinds.py: opened and closed are one kind": (
        "    if is_telling(word) or word.lower() in _STATES:\n        return False\n",
        "",
        "worker/querying/test_kinds.py::a_state_a_code_and_short_texts_stay_apart",
    ),
    "worker/querying/family_kinds.py: where most are of one kind few hits are shown": (
        "if is_enough or not wanted.is_met_by",
        "if True or not wanted.is_met_by",
        "worker/querying/test_family_kinds.py::where_most_are_of_one_kind_more_are_ranked",
    ),
    "worker/querying/similarity.py: all that is close is counted, however much nearer others are": (
        "        least = max(self.cuts.near, floor + _COUNTED_SHARE * (best - floor))\n",
        "        least = self.cuts.near + 0 * floor * best\n",
        "worker/querying/test_similarity.py::what_is_much_farther_than_the_nearest_is_not_counted",
    ),
    "worker/querying/similarity.py: what has every word of a question is nothing close": (
        ">= self.cuts.near or is_literal or",
        ">= self.cuts.near or",
        "worker/querying/test_similarity.py::a_line_with_every_word_or_an_identifier_of_the_question_is_close_however_far_its_template",
    ),
    "worker/querying/compare.py: any difference between two windows is a change": (
        "is_sure = (surprise >= LEAST_G)",
        "is_sure = (surprise >= 0)",
        "worker/querying/test_compare.py::few_lines_more_or_less_are_noise",
    ),
    "worker/serving/responses.py: an index that is away is told as a fault of the worker": (
        '"unavailable": 503,',
        '"unavailable": 500,',
        "worker/serving/test_search.py::an_error_of_the_pipeline_has_its_status_and_stays_as_it_is",
    ),
    "worker/serving/sign_in.py: a sign-in never ends": (
        "return is_right and int(expiry) > self._wall_s()",
        "return is_right",
        "worker/serving/test_sign_in.py::a_cookie_holds_on_every_worker_with_that_token_and_on_no_other",
    ),
    "worker/serving/guards.py: an answer with headers of its own has no policy for what it may do in a browser": (
        "given + [header for header in defaults if header[0] not in names]",
        "given or defaults",
        "worker/serving/test_page_files.py::every_answer_forbids_what_a_page_might_be_made_to_do",
    ),
    "worker/serving/request_body.py: a body that comes in pieces has any length": (
        "if len(body) > most_bytes:",
        "if len(body) > 1 << 40:",
        "worker/serving/test_refusals.py::a_body_of_pieces_without_end_is_refused_at_the_limit_and_then_cut_off",
    ),
    "worker/serving/exporting.py: an export leaves out without a word what its first window could not read": (
        "            if not window.is_complete:\n                window = await self._window(question)\n",
        "",
        "worker/serving/test_export.py::a_window_of_which_something_cannot_be_read_is_not_written",
    ),
    "worker/serving/tailing.py: a tail asks again for what it has shown": (
        'after = {"after": self._cursor} if self._cursor else {}',
        'after = {"after": self._query["after"]} if "after" in self._query else {}',
        "worker/serving/test_tail.py::what_is_new_comes_once_with_a_cursor_and_a_count_of_what_was_left_out",
    ),
    "worker/serving/pending_queries.py: a query over HTTP waits for longer than its deadline": (
        "timeout=min(most_s, self._timeout_s)",
        "timeout=self._timeout_s",
        "worker/serving/test_search.py::a_query_without_a_reply_at_its_deadline_is_given_up_then_and_counts_as_open_until_a_step_replies",
    ),
    "worker/serving/pending_queries.py: a query whose deadline has passed makes room at once for another": (
        "        if most_s < self._timeout_s:\n",
        "        if most_s < self._timeout_s:\n            self._close(pending)\n",
        "worker/serving/test_search.py::a_query_without_a_reply_at_its_deadline_is_given_up_then_and_counts_as_open_until_a_step_replies",
    ),
    "worker/serving/pending_queries.py: a query whose deadline has passed counts as one that nobody waits for": (
        "        if most_s < self._timeout_s:\n",
        "        if most_s < self._timeout_s:\n            pending.leave()\n",
        "worker/serving/test_search.py::a_query_without_a_reply_at_its_deadline_is_given_up_then_and_counts_as_open_until_a_step_replies",
    ),
    "worker/connections.py: a worker takes the newer model into an index of the plain one": (
        "for name in (TUNED, PLAIN):",
        "for name in (TUNED,):",
        "worker/test_index_model.py::an_index_of_the_plain_model_keeps_it_which_is_said_once",
    ),
    "worker/querying/answer.py: a query that nobody waits for is searched for to its end": (
        "self._surroundings.clock() >= stop_s or all(one.requester.is_gone() for one in search.asked)",
        "self._surroundings.clock() >= stop_s",
        "worker/querying/test_answer.py::a_query_that_nobody_waits_for_is_not_searched_for",
    ),
    "worker/serving/pending_queries.py: a client that hangs up makes room at once for another query": (
        "            pending.leave()\n",
        "            pending.leave()\n            self._close(pending)\n",
        "worker/serving/test_search.py::a_client_that_hangs_up_disturbs_nobody",
    ),
    "worker/querying/hybrid.py: words weigh as much as meaning": (
        "WORDS_WEIGHT: Final = 0.01",
        "WORDS_WEIGHT: Final = 1.0",
        "worker/querying/test_hybrid.py::words_outweigh_only_a_small_part_of_what_cosines_differ_by",
    ),
    "worker/querying/dense.py: a template without lines keeps the others of its family out": (
        "            left = [hit for hit in left if hit.template not in done]",
        "            left = left[len(page) :]",
        "worker/querying/test_hybrid.py::the_hits_are_those_of_reading_every_template",
    ),
    "worker/asking/operators.py: a pasted line has operators": (
        "    if query.text is None or is_pasted(query.text):\n",
        "    if query.text is None:\n",
        "worker/asking/test_operators.py::a_pasted_line_and_what_only_looks_like_an_operator_stay_text",
    ),
    "worker/querying/forms.py: a text that is to filter only is ranked": (
        '_OF_RANKING: Final = ("text", "mode", "rank")',
        '_OF_RANKING: Final = ("mode", "rank")',
        "worker/asking/test_operators.py::a_text_that_is_not_ranked_only_filters",
    ),
    "worker/querying/family_kinds.py: a word may be as long as a reply": (
        "_WORD_CHARACTERS: Final = 100",
        "_WORD_CHARACTERS: Final = 100_000",
        "worker/querying/test_similarity.py::words_of_any_length_leave_a_reply_in_its_bounds",
    ),
    "worker/querying/forms.py: lines without the identifier of a question answer it": (
        '"phrases": [*said, *new]',
        '"phrases": [*said]',
        "worker/querying/test_search.py::an_identifier_of_a_question_must_match",
    ),
    "worker/querying/scope.py: an identifier is not looked for in the lines of templates that hold it": (
        "if held.complete and not held.hits else ()",
        "if held.complete else ()",
        "worker/querying/test_search.py::an_identifier_that_a_template_holds_is_found_in_its_lines_too",
    ),
    "worker/querying/dense.py: templates that are excluded take places among the nearest": (
        "found = [hit for hit in near if hit.template not in unwanted]",
        "found = near",
        "worker/querying/test_exclusions.py::the_nearest_templates_but_some_are_those_of_brute_force",
    ),
    "worker/serving/page/search.js: an answer that comes late replaces that of a newer question": (
        "    asked.abort();\n    asked = new AbortController();\n",
        "    asked = new AbortController();\n",
        "page/test_faults.py::an_answer_that_comes_late_never_replaces_that_of_a_newer_question",
    ),
    "worker/serving/page/search.js: the last answer looks like a new one while the worker is away": (
        '      body.classList.toggle("stale", isKept);\n',
        "",
        "page/test_faults.py::what_was_answered_last_stays_dimmed_with_its_time_while_the_worker_is_gone",
    ),
    "worker/serving/page/line_head.js: a message loses a first word that could be a level": (
        "word === word.toUpperCase()",
        "true",
        "page/test_hits.py::of_a_head_goes_what_is_shown_beside_it_and_nothing_else",
    ),
    "worker/serving/page/dom.js: a log line is read as HTML": (
        "(one instanceof Node ? one : String(one))",
        "(one instanceof Node ? one : document.createRange().createContextualFragment(String(one)))",
        "page/test_hostile.py::hostile_lines_are_text_wherever_they_are_shown",
    ),
    "worker/serving/page/commands.js: a copied command runs what stands behind a quotation mark": (
        "return `'${text.replaceAll(\"'\", \"'\\\\''\")}'`;",
        "return `'${text}'`;",
        "page/test_exclusions.py::copied_commands_leave_out_what_the_page_leaves_out",
    ),
    "worker/serving/page/search_request.js: charts count lines that the operators of the question leave out": (
        "  return { ...questionOf({ ...state, isRanked: false }), filters: ",
        "  return { filters: ",
        "page/test_search.py::all_that_is_counted_and_listed_passes_the_operators_of_the_question",
    ),
    "worker/serving/page/search_request.js: an export holds the lines that the page's filters leave out": (
        "export function exportBody(state, range) {\n  return { ...questionOf(state), filters: filtersOf(state, range) };",
        "export function exportBody(state, range) {\n  return { ...questionOf(state), filters: timeFilters(range) };",
        "page/test_exclusions.py::not_this_holds_for_counts_export_live_lines_and_other_tabs",
    ),
    "worker/serving/page/histogram.js: the last bar that is marked is not in the time that is asked for": (
        "series.since + (marked.to + 1) * series.bucketMs",
        "series.since + marked.to * series.bucketMs",
        "page/test_keys.py::the_brush_works_with_arrow_keys",
    ),
    "worker/serving/page/range.js: the last fifteen minutes are fifteen seconds": (
        "m: 60_000,",
        "m: 1_000,",
        "page/test_page_modules.py::times_before_now_are_the_same_window_for_hits_charts_and_export",
    ),
    "worker/serving/page/tail_stream.js: a live line that comes in two pieces is lost": (
        'rest = lines.pop() ?? "";',
        'lines.pop();\n    rest = "";',
        "page/test_page_modules.py::the_events_of_a_stream_are_the_same_in_whatever_pieces_it_comes",
    ),
    "worker/serving/page/first_screen.js: health checks come before errors": (
        "[...first, ...changes.keys(), ",
        "[...changes.keys(), ",
        "page/test_search.py::it_opens_on_errors_of_the_last_hour_what_is_new_and_then_the_most_frequent",
    ),
    "worker/serving/page/zone.js: a time is typed in the browser's zone while UTC is shown": (
        '(isUtc ? "Z" : "")',
        '""',
        "page/test_times.py::the_zone_is_shown_and_what_is_chosen_holds_on_every_tab_and_after_a_reload",
    ),
    "worker/serving/page/tail.js: a live line that comes late stands behind later ones": (
        "firstAfter(list, line.time)",
        "null",
        "page/test_live.py::lines_of_several_partitions_are_shown_by_their_time",
    ),
    "worker/serving/page/tail.js: live lines fill the memory of the browser": (
        "while (list.childElementCount > MOST_ROWS) {",
        "while (list.childElementCount > 1000 * MOST_ROWS) {",
        "page/test_live.py::more_lines_than_the_page_keeps_are_bounded_and_told",
    ),
    "worker/serving/page/dead_letters.js: all dead letters that are shown are replayed and not the chosen ones": (
        "const ids = [...selected];",
        "const ids = [...rows.keys()];",
        "page/test_operations.py::chosen_dead_letters_are_replayed_after_a_question_and_the_result_is_told",
    ),
    "worker/serving/request_checks.py: many short headers are no long head": (
        "sum(len(name) + len(content) + _HEADER_BYTES for name, content in headers)",
        "sum(len(content) for _, content in headers)",
        "worker/serving/test_refusals.py::a_head_at_the_limit_is_taken_and_one_byte_more_is_not",
    ),
    "worker/serving/guards.py: with a token a head that comes whole has any length": (
        '            check_head(scope["raw_path"], scope["query_string"], scope["headers"])\n            if checks_host:\n',
        '            if checks_host:\n                check_head(scope["raw_path"], scope["query_string"], scope["headers"])\n',
        "worker/serving/test_bounds.py::a_head_that_comes_whole_is_no_longer_than_another",
    ),
    "worker/serving/responses.py: an export in UTF-16 is told as a fault of the worker": (
        "except (ValueError, RecursionError) as error:",
        "except (json.JSONDecodeError, RecursionError) as error:",
        "worker/serving/test_refusals.py::an_export_reads_a_query_no_more_leniently_than_a_search",
    ),
    "worker/querying/export.py: an export asks for a later end than a query may name": (
        "(min(max(one, -MOST_MS), MOST_MS) for one in span)",
        "span",
        "worker/querying/test_export.py::a_stored_line_of_a_far_time_ends_no_export_whether_a_query_can_name_its_time_or_not",
    ),
    "worker/querying/counts.py: a facet is narrowed by its own filter": (
        "line_filter(self._query.filters.without(name))",
        "line_filter(self._query.filters)",
        "worker/querying/test_counts.py::a_facet_counts_what_its_own_filter_leaves_out",
    ),
    "sinks/reading/reader.py: several counts are each of a snapshot of its own": (
        "            reader._snapshot = snapshot  # noqa: SLF001 - of a copy of itself\n",
        "",
        "worker/querying/test_counts.py::several_groupings_are_counted_as_each_alone_and_read_once",
    ),
    "worker/querying/answer.py: a window without lines stays as it is": (
        'ready.query.widen and not document.get("hits", document.get("templates"))',
        "False",
        "worker/querying/test_answer.py::a_window_without_lines_becomes_all_time_if_that_is_wanted",
    ),
    "worker/querying/counts.py: one far line makes a single bucket of all others": (
        "return rows[0] if rows else total",
        "return total",
        "worker/querying/test_counts.py::a_stored_line_of_a_far_time_counts_in_the_nearest_bucket_and_makes_none_wider",
    ),
    "worker/serving/request_checks.py: a head that comes whole has any length": (
        "for name, content in headers) > MAX_HEAD_BYTES",
        "for name, content in headers) > 16 * MAX_HEAD_BYTES",
        "worker/serving/test_refusals.py::a_head_at_the_limit_is_taken_and_one_byte_more_is_not",
    ),
    "worker/serving/responses.py: an export takes UTF-16 and a BOM": (
        'json.loads(value.decode("utf-8"))',
        "json.loads(value)",
        "worker/serving/test_refusals.py::an_export_reads_a_query_no_more_leniently_than_a_search",
    ),
    "worker/querying/answer.py: an answer is complete though records wait": (
        '"complete": document["complete"] and "behind" not in reach',
        '"complete": document["complete"]',
        "worker/querying/test_answer.py::an_answer_from_an_index_that_is_behind_is_not_complete_but_for_exports_and_tails",
    ),
    "worker/querying/compare.py: in an index that has just begun everything is new": (
        "return begins_ms if before.until_ms - begins_ms < needed_ms else None",
        "return None",
        "worker/querying/test_compare.py::nothing_is_called_new_or_rising_in_an_index_that_is_hardly_older_than_the_window",
    ),
    "worker/querying/open_searches.py: equal questions are searched for one by one": (
        "        return self._waiting.setdefault(key, OpenSearch([ready]))",
        "        return OpenSearch([ready])",
        "worker/querying/test_open_searches.py::ten_equal_questions_read_the_index_as_one_does_and_each_has_its_own_reply",
    ),
    "worker/querying/open_searches.py: a question joins a search that may have read before it came": (
        "        self._waiting.pop(_key_of(search.ready), None)\n",
        "        _key_of(search.ready)\n",
        "worker/querying/test_open_searches.py::a_search_that_has_begun_is_not_joined_until_it_begins_anew",
    ),
    "worker/querying/open_searches.py: a question of the new model is answered with the vectors of the old one": (
        "return asked, id(ready.meaning), ready.vector is None",
        "return asked, 0, ready.vector is None",
        "worker/querying/test_open_searches.py::the_vectors_of_two_models_are_two_questions",
    ),
    "worker/querying/answer.py: one who hangs up ends the search of those who asked the same": (
        "all(one.requester.is_gone() for one in search.asked)",
        "any(one.requester.is_gone() for one in search.asked)",
        "properties/test_open_searches.py",
    ),
    "worker/querying/answer.py: who waits longer gets the answer that was cut short for another": (
        "_stop_s(one, started_s) <= stop_s)",
        "True)",
        "properties/test_open_searches.py",
    ),
}
