"""Why a question, or another request, gets no answer, in words that are the same over Kafka, HTTP and MCP.

What serves a request makes a status of the code; what answers it knows none.
"""

import json
from typing import Literal, NamedTuple

ErrorCode = Literal["bad_query", "expired", "abandoned", "unavailable"]
"""Why a query gets no hits: it is not valid, its deadline has passed, the client has stopped waiting, or the worker cannot answer now."""
RefusalCode = Literal["not_found", "busy", "too_many"] | ErrorCode
"""Also of requests that are no queries: there is no such thing, another one is under way, or too many are."""
ReplyCode = Literal["answered"] | ErrorCode


class Refused(Exception):
    """A request is refused: `code` and `reason` say why, `field` which part of it is at fault, if one is."""

    def __init__(self, code: RefusalCode, reason: str, *, field: str = "") -> None:
        super().__init__(f"{field}: {reason}" if field else reason)
        self.code = code
        self.reason = reason
        self.field = field


class BadQuery(Refused):
    """The request is not valid: `field` of it is at fault, because of `reason`."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__("bad_query", reason, field=field)


class QueryReply(NamedTuple):
    """The reply to a query: Kafka sends the bytes, HTTP also a status by the code."""

    value: bytes
    """JSON; with any code but `answered`, an error document."""
    code: ReplyCode


def error_document(code: str, reason: str, *, field: str = "") -> bytes:
    """Return an error as JSON, the same over Kafka and HTTP; `field` is the part of the request at fault, empty if none is."""
    return json.dumps({"error": {"code": code, "field": field, "reason": reason}}, ensure_ascii=False).encode("utf-8")


def error_reply(code: ErrorCode, reason: str, *, field: str = "") -> QueryReply:
    """Return the reply to a query that fails."""
    return QueryReply(error_document(code, reason, field=field), code)
