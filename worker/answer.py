"""The answer step: searches with a query's vector and replies to the topic that its asker named.

One thread; it alone uses the reply producer. A query past its deadline is answered `expired` and not computed. The receipt
settles when the reply is delivered, or when nobody can be waiting for it any more.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from producers.replies import Reply
from sinks.sink import Sink, SinkBusy
from worker.cache import Vector
from worker.engine.engine import TokenIds
from worker.query import Asked, Query
from worker.search import Found, Hit, search

RETRY_S = 0.2
PATIENCE_S = 30.0
"""How long a query without a deadline waits for a busy sink."""


class EncodedQuery(NamedTuple):
    """A query as token ids, on its way to the engine.

    Thread: any.
    """

    asked: Asked
    query: Query
    digest: str
    ids: TokenIds


class EmbeddedQuery(NamedTuple):
    """A query with its vector.

    Thread: any.
    """

    asked: Asked
    query: Query
    vector: Vector
    wait_s: float
    embed_s: float


class FailedQuery(NamedTuple):
    """A query that is answered with an error: which field, and why.

    Thread: any.
    """

    asked: Asked
    code: str
    """`bad_query`, `expired` or `unavailable`."""
    field: str
    reason: str


Answerable = EmbeddedQuery | FailedQuery
SendReply = Callable[[Reply, float | None, Callable[[bool], None]], None]
"""Takes a reply, the moment (monotonic) after which nobody waits, and what to call when it is settled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Each query gets one reply.

    Thread: one, the answer thread; the receipt settles on the delivery thread.
    """

    sink: Sink
    send: SendReply
    clock: Callable[[], float]
    pause: Callable[[float], bool]
    """Waits so many seconds; True when the service stops hard."""

    def step(self, answerables: Sequence[Answerable]) -> None:
        """Answer a list of queries in order."""
        for answerable in answerables:
            if isinstance(answerable, FailedQuery):
                self._refuse(answerable)
            else:
                self._answer(answerable)

    def _answer(self, embedded: EmbeddedQuery) -> None:
        deadline_s = embedded.asked.deadline_s
        started_s = self.clock()
        give_up_s = deadline_s if deadline_s is not None else started_s + PATIENCE_S
        found: Found | None = None
        reason = "expired"
        while self.clock() < give_up_s:
            try:
                found = search(self.sink, embedded.query, embedded.vector, out_of_time=lambda: self.clock() >= give_up_s)
                break
            except SinkBusy as error:
                reason = f"the index does not answer: {error}"
                if self.pause(RETRY_S):
                    return  # the receipt stays open: the query is read again
        if found is None:
            code = "expired" if deadline_s is not None else "unavailable"
            self._refuse(FailedQuery(embedded.asked, code, "deadline_ms", reason))
            return
        times = {"wait": embedded.wait_s, "embed": embedded.embed_s, "search": self.clock() - started_s}
        document = {"hits": [_hit(hit) for hit in found.hits], "complete": found.complete, "seconds": times}
        self._reply(embedded.asked, document, deadline_s)

    def _refuse(self, failed: FailedQuery) -> None:
        error = {"code": failed.code, "field": failed.field, "reason": failed.reason}
        self._reply(failed.asked, {"error": error}, failed.asked.deadline_s)

    def _reply(self, asked: Asked, document: dict[str, Any], deadline_s: float | None) -> None:
        value = json.dumps(document, ensure_ascii=False).encode("utf-8")
        self.send(Reply(asked.reply_topic, asked.correlation_id, value), deadline_s, lambda _delivered: asked.receipt.settle())


def _hit(hit: Hit) -> dict[str, Any]:
    line = hit.line
    return {
        "score": round(hit.score, 6),
        "text": line.text,
        "template": line.template,
        "topic": line.topic,
        "partition": line.partition,
        "offset": line.offset,
        "sub": line.sub,
        "chunk": line.chunk,
        "time": line.time,
        "service": line.service,
        "level": line.level,
    }
