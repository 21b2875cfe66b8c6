"""What goes out over HTTP: the status of a reply, the errors of requests that never become queries.

Errors have the body that queries over Kafka get: `{"error": {"code", "field", "reason"}}`.
"""

import json
from collections.abc import Mapping
from typing import Final

from worker.asking.refusals import RefusalCode, Refused, ReplyCode, error_document

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
_STATUS_OF: dict[ReplyCode | RefusalCode, int] = {
    "answered": 200,
    "bad_query": 400,
    "not_found": 404,
    "busy": 409,
    "too_many": 429,
    "unavailable": 503,
    "expired": 504,
    "abandoned": 504,
}
_COMES_BACK: dict[str, int] = {"too_many": BUSY_RETRY_S, "busy": OUTAGE_RETRY_S, "unavailable": OUTAGE_RETRY_S}
"""`Retry-After` by the code."""


class HttpError(Exception):
    """The request is refused; `body` says why, as JSON."""

    def __init__(self, status: int, code: str, reason: str, *, field: str = "", headers: Mapping[str, str] | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.code = code
        self.headers = dict(headers or {})
        self.body = error_document(code, reason, field=field)


def http_error(refused: Refused) -> HttpError:
    """Return how a refusal goes out over HTTP."""
    status, headers = status_of(refused.code)
    return HttpError(status, refused.code, refused.reason, field=refused.field, headers=headers)


def retry_after(seconds: int) -> dict[str, str]:
    """Return the header that says when to try again."""
    return {"Retry-After": str(seconds)}


def status_of(code: ReplyCode | RefusalCode) -> tuple[int, dict[str, str]]:
    """Return the status, and further headers, with which a reply or a refusal goes out."""
    return _STATUS_OF[code], retry_after(_COMES_BACK[code]) if code in _COMES_BACK else {}


def as_json(document: Mapping[str, object]) -> bytes:
    """Return an object as JSON. A character that is none (half of a surrogate pair) becomes a question mark."""
    return json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8", "replace")


def json_object(value: bytes) -> dict[str, object]:
    """Return the JSON object of a body. Raises HttpError."""
    try:
        document = json.loads(value.decode("utf-8"))  # of bytes it would take UTF-16 and a BOM, too, which a query's parser does not
    except (ValueError, RecursionError) as error:
        reason = "is nested too deeply" if isinstance(error, RecursionError) else "is not JSON"
        raise HttpError(400, "bad_query", reason, field="query") from None
    if not isinstance(document, dict):
        raise HttpError(400, "bad_query", "is not a JSON object", field="query")
    return document
