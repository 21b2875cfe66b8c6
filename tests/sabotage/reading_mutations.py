"""The mutations of what is read from records: formats, times, levels, joining, rules, schemas and shares.

`tests.sabotage.mutations` has the others; `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.mutation import Mutation

_EVENTS = "worker/indexing/events.py"
_PIECES = "worker/indexing/record_pieces.py"
_OPEN_EVENTS = "worker/indexing/open_events.py"
_SAMPLING = "worker/indexing/sampling.py"
_EXPECTED = "worker/audit/expected.py"
_COMPRESSED = "consumers/decode/compressed.py"
_TEST_PIECES = "tests/worker/indexing/test_record_pieces.py"
_TEST_EVENTS = "tests/worker/indexing/test_events.py"
_TEST_RULES = "tests/worker/indexing/test_rules.py"

READING_MUTATIONS = (
    Mutation(
        "the last event of a batch is closed without waiting for the next record",
        _EVENTS,
        "is_open = not is_over and bool(len(lines.row)) and int(lines.last[-1]) == stop - 1",
        "is_open = is_over and bool(len(lines.row)) and int(lines.last[-1]) == stop - 1",
        (f"{_TEST_EVENTS}::test_the_last_event_is_held_until_it_is_known_that_nothing_follows",),
    ),
    Mutation(
        "records of different keys join",
        "worker/indexing/record_columns.py",
        "(key[one] == key[other] for one, other in pairs)",
        "(True for _ in pairs)",
        (f"{_TEST_EVENTS}::test_only_consecutive_offsets_of_one_key_join",),
    ),
    Mutation(
        "an event lasts as long as its lines keep coming",
        _EVENTS,
        "latest = lines.first_ms[first] + most_ms",
        "latest = lines.first_ms[after - 1] + most_ms",
        (f"{_TEST_EVENTS}::test_an_event_is_bounded_by_lines_bytes_and_kafkas_times",),
    ),
    Mutation(
        "an event that was closed early is held all the same",
        _OPEN_EVENTS,
        "            joined = joiner.join(records, decoded, is_over=True)\n",
        "",
        ("tests/worker/indexing/test_multiline.py::test_open_events_take_at_most_a_quarter_of_the_room",),
    ),
    Mutation(
        "a drain waits for an event that is open",
        _OPEN_EVENTS,
        "assignment.hold(first_arrival, end - first)",
        "assignment.hold(first_arrival, 0)",
        (f"{_TEST_PIECES}::test_no_commit_passes_an_open_line_and_nothing_waits_for_it",),
    ),
    Mutation(
        "pieces of standard output and standard error are one line",
        _PIECES,
        "return _Piece(_is_partial(fields), (stream, ",
        'return _Piece(_is_partial(fields), ("", ',
        (f"{_TEST_PIECES}::test_streams_are_never_mixed",),
    ),
    Mutation(
        "pieces of different pods are one line",
        _PIECES,
        "(stream, *(fields.get(name) for name in _CONTAINER))",
        "(stream, len(_CONTAINER))",
        (f"{_TEST_PIECES}::test_pieces_in_objects_join_within_their_pod",),
    ),
    Mutation(
        "pieces of Docker's lines of different times are one line",
        _PIECES,
        "return _Piece(written.is_partial, (written.stream, written.time))",
        "return _Piece(written.is_partial, (written.stream,))",
        (f"{_TEST_PIECES}::test_pieces_of_dockers_json_files_join_by_their_time",),
    ),
    Mutation(
        "a whole line is marked as a piece",
        _PIECES,
        "unmarked[text] if line.is_whole else text",
        "text",
        (f"{_TEST_PIECES}::test_pieces_are_one_entry_with_the_first_ones_time_and_without_the_mark",),
    ),
    Mutation(
        "a line grows for as long as pieces come",
        _PIECES,
        "            if after - row >= self._bounds.records:\n                break\n",
        "",
        (f"{_TEST_PIECES}::test_a_line_is_bounded_by_records_and_bytes",),
    ),
    Mutation(
        "a line whose last piece has not come is stored",
        _PIECES,
        "return _Line(line, after, is_whole=False, is_open=True)",
        "return _Line(line, after, is_whole=False, is_open=False)",
        (f"{_TEST_PIECES}::test_a_line_is_open_until_its_last_piece_comes",),
    ),
    Mutation(
        "a container runtime's last piece counts as one of the middle",
        "consumers/decode/cri.py",
        'np.array([value == "P" for value in tag.values])',
        'np.array([value in "PF" for value in tag.values])',
        ("tests/consumers/decode/test_golden.py", _TEST_PIECES),
    ),
    Mutation(
        "a window of verify is bounded by what was sent and not by what is in it",
        _EXPECTED,
        'return self._opener.content_bytes(record.value or b"", record.headers)',
        'return len(record.value or b"")',
        ("tests/worker/audit/test_verify.py::test_what_is_in_a_compressed_value_counts_towards_the_window",),
    ),
    Mutation(
        "a window of verify ends between two pieces of a line",
        _EXPECTED,
        "not (reader.joiner.joins_lines or self._is_piece(before[-1], reader, reader.joiner))",
        "not reader.joiner.joins_lines",
        ("tests/worker/audit/test_verify_rules.py::test_a_line_that_came_in_pieces_is_never_cut_by_a_window",),
    ),
    Mutation(
        "an estimate reads every file as the first topic of the settings",
        "worker/cli/estimate.py",
        "settings.topic[0] if topic is None else settings.topic_table(topic)",
        "settings.topic[0] if topic is None else settings.topic[0]",
        ("tests/worker/cli/test_estimate.py::test_the_topic_whose_settings_hold_is_the_first_or_the_one_that_is_named",),
    ),
    Mutation(
        "what a gzip value holds is not bounded",
        _COMPRESSED,
        "content = stream.decompress(value, max_bytes + 1)",
        "content = stream.decompress(value)",
        ("tests/consumers/decode/test_compressed.py::test_a_bomb_is_refused_within_a_buffer_of_memory",),
    ),
    Mutation(
        "what values hold together is not bounded",
        "consumers/decode/opened.py",
        "            if content_bytes >= part_bytes:\n",
        "            if content_bytes >= 1 << 40:\n",
        ("tests/consumers/decode/test_compressed.py::test_values_that_grow_are_decoded_in_parts_of_bounded_size",),
    ),
    Mutation(
        "a rate of lines with text is one of all times and not of each second",
        _SAMPLING,
        "rank = seconds.ranks(place, kafka_ms[rows] // 1000)",
        "rank = seconds.ranks(place, kafka_ms[rows] * 0)",
        (f"{_TEST_RULES}::test_each_of_kafkas_seconds_has_its_own_first_lines",),
    ),
    Mutation(
        "a sampled line keeps its fields",
        _SAMPLING,
        "fields=replace_rows(lines.fields, rows, nulls)",
        "fields=lines.fields",
        (f"{_TEST_RULES}::test_above_the_rate_a_line_keeps_everything_but_text_and_fields",),
    ),
    Mutation(
        "the last rule that an entry meets counts",
        "worker/indexing/entry_rules.py",
        "rows = np.flatnonzero(met == NO_RULE)",
        "rows = np.arange(entries.size)",
        (f"{_TEST_RULES}::test_all_conditions_of_a_rule_must_hold_and_the_first_rule_counts",),
    ),
    Mutation(
        "a record is dropped with the first of its entries that a rule drops",
        "worker/indexing/record_outcomes.py",
        "(last_rule == place) & ~has_left",
        "last_rule == place",
        (_TEST_RULES,),
    ),
    Mutation(
        "a numeric level is read on the scale of pino without its neighbours",
        "consumers/decode/json_roles.py",
        "if number & WHOLE and _is_of_pino(flags):",
        "if number & WHOLE:",
        ("tests/consumers/decode/test_golden.py", "tests/consumers/decode/test_json_reader.py"),
    ),
    Mutation(
        "a line of New Year's Eve is of the year in which it is read",
        "consumers/decode/line_zones.py",
        "is_good = (found != NO_TIME) & (found <= latest[open_rows])",
        "is_good = found != NO_TIME",
        ("tests/consumers/decode/test_times.py::test_a_line_of_new_years_eve_is_of_the_old_year_and_one_of_a_clock_ahead_of_the_new_one",),
    ),
    Mutation(
        "the zone of a time without a year is left out",
        "consumers/decode/line_zones.py",
        "local_ms if timezone is None else times_in_zone(local_ms, timezone), NO_TIME)",
        "local_ms, NO_TIME)",
        (
            "tests/consumers/decode/test_syslog.py::test_zone_and_year_of_the_rules_count_where_a_time_names_none",
            "tests/consumers/decode/test_times.py::test_the_zone_of_the_rules_is_that_of_times_without_one",
        ),
    ),
    Mutation(
        "a zone that is written has the wrong sign",
        "consumers/decode/line_zones.py",
        "time_ms[zoned] -= zone_min[zoned]",
        "time_ms[zoned] += zone_min[zoned]",
        ("tests/consumers/decode/test_times.py::test_a_time_is_read_in_every_shape",),
    ),
    Mutation(
        "an id of OTLP in JSON is taken for base64",
        "consumers/decode/otlp_json.py",
        'return hex_id(found.lower()) if _HEX.issuperset(found) else ""',
        'return ""',
        ("tests/consumers/decode/test_otlp_json.py::test_an_id_is_hexadecimal_or_the_base64_that_some_producers_write",),
    ),
    Mutation(
        "any answer 404 means that there is no such schema",
        "consumers/registry.py",
        "if error.code == 404 and code in _NOT_FOUND:",
        "if error.code == 404:",
        ("tests/consumers/test_registry.py::test_whatever_else_it_answers_is_the_worlds_fault",),
    ),
    Mutation(
        "a registry that is away makes a schema unknown",
        "worker/indexing/schema_lookup.py",
        "            self._put_last(key)\n            return False\n",
        "            self.schemas.add_schema(key, Unknown(self._clock() + UNKNOWN_S))\n            return False\n",
        ("tests/worker/indexing/test_schema_lookup.py::test_a_registry_that_does_not_answer_is_asked_until_it_does",),
    ),
    Mutation(
        "a topic that was away has saved up its share",
        "worker/runtime/fair_share.py",
        "turn = self._turns[topic] = max(self._turns.get(topic, 0), self._now)",
        "turn = self._turns[topic] = self._turns.get(topic, 0)",
        ("tests/worker/runtime/test_fair_share.py::test_a_topic_that_waited_alone_owes_nothing_and_one_that_was_away_gains_nothing",),
    ),
    Mutation(
        "topics share by entries and not by their sizes",
        "worker/runtime/fair_share.py",
        "self._now + self._size_of(entry) * self._stride_of(topic)",
        "self._now + self._stride_of(topic)",
        ("tests/worker/runtime/test_fair_share.py::test_shares_are_of_sizes_and_not_of_entries",),
    ),
    Mutation(
        "a field's value with an escape is taken as it is written",
        "sinks/field_pairs.py",
        '    pairs.is_odd[np.searchsorted(name.start, backslashes, "right") - 1] = True\n',
        "",
        ("tests/sinks/test_field_pairs.py::test_words_are_those_of_a_parser",),
    ),
)
