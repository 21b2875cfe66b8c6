"""The mutations of what is read from records: formats, times, levels, joining, rules, schemas and shares.

`tests.sabotage.mutations` has the others; `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.mutation import Changes

READING_MUTATIONS: Changes = {
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
    "consumers/decode/cri.py: a container runtime's last piece counts as one of the middle": (
        'np.array([value == "P" for value in tag.values])',
        'np.array([value in "PF" for value in tag.values])',
        "consumers/decode/test_text_reader.py",
        "worker/indexing/test_record_pieces.py",
    ),
    "worker/audit/expected.py: a window of verify is bounded by what was sent and not by what is in it": (
        'return self._opener.content_bytes(record.value or b"", record.headers)',
        'return len(record.value or b"")',
        "worker/audit/test_verify.py::what_is_in_a_compressed_value_counts_towards_the_window",
    ),
    "worker/audit/expected.py: a window of verify ends between two pieces of a line": (
        "not (reader.joiner.joins_lines or self._is_piece(before[-1], reader, reader.joiner))",
        "not reader.joiner.joins_lines",
        "worker/audit/test_verify_rules.py::a_line_that_came_in_pieces_is_never_cut_by_a_window",
    ),
    "worker/cli/estimate.py: an estimate reads every file as the first topic of the settings": (
        "settings.topic[0] if topic is None else settings.topic_table(topic)",
        "settings.topic[0] if topic is None else settings.topic[0]",
        "worker/cli/test_estimate.py::the_topic_whose_settings_hold_is_the_first_or_the_one_that_is_named",
    ),
    "consumers/decode/compressed.py: what a gzip value holds is not bounded": (
        "content = stream.decompress(value, max_bytes + 1)",
        "content = stream.decompress(value)",
        "consumers/decode/test_compressed.py::a_bomb_is_refused_within_a_buffer_of_memory",
    ),
    "consumers/decode/opened.py: what values hold together is not bounded": (
        "            if content_bytes >= part_bytes:\n",
        "            if content_bytes >= 1 << 40:\n",
        "consumers/decode/test_compressed.py::values_that_grow_are_decoded_in_parts_of_bounded_size",
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
    "consumers/decode/json_roles.py: a numeric level is read on the scale of pino without its neighbours": (
        "if number & WHOLE and _is_of_pino(flags):",
        "if number & WHOLE:",
        "consumers/decode/test_json_flavours.py",
        "consumers/decode/test_json_reader.py",
    ),
    "consumers/decode/line_zones.py: a line of New Year's Eve is of the year in which it is read": (
        "is_good = (found != NO_TIME) & (found <= latest[open_rows])",
        "is_good = found != NO_TIME",
        "consumers/decode/test_times.py::a_line_of_new_years_eve_is_of_the_old_year_and_one_of_a_clock_ahead_of_the_new_one",
    ),
    "consumers/decode/line_zones.py: the zone of a time without a year is left out": (
        "local_ms if timezone is None else times_in_zone(local_ms, timezone), NO_TIME)",
        "local_ms, NO_TIME)",
        "consumers/decode/test_syslog.py::zone_and_year_of_the_rules_count_where_a_time_names_none",
        "consumers/decode/test_times.py::the_zone_of_the_rules_is_that_of_times_without_one",
    ),
    "consumers/decode/line_zones.py: a zone that is written has the wrong sign": (
        "time_ms[zoned] -= zone_min[zoned]",
        "time_ms[zoned] += zone_min[zoned]",
        "consumers/decode/test_times.py::a_time_is_read_in_every_shape",
    ),
    "consumers/decode/otlp_json.py: an id of OTLP in JSON is taken for base64": (
        'return hex_id(found.lower()) if _HEX.issuperset(found) else ""',
        'return ""',
        "consumers/decode/test_otlp_json.py::an_id_is_hexadecimal_or_the_base64_that_some_producers_write",
    ),
    "consumers/registry.py: any answer 404 means that there is no such schema": (
        "if error.code == 404 and code in _NOT_FOUND:",
        "if error.code == 404:",
        "consumers/test_registry.py::whatever_else_it_answers_is_the_worlds_fault",
    ),
    "worker/indexing/schema_lookup.py: a registry that is away makes a schema unknown": (
        "            self._put_last(key)\n            return False\n",
        "            self.schemas.add_schema(key, Unknown(self._clock() + UNKNOWN_S))\n            return False\n",
        "worker/indexing/test_schema_lookup.py::a_registry_that_does_not_answer_is_asked_until_it_does",
    ),
    "worker/runtime/fair_share.py: a topic that was away has saved up its share": (
        "turn = self._turns[topic] = max(self._turns.get(topic, 0), self._now)",
        "turn = self._turns[topic] = self._turns.get(topic, 0)",
        "worker/runtime/test_fair_share.py::a_topic_that_waited_alone_owes_nothing_and_one_that_was_away_gains_nothing",
    ),
    "worker/runtime/fair_share.py: topics share by entries and not by their sizes": (
        "self._now + self._size_of(entry) * self._stride_of(topic)",
        "self._now + self._stride_of(topic)",
        "worker/runtime/test_fair_share.py::shares_are_of_sizes_and_not_of_entries",
    ),
    "sinks/field_pairs.py: a field's value with an escape is taken as it is written": (
        '    pairs.is_odd[np.searchsorted(name.start, backslashes, "right") - 1] = True\n',
        "",
        "sinks/test_field_pairs.py::words_are_those_of_a_parser",
    ),
}
