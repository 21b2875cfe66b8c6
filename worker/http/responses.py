"""What goes out over HTTP: the status of a reply, the errors of requests that never become queries, and pages.

Errors have the body that queries over Kafka get: `{"error": {"code", "field", "reason"}}`.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from worker.query import ReplyCode, error_document

BUSY_RETRY_S = 1
"""`Retry-After` where the end of another query makes room."""
OUTAGE_RETRY_S = 5
"""`Retry-After` where the worker or the index must come back first."""
_STATUS_OF: dict[ReplyCode, int] = {"answered": 200, "bad_query": 400, "expired": 504, "unavailable": 503}


class HttpError(Exception):
    """The request is refused; `body` says why, as JSON."""

    def __init__(self, status: int, code: str, reason: str, *, field: str = "", headers: Mapping[str, str] | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.headers = dict(headers or {})
        self.body = error_document(code, reason, field=field)


def retry_after(seconds: int) -> dict[str, str]:
    """Return the header that says when to try again."""
    return {"Retry-After": str(seconds)}


def status_of(code: ReplyCode) -> tuple[int, dict[str, str]]:
    """Return the status, and further headers, with which the reply to a query goes out."""
    return _STATUS_OF[code], retry_after(OUTAGE_RETRY_S) if code == "unavailable" else {}


class PageResponse(NamedTuple):
    """A page, such as `/metrics`."""

    status: int
    body: bytes
    content_type: str


Page = Callable[[str], PageResponse]
"""Renders a page for the request's `Accept` header, empty without one. Called on any thread of the server; must not wait for I/O."""
