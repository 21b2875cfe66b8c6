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
from worker.cache.vectors import Vector
from worker.engine.engine import TokenIds
from worker.kinds import Enough, find_kinds, kinds_document
from worker.query import Asked, Query
from worker.search import Hit, search
from worker.stage import Abandoned

RETRY_S = 0.2
_SEND_SHARE, _SEND_S = 0.1, 0.5
"""Of its time a query keeps so much, and so long at most, for its answer to travel: one that is cut short must still arrive."""
COUNT_S = 3.0
"""How long the lines of one listing are counted: other queries wait behind it."""
PATIENCE_S = 30.0
"""How long a query without a deadline is worked on, from when it was taken."""


class EncodedQuery(NamedTuple):
    """A query as token ids, on its way to the engine.

    Thread: any.
    """

    asked: Asked
    query: Query
    digest: str | None
    """Under which its vector is cached; None for a text that was cut, whose vector nobody may take for that of the whole."""
    ids: TokenIds


class ReadyQuery(NamedTuple):
    """A query that can be answered.

    Thread: any.
    """

    asked: Asked
    query: Query
    vector: Vector | None
    """None if it has no text: a listing of templates by frequency."""
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
    """Which field of the request is to blame; empty if none is."""
    reason: str


Answerable = ReadyQuery | FailedQuery
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
        """Answer a list of queries. Raises Abandoned, the producer's ProducerBroken, and the sink's own SinkBroken."""
        # a listing counts many lines: what is quick goes first
        for answerable in sorted(answerables, key=lambda one: isinstance(one, ReadyQuery) and one.query.form == "templates"):
            if isinstance(answerable, FailedQuery):
                self._refuse(answerable)
            else:
                self._answer(answerable)

    def _answer(self, ready: ReadyQuery) -> None:
        asked, started_s = ready.asked, self.clock()
        deadline_s = asked.deadline_s
        give_up_s = asked.taken_s + PATIENCE_S if deadline_s is None else deadline_s
        enough_s = give_up_s - min((give_up_s - asked.taken_s) * _SEND_SHARE, _SEND_S)
        found: dict[str, Any] | None = None
        reason = "the deadline has passed" if deadline_s is not None else f"not answered within {PATIENCE_S:g} s"
        while self.clock() < give_up_s:
            try:
                found = self._found(ready, enough_s)
                break
            except SinkBusy as error:
                reason = f"the index does not answer: {error}"
                if self.pause(RETRY_S):
                    raise Abandoned from error
        if found is None:
            code, field = ("unavailable", "") if deadline_s is None else ("expired", "deadline_ms")
            self._refuse(FailedQuery(asked, code, field, reason))
            return
        times = {"wait": ready.wait_s, "embed": ready.embed_s, "search": self.clock() - started_s}
        self._reply(asked, found | {"seconds": times}, deadline_s)

    def _found(self, ready: ReadyQuery, enough_s: float) -> dict[str, Any]:
        def out_of_time() -> bool:
            return self.clock() >= enough_s

        if ready.query.form == "templates":
            counted_s = self.clock() + COUNT_S
            enough = Enough(counted=lambda: self.clock() >= counted_s or out_of_time(), all=out_of_time)
            return kinds_document(find_kinds(self.sink, ready.query, ready.vector, enough))
        if ready.vector is None:
            raise ValueError("a query for lines has a vector")
        found = search(self.sink, ready.query, ready.vector, out_of_time=out_of_time)
        return {"hits": [_hit(hit) for hit in found.hits], "complete": found.complete}

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
