"""The prepare step for queries: parsed, masked like a line, and past the engine when the vector is cached.

One thread of its own, so that no flood of logs is in front of it. A query takes vectors from the cache and nothing else: it
never joins or begins a flight, is never known, never becomes a template.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from consumers.ledger import Receipt
from worker.answer import Answerable, EncodedQuery, FailedQuery, ReadyQuery
from worker.cache.vectors import VectorCache
from worker.encoded import EncodedChunk
from worker.lane import Lane
from worker.query import CORRELATION_HEADER, REPLY_TOPIC_HEADER, Asked, BadQuery, Query, deadline_s, header_of, is_late, parse_query
from worker.query_text import QueryEncoder


@dataclass(slots=True)
class QueryTally:
    """Counters, written by the query thread, read by anyone."""

    asked: int = 0
    unanswerable: int = 0
    """No reply topic, or one that is not on the list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrepareQueries:
    """Every request is answered, or counted as unanswerable and settled.

    Thread: one, the query prepare thread.
    """

    encoder: QueryEncoder
    reply_topics: Collection[str]
    cache: VectorCache
    embed: Lane[EncodedChunk | EncodedQuery]
    answer: Lane[Answerable]
    clock: Callable[[], float]
    wall_ms: Callable[[], float]
    """Milliseconds since 1970."""
    say: Callable[[str], None]
    tally: QueryTally

    def step(self, receipts: Sequence[Receipt]) -> None:
        """Work a list of requests."""
        for receipt in receipts:
            if not receipt.is_alive:
                receipt.drop("revoked")
                continue
            self.tally.asked += 1
            asked = self._asked(receipt)
            if asked is None:
                continue
            receipt.expect(1, decoded_bytes=0)
            try:
                query = parse_query(receipt.record.value)
            except BadQuery as error:
                self.answer.put([FailedQuery(asked, "bad_query", error.field, error.reason)])
                continue
            now_s = asked.taken_s
            sent_ms = receipt.record.time_ms
            asked = asked._replace(deadline_s=deadline_s(query, sent_ms=sent_ms, now_s=now_s, wall_ms=self.wall_ms()))
            if is_late(asked, now_s):
                self.answer.put([FailedQuery(asked, "expired", "deadline_ms", "the deadline had passed when the query arrived")])
            elif query.text is None:
                self.answer.put([ReadyQuery(asked, query, None, 0.0, 0.0)])
            else:
                self._send(asked, query, query.text)

    def _asked(self, receipt: Receipt) -> Asked | None:
        headers = receipt.record.headers
        topic = (header_of(headers, REPLY_TOPIC_HEADER) or b"").decode("utf-8", "replace")
        if topic not in self.reply_topics:
            self.tally.unanswerable += 1
            self.say("a query names no reply topic that is on the list (query.reply_topics); it is dropped")
            receipt.drop("unanswerable")
            return None
        return Asked(receipt, topic, header_of(headers, CORRELATION_HEADER) or b"", self.clock(), None)

    def _send(self, asked: Asked, query: Query, text: str) -> None:
        treated = self.encoder.treat(text)
        vector = self.cache.get_many([treated.digest]).get(treated.digest)
        if vector is not None:
            self.answer.put([ReadyQuery(asked, query, vector, 0.0, 0.0)])
            return
        encoded = self.encoder.encode(treated)
        self.embed.put([EncodedQuery(asked, query, treated.digest if encoded.is_whole else None, encoded.ids)], urgent=True)
