"""Why an HTTP request gets no answer, as the status and the error object that its sender sees.

The error object is the one that queries over Kafka are answered with: `{"error": {"code", "field", "reason"}}`.
"""

import json
from collections.abc import Callable, Mapping
from typing import NamedTuple

SOON_S = 1
"""For `Retry-After` where another query's end makes room."""
LATER_S = 5
"""For `Retry-After` where something must come back first."""
_STATUS_OF = {"bad_query": 400, "expired": 504, "unavailable": 503}


class HttpError(Exception):
    """The request is not answered.

    Thread: any.
    """

    def __init__(self, status: int, code: str, reason: str, *, field: str = "", headers: Mapping[str, str] | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.headers = dict(headers or {})
        self.value = error_value(code, reason, field=field)
        """The error object, as JSON."""


def error_value(code: str, reason: str, *, field: str = "") -> bytes:
    """Return an error object as JSON; `field` says what of the request is to blame, empty if nothing is."""
    return json.dumps({"error": {"code": code, "field": field, "reason": reason}}, ensure_ascii=False).encode("utf-8")


def retry_after(seconds: int) -> dict[str, str]:
    """Return the header that says when to ask again."""
    return {"Retry-After": str(seconds)}


def status_of(reply: bytes) -> tuple[int, dict[str, str]]:
    """Return the status, and the headers besides, with which a query's reply (JSON) goes out over HTTP."""
    if b'"error"' not in reply[:64]:  # hits are not read again only to see that they are hits
        return 200, {}
    error = json.loads(reply).get("error")
    if error is None:
        return 200, {}
    status = _STATUS_OF.get(error["code"], 500)
    return status, retry_after(LATER_S) if status == _STATUS_OF["unavailable"] else {}


class PageResponse(NamedTuple):
    """What goes out.

    Thread: any.
    """

    status: int
    body: bytes
    content_type: str


Page = Callable[[str], PageResponse]
"""Takes the request's `Accept` header, empty without one; called on any of the server's threads, must not wait for anything outside."""
