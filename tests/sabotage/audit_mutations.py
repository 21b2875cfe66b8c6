"""The mutations of verifying, repairing, replaying and the doctor: something wrong passes as right, or something else is repaired.

`tests.sabotage.mutations` has the others; `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.mutation import Mutation

_TESTS = "tests/worker/audit"

AUDIT_MUTATIONS = (
    Mutation(
        "lines that were lost lately count as expired, and expired ones as lost",
        "worker/audit/compare.py",
        "if lost and record.time_ms < self.kept_since_ms:",
        "if lost and record.time_ms > self.kept_since_ms:",
        (f"{_TESTS}/test_compare.py::test_lines_older_than_lines_are_kept_may_be_gone",),
    ),
    Mutation(
        "a group of the doctor's checks that crashes counts as well",
        "worker/audit/doctor.py",
        'CHECKS[one.group][0], "problem", f"this group of checks failed: {line[:300]}"',
        'CHECKS[one.group][0], "ok", f"this group of checks failed: {line[:300]}"',
        (f"{_TESTS}/test_doctor.py::test_a_group_that_fails_says_so_under_the_name_of_its_first_check_and_hides_no_other",),
    ),
    Mutation(
        "letters of all topics are replayed, although one topic was named",
        "worker/audit/letter_filter.py",
        "            and self.topic in (None, letter.topic)\n",
        "",
        ("tests/worker/cli/test_dlq.py::test_letters_are_chosen_by_all_that_is_given",),
    ),
    Mutation(
        "a repair is hidden by what is stored of the last offset that it writes",
        "worker/audit/entry_writer.py",
        "BlockFilter((topic,), epoch, partition, first_offset, last_offset + 1)",
        "BlockFilter((topic,), epoch, partition, first_offset, last_offset)",
        (f"{_TESTS}/test_entry_writer.py::test_what_is_written_holds_over_every_run_that_is_stored_even_of_a_clock_ahead",),
    ),
    Mutation(
        "templates that a repair embeds lack the model's prefix, so no search finds them",
        "worker/audit/embedder.py",
        "self._tokenizer.encode([self._prefix + text for text in texts])",
        "self._tokenizer.encode(texts)",
        (f"{_TESTS}/test_repair.py::test_a_template_is_embedded_with_the_prefix_of_the_model",),
    ),
    Mutation(
        "a letter that is refused again is marked as replayed",
        "worker/audit/replay.py",
        "is_done = not plan.refusal and not failing",
        "is_done = not failing",
        (f"{_TESTS}/test_replay.py::test_a_record_that_is_refused_again_as_a_whole_stays_with_the_reason_of_now",),
    ),
)
