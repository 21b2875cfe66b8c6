"""The mutations of the command line: a verb that does something else than its options say, or ends as if all were well.

`tests.sabotage.mutations` has the others; `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.mutation import Mutation

_TESTS = "tests/worker/cli"

CLI_MUTATIONS = (
    Mutation(
        "when a worker is killed, run --workers ends with exit code 0",
        "worker/cli/workers.py",
        "return child_exit_code if child_exit_code > 0 else CRASHED",
        "return max(child_exit_code, DRAINED)",
        (f"{_TESTS}/test_workers.py::test_one_that_is_killed_ends_the_others",),
    ),
    Mutation(
        "--since 1h means the last 3.6 seconds",
        "worker/cli/options.py",
        "round(float(ago[1]) * _SECONDS[ago[2]] * 1000)",
        "round(float(ago[1]) * _SECONDS[ago[2]])",
        (f"{_TESTS}/test_options.py::test_a_span_is_counted_back_from_now",),
    ),
    Mutation(
        "lines that were fed and not acknowledged are left out of what is said to be missing",
        "worker/cli/feed.py",
        "left = fed.sent - fed.acknowledged + session.pending_letters",
        "left = session.pending_letters",
        (f"{_TESTS}/test_feed.py::test_lines_that_the_broker_has_not_acknowledged_when_it_ends_are_said_to_be_missing",),
    ),
    Mutation(
        "a suggested mask with an apostrophe breaks the settings file that it is pasted into",
        "worker/cli/suggest_screen.py",
        """if "'" not in text and text.isprintable():""",
        "if text.isprintable():",
        (f"{_TESTS}/test_suggest_masks.py::test_a_string_reads_back_as_it_was",),
    ),
    Mutation(
        "--not-level excludes services, and --not-service levels",
        "worker/cli/exclusions.py",
        '"not_service": list(self.services),\n            "not_level": list(self.levels),\n',
        '"not_service": list(self.levels),\n            "not_level": list(self.services),\n',
        (f"{_TESTS}/test_exclusions.py::test_every_verb_passes_them_on",),
    ),
    Mutation(
        "without a terminal, every question counts as answered with yes",
        "worker/cli/output.py",
        "    if not (sys.stdin.isatty() and sys.stdout.isatty()):\n        return False\n",
        "    if not (sys.stdin.isatty() and sys.stdout.isatty()):\n        return True\n",
        (f"{_TESTS}/test_terminal.py::test_without_a_terminal_the_answer_to_a_question_is_no",),
    ),
)
