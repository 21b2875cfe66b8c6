"""Mutations of the way of a record into blocks: prepared, parked, stored, settled, merged, begun again."""

from tests.sabotage.mutation import Changes

INDEXING_MUTATIONS: Changes = {
    "worker/indexing/events.py: an event is cut at its bound before it is known which lines are its own": (
        "                after = size  # whether",
        "                pass  # whether",
        "worker/indexing/test_event_languages.py::a_bound_cuts_no_event_before_it_is_known_which_lines_are_its_own",
    ),
    "worker/indexing/event_languages.py: the lines of a message behind an exception's own line begin another event": (
        'message = _message("OBI", frame)',
        'message = _message("b", frame)',
        "worker/indexing/test_event_languages.py::every_event_is_whole_and_by_itself",
    ),
    "worker/indexing/event_languages.py: what may be a message is not held until a frame proves it": (
        r'return rf"[{letters}]{{1,12}}(?=[{ends}]|\Z)"',
        r'return rf"[{letters}]{{1,12}}(?=[{ends}])"',
        "worker/indexing/test_event_languages.py::events_are_the_same_when_each_record_comes_by_itself",
    ),
    "worker/indexing/event_languages.py: a line that begins like a record may be part of a message": (
        '    "R",\n',
        '    "O",\n',
        "worker/indexing/test_event_languages.py::every_event_is_whole_and_by_itself",
    ),
    "worker/indexing/event_languages.py: Python's notes are records of their own": (
        "[IXWO]){0,3}(?=R|",
        "[IXWO]){0,3}(?=",
        "worker/indexing/test_event_languages.py::every_event_is_whole_and_by_itself",
    ),
    "worker/indexing/event_languages.py: a handler's panic does not begin Go's trace": (
        '(?:[GKIFN]|B{1,3}+(?=[GK]|\\Z))++"',
        '(?:[KIFN]|B{1,3}+(?=[GK]|\\Z))++"',
        "worker/indexing/test_event_languages.py::every_event_is_whole_and_by_itself",
    ),
    "worker/indexing/block_writer.py: settle before the block is acknowledged": (
        "            try:\n                self._send(blocks, was_sent=was_sent)",
        "            try:\n                self._settle(blocks)\n                self._send(blocks, was_sent=was_sent)",
        "worker/indexing/test_store.py::nothing_settles_before_the_template_and_the_block_are_acknowledged",
    ),
    "worker/indexing/block_writer.py: a block settles one line of a record, however many of its lines it holds": (
        "one.run.assignment.settle(one.arrival)",
        "one.run.assignment.settle(np.unique(one.arrival))",
        "worker/indexing/test_store_refusals.py",
        "worker/indexing/test_prepare.py",
    ),
    "worker/indexing/block_writer.py: a busy sink counts as stored": (
        "                if self._surroundings.pause(self.retry.pause_s(attempt)):\n                    raise Abandoned from error",
        "                del error\n                return",
        "worker/indexing/test_store.py::while_the_sink_is_busy_rows_are_held_and_tried_again",
    ),
    "worker/indexing/block_writer.py: a refused block rejects all of its lines": (
        "elif halves := self._split(blocks[0]):",
        "elif halves := list[Sealed]():",
        "worker/indexing/test_store_refusals.py::only_lines_that_the_sink_refuses_alone_become_dead_letters",
    ),
    "worker/indexing/block_writer.py: refused lines have no limit": (
        "self._refused.fault(str(error))",
        "self._refused.good()",
        "worker/indexing/test_store_refusals.py::one_refused_line_too_many_in_a_row_stops_and_blames_nobody_of_its_call",
    ),
    "worker/indexing/store.py: a stored template resets the count of refused lines": (
        'refused=FaultLimit("lines that the sink refuses", most=rules.most_refused),',
        "refused=self._refused_templates,",
        "worker/indexing/test_store_refusals.py::a_line_that_is_stored_begins_the_count_of_refused_ones_anew_and_a_template_does_not",
    ),
    "worker/indexing/block_writer.py: a block that is refused is split under the same run": (
        "        self._runs.renew(refused.run)\n",
        "",
        "worker/indexing/test_store_refusals.py::lines_of_a_refused_block_go_on_under_another_run",
    ),
    "worker/indexing/runs.py: a block is rewritten in place: its number is used twice": (
        "self._next_number += len(built)",
        "self._next_number += 0",
        "worker/indexing/test_closing.py::a_full_block_does_not_wait",
        "properties/test_blocks_machine.py",
    ),
    "worker/indexing/resume.py: the epoch is missing from a block's place": (
        "place = BlockPlace(records.topic, records.epoch, records.partition)",
        'place = BlockPlace(records.topic, "", records.partition)',
        "worker/indexing/test_store.py::lines_say_where_they_came_from",
    ),
    "worker/indexing/pieces.py: the entry's number is missing from a line": (
        "sub=entries.sub[cut.row],",
        "sub=np.zeros(len(cut.row), np.int32),",
        "worker/indexing/test_store_refusals.py::a_refused_entry_makes_a_dead_letter_of_that_entry_only",
    ),
    "worker/indexing/resume.py: a run begins below one that was seen": (
        'seen = max((block.run for block in heads.ids), default="")',
        'seen = min((block.run for block in heads.ids), default="")',
        "worker/indexing/test_resume.py::the_run_of_an_assignment_begins_before_its_records_go_on_and_above_every_run_that_was_seen",
    ),
    "worker/indexing/stored_entries.py: resume by id: what is stored counts whatever it says": (
        "held[held] = hash_entries(asked, self._is_thin[places[held]]).hashed == self._hashes[places[held]]",
        "held[held] = hash_entries(asked, self._is_thin[places[held]]).hashed >= 0",
        "worker/indexing/test_stored_entries.py::an_entry_that_differs_in_anything_is_not_held",
    ),
    "worker/indexing/stored_entries.py: resume passes over lines whose template's row is gone": (
        "(text in template_texts for text in lines.template.values)",
        "(text in lines.template.values for text in lines.template.values)",
        "worker/indexing/test_stored_entries.py::an_entry_without_the_row_of_one_of_its_templates_is_not_held",
    ),
    "worker/indexing/merging.py: a number is skipped in a merge": (
        "if one.id.first == last + 1:",
        "if stretches:",
        "worker/indexing/test_merging.py::which_blocks_are_no_neighbours",
    ),
    "worker/indexing/compaction.py: blocks are deleted before the merged one is acknowledged": (
        '        self._surroundings.fail_point("before_merged")\n',
        (
            '        self._surroundings.fail_point("before_merged")\n'
            "        for one in blocks:\n"
            "            self._sink.delete_blocks([one.id._replace(first=n, last=n) for n in range(one.id.first, one.id.last + 1)])\n"
        ),
        "worker/indexing/test_upkeep.py",
        "properties/test_blocks_machine.py",
    ),
    "worker/indexing/compaction.py: inner blocks are deleted at once": (
        "GRACE_S = 20.0",
        "GRACE_S = 0.0",
        "worker/indexing/test_upkeep.py",
    ),
    "worker/indexing/compaction.py: a block is deleted because another run has its numbers": (
        "outer_of = _outer_blocks([one.id for one in run])",
        "outer_of = {one: other for one in heads.ids for other in heads.ids if one.run < other.run and one.last <= other.last}",
        "worker/indexing/test_compaction.py::a_block_whose_lines_another_run_has_under_wider_numbers_stays",
    ),
    "worker/indexing/compaction.py: blocks of two runs are merged with each other": (
        "runs[one.run].append(MergeSource(one, size, written_ms))",
        'runs[""].append(MergeSource(one, size, written_ms))',
        "worker/indexing/test_compaction.py::blocks_of_two_runs_are_never_merged_with_each_other",
    ),
    "worker/indexing/store.py: a block is closed early although lines are on their way": (
        "return is_idle and are_all and len(waiting) <= _FEW_RUNS",
        "return is_idle and len(waiting) <= _FEW_RUNS",
        "worker/indexing/test_closing.py::lines_wait_for_no_others_when_none_are_on_their_way",
    ),
    "worker/indexing/upkeep.py: how many blocks were dropped is not said": (
        "        if self._dropped and now_s >= self._dropped_said_s + _HOUR_S:\n",
        "        if self._dropped < 0:\n",
        "worker/indexing/test_expiry.py::how_many_blocks_were_dropped_is_said_once_an_hour",
    ),
    "worker/indexing/prepare.py: missing expect: a line of several chunks settles with its first chunk": (
        "assignment.expect(group.arrival[rows], np.maximum(pieces[rows], 1), held[rows])",
        "assignment.expect(group.arrival[rows], np.minimum(pieces[rows], 1), held[rows])",
        "worker/indexing/test_prepare.py::a_long_line_becomes_chunks_and_settles_with_the_last_of_them",
    ),
    "worker/indexing/flights.py: waiting lines are dropped when a flight fails": (
        "return [parked.release([place]) for parked, place in flight]",
        "return [parked.release([place]) for parked, place in flight[:1]]",
        "properties/test_flights.py",
    ),
    "worker/indexing/flights.py: waiting lines are dropped when a flight completes": (
        "                for parked, place in flight:\n",
        "                for parked, place in flight[:1]:\n",
        "properties/test_flights.py",
    ),
    "worker/indexing/flights.py: a line that waits for its template is a slice of its batch": (
        "self._park(batch.take(waiting), joined.mine)",
        "self._park(batch if len(waiting) == batch.size else batch.take(waiting), joined.mine)",
        "worker/indexing/test_flights.py::what_waits_holds_no_memory_of_its_batch",
    ),
    "worker/indexing/parked.py: lines that wait are numbered as if all before them had stayed": (
        "            self._codes = (np.cumsum(used) - 1)[self._codes]  # as `take` numbers those values that are left\n",
        "",
        "worker/indexing/test_flights.py",
        "properties/test_flights.py",
    ),
    "worker/indexing/flights.py: a template is known before its row is acknowledged": (
        "                mine.append(NewTemplate(ids[place],",
        "                self._known.add_template(ids[place], 1, self._clock())\n                mine.append(NewTemplate(ids[place],",
        "properties/test_flights.py",
        "worker/indexing/test_store.py::a_template_that_was_not_acknowledged_makes_no_line_known",
    ),
    "worker/indexing/group_lines.py: a line settles the record at its own place in the batch": (
        "LineBatch(own.assignment, group.arrival[row[first:end]],",
        "LineBatch(own.assignment, group.arrival[first:end],",
        "worker/indexing/test_prepare.py",
        "worker/indexing/test_steps_together.py",
    ),
    "worker/indexing/prepare.py: lines that an earlier run has stored are settled and written again": (
        "found = found.take(np.flatnonzero(~stored))",
        "found = found.take(np.arange(len(stored)))",
        "worker/indexing/test_restart.py",
    ),
    "worker/indexing/prepare.py: records of a partition that is gone are worked": (
        "if not own.assignment.alive]",
        "if own.assignment is None]",
        "worker/indexing/test_prepare.py::records_of_a_dead_generation_are_dropped_unread",
    ),
    "worker/indexing/line_router.py: a cache hit skips the template's row": (
        'elif found.source == "index" and not rewrite_found:',
        "elif not rewrite_found:",
        "worker/indexing/test_prepare.py::a_cached_vector_goes_to_the_sink_as_a_template",
    ),
    "worker/indexing/record_outcomes.py: a record's own fault counts towards the limit": (
        "if rejection.kind in (UNDECODABLE, UNKNOWN_SCHEMA):",
        "if rejection.kind:",
        "worker/indexing/test_prepare.py::what_no_setting_causes_never_stops_the_service",
    ),
    "worker/indexing/pieces.py: only the text is redacted": (
        "text, service = redactor.redact_column(text), _redact_labels(service, redactor)",
        "text = redactor.redact_column(text)",
        "worker/indexing/test_masks_and_rules.py",
    ),
    "worker/indexing/line_memory.py: small entries do not count towards the bytes": (
        "    held += LINE_BYTES\n",
        "",
        "worker/indexing/test_line_memory.py::as_much_is_counted_as_is_held",
    ),
    "worker/indexing/events.py: the last event of a batch is closed without waiting for the next record": (
        "is_open = not is_over and bool(len(lines.row)) and int(lines.last[-1]) == stop - 1",
        "is_open = is_over and bool(len(lines.row)) and int(lines.last[-1]) == stop - 1",
        "worker/indexing/test_events.py::the_last_event_is_held_until_it_is_known_that_nothing_follows",
    ),
    "worker/indexing/record_columns.py: records of different keys join": (
        "(key[one] == key[other] for one, other in pairs)",
        "(True for _ in pairs)",
        "worker/indexing/test_events.py::only_consecutive_offsets_of_one_key_join",
    ),
    "worker/indexing/events.py: an event lasts as long as its lines keep coming": (
        "latest = lines.first_ms[first] + most_ms",
        "latest = lines.first_ms[after - 1] + most_ms",
        "worker/indexing/test_events.py::an_event_is_bounded_by_lines_bytes_and_kafkas_times",
    ),
    "worker/indexing/open_events.py: an event that was closed early is held all the same": (
        "            joined = joiner.join(records, decoded, is_over=True)\n",
        "",
        "worker/indexing/test_multiline.py::open_events_take_at_most_a_quarter_of_the_room",
    ),
    "worker/indexing/open_events.py: a drain waits for an event that is open": (
        "assignment.hold(first_arrival, end - first)",
        "assignment.hold(first_arrival, 0)",
        "worker/indexing/test_record_pieces.py::no_commit_passes_an_open_line_and_nothing_waits_for_it",
    ),
    "worker/indexing/record_pieces.py: pieces of standard output and standard error are one line": (
        "return _Piece(_is_partial(fields), (stream, ",
        'return _Piece(_is_partial(fields), ("", ',
        "worker/indexing/test_record_pieces.py::streams_are_never_mixed",
    ),
    "worker/indexing/record_pieces.py: a whole line of pieces that is an object stays text": (
        "joined._replace(entries=open_texts(joined.entries, whole))",
        "joined",
        "worker/indexing/test_record_pieces.py::a_whole_line_that_is_an_object_is_read_as_one",
    ),
    "consumers/decode/decoder.py: a time in a line of pieces is of any year": (
        "self._inner.open(entries, entries.time_ms, rows)",
        "self._inner.open(entries, entries.time_ms * 2, rows)",
        "worker/indexing/test_record_pieces.py::a_time_without_a_year_in_a_line_of_pieces_is_near_the_runtimes_time_and_not_kafkas",
    ),
    "worker/indexing/record_pieces.py: pieces of different pods are one line": (
        "(stream, *(fields.get(name) for name in _CONTAINER))",
        "(stream, len(_CONTAINER))",
        "worker/indexing/test_record_pieces.py::pieces_in_objects_join_within_their_pod",
    ),
    "worker/indexing/record_pieces.py: pieces of Docker's lines of different times are one line": (
        "return _Piece(written.is_partial, (written.stream, written.time))",
        "return _Piece(written.is_partial, (written.stream,))",
        "worker/indexing/test_record_pieces.py::pieces_of_dockers_json_files_join_by_their_time",
    ),
    "worker/indexing/record_pieces.py: a whole line is marked as a piece": (
        "unmarked[text] if line.is_whole else text",
        "text",
        "worker/indexing/test_record_pieces.py::pieces_are_one_entry_with_the_first_ones_time_and_without_the_mark",
    ),
    "worker/indexing/record_pieces.py: a line grows for as long as pieces come": (
        "            if after - row >= self._bounds.records:\n                break\n",
        "",
        "worker/indexing/test_record_pieces.py::a_line_is_bounded_by_records_and_bytes",
    ),
    "worker/indexing/record_pieces.py: a line whose last piece has not come is stored": (
        "return _Line(line, after, is_whole=False, is_open=True)",
        "return _Line(line, after, is_whole=False, is_open=False)",
        "worker/indexing/test_record_pieces.py::a_line_is_open_until_its_last_piece_comes",
    ),
    "worker/indexing/sampling.py: a rate of lines with text is one of all times and not of each second": (
        "rank = seconds.ranks(place, kafka_ms[rows] // 1000)",
        "rank = seconds.ranks(place, kafka_ms[rows] * 0)",
        "worker/indexing/test_rules.py::each_of_kafkas_seconds_has_its_own_first_lines",
    ),
    "worker/indexing/sampling.py: a sampled line keeps its fields": (
        "fields=replace_rows(lines.fields, rows, nulls)",
        "fields=lines.fields",
        "worker/indexing/test_rules.py::above_the_rate_a_line_keeps_everything_but_text_and_fields",
    ),
    "worker/indexing/entry_rules.py: the last rule that an entry meets counts": (
        "rows = np.flatnonzero(met == NO_RULE)",
        "rows = np.arange(entries.size)",
        "worker/indexing/test_rules.py::all_conditions_of_a_rule_must_hold_and_the_first_rule_counts",
    ),
    "worker/indexing/record_outcomes.py: a record is dropped with the first of its entries that a rule drops": (
        "(last_rule == place) & ~has_left",
        "last_rule == place",
        "worker/indexing/test_rules.py",
    ),
    "worker/indexing/schema_lookup.py: a registry that is away makes a schema unknown": (
        "            self._put_last(key)\n            return False\n",
        "            self.schemas.add_schema(key, Unknown(self._clock() + UNKNOWN_S))\n            return False\n",
        "worker/indexing/test_schema_lookup.py::a_registry_that_does_not_answer_is_asked_until_it_does",
    ),
    "worker/indexing/pieces.py: the last record of an event is taken for one of its first one's leader": (
        "leader_epoch[value + records - 1]",
        "of_first",
        "worker/indexing/test_read_again.py::an_event_has_the_leaders_of_its_first_record_and_of_its_last",
    ),
    "worker/indexing/stored_entries.py: an empty line of an event is still held by it when the others are apart": (
        "is_cut | is_empty[spanned] & (self._ends[at] - self._begins[at] > 1)",
        "is_cut",
        "worker/indexing/test_read_again.py::lines_that_are_apart_now_are_not_there_joined",
    ),
    "worker/indexing/stored_entries.py: entries that a record does not have any more are left as they are": (
        "held = np.repeat(is_whole & (self._touching(offset[firsts], ends) == entries), entries)",
        "held = np.repeat(is_whole, entries)",
        "worker/indexing/test_stored_entries.py::a_record_is_held_with_all_its_entries_and_no_others_only",
    ),
    "worker/indexing/stored_entries.py: only what is missing of a record is written": (
        "is_whole = np.add.reduceat(held.astype(np.int64), firsts) == entries",
        "is_whole = np.add.reduceat(held.astype(np.int64), firsts) > 0",
        "worker/indexing/test_stored_entries.py::a_record_is_held_with_all_its_entries_and_no_others_only",
    ),
    "worker/indexing/resume.py: an assignment begins inside a stored event": (
        "return start < window.first_offset and window.assignment.begin_again(start)",
        "return False",
        "worker/indexing/test_read_again.py::an_assignment_does_not_begin_inside_a_stored_event",
    ),
    "worker/indexing/prepare.py: a record that holds nothing any more shows what it held": (
        "            self._stored_before.hide(group, emptied_records(group, decoded, reader), decoded.empty)\n",
        "            pass\n",
        "worker/indexing/test_read_again.py::a_record_that_holds_nothing_any_more_shows_nothing",
    ),
    "worker/indexing/store.py: what the sink refuses is shown as it was before": (
        "            self.hide(batch.assignment, hollowed(take_lines(batch.lines, rows)))\n",
        "            pass\n",
        "worker/indexing/test_read_again.py::what_the_sink_refuses_now_is_not_shown_as_it_was_before",
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
        "            drop_ended(self.places)\n        for assignment, begin, end in revoked:",
        "            pass\n        for assignment, begin, end in revoked:",
        "worker/indexing/test_read_again.py::a_partition_that_is_lost_while_it_is_read_back_leaves_no_room_taken",
    ),
    "worker/indexing/prepare.py: the open event of a lost partition takes room while another one is kept": (
        "        if revoked:  # a held record",
        "        if len(revoked) == len(group.assignments):  # a held record",
        "worker/indexing/test_read_again.py::a_partition_that_is_lost_while_it_is_read_back_leaves_no_room_taken",
    ),
    "worker/indexing/prepare.py: records that wait for their schemas are forgotten by a revocation": (
        "resume, self._sampling, *((schema_wait,) if schema_wait else ()))",
        "resume, self._sampling)",
        "worker/indexing/test_waiting_places.py::a_new_place_is_in_a_tuple_of_those_that_a_revocation_drops",
    ),
    "worker/indexing/schema_wait.py: of the receipts that wait only the first is dropped": (
        "for waiting in self._waiting.pop(assignment):",
        "for waiting in [self._waiting.pop(assignment)[0]]:",
        "properties/test_schema_wait.py",
    ),
    "worker/indexing/runs.py: the records of lines that were not written stay open": (
        "            assignment.settle(run.end())\n",
        "            run.end()\n",
        "worker/indexing/test_waiting_places.py::a_place_behind_the_ledger_drops_what_is_of_an_assignment_and_nothing_else",
    ),
    "worker/indexing/open_events.py: only the first record of an open event is given back": (
        'assignment.drop(self._open.pop(assignment).receipt.arrival, "revoked")',
        'assignment.drop(self._open.pop(assignment).receipt.arrival[:1], "revoked")',
        "worker/indexing/test_multiline.py::the_records_of_an_open_event_are_given_back_when_its_assignment_ends",
    ),
    "worker/indexing/prepare.py: any time of Kafka's is believed": (
        "bounded_times(group.time_ms, self._surroundings.wall_ms())",
        "group.time_ms",
        "worker/indexing/test_far_times.py::its_line_has_the_time_when_it_was_read_and_kafkas_beside_it",
    ),
    "worker/indexing/pieces.py: a line keeps no far time of Kafka's beside its own": (
        "kafka_time=kafka_time[value],",
        "kafka_time=entries.time_ms[cut.row],",
        "worker/indexing/test_far_times.py::its_line_has_the_time_when_it_was_read_and_kafkas_beside_it",
    ),
    "worker/indexing/compaction.py: inner blocks are deleted whether the outer one can be read or not": (
        "for one, outer in outer_of.items() if fate[outer]]",
        "for one, outer in outer_of.items() if outer in fate]",
        "worker/indexing/test_compaction.py::inner_blocks_stay_while_the_one_that_stands_for_them_cannot_be_read",
    ),
}
