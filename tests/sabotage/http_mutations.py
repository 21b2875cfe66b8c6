"""The mutations of HTTP: statuses, headers and bounds of answers and requests, sign-ins and streams.

`tests.sabotage.mutations` has the others; `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.mutation import Mutation

_HTTP = "worker/http"
_TESTS = "tests/worker/http"

HTTP_MUTATIONS = (
    Mutation(
        "an index that is away is told as a fault of the worker",
        f"{_HTTP}/responses.py",
        '"unavailable": 503}',
        '"unavailable": 500}',
        (f"{_TESTS}/test_search.py::test_an_error_of_the_pipeline_has_its_status_and_stays_as_it_is",),
    ),
    Mutation(
        "a sign-in never ends",
        f"{_HTTP}/sign_in.py",
        "return is_right and int(expiry) > self._wall_s()",
        "return is_right",
        (f"{_TESTS}/test_sign_in.py::test_a_cookie_holds_on_every_worker_with_that_token_and_on_no_other",),
    ),
    Mutation(
        "an answer with headers of its own has no policy for what it may do in a browser",
        f"{_HTTP}/guards.py",
        "given + [header for header in defaults if header[0] not in names]",
        "given or defaults",
        (f"{_TESTS}/test_page_files.py::test_every_answer_forbids_what_a_page_might_be_made_to_do",),
    ),
    Mutation(
        "a body that comes in pieces has any length",
        f"{_HTTP}/api.py",
        "if len(body) > self._rules.max_body_bytes:",
        "if len(body) > 1 << 40:",
        (f"{_TESTS}/test_refusals.py::test_a_body_of_pieces_without_end_is_refused_at_the_limit_and_then_cut_off",),
    ),
    Mutation(
        "an export leaves out without a word what its first window could not read",
        f"{_HTTP}/exporting.py",
        "            if not window.is_complete:\n                window = await self._window(question)\n",
        "",
        (f"{_TESTS}/test_export.py::test_a_window_of_which_something_cannot_be_read_is_not_written",),
    ),
    Mutation(
        "a tail asks again for what it has shown",
        f"{_HTTP}/tailing.py",
        'after = {"after": self._cursor} if self._cursor else {}',
        'after = {"after": self._query["after"]} if "after" in self._query else {}',
        (f"{_TESTS}/test_tail.py::test_what_is_new_comes_once_with_a_cursor_and_a_count_of_what_was_left_out",),
    ),
)
