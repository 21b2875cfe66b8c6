"""A query lane that answers exports from a list of lines, as the real one does: windows of whole milliseconds, each once."""

import json
from collections.abc import Sequence
from typing import Any

from worker.asking.refusals import QueryReply, error_reply
from worker.asking.requests import QueryRequest


def lines_at(*times_ms: int, text: str = "disk full") -> list[dict[str, Any]]:
    """Return lines at these times; each has an offset of its own."""
    return [
        {"id": f"logs@e1/0/{offset}/0/0", "text": f"{text} {offset}", "time": time_ms, "kafka_time": time_ms + 1}
        | {"service": "web", "level": "ERROR", "template": "0" * 32, "template_text": "disk full <*>"}
        | {"topic": "logs", "partition": 0, "offset": offset, "sub": 0, "chunk": 0, "chunks": 1}
        for offset, time_ms in enumerate(times_ms)
    ]


class ExportLane:
    """Answers queries of the form "export".

    Thread: the server's, and the test's between two requests.
    """

    def __init__(self, lines: Sequence[dict[str, Any]], *, k: int = 3) -> None:
        self.lines = list(lines)
        self.asked: list[dict[str, Any]] = []
        self.fails_from: int | None = None
        """From this question on the index is away."""
        self.fails_times = 10**9
        self._k = k

    def __call__(self, request: QueryRequest) -> QueryReply | None:
        """Reply to a request."""
        assert request.form == "export"
        query = json.loads(request.value or b"")
        self.asked.append(query)
        if self.fails_from is not None and len(self.asked) > self.fails_from and self.fails_times > 0:
            self.fails_times -= 1
            return error_reply("unavailable", "Milvus is away")
        filters = query.get("filters", {})
        times = [line["time"] for line in self.lines]
        since_ms = filters.get("since_ms", min(times, default=0))
        end_ms = filters.get("until_ms", max(times, default=0) + 1)
        found = sorted((line for line in self.lines if since_ms <= line["time"] < end_ms), key=lambda line: line["time"])
        until_ms = end_ms if len(found) <= self._k else found[self._k - 1]["time"] + 1
        shown = [line for line in found if line["time"] < until_ms]
        following = None
        if until_ms < end_ms:
            following = query | {"as": "export", "filters": filters | {"since_ms": until_ms, "until_ms": end_ms}}
        answer = {"lines": shown, "until_ms": until_ms, "end_ms": end_ms, "next": following, "complete": True, "seconds": {}}
        return QueryReply(json.dumps(answer).encode(), "answered")
