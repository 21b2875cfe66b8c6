"""The mutations of what dead letters are believed.

`tests.sabotage.mutations` has the others; `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.mutation import Mutation

_PLAN = "worker/audit/replay_plan.py"
_FORGED = "tests/worker/audit/test_forged_letters.py"

LETTER_MUTATIONS = (
    Mutation(
        "a letter is believed though the index holds another line of its record",
        _PLAN,
        "if is_contradicted or any(_reaches_into(line, held) for line in one.lines):",
        "if any(_reaches_into(line, held) for line in one.lines):",
        (f"{_FORGED}::test_a_sound_line_is_never_replaced",),
    ),
    Mutation(
        "a replay writes entries again that are stored whole",
        _PLAN,
        "if line.sub in listed - held_subs]",
        "if line.sub in listed]",
        (f"{_FORGED}::test_lines_that_were_stored_with_other_settings_are_left_as_they_are",),
    ),
    Mutation(
        "a record inside a stored event is replayed as a line of its own",
        "worker/audit/stored_records.py",
        "range(max(line.offset, span.start), min(line.offset + line.records, span.stop))",
        "range(max(line.offset, span.start), min(line.offset + 1, span.stop))",
        (f"{_FORGED}::test_a_record_inside_a_stored_event_is_no_line_of_its_own",),
    ),
    Mutation(
        "the letter's time, key and headers are replayed and not those of Kafka's record",
        "worker/audit/replay.py",
        "Claim(letter, found.record or record, found.record is not None)",
        "Claim(letter, record, found.record is not None)",
        (f"{_FORGED}::test_what_kafka_holds_of_the_record_is_replayed_and_not_what_the_letter_says_beside_it",),
    ),
    Mutation(
        "of two letters that disagree the last one is stored and both are marked",
        "worker/audit/replay.py",
        "refusal = refusal or OTHER_LETTER",
        "pass",
        (f"{_FORGED}::test_of_two_letters_that_disagree_the_first_is_believed",),
    ),
    Mutation(
        "a letter excuses whatever record is at its offset",
        "worker/audit/dead_letter_index.py",
        "return RecordKey(record.partition, record.offset, len(value), hashlib.sha256(value).hexdigest())",
        'return RecordKey(record.partition, record.offset, 0, hashlib.sha256(b"").hexdigest())',
        (f"{_FORGED}::test_a_lost_line_is_not_excused_by_a_letter_of_other_bytes",),
    ),
    Mutation(
        "a letter that does not hold the bytes that it names excuses a lost line",
        "worker/audit/dead_letter_index.py",
        "if letter.is_replayed or letter.is_altered:",
        "if letter.is_replayed:",
        (
            "tests/worker/audit/test_dead_letter_index.py::test_a_dead_letter_that_does_not_hold_its_record_excuses_nothing_and_one_with_its_head_does",
        ),
    ),
    Mutation(
        "a letter may name an epoch that no topic has",
        "worker/audit/stored_dead_letters.py",
        "(is_topic_name(topic) and re.fullmatch(EPOCH_PATTERN, epoch))",
        "is_topic_name(topic)",
        ("tests/worker/audit/test_stored_dead_letters.py::test_a_letter_of_what_kafka_cannot_have_is_passed_over",),
    ),
)
