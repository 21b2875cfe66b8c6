"""Mutations of the index: what is written to it, merged in a local folder, and read back."""

from tests.sabotage.mutation import Changes

_EMPTIES = "self._empty(part, self._heads, self._columns, self._words)"
_WORDS = "        self._client.insert(self._words, [*keys, [encode_filter(bloom) for _, _, bloom in rows], pad])\n"
_COLUMNS = "        self._client.insert(self._columns, [*keys, places, texts, fields, pad])\n"

SINK_MUTATIONS: Changes = {
    "sinks/reading/union.py: two blocks of one run with the same lines are both counted": (
        "            _mark_numbers(heads, blocks, of, shared)\n",
        "            del blocks\n",
        "sinks/reading/test_union.py::blocks_of_one_run_share_only_where_their_numbers_intersect",
    ),
    "sinks/reading/counting.py: counts of overlapping runs are added up": (
        "self._shared = sharing_blocks(heads)",
        "self._shared = np.zeros(heads.size, np.bool_)",
        "sinks/reading/test_counting.py::overlapping_runs_are_never_added_up",
    ),
    "sinks/reading/snapshot.py: a listed block that is gone is passed over": (
        "        if len(stored) < len(ids):\n            raise BeginAnew\n",
        "",
        "sinks/reading/test_snapshot.py::a_listed_block_that_is_gone_begins_the_read_anew",
    ),
    "sinks/reading/versions.py: copies combine by piece, whatever text they are of": (
        "is_shape = is_entry | _changes(chunks, cut)",
        "is_shape = is_entry",
        "sinks/reading/test_union.py::pieces_of_other_cuts_never_combine",
    ),
    "sinks/reading/versions.py: of whole copies that of the first run holds": (
        "np.lexsort((-run, chunk, cut, chunks, sub, last_leader, leader, entries, records, offset, place))",
        "np.lexsort((run, chunk, cut, chunks, sub, last_leader, leader, entries, records, offset, place))",
        "sinks/reading/test_union.py::of_two_copies_that_of_the_later_run_holds",
    ),
    "sinks/build.py: a line with more words than fit is refused": (
        "        words = np.concatenate([np.array([ANY_WORD], np.int32), words[: bounds.words - 1]])",
        '        raise ValueError("too many words")',
        "sinks/test_build.py::one_line_alone_with_more_words_than_fit_may_hold_any",
    ),
    "sinks/milvus/writing.py: a short count passes as an acknowledgement": (
        "if counted != rows:",
        "if counted > rows:",
        "sinks/test_writing.py::a_short_count_is_no_acknowledgement",
    ),
    "sinks/milvus/writing.py: an id occurs twice in a batch": (
        "last = list({row.template: row for row in rows}.values())",
        "last = list(rows)",
        "sinks/test_writing.py::an_id_stands_once_in_all_batches_together",
    ),
    "sinks/milvus/index_time.py: a clock that is set while the worker runs makes blocks older": (
        "    if abs(set_ms) <= slack:\n",
        "    if set_ms <= slack or set_ms > slack:\n",
        "sinks/test_index_time.py::no_block_goes_before_its_time_and_all_go_at_last_whatever_the_clock_does",
    ),
    "sinks/milvus/index_time.py: a clock that is ahead at the start makes blocks older": (
        "if abs(passed_ms) <= slack else Moment(int(index), now, passed_ms)",
        "if passed_ms >= -slack else Moment(int(index), now, passed_ms)",
        "sinks/test_index_time.py::no_block_goes_before_its_time_and_all_go_at_last_whatever_the_clock_does",
        "sinks/test_index_time.py::a_pause_counts_up_to_the_slack_and_a_longer_one_may_be_a_wrong_clock",
    ),
    "sinks/milvus/index_time.py: a clock that was behind at the start, before the first mark, is believed when it is right": (
        "dates.oldest_ms <= now.wall_ms <= dates.newest_ms + slack",
        "dates.oldest_ms <= now.wall_ms",
        "sinks/test_index_time.py",
    ),
    "sinks/milvus/index_time.py: after a clock was set, time stands still, and nothing goes any more": (
        "    passed_ms = 1000 * (now.monotonic_s - last.clocks.monotonic_s)\n",
        "    passed_ms = 0.0\n",
        "sinks/test_index_time.py",
    ),
    "sinks/milvus/index_time.py: a block goes without the tenth that pays for small errors of the clock": (
        "round(index_ms - 1000 * retention_s - slack_ms(retention_s))",
        "round(index_ms - 1000 * retention_s)",
        "sinks/test_index_time.py",
    ),
    "sinks/reading/literals.py: an array that C writes may be read-only": (
        "_LITERAL = (c_char_p, SIZE, output_of(np.int32))",
        "_LITERAL = (c_char_p, SIZE, PLACES)",
        "test_compiled.py::python_declares_every_function_as_its_c_file_does",
    ),
    "sinks/tokens.c: a C function takes an argument that Python does not give it": (
        "EXPORTED bool is_one_run(const uint8_t *data, int64_t size)",
        "EXPORTED bool is_one_run(const uint8_t *data, int64_t size, uint8_t *rest)",
        "test_compiled.py::python_declares_every_function_as_its_c_file_does",
    ),
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
    "sinks/reading/fresh.py: of too many new lines errors are left out as all others": (
        '{"FATAL": 0, "ERROR": 0, "WARN": 1}',
        "{}",
        "worker/querying/test_tail.py::of_too_many_lines_errors_are_left_out_last_and_the_others_evenly_and_counted_by_level",
    ),
    "sinks/reading/fresh.py: a line that another worker stores a second time is new": (
        "    held = unite([*parts, *before])\n",
        "    held = unite(parts)\n",
        "worker/querying/test_tail.py::a_line_that_another_run_stored_before_is_not_new",
    ),
    "sinks/milvus/lite_blocks.py: a block that was merged leaves its texts in a local folder": (
        _EMPTIES,
        "self._empty(part, self._heads)",
        "sinks/test_lite_left_texts.py::blocks_that_were_merged_into_another_leave_no_text_behind",
    ),
    "sinks/milvus/lite_blocks.py: the texts of a local block go before its head": (
        _EMPTIES,
        "self._empty(part, self._columns, self._heads, self._words)",
        "sinks/test_lite_left_texts.py::a_delete_that_was_cut_short_leaves_whole_blocks_and_the_next_opening_takes_the_texts_of_the_others",
    ),
    "sinks/milvus/lite_blocks.py: a kill in the middle of a delete hides the texts that it leaves": (
        _EMPTIES,
        "self._empty(part, self._heads, self._words, self._columns)",
        "sinks/test_lite_left_texts.py::a_delete_that_was_cut_short_leaves_whole_blocks_and_the_next_opening_takes_the_texts_of_the_others",
    ),
    "sinks/milvus/lite_blocks.py: a kill in the middle of a write hides the texts that it leaves": (
        _WORDS + _COLUMNS,
        _COLUMNS + _WORDS,
        "sinks/test_lite_left_texts.py::what_was_written_without_a_head_is_not_there_and_its_slot_is_free",
    ),
    "sinks/milvus/lite_blocks.py: texts behind the last head are not looked for": (
        "self._client.count(self._heads.name) + self._client.count(self._words.name)",
        "2 * self._client.count(self._heads.name)",
        "sinks/test_lite_left_texts.py::texts_behind_the_last_head_go_at_the_next_opening_on_whatever_page_they_are",
    ),
    "sinks/milvus/lite_blocks.py: who only reads writes into a local folder": (
        "len(left) if create else 0",
        "len(left)",
        "sinks/test_lite_left_texts.py::who_only_reads_leaves_what_a_delete_that_was_cut_short_has_left",
    ),
    "sinks/milvus/milvus_sink.py: a local folder is ready for as long as its process lives": (
        "        only = 'id == \"\"' if self._lent.local is None",
        "        if self._lent.local is not None:\n            return\n        only = 'id == \"\"' if self._lent.local is None",
        "sinks/test_lite.py::a_folder_whose_process_hangs_does_not_answer_a_ping_until_it_goes_on",
    ),
    "sinks/milvus/milvus_sink.py: a ping may take as long as any read": (
        ", timeout_s=_PING_S)",
        ")",
        "sinks/test_server_faults.py::a_silent_server_does_not_answer_a_ping_however_long_a_read_may_take",
    ),
    "sinks/milvus/milvus_sink.py: a folder that is being written out is not ready": (
        "with self._lent.call_at_once() as client:",
        "with self._lent.calls() as client:",
        "sinks/test_lite.py::a_ping_waits_for_no_write_and_for_no_flush",
    ),
    "sinks/milvus/lite_server.py: an old version of a template is found": (
        "for key in keys & one.pk_to_row.keys()",
        "for key in ()",
        "sinks/test_templates.py::the_nearest_of_many_files_are_those_of_all_vectors_however_often_each_was_written",
    ),
    "sinks/milvus/lite_server.py: what was written again takes the place of what is near": (
        '    limit = asked["top_k"] + _outdated(files, asked["memtable"], asked["delta_index"])',
        '    limit = asked["top_k"]',
        "sinks/test_templates.py::the_nearest_of_many_files_are_those_of_all_vectors_however_often_each_was_written",
    ),
    "sinks/milvus/lite_server.py: the process that serves a local folder outlives its worker": (
        "if os.getppid() != starter or (ready and not os.read(0, 64)):\n            os._exit(1)",
        "if os.getppid() != starter or (ready and not os.read(0, 64)):\n            time.sleep(1)\n            continue",
        "sinks/test_lite.py::the_process_that_serves_a_folder_ends_with_the_one_that_opened_it",
    ),
    "sinks/milvus/writing.py: a non-finite vector is stored": (
        "if not np.isfinite(vector).all():",
        "if vector.ndim > 1:",
        "contracts/test_sink.py::a_vector_of_another_dimension_or_not_finite_is_our_fault",
    ),
    "sinks/milvus/faults.py: a failed write to a local folder is retried": (
        "    if local:\n",
        "    if local and not fault.reason:\n",
        "sinks/test_faults.py::every_rule_says_whose_fault_a_refusal_is",
    ),
    "sinks/reading/counting.py: a block counts whole though the texts of its lines decide": (
        "& (query.columns == PLACES)",
        "& (query.columns != PLACES_AND_FIELDS)",
        "contracts/test_reading_fields.py::a_phrase_that_is_excluded_leaves_lines_without_their_text",
    ),
    "sinks/reading/line_filter.py: lines of excluded templates are shown": (
        "    if only.not_templates:\n",
        "    if False:\n",
        "worker/querying/test_exclusions.py::no_answer_of_any_form_has_what_is_excluded",
    ),
    "sinks/tokens.c: a block lists the words of its templates with those of its lines": (
        "if (has_hash(of_template, hash) || came_before(found, token, hash))",
        "if (has_hash((hash_set){0}, hash) || came_before(found, token, hash))",
        "sinks/test_words.py::a_token_of_the_template_is_no_word_but_a_part_of_one_is",
    ),
    "sinks/tokens.c: a token hides another one that has its hash": (
        "return (last & UINT32_MAX) == bytes && memcmp(found->data + (last >> 32), token.start, bytes) == 0;",
        "return (last & UINT32_MAX) == bytes && hash_of((span){found->data + (last >> 32), found->data + (last >> 32) + bytes}) == hash;",
        "sinks/test_words.py::a_token_with_the_hash_of_another_one_does_not_hide_it",
    ),
    "sinks/reading/literals.c: a literal that begins in one text and ends in the next is in the first one": (
        "if (end > text_end || found->held[found->row] == WHOLE)",
        "if (found->held[found->row] == WHOLE)",
        "sinks/reading/test_literals.py::a_literal_that_begins_in_one_text_and_ends_in_the_next_is_in_neither",
    ),
    "sinks/reading/literals.c: every byte that nearly is a long literal is compared again and again": (
        "if (patience < 0)",
        "if (false)",
        "sinks/reading/test_literals.py::texts_that_nearly_hold_a_long_literal_everywhere_cost_no_more_than_others",
    ),
    "sinks/reading/literals.c: an identifier inside a longer one is whole": (
        "? WHOLE : IN_A_WORD;",
        "? WHOLE : WHOLE;",
        "worker/querying/test_query_words.py::an_identifier_is_there_only_as_a_whole_in_whatever_letters",
    ),
    "sinks/milvus/lite_texts.py: the zeros that fill an older folder's column are taken for bytes of it": (
        ".tobytes()[: characters.size // 8 * 7 - int(stored[1])]",
        ".tobytes()",
        "sinks/test_lite_texts.py::what_older_folders_hold_is_read",
    ),
    "sinks/milvus/lite_texts.py: an older folder's column with a character of eight bits is taken for another one": (
        " or characters.size % 8 or characters.max() > _SEVEN_BITS:",
        " or characters.size % 8:",
        "sinks/test_lite_texts.py::what_is_damaged_is_seen_when_it_is_decoded",
    ),
    "sinks/field_pairs.py: a field's value with an escape is taken as it is written": (
        '    pairs.is_odd[np.searchsorted(name.start, backslashes, "right") - 1] = True\n',
        "",
        "sinks/test_field_pairs.py::words_are_those_of_a_parser",
    ),
    "sinks/reading/versions.py: copies are resolved by entry before they are by record": (
        "    is_held = is_used & holds_whole[of.version]\n",
        "    is_held = is_used & (holds_whole[of.version] | (of.sub > 0))\n",
        "sinks/reading/test_versions.py::a_record_that_was_read_again_holds_what_it_holds_now",
    ),
    "sinks/reading/versions.py: a record of which a run wrote some entries hides a whole one": (
        "    done = np.flatnonzero(is_run_end & (there >= needed))\n",
        "    done = np.flatnonzero(is_run_end)\n",
        "sinks/reading/test_versions.py::a_record_of_which_a_run_wrote_only_a_part_hides_no_whole_one",
    ),
    "sinks/reading/versions.py: an event hides only what begins where it begins": (
        "    spans = _OffsetSpans(place[begins], offset[begins], offset[begins].astype(np.int64) + records[begins])\n",
        "    spans = _OffsetSpans(place[begins], offset[begins], offset[begins].astype(np.int64) + 1)\n",
        "sinks/reading/test_versions.py::an_event_hides_whatever_earlier_runs_have_of_its_records",
    ),
    "sinks/reading/versions.py: a later run hides an event of which it has only a part": (
        "max(step for step in steps[at] if leads_on[step[1]])",
        "max(steps[at])",
        "sinks/reading/test_versions.py::until_then_it_hides_what_a_later_run_has_of_it",
    ),
    "sinks/reading/versions.py: an event of a log that was cut stays until the log has grown over all of it": (
        "    rank[_are_replaced(spans, passed, leader[begins], last_leader[begins])] = _NEVER\n",
        "",
        "sinks/reading/test_versions.py::an_event_of_a_log_that_was_cut_is_hidden_though_the_log_has_grown_less_far",
    ),
    "sinks/reading/versions.py: all records of an event are taken for those of its last leader": (
        "    leaders = np.append(leader, last_leader)\n",
        "    leaders = np.append(last_leader, last_leader)\n",
        "sinks/reading/test_versions.py::a_new_leader_that_has_lost_nothing_hides_nothing",
    ),
    "sinks/reading/versions.py: a log that was cut is shown between two records of the one that has grown since": (
        "np.append(spans.end, passed.end)",
        "np.append(spans.end, spans.end)",
        "sinks/reading/test_versions.py::whatever_the_runs_say_the_later_leader_is_right",
    ),
    "sinks/reading/versions.py: an unknown leader is earlier than every other one": (
        "(last_leader < epoch) & (last_leader != NO_LEADER_EPOCH)",
        "last_leader < epoch",
        "sinks/reading/test_versions.py::where_leaders_are_not_known_the_latest_run_holds",
    ),
    "sinks/reading/versions.py: a hollow entry is shown": (
        " & (chunks > 0)\n    return holds",
        "\n    return holds",
        "sinks/reading/test_versions.py::a_hollow_entry_makes_its_record_whole",
    ),
    "sinks/contents.py: a hollow entry is counted": (
        "        lines = take_lines(lines, np.flatnonzero(lines.chunks))\n",
        "        pass\n",
        "sinks/test_build.py::hollow_entries_are_in_no_head_and_come_back_hollow",
    ),
    "sinks/reading/copies.py: a search asks no other runs": (
        "            every = with_other_runs(self._snapshot, listed.select(np.array(new, np.int64)))\n",
        "            every = listed.select(np.array(new, np.int64))\n",
        "sinks/reading/test_copies.py::a_search_does_not_find_a_line_as_it_was_before_it_was_read_again",
    ),
    "sinks/reading/field_figures.py: lines whose values are too many are not counted": (
        "        self.lines += lines\n",
        "",
        "sinks/reading/test_field_figures.py::a_field_is_counted_over_all_lines_whatever_its_values_are",
    ),
    "sinks/reading/field_figures.py: fewer lines than the percentile says have at most that": (
        "bisect_left(reached, -(-lines * share // 100))",
        "bisect_left(reached, lines * share // 100)",
        "sinks/reading/test_field_figures.py::percentiles_are_exact_or_within_the_error_that_is_said",
    ),
    "sinks/reading/count_keys.py: a long line counts with each of its pieces where values are too many": (
        "self._add_others(values, codes[:-1] == _NOT_COUNTED, lines.chunk[rows] == 0)",
        "self._add_others(values, codes[:-1] == _NOT_COUNTED, lines.chunk[rows] >= 0)",
        "sinks/reading/test_field_figures.py::a_field_is_counted_over_all_lines_whatever_its_values_are",
    ),
    "sinks/reading/count_keys.py: a far line has a bucket of its own, years behind the last one": (
        "time_ms = np.clip(time_ms, *self._bucketed_ms)",
        "pass",
        "worker/querying/test_counts.py::a_stored_line_of_a_far_time_counts_in_the_nearest_bucket_and_makes_none_wider",
    ),
    "sinks/milvus/lite_server.py: the process of a folder imports pandas": (
        "sys.meta_path.insert(0, _WithoutPandas())\n",
        "",
        "sinks/test_lite.py::the_process_that_serves_a_folder_does_without_pandas_and_a_client",
    ),
}
