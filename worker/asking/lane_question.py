"""Asks the query lane of this process, as any client asks it over Kafka or HTTP, and waits for the reply."""

import json
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from worker.asking.refusals import QueryReply, Refused
from worker.asking.requests import QueryRequest, Requester

STARTS_OR_STOPS: Final = "the worker is starting or stopping"

TakeRequest = Callable[[QueryRequest], bool]
"""Puts a request into the query lane; False if the worker starts or stops."""


def ask_lane(take_request: TakeRequest, query: Mapping[str, object], *, limit_s: float) -> dict[str, Any]:
    """Return the answer to a query whose deadline is `limit_s` from now; the reply itself may take a second longer.

    Raises Refused: `unavailable` if the worker starts or stops, `expired` without a reply, else as the reply says.
    """
    replies: list[QueryReply] = []
    has_come = threading.Event()

    def take_reply(reply: QueryReply, *, deadline_s: float | None) -> None:  # noqa: ARG001 - we have a limit of our own
        replies.append(reply)
        has_come.set()

    value = json.dumps({**query, "deadline_ms": max(int(limit_s * 1000), 1)}).encode()
    if not take_request(QueryRequest(value, Requester(take_reply, time.monotonic(), is_own=True))):
        raise Refused("unavailable", STARTS_OR_STOPS)
    if not has_come.wait(limit_s + 1.0):
        raise Refused("expired", f"no answer within {limit_s + 1.0:g} s")
    (reply,) = replies
    answer: dict[str, Any] = json.loads(reply.value)
    if reply.code != "answered":
        raise Refused(reply.code, str(answer["error"]["reason"]), field=str(answer["error"]["field"]))
    return answer
