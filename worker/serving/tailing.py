"""`/api/tail`: the lines of blocks that were just written, by any worker, as server-sent events.

The next question is asked only when the client has taken the last answer. It asks for everything since then, so what a slow client cannot
take is left out and counted, and nothing waits for it.
"""

import json
import time
from collections.abc import AsyncGenerator, Callable

from worker.asking.refusals import QueryReply, error_document
from worker.serving.streams import Asking, Ended, StreamRules, error_of, with_values

_RECONNECT_MS = 2_000
_NO_ID = frozenset("\r\n\0")


class TailStream:
    """One tail for one client.

    Thread: the event loop.
    """

    def __init__(
        self, asking: Asking, query: dict[str, object], rules: StreamRules, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._asking = asking
        self._query = query
        self._rules = rules
        self._clock = clock
        self._cursor = ""
        self._is_away = False
        self._was_complete = True
        self._quiet_since_s = clock()

    async def events(self, first: QueryReply) -> AsyncGenerator[bytes]:
        """Return what goes out; `first` is the reply to the query as it came."""
        yield f"retry: {_RECONNECT_MS}\n\n".encode("ascii")
        reply = first
        is_first = True
        try:
            while True:
                if event := self._event(reply, is_first=is_first) or self._heartbeat():
                    yield event
                    yield b""  # goes out only when the client has taken most of what went before
                    self._quiet_since_s = self._clock()
                is_first = False
                await self._asking.pause(self._rules.poll_s)
                after = {"after": self._cursor} if self._cursor else {}
                reply = await self._asking.ask(with_values(self._query, **after))
        except Ended as ended:
            yield _event_of("problem", error_document("unavailable", str(ended)))

    def _event(self, reply: QueryReply, *, is_first: bool) -> bytes:
        """Return what a reply says that is new; empty if there is nothing."""
        was_away, self._is_away = self._is_away, reply.code != "answered"
        if self._is_away:
            return b"" if was_away else _event_of("problem", json.dumps({"error": error_of(reply)}).encode("ascii"))
        answer = json.loads(reply.value)
        self._cursor = answer["cursor"]
        was_complete, self._was_complete = self._was_complete, answer["complete"]
        is_new = answer["lines"] or answer["dropped"] or was_complete != answer["complete"]
        if not (is_new or was_away or is_first):
            return b""
        shown = {name: answer[name] for name in ("lines", "dropped", "dropped_by_level", "complete")}
        return _id(self._cursor) + _event_of("lines", json.dumps(shown, ensure_ascii=False).encode("utf-8", "replace"))

    def _heartbeat(self) -> bytes:
        """Return a comment, and where the client is, if nothing was sent for long."""
        is_due = self._clock() - self._quiet_since_s >= self._rules.heartbeat_s
        return _id(self._cursor) + b": nothing new\n\n" if is_due else b""


def _id(cursor: str) -> bytes:
    return b"" if not cursor or _NO_ID & set(cursor) else f"id: {cursor}\n".encode()


def _event_of(name: str, data: bytes) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (name.encode("ascii"), data)
