"""The mutations of what dead letters are believed.

`tests.sabotage.mutations` has the others; `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.mutation import Changes

LETTER_MUTATIONS: Changes = {
    "worker/audit/replay_plan.py: a letter is believed though the index holds another line of its record": (
        "if is_contradicted or any(_reaches_into(line, held) for line in one.lines):",
        "if any(_reaches_into(line, held) for line in one.lines):",
        "worker/audit/test_forged_letters.py::a_sound_line_is_never_replaced",
    ),
    "worker/audit/replay_plan.py: a replay writes entries again that are stored whole": (
        "if line.sub in listed - held_subs]",
        "if line.sub in listed]",
        "worker/audit/test_forged_letters.py::lines_that_were_stored_with_other_settings_are_left_as_they_are",
    ),
    "worker/audit/stored_records.py: a record inside a stored event is replayed as a line of its own": (
        "range(max(line.offset, span.start), min(line.offset + line.records, span.stop))",
        "range(max(line.offset, span.start), min(line.offset + 1, span.stop))",
        "worker/audit/test_forged_letters.py::a_record_inside_a_stored_event_is_no_line_of_its_own",
    ),
    "worker/audit/replay.py: the letter's time, key and headers are replayed and not those of Kafka's record": (
        "Claim(letter, found.record or record, found.record is not None)",
        "Claim(letter, record, found.record is not None)",
        "worker/audit/test_forged_letters.py::what_kafka_holds_of_the_record_is_replayed_and_not_what_the_letter_says_beside_it",
    ),
    "worker/audit/replay.py: of two letters that disagree the last one is stored and both are marked": (
        "refusal = refusal or OTHER_LETTER",
        "pass",
        "worker/audit/test_forged_letters.py::of_two_letters_that_disagree_the_first_is_believed",
    ),
    "worker/audit/dead_letter_index.py: a letter excuses whatever record is at its offset": (
        "return RecordKey(record.partition, record.offset, len(value), hashlib.sha256(value).hexdigest())",
        'return RecordKey(record.partition, record.offset, 0, hashlib.sha256(b"").hexdigest())',
        "worker/audit/test_forged_letters.py::a_lost_line_is_not_excused_by_a_letter_of_other_bytes",
    ),
    "worker/audit/dead_letter_index.py: a letter that does not hold the bytes that it names excuses a lost line": (
        "if letter.is_replayed or letter.is_altered:",
        "if letter.is_replayed:",
        "worker/audit/test_dead_letter_index.py::a_dead_letter_that_does_not_hold_its_record_excuses_nothing_and_one_with_its_head_does",
    ),
    "worker/audit/stored_dead_letters.py: a letter may name an epoch that no topic has": (
        "(is_topic_name(topic) and re.fullmatch(EPOCH_PATTERN, epoch))",
        "is_topic_name(topic)",
        "worker/audit/test_stored_dead_letters.py::a_letter_of_what_kafka_cannot_have_is_passed_over",
    ),
}
