"""The mutations of verifying, repairing, replaying and the doctor: something wrong passes as right, or something else is repaired.

`tests.sabotage.mutations` has the others; `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.mutation import Changes

AUDIT_MUTATIONS: Changes = {
    "worker/audit/compare.py: lines that were lost lately count as expired, and expired ones as lost": (
        "if lost and record.time_ms < self.kept_since_ms:",
        "if lost and record.time_ms > self.kept_since_ms:",
        "worker/audit/test_compare.py::lines_older_than_lines_are_kept_may_be_gone",
    ),
    "worker/audit/doctor.py: a group of the doctor's checks that crashes counts as well": (
        'CHECKS[one.group][0], "problem", f"this group of checks failed: {line[:300]}"',
        'CHECKS[one.group][0], "ok", f"this group of checks failed: {line[:300]}"',
        "worker/audit/test_doctor.py::a_group_that_fails_says_so_under_the_name_of_its_first_check_and_hides_no_other",
    ),
    "worker/audit/letter_filter.py: letters of all topics are replayed, although one topic was named": (
        "            and self.topic in (None, letter.topic)\n",
        "",
        "worker/cli/test_dlq.py::letters_are_chosen_by_all_that_is_given",
    ),
    "worker/audit/entry_writer.py: a repair is hidden by what is stored of the last offset that it writes": (
        "BlockFilter((topic,), epoch, partition, first_offset, last_offset + 1)",
        "BlockFilter((topic,), epoch, partition, first_offset, last_offset)",
        "worker/audit/test_entry_writer.py::what_is_written_holds_over_every_run_that_is_stored_even_of_a_clock_ahead",
    ),
    "worker/audit/embedder.py: templates that a repair embeds lack the model's prefix, so no search finds them": (
        "self._tokenizer.encode([self._prefix + text for text in texts])",
        "self._tokenizer.encode(texts)",
        "worker/audit/test_repair.py::a_template_is_embedded_with_the_prefix_of_the_model",
    ),
    "worker/audit/replay.py: a letter that is refused again is marked as replayed": (
        "is_done = not plan.refusal and not failing",
        "is_done = not failing",
        "worker/audit/test_replay.py::a_record_that_is_refused_again_as_a_whole_stays_with_the_reason_of_now",
    ),
}
