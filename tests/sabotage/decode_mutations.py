"""Mutations of what reads formats and texts of records, and files of lines."""

from tests.sabotage.mutation import Changes

DECODE_MUTATIONS: Changes = {
    "producers/dead_letters.py: a dead letter settles before its delivery": (
        "self._unsent.append(_OpenLetter(letter, envelope(letter, version=self._version, max_bytes=MAX_BYTES), delivered))",
        (
            "self._unsent.append(_OpenLetter(letter, envelope(letter, version=self._version, max_bytes=MAX_BYTES), lambda: None))\n"
            "        delivered()"
        ),
        "producers/test_dead_letters.py::nothing_is_delivered_without_a_broker_and_that_is_said_once",
    ),
    "consumers/decode/decoder.py: a record of any size is decoded": (
        "most_bytes = self._rules.max_record_bytes\n",
        "most_bytes = 1 << 40\n",
        "worker/indexing/test_prepare.py::a_record_above_the_limit_is_one_dead_letter_and_its_neighbours_are_stored",
    ),
    "consumers/text/split_long.py: a long text is chunked completely before it is refused": (
        "            if len(done) > self._max_chunks:\n                return []\n",
        "",
        "consumers/text/test_chunk.py::a_text_of_five_megabytes_is_left_as_soon_as_there_are_too_many_chunks",
    ),
    "consumers/text/replace_values.c: a host that is called like a word takes the word from all its lines": (
        "look == NAME || (look == WORD && is_announced(text, place, value->kind))",
        "look != NUMBER",
        "consumers/text/test_field_values.py::what_may_be_an_ordinary_word_a_number_or_another_field_stays",
    ),
    "consumers/text/replace_values.c: a field has the kind of the one that stood at its place in the record before": (
        "memcmp(json.bytes + begin, before->name.bytes, (size_t)size + 1) == 0",
        "size > 0",
        "consumers/text/test_field_values.py::a_column_in_which_nothing_goes_is_the_same_and_rows_have_their_own_fields",
    ),
    "consumers/text/chunk.py: values of fields go although their mask is off": (
        "fields is None or not self._takes_values",
        "fields is None",
        "consumers/text/test_chunk.py::values_of_a_texts_own_fields_are_not_in_its_template_and_stay_in_its_text",
    ),
    "consumers/text/flag_codes.c: what killed a program is a number like any other": (
        "return (digits <= SIGNAL_DIGITS &&",
        "return (digits > SIGNAL_DIGITS &&",
        "consumers/text/test_codes.py::finds_what_regular_expressions_find_in_each_text_alone",
    ),
    "consumers/text/flag_codes.c: all minor versions of TLS are one": (
        "bool is_minor = (before == '.' || before == '_')",
        "bool is_minor = (before == '_')",
        "consumers/text/test_masked.py::a_line_is_masked_as_recorded_alone_and_beside_all_others_and_only_once",
    ),
    "consumers/text/form_table.c: a form is taken for another one of its length": (
        (
            "return slot->hash == key->hash[0] && slot->form_bytes == key->form_bytes &&\n"
            "           memcmp(table->keys + slot->key_begin, key->begin, key->bytes) == 0;"
        ),
        "return slot->form_bytes == key->form_bytes;",
        "consumers/text/test_known_forms.py",
    ),
    "consumers/decode/line_times.c: a time in the middle of a message is that of the line": (
        "return stands_behind_prefix((struct text){text.bytes, begin}, time->kind);",
        "return true;",
        "consumers/decode/test_line_times.py::every_rule_says_which_lines_have_a_time",
    ),
    "consumers/decode/find_levels.c: the end of any word in capitals is a level behind a channel": (
        "(head->text[place - 1] != '.' && head->text[place - 1] != ':')",
        "false",
        "consumers/decode/test_line_levels.py",
    ),
    "consumers/decode/find_levels.c: what slog adds to a level makes it none": (
        "return level == ERROR && (end == at + 3 || head->text[at + 1] >= '4') ? FATAL : level;",
        "return NO_LEVEL;",
        "consumers/decode/test_line_levels.py",
        "properties/test_line_heads.py",
    ),
    "consumers/decode/find_names.c: a name with a colon in prose is a service": (
        "    if (was_behind_level && search->has_time && has_colon && is_lower(head, word))",
        "    if (search->has_time && has_colon && is_lower(head, word))",
        "consumers/decode/test_line_names.py",
    ),
    "consumers/decode/line_names.py: the class of an exception is a logger": (
        "len(name) > _LONGEST_NAME or _EXCEPTION.fullmatch(name) or",
        "len(name) > _LONGEST_NAME or",
        "consumers/decode/test_line_names.py",
    ),
    "consumers/text/flag_statuses.c: the size behind the status of HAProxy is a status too": (
        "    if (!has_byte(text, before, '/'))\n        return false;\n",
        "",
        "consumers/text/test_statuses.py",
    ),
    "consumers/text/flag_words.c: a word with a code in it goes": (
        "made.has_other || made.has_code || after == '='",
        "made.has_other || after == '='",
        "consumers/text/test_masked.py::a_line_is_masked_as_recorded_alone_and_beside_all_others_and_only_once",
    ),
    "consumers/text/name_words.py: a state behind a thing is a name": (
        "return not _NEVER.isdisjoint((word, bare)) or word in _FOLLOWS or _ENDING.fullmatch(word) is not None",
        "return word in _FOLLOWS",
        "consumers/text/test_name_words.py::a_state_stays_wherever_it_stands_and_makes_another_family",
    ),
    "consumers/text/mask_json.py: prose under a key of which nothing is known goes": (
        "(label.stays is None and _is_prose(value))",
        "False",
        "consumers/text/test_masked.py::an_object_is_masked_by_key_and_what_is_none_is_not",
    ),
    "consumers/decode/cri.py: a container runtime's last piece counts as one of the middle": (
        'np.array([value == "P" for value in tag.values])',
        'np.array([value in "PF" for value in tag.values])',
        "consumers/decode/test_golden.py",
        "worker/indexing/test_record_pieces.py",
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
    "consumers/decode/json_levels.py: a numeric level is read on the scale of pino without its neighbours": (
        'if flags.get("level", 0) & WHOLE and is_of_pino(flags):',
        'if flags.get("level", 0) & WHOLE:',
        "consumers/decode/test_golden.py",
        "consumers/decode/test_json_reader.py",
    ),
    "consumers/decode/json_levels.py: a status is a level whoever wrote it": (
        '("status", ("ddsource",), LEVEL, _BY_NAME)',
        '("status", (), LEVEL, _BY_NAME)',
        "consumers/decode/test_golden.py",
    ),
    "consumers/decode/json_shapes.py: a name with words that say something else is that of a level": (
        "allowed &= _ALLOWED_BITS.get(word, 0)",
        "allowed &= _ALLOWED_BITS.get(word, -1)",
        "consumers/decode/test_golden.py",
        "properties/test_json_kinds.py::a_level_is_found_under_the_words_that_name_one_and_under_no_others",
    ),
    "consumers/decode/json_times.py: a time that is far from Kafka's is believed under any name": (
        "return (times_ms >= kafka_ms - _NEAR_MS) & (times_ms <= kafka_ms + _NEAR_MS)",
        "return np.ones(len(times_ms), np.bool_)",
        "consumers/decode/test_golden.py",
    ),
    "consumers/decode/json_traces.py: a trace begins at its first frame, and the exception stays in the message": (
        "            return place\n    return first\n",
        "            return first\n    return first\n",
        "consumers/decode/test_golden.py",
        "properties/test_json_kinds.py::a_trace_behind_a_message_goes_out_of_the_text_and_nothing_is_lost",
    ),
    "consumers/decode/json_columns.py: the fast path sees no trace in a text": (
        "if batch.has_escapes and kind is not KeyKind.NUMBER:",
        "if not batch.size:",
        "consumers/decode/test_golden.py",
        "properties/test_json_kinds.py::a_trace_reaches_the_index_under_any_name",
    ),
    "consumers/decode/json_frames.py: what caused an exception is left out": (
        "return _headed(exception, lines) + _causes_of(exception, depth) if lines else",
        "return _headed(exception, lines) if lines else",
        "consumers/decode/test_golden.py",
    ),
    "consumers/decode/json_envelopes.py: the fields around a batch are lost": (
        "        if size <= min(left, _LONGEST_OUTER) and len(found) < _MOST_OUTER:\n",
        "        if size < 0:\n",
        "consumers/decode/test_golden.py",
        "properties/test_json_kinds.py::a_batch_under_any_such_key_becomes_its_entries_with_the_fields_around_them",
    ),
    "consumers/decode/json_envelopes.py: any list of objects is a batch": (
        "return documents if any(map(_is_like_entry, documents[:_SHOWN])) else None",
        "return documents",
        "consumers/decode/test_golden.py",
    ),
    "consumers/decode/json_document.py: a batch has as many entries as it likes": (
        "        if len(found) >= most:\n",
        "        if most < 0:\n",
        "consumers/decode/test_json_reader.py::a_batch_has_as_many_entries_as_a_record_may_have",
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
    "consumers/decode/line_times.c: hours behind a blank are a zone in prose too": (
        "if (is_behind_blank && !has_minutes && !may_follow_hours(text, at + 3, byte_at(text, at + 1) == '0'))",
        "if (0)",
        "consumers/decode/test_line_times.py::a_time_is_told_by_its_place_its_kind_and_what_is_written",
    ),
    "consumers/decode/line_times.c: the hours behind UTC are left out": (
        "return behind_long_name(text, read_hours_of_utc(text, at + 3, zone_min));",
        "return at + 3;",
        "consumers/decode/test_times.py::a_time_is_read_in_every_shape",
    ),
    "consumers/decode/line_zones.py: an abbreviation of several zones is UTC": (
        "(self.end > 0) & ~is_unsure if clock.timezone is None else self.end > 0",
        "self.end > 0",
        "consumers/decode/test_times.py::what_is_no_time_is_none",
    ),
    "consumers/decode/line_zones.py: the zone of a time without a year has the wrong sign": (
        "found - ahead_ms)",
        "found + ahead_ms)",
        "consumers/decode/test_times.py::a_time_is_read_in_every_shape",
    ),
    "consumers/decode/times.py: the name of a zone is not read": (
        "if name in _zone_names():",
        "if name in ():",
        "consumers/decode/test_times.py::a_time_is_read_in_every_shape",
    ),
    "consumers/decode/syslog.py: a message of structured data alone vanishes": (
        "if any(made) else heads.text",
        "if not made else heads.text",
        "consumers/decode/test_golden.py",
        "properties/test_syslog_heads.py::each_message_is_an_entry_or_counted",
    ),
    "consumers/decode/decoder.py: an entry without a text is not counted": (
        "joined.size - with_text.size",
        "0",
        "properties/test_syslog_heads.py::each_message_is_an_entry_or_counted",
    ),
    "consumers/decode/syslog.py: the level of a priority wins over that of the object behind it": (
        "bodies.level.text(place) or entries.level.text(row)",
        "entries.level.text(row) or bodies.level.text(place)",
        "properties/test_syslog_heads.py::an_object_behind_a_priority_is_read_as_json_and_its_level_wins",
    ),
    "consumers/decode/syslog_bodies.py: the zone of a date and a clock in two pairs is left out": (
        "np.where((zoned == NO_TIME) & no_zone,",
        "np.where(zoned != 1,",
        "properties/test_syslog_heads.py::pairs_behind_a_priority_are_fields_and_its_level_is_theirs",
    ),
    "consumers/decode/json_roles.py: the service of a firewall's traffic is who wrote the line": (
        "SERVICE_NAMES if names.documented_service else ()",
        "SERVICE_NAMES",
        "consumers/decode/test_golden.py",
    ),
    "consumers/decode/syslog_heads.py: the name of a zone is a program": (
        "bool(_NO_TAG.fullmatch(name)) or _is_zone(name)",
        "bool(_NO_TAG.fullmatch(name))",
        "consumers/decode/test_golden.py",
    ),
    "consumers/decode/otlp_json.py: an id of OTLP in JSON is taken for base64": (
        'return hex_id(found.lower()) if _HEX.issuperset(found) else ""',
        'return ""',
        "consumers/decode/test_otlp_json.py::an_id_is_hexadecimal_or_the_base64_that_some_producers_write",
    ),
    "consumers/decode/json_repair.py: a number that no double holds stays as it is": (
        'NUMBER if isinf(float(number[0])) else ""',
        '""',
        "properties/test_json_repair.py",
    ),
    "consumers/decode/json_repair.py: a whole pair of surrogates counts as two halves": (
        r"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})*+",
        ")*+",
        "properties/test_json_repair.py",
    ),
    "consumers/decode/json_repair.py: what was repaired is not counted": (
        "self._tally.repaired.update(what)",
        "self._tally.repaired.update(())",
        "properties/test_json_repair.py",
        "worker/cli/test_peek.py::what_was_repaired_or_read_inside_is_said",
    ),
    "consumers/decode/json_values.py: one bad line spoils all others": (
        "if what and 2 * bad <= len(lines) else None",
        "if what and not bad else None",
        "properties/test_json_repair.py::a_bad_line_is_text_and_spoils_no_other",
    ),
    "consumers/decode/inner_objects.py: the time of an envelope is lost": (
        "np.where(inner.time_ms == NO_TIME, outer.time_ms, inner.time_ms)",
        "inner.time_ms",
        "properties/test_inner_objects.py",
    ),
    "consumers/decode/inner_objects.py: the level of an envelope hides the one inside": (
        "level = [own or other for",
        "level = [other or own for",
        "properties/test_inner_objects.py",
    ),
    "consumers/decode/inner_objects.py: what was written as the level of an envelope stays": (
        "leaves_level and name ==",
        "not leaves_level and name ==",
        "consumers/decode/test_golden.py",
    ),
    "consumers/decode/json_document.py: texts are opened without a bound": (
        "_MOST_OPENED: Final = 2",
        "_MOST_OPENED: Final = 9",
        "properties/test_inner_objects.py::no_entry_is_deeper_than_three_objects",
    ),
    "consumers/decode/text_reader.py: a piece of a line is read as an object": (
        "cri.row[~cri.is_partial]",
        "cri.row",
        "consumers/decode/test_golden.py",
    ),
    "consumers/decode/kafka_times.py: a time of Kafka's before 1970 is believed": (
        "far = (kafka_ms < 0) | (kafka_ms > now_ms + DAY_MS)",
        "far = kafka_ms > now_ms + DAY_MS",
        "consumers/decode/test_kafka_times.py::a_time_before_1970_or_more_than_a_day_ahead_is_now_and_no_other_is",
    ),
    "consumers/decode/source_template.py: a status is written again behind a text that says it": (
        'return None if str(status) in text else f"{text} status={status}"',
        'return f"{text} status={status}"',
        "consumers/decode/test_source_template.py::a_status_goes_with_the_message_of_a_request_that_lacks_it",
    ),
}
