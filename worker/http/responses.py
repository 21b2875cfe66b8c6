"""What goes out over HTTP: the status of a reply, the errors of requests that never become queries, and pages.

Errors have the body that queries over Kafka get: `{"error": {"code", "field", "reason"}}`.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from worker.query import ReplyCode, error_document

BUSY_RETRY_S = 1
"""`Retry-After` where the end of another query makes room."""
OUTAGE_RETRY_S = 5
"""`Retry-After` where the worker or the index must come back first."""
HEADERS_OF_ALL: Final = (
    ("Cache-Control", "no-store"),
    ("Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Referrer-Policy", "same-origin"),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
)
"""Go out with every answer that does not set them itself: a line of a log that is shown as a page still does nothing."""
_STATUS_OF: dict[ReplyCode, int] = {"answered": 200, "bad_query": 400, "expired": 504, "abandoned": 504, "unavailable": 503}


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


def as_json(document: Mapping[str, Any]) -> bytes:
    """Return an object as JSON. A character that is none (half of a surrogate pair) becomes a question mark."""
    return json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8", "replace")


def json_object(value: bytes) -> dict[str, Any]:
    """Return the JSON object of a body. Raises HttpError."""
    try:
        document = json.loads(value.decode("utf-8"))  # of bytes it would take UTF-16 and a BOM, too, which a query's parser does not
    except (ValueError, RecursionError) as error:
        reason = "is nested too deeply" if isinstance(error, RecursionError) else "is no JSON"
        raise HttpError(400, "bad_query", reason, field="query") from None
    if not isinstance(document, dict):
        raise HttpError(400, "bad_query", "is no JSON object", field="query")
    return document


class PageResponse(NamedTuple):
    """A page, such as `/metrics`."""

    status: int
    body: bytes
    content_type: str


Page = Callable[[str], PageResponse]
"""Renders a page for the request's `Accept` header, empty without one. Called on any thread of the server; must not wait for I/O."""

Document = Callable[[Mapping[str, str]], Mapping[str, Any]]
"""Makes a JSON object for the parameters of the URL. Called on any thread of the server, for one request at a time; may wait for I/O for a
few seconds. Raises HttpError."""

Action = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Does what a POSTed JSON object asks for and returns a JSON object; otherwise like a `Document`."""
