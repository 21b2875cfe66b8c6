"""Mutations of commands: what they change, compare, count and say."""

from tests.sabotage.mutation import Changes

COMMAND_MUTATIONS: Changes = {
    "producers/file_bytes.py: only the first member of a compressed file is read": (
        "            held = block\n",
        '            held = b""\n        return\n',
        "producers/test_file_bytes.py::members_behind_one_another_are_one_file",
    ),
    "producers/file_bytes.py: a file that is cut off says nothing": (
        "                    raise _Cut\n",
        "                    return\n",
        "producers/test_file_bytes.py::a_cut_file_gives_its_lines_and_says_so_once",
    ),
    "producers/file_bytes.py: the end of a cut file of zstd is lost": (
        "        yield from _bytes_before_error(behind)\n",
        "",
        "producers/test_file_bytes.py::bytes_behind_the_last_member_are_said_to_be_left_out",
    ),
    "producers/file_bytes.py: a bomb is unpacked at once": (
        "yield stream.decompress(held, _BLOCK_BYTES)",
        "yield stream.decompress(held, 1 << 30)",
        "producers/test_file_bytes.py::a_bomb_is_one_line_that_is_too_large_in_little_memory",
    ),
    "producers/file_bytes.py: a pipe that gives one byte at a time is taken for plain": (
        "    while _is_undecided(head, least_bytes) and (more := source.read1()):\n        head += more\n",
        "",
        "producers/test_file_bytes.py::the_pieces_of_a_pipe_change_nothing",
    ),
    "producers/rotated_files.py: a number behind a dot counts forwards": (
        '* (-1 if counted[1] == "." and not date else 1)',
        "* 1",
        "producers/test_rotated_files.py::the_oldest_comes_first",
    ),
    "producers/rotated_files.py: the file that is written now comes first": (
        "is_current=not (date or counted or is_old)",
        "is_current=bool(date or counted or is_old)",
        "producers/test_rotated_files.py::the_oldest_comes_first",
    ),
    "worker/inspecting/peeked.py: any text that begins with a brace is said to be a whole object": (
        'if any(_parsed(entry["text"]) in whole for',
        "if any(whole for",
        "worker/cli/test_peek.py::no_note_says_what_is_not_true",
    ),
    "worker/inspecting/window_comparer.py: lines that were lost lately count as expired, and expired ones as lost": (
        "if lost and record.time_ms < self.kept_since_ms:",
        "if lost and record.time_ms > self.kept_since_ms:",
        "worker/inspecting/test_window_comparer.py::lines_older_than_lines_are_kept_may_be_gone",
    ),
    "worker/inspecting/doctor.py: a group of the doctor's checks that crashes counts as well": (
        'problem(f"this group of checks failed: {line[:300]}", "report',
        'ok(f"this group of checks failed: {line[:300]}", "report',
        "worker/inspecting/test_doctor.py::a_group_that_fails_says_so_under_the_name_of_its_first_check_and_hides_no_other",
    ),
    "worker/inspecting/letter_filter.py: letters of all topics are replayed, although one topic was named": (
        "            and self.topic in (None, letter.topic)\n",
        "",
        "worker/cli/test_dlq.py::letters_are_chosen_by_all_that_is_given",
    ),
    "worker/inspecting/entry_writer.py: a repair is hidden by what is stored of the last offset that it writes": (
        "BlockFilter((topic,), epoch, partition, first_offset, last_offset + 1)",
        "BlockFilter((topic,), epoch, partition, first_offset, last_offset)",
        "worker/inspecting/test_entry_writer.py::what_is_written_holds_over_every_run_that_is_stored_even_of_a_clock_ahead",
    ),
    "worker/inspecting/template_embedder.py: templates that a repair embeds lack the model's prefix, so no search finds them": (
        "self._tokenizer.encode([self._prefix + text for text in texts])",
        "self._tokenizer.encode(texts)",
        "worker/inspecting/test_repair.py::a_template_is_embedded_with_the_prefix_of_the_model",
    ),
    "worker/inspecting/replay.py: a letter that is refused again is marked as replayed": (
        "is_done = not plan.refusal and not failing",
        "is_done = not failing",
        "worker/inspecting/test_replay.py::a_record_that_is_refused_again_as_a_whole_stays_with_the_reason_of_now",
    ),
    "worker/watching/group_offsets.py: a reset inside a stored event stays inside it": (
        "after=max(start, move.position.first_offset)",
        "after=move.after",
        "worker/watching/test_group_offsets.py::a_move_inside_a_stored_event_goes_to_the_first_record_of_it_that_is_there",
    ),
    "worker/watching/group_offsets.py: a reset goes back to a record that Kafka does not hold any more": (
        "after=max(start, move.position.first_offset)",
        "after=start",
        "worker/watching/test_group_offsets.py::a_move_inside_a_stored_event_goes_to_the_first_record_of_it_that_is_there",
    ),
    "worker/watching/group_offsets.py: a reset to the last record does not ask whether an event holds it": (
        "< move.after < move.position.end_offset",
        "< move.after < move.position.end_offset - 1",
        "worker/watching/test_group_offsets.py::only_an_offset_with_records_on_both_sides_may_be_inside_an_event",
    ),
    "worker/cli/workers.py: when a worker is killed, run --workers ends with exit code 0": (
        "return child_exit_code if child_exit_code > 0 else CRASHED",
        "return max(child_exit_code, DRAINED)",
        "worker/cli/test_workers.py::one_that_is_killed_ends_the_others",
    ),
    "worker/asking/moments.py: --since 1h means the last 3.6 seconds": (
        "round(float(span[1]) * _SECONDS[span[2]] * 1000)",
        "round(float(span[1]) * _SECONDS[span[2]])",
        "worker/asking/test_moments.py::a_span_is_counted_back_from_now",
    ),
    "worker/cli/line_source.py: a folder hides the topic of its name": (
        "hides_topic = is_folder and name in settings.subscription.names",
        "hides_topic = False",
        "worker/cli/test_line_source.py::what_a_word_was_taken_for_is_said",
    ),
    "worker/settings/origins.py: a setting of several lines is said to be where it ends": (
        "found.setdefault(path, begin)",
        "found.setdefault(path, number)",
        "worker/cli/test_config.py::each_setting_says_where_it_is_from_and_what_is_shown_still_reads_back",
    ),
    "worker/cli/estimate_verb.py: workers cannot be doubled, as there are no partitions for them": (
        "None if workers is None else 2 * workers",
        "None if workers is None else workers",
        "worker/cli/test_estimate_screen.py::what_is_needed_follows_from_the_rate_and_from_how_long_lines_are_kept",
    ),
    "worker/cli/absent_server.py: a broker that is away is taken for one that refuses": (
        "return kafka_away(address, cause) if isinstance(cause, BrokerAway) else",
        "return",
        "worker/cli/test_six_faults.py::without_a_broker_its_address_is_named",
    ),
    "worker/cli/feed_verb.py: lines that were fed and not acknowledged are left out of what is said to be missing": (
        "left = fed.sent - fed.acknowledged + session.pending_letters",
        "left = session.pending_letters",
        "worker/cli/test_feed_verb.py::lines_that_the_broker_has_not_acknowledged_when_it_ends_are_said_to_be_missing",
    ),
    "worker/runtime/toml_strings.py: a suggested mask with an apostrophe breaks the settings file that it is pasted into": (
        """if "'" not in text and text.isprintable():""",
        "if text.isprintable():",
        "worker/masks/test_offered_masks.py::a_string_reads_back_as_it_was",
    ),
    "worker/cli/filter_options.py: what is to be excluded is wanted": (
        "            filters[name] = as_text(value)",
        "            filters[name.removeprefix(EXCLUDES)] = as_text(value)",
        "worker/cli/test_question_options.py::every_verb_passes_every_filter_on",
    ),
    "worker/cli/output.py: without a terminal, every question counts as answered with yes": (
        "    if not (sys.stdin.isatty() and sys.stdout.isatty()):\n        return False\n",
        "    if not (sys.stdin.isatty() and sys.stdout.isatty()):\n        return True\n",
        "worker/cli/test_terminal.py::without_a_terminal_the_answer_to_a_question_is_no",
    ),
    "worker/cli/app.py: a start without a compiled C file may be tried again": (
        "else USER_ERROR  # a part",
        "else 1  # a part",
        "test_compiled.py::a_verb_that_needs_what_is_not_compiled_ends_with_2_and_one_line",
    ),
    "worker/inspecting/doctor_versions.py: the doctor looks at one library": (
        "for fault in facts.compile_faults if fault",
        "for fault in facts.compile_faults[:1] if fault",
        "worker/inspecting/test_doctor_machine.py::what_is_installed_is_judged",
    ),
    "worker/estimate/newest_records.py: masks are suggested from a topic's oldest records too, however many there are": (
        "first_offset = max(found.first_offset, found.end_offset - share)",
        "first_offset = min(found.first_offset, found.end_offset - share)",
        "worker/cli/test_suggest_masks.py::of_a_topic_the_newest_records_are_read_and_no_group_is_left",
    ),
    "worker/estimate/sample_texts.py: a rule for another topic drops lines of a sample": (
        "[rule for rule in settings.drop if rule.topic is None or _fits(rule.topic, topic)]",
        "[rule for rule in settings.drop if rule.topic is None or rule.topic]",
        "worker/estimate/test_sample_texts.py::entries_that_a_rule_of_the_topic_drops_are_left_out",
    ),
    "worker/estimate/engine_measurement.py: batches that the engine fails on are left out of an estimate silently": (
        "        except (RuntimeError, ValueError):\n            failed += 1\n            continue\n",
        "        except (RuntimeError, ValueError):\n            continue\n",
        "worker/estimate/test_measurements.py::a_batch_that_fails_is_not_counted_and_not_tried_again",
    ),
    "worker/estimate/estimate.py: a component of a vector is taken for one byte": (
        "(_TEMPLATE_ID_BYTES + 4 * inputs.dim)",
        "(_TEMPLATE_ID_BYTES + inputs.dim)",
        "worker/estimate/test_estimate.py::a_sample_is_scaled_and_templates_grow_less_than_lines",
    ),
    "worker/estimate/estimate.py: a rate of bytes is taken for one of lines": (
        'if self.unit == "lines":',
        'if self.unit != "lines":',
        "worker/cli/test_estimate_verb.py::a_rate_is_lines_or_bytes_and_becomes_lines_by_the_mean_line",
    ),
    "worker/estimate/estimate.py: workers are to be busy all the time": (
        "WORKER_LOAD = 0.5",
        "WORKER_LOAD = 1.0",
        "worker/estimate/test_estimate.py::workers_are_half_busy_and_poll_too",
    ),
    "worker/masks/mask_difference.py: templates that new masks merge are shown as split": (
        "return _regroupings(((new, old), lines) for (old, new), lines in self._pairs.items())",
        "return _regroupings(((old, new), lines) for (old, new), lines in self._pairs.items())",
        "worker/masks/test_mask_difference.py::old_templates_with_one_new_one_are_merged_and_those_with_several_are_split",
    ),
    "worker/masks/offered_masks.py: masks are offered for lines whose template is one of the source": (
        '        if template == one["text"]:\n',
        '        if template or one["text"]:\n',
        "worker/masks/test_offered_masks.py::a_line_whose_template_the_masks_do_not_make_is_left_out",
    ),
    "worker/masks/mask_suggestions.py: a mask of all words behind `for` is suggested, whatever else stands there": (
        "0.0 if anchor.is_one_word",
        "MOST_FIXED_SHARE if anchor.is_one_word",
        "worker/masks/test_mask_suggestions.py::one_word_before_is_no_anchor_where_words_that_do_not_vary_stand_behind_it",
    ),
    "worker/masks/offered_masks.py: masks of one topic are offered for all": (
        'topics.setdefault(table, []).append(one["topic"])',
        'topics.setdefault(settings.mask, []).append(one["topic"])',
        "worker/masks/test_offered_masks.py::topics_with_the_same_masks_are_looked_at_together_those_with_most_lines",
    ),
    "worker/inspecting/doctor.py: a worker that is too busy to suggest masks has a problem with its settings": (
        "    if verdicts is None and one.may_be_silent:\n        return\n",
        "",
        "worker/inspecting/test_doctor.py::a_look_that_may_be_silent_hides_no_other_of_its_group",
    ),
    "worker/inspecting/doctor_settings.py: suggestions are a warning however few they are": (
        "families >= max(_FEW_FAMILIES, _MANY_SHARE * lines)",
        "families >= min(_FEW_FAMILIES, _MANY_SHARE * lines)",
        "worker/inspecting/test_doctor_machine.py::suggested_masks_are_offered_and_are_a_warning_where_they_merge_much",
    ),
    "worker/masks/suggested_pattern.py: brackets and dots of a line act as regular expression in a suggested mask": (
        r'return _DIGITS.sub(r"\\d+", _SPECIAL.sub(r"\\\g<0>", text))',
        r'return _DIGITS.sub(r"\\d+", text)',
        "worker/masks/test_mask_suggestions.py::hostile_words_are_escaped",
    ),
    "worker/estimate/sample_tally.py: only the last lines of a sample count as undecodable": (
        "self.undecodable_lines += len(decoded.rejected)",
        "self.undecodable_lines = len(decoded.rejected)",
        "worker/estimate/test_sample_tally.py::what_is_not_indexed_of_several_lists_adds_up",
    ),
    "worker/estimate/block_tally.py: lines that fill a block are counted again in the next one": (
        "np.arange(size - size % _FULL, size)",
        "np.arange(size - _FULL, size)",
        "worker/estimate/test_block_tally.py::each_line_is_in_one_block_whatever_lists_they_came_in",
    ),
    "worker/estimate/line_sampling.py: a last line without a line end does not make a file too long to be read whole": (
        '            lines -= last != b"\\n"\n',
        "",
        "worker/estimate/test_line_sampling.py::a_last_line_without_an_end_is_a_line_of_each_file",
    ),
    "worker/watching/group_offsets.py: the lag leaves out the last record": (
        "return self.end_offset - self.next_offset\n",
        "return max(self.end_offset - self.next_offset - 1, 0)\n",
        "worker/watching/test_group_offsets.py::the_lag_is_what_is_there_and_not_committed",
    ),
    "worker/watching/partition_lag.py: the age of the oldest record is milliseconds that count as seconds": (
        "max(now.at_ms - oldest_ms, 0) / 1000",
        "max(now.at_ms - oldest_ms, 0)",
        "worker/watching/test_partition_lag.py::after_one_look_no_rate_is_known",
    ),
    "worker/watching/group_offsets.py: the query group is shown and moved as if it began at the end": (
        'Subscription(names=(kafka.query_topic,)), "earliest")',
        'Subscription(names=(kafka.query_topic,)), "latest")',
        "worker/watching/test_group_offsets.py::the_query_group_begins_at_the_first_query_whatever_the_log_group_does",
    ),
    "worker/watching/group_offsets.py: a group that is rebalancing counts as one that may be moved": (
        "    if found.members:\n",
        '    if found.members and found.state == "stable":\n',
        "worker/watching/test_group_offsets.py::a_group_at_rest_may_be_moved_and_one_with_members_not",
    ),
    "worker/watching/group_offsets.py: a reset of one partition moves all of them": (
        "[partition for partition in kafka.partitions(topics) if chosen(partition)]",
        "list(kafka.partitions(topics))",
        "worker/watching/test_group_offsets.py::only_the_chosen_partitions_are_read",
    ),
    "worker/watching/group_positions.py: a group that has committed the first offset counts as one that never committed": (
        "place.offset if place.offset >= 0 else None",
        "place.offset if place.offset > 0 else None",
        "worker/watching/test_group_offsets.py::a_broker_that_does_not_say_who_reads_can_be_read_all_the_same",
    ),
    "worker/watching/group_positions.py: a position that the broker did not take counts as moved": (
        "                )\n            raise failure_of(KafkaException(place.error))\n",
        "                )\n",
        "worker/watching/test_group_offsets.py::a_position_that_the_broker_does_not_take_is_an_error",
    ),
    "worker/watching/group_members.py: members that left hours ago are still shown": (
        "self._clock() - self._asked_s > self._keep_s",
        "self._clock() - self._asked_s > 1000 * self._keep_s",
        "worker/watching/test_group_members.py::all_groups_are_asked_for_at_once_and_remembered_for_a_while",
    ),
    "worker/watching/group_members.py: a process that ended without an answer says that there are no groups": (
        '        raise BrokerAway("the connection broke while the groups were asked for")\n',
        "        return {}\n",
        "worker/watching/test_group_members.py::a_process_that_ends_without_an_answer_costs_the_answer_only",
    ),
    "worker/inspecting/replay_plan.py: a letter is believed though the index holds another line of its record": (
        "if is_contradicted or any(_reaches_into(line, held) for line in one.lines):",
        "if any(_reaches_into(line, held) for line in one.lines):",
        "worker/inspecting/test_forged_letters.py::a_sound_line_is_never_replaced",
    ),
    "worker/inspecting/replay_plan.py: a replay writes entries again that are stored whole": (
        "if line.sub in listed - held_subs]",
        "if line.sub in listed]",
        "worker/inspecting/test_forged_letters.py::lines_that_were_stored_with_other_settings_are_left_as_they_are",
    ),
    "worker/inspecting/stored_records.py: a record inside a stored event is replayed as a line of its own": (
        "range(max(line.offset, span.start), min(line.offset + line.records, span.stop))",
        "range(max(line.offset, span.start), min(line.offset + 1, span.stop))",
        "worker/inspecting/test_forged_letters.py::a_record_inside_a_stored_event_is_no_line_of_its_own",
    ),
    "worker/inspecting/replay.py: the letter's time, key and headers are replayed and not those of Kafka's record": (
        "Claim(letter, found.record or record, found.record is not None)",
        "Claim(letter, record, found.record is not None)",
        "worker/inspecting/test_forged_letters.py::what_kafka_holds_of_the_record_is_replayed_and_not_what_the_letter_says_beside_it",
    ),
    "worker/inspecting/replay.py: of two letters that disagree the last one is stored and both are marked": (
        "refusal = refusal or OTHER_LETTER",
        "pass",
        "worker/inspecting/test_forged_letters.py::of_two_letters_that_disagree_the_first_is_believed",
    ),
    "worker/inspecting/dead_letter_index.py: a letter excuses whatever record is at its offset": (
        "return RecordKey(record.partition, record.offset, len(value), hashlib.sha256(value).hexdigest())",
        'return RecordKey(record.partition, record.offset, 0, hashlib.sha256(b"").hexdigest())',
        "worker/inspecting/test_forged_letters.py::a_lost_line_is_not_excused_by_a_letter_of_other_bytes",
    ),
    "worker/inspecting/dead_letter_index.py: a letter that does not hold the bytes that it names excuses a lost line": (
        "if letter.is_replayed or letter.is_altered:",
        "if letter.is_replayed:",
        "worker/inspecting/test_dead_letter_index.py::a_dead_letter_that_does_not_hold_its_record_excuses_nothing_and_one_with_its_head_does",
    ),
    "worker/inspecting/stored_dead_letters.py: a letter may name an epoch that no topic has": (
        "(is_topic_name(topic) and re.fullmatch(EPOCH_PATTERN, epoch))",
        "is_topic_name(topic)",
        "worker/inspecting/test_stored_dead_letters.py::a_letter_of_what_kafka_cannot_have_is_passed_over",
    ),
    "worker/inspecting/expected.py: a window of verify is bounded by what was sent and not by what is in it": (
        'return self._opener.content_bytes(record.value or b"", record.headers)',
        'return len(record.value or b"")',
        "worker/inspecting/test_verify.py::what_is_in_a_compressed_value_counts_towards_the_window",
    ),
    "worker/inspecting/expected.py: a window of verify ends between two pieces of a line": (
        "not (reader.joiner.joins_lines or self._is_piece(before[-1], reader, reader.joiner))",
        "not reader.joiner.joins_lines",
        "worker/inspecting/test_verify_rules.py::a_line_that_came_in_pieces_is_never_cut_by_a_window",
    ),
    "worker/cli/estimate_verb.py: an estimate reads every file as the first topic of the settings": (
        "settings.topic[0] if topic is None else settings.topic_table(topic)",
        "settings.topic[0] if topic is None else settings.topic[0]",
        "worker/cli/test_estimate_verb.py::the_topic_whose_settings_hold_is_the_first_or_the_one_that_is_named",
    ),
    "worker/watching/group_offsets.py: a group that has committed past the end is behind by less than nothing": (
        "min(max(self.committed, self.first_offset), self.end_offset)",
        "max(self.committed, self.first_offset)",
        "worker/watching/test_group_offsets.py::the_lag_is_what_is_there_and_not_committed",
    ),
    "worker/watching/group_offsets.py: a group has committed past the end because records came during the look": (
        (
            "    committed = kafka.committed(group.name, partitions)  # before the ranges, so that no end is older than it\n"
            "    ranges = kafka.offset_ranges(partitions)\n"
        ),
        "    ranges = kafka.offset_ranges(partitions)\n    committed = kafka.committed(group.name, partitions)\n",
        "worker/watching/test_group_offsets.py::records_that_come_and_are_committed_during_the_look_are_not_past_the_end",
    ),
    "worker/cli/offsets_screen.py: `vectail offsets` says nothing of a commit past the end": (
        '    if position.is_beyond_end:\n        return "committed beyond the end"\n',
        "",
        "worker/cli/test_offsets_screen.py::each_partition_has_a_remark_where_its_numbers_do_not_say_all",
    ),
    "worker/cli/app.py: an error on a terminal has control characters as they are": (
        "{printable(str(failed))}",
        "{failed}",
        "worker/cli/test_terminal.py::a_verb_prints_nothing_that_a_terminal_interprets",
    ),
    "worker/inspecting/expected.py: a replay believes any time of a letter's": (
        "bounded_times(columns.time_ms, self._wall_ms())",
        "columns.time_ms",
        "worker/inspecting/test_replay.py::of_a_record_whose_time_cannot_be_true_a_letter_gives_its_own_and_kafkas_record_that_of_the_replay",
    ),
    "worker/inspecting/window_comparer.py: verify reports every line that was read at another time than now": (
        "if is_far(expected.kafka_time, now_ms):",
        "if is_far(expected.kafka_time, now_ms) and not line.time:",
        "worker/inspecting/test_window_comparer.py::a_line_of_a_record_whose_time_cannot_be_true_may_have_been_read_at_any_time",
    ),
    "worker/cli/screen.py: a screen writes control characters as they are": (
        "((printable_lines(text), style) for text, style in parts)",
        "((text, style) for text, style in parts)",
        "worker/cli/test_terminal.py::a_screen_escapes_whatever_it_is_given",
    ),
    "worker/cli/output.py: a warning writes control characters as they are": (
        "{printable(line)}",
        "{line}",
        "worker/cli/test_terminal.py::a_warning_is_one_line",
    ),
    "worker/cli/output.py: JSON on a terminal has C1 and bidirectional marks as they are": (
        '"".join(one if one.isprintable() else json.dumps(one)[1:-1] for one in text)',
        "text",
        "worker/cli/test_terminal.py::json_is_escaped_as_json_is_and_reads_back_the_same",
    ),
    "worker/runtime/toml_strings.py: settings on a terminal have C1 as they are": (
        "one if one.isprintable() else",
        'one if one != "\\x7f" else',
        "worker/cli/test_terminal.py::settings_are_escaped_as_toml_is_and_read_back_the_same",
    ),
    "worker/cli/lag_verb.py: a commit past the end looks as if all were read": (
        "beyond_end(now.positions)",
        "beyond_end(())",
        "worker/cli/test_offsets_screen.py::a_commit_past_the_end_is_said_as_the_doctor_says_it",
    ),
}
