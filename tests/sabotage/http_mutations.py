"""The mutations of HTTP: statuses, headers and bounds of answers and requests, sign-ins and streams.

`tests.sabotage.mutations` has the others; `tests.sabotage.planting` plants them one at a time.
"""

from tests.sabotage.mutation import Changes

HTTP_MUTATIONS: Changes = {
    "worker/http/responses.py: an index that is away is told as a fault of the worker": (
        '"unavailable": 503}',
        '"unavailable": 500}',
        "worker/http/test_search.py::an_error_of_the_pipeline_has_its_status_and_stays_as_it_is",
    ),
    "worker/http/sign_in.py: a sign-in never ends": (
        "return is_right and int(expiry) > self._wall_s()",
        "return is_right",
        "worker/http/test_sign_in.py::a_cookie_holds_on_every_worker_with_that_token_and_on_no_other",
    ),
    "worker/http/guards.py: an answer with headers of its own has no policy for what it may do in a browser": (
        "given + [header for header in defaults if header[0] not in names]",
        "given or defaults",
        "worker/http/test_page_files.py::every_answer_forbids_what_a_page_might_be_made_to_do",
    ),
    "worker/http/api.py: a body that comes in pieces has any length": (
        "if len(body) > self._rules.max_body_bytes:",
        "if len(body) > 1 << 40:",
        "worker/http/test_refusals.py::a_body_of_pieces_without_end_is_refused_at_the_limit_and_then_cut_off",
    ),
    "worker/http/exporting.py: an export leaves out without a word what its first window could not read": (
        "            if not window.is_complete:\n                window = await self._window(question)\n",
        "",
        "worker/http/test_export.py::a_window_of_which_something_cannot_be_read_is_not_written",
    ),
    "worker/http/tailing.py: a tail asks again for what it has shown": (
        'after = {"after": self._cursor} if self._cursor else {}',
        'after = {"after": self._query["after"]} if "after" in self._query else {}',
        "worker/http/test_tail.py::what_is_new_comes_once_with_a_cursor_and_a_count_of_what_was_left_out",
    ),
}
