"""The mutations of the command line: a verb that does something else than its options say, or ends as if all were well.

`tests.sabotage.mutations` has the others; `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.mutation import Changes

CLI_MUTATIONS: Changes = {
    "worker/cli/workers.py: when a worker is killed, run --workers ends with exit code 0": (
        "return child_exit_code if child_exit_code > 0 else CRASHED",
        "return max(child_exit_code, DRAINED)",
        "worker/cli/test_workers.py::one_that_is_killed_ends_the_others",
    ),
    "worker/cli/options.py: --since 1h means the last 3.6 seconds": (
        "round(float(ago[1]) * _SECONDS[ago[2]] * 1000)",
        "round(float(ago[1]) * _SECONDS[ago[2]])",
        "worker/cli/test_options.py::a_span_is_counted_back_from_now",
    ),
    "worker/cli/feed.py: lines that were fed and not acknowledged are left out of what is said to be missing": (
        "left = fed.sent - fed.acknowledged + session.pending_letters",
        "left = session.pending_letters",
        "worker/cli/test_feed.py::lines_that_the_broker_has_not_acknowledged_when_it_ends_are_said_to_be_missing",
    ),
    "worker/cli/suggest_screen.py: a suggested mask with an apostrophe breaks the settings file that it is pasted into": (
        """if "'" not in text and text.isprintable():""",
        "if text.isprintable():",
        "worker/cli/test_suggest_masks.py::a_string_reads_back_as_it_was",
    ),
    "worker/cli/exclusions.py: --not-level excludes services, and --not-service levels": (
        '"not_service": list(self.services),\n            "not_level": list(self.levels),\n',
        '"not_service": list(self.levels),\n            "not_level": list(self.services),\n',
        "worker/cli/test_exclusions.py::every_verb_passes_them_on",
    ),
    "worker/cli/output.py: without a terminal, every question counts as answered with yes": (
        "    if not (sys.stdin.isatty() and sys.stdout.isatty()):\n        return False\n",
        "    if not (sys.stdin.isatty() and sys.stdout.isatty()):\n        return True\n",
        "worker/cli/test_terminal.py::without_a_terminal_the_answer_to_a_question_is_no",
    ),
}
