"""The prepare step for queries: parsed, masked like a line, and past the engine when the vector is cached.

One thread of its own, so that no flood of logs is in front of it. A query takes vectors from the cache and nothing else: it
never joins or begins a flight, is never known, never becomes a template.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from producers.replies import Reply
from worker.embedding.cache.vector_cache import VectorCache
from worker.messages import Answerable, Arrival, EncodedChunk, EncodedQuery, FailedQuery, ReadyQuery
from worker.query import (
    CORRELATION_HEADER,
    REPLY_TOPIC_HEADER,
    BadQuery,
    Query,
    QueryRequest,
    Requester,
    deadline_s,
    header_of,
    is_late,
    parse_query,
)
from worker.querying.query_text import QueryEncoder
from worker.querying.search.words import words_of
from worker.runtime.lane import Lane


class SendToTopic(Protocol):
    """Sends a reply to a topic; never blocks.

    Thread: any.
    """

    def __call__(self, reply: Reply, *, deadline_s: float | None, settled: Callable[[bool], None]) -> None:
        """`settled` is called once: delivered, or given up."""


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
    has_bm25: Callable[[], bool]
    """Whether the index can be searched by words."""
    cache: VectorCache
    embed: Lane[EncodedChunk | EncodedQuery]
    answer: Lane[Answerable]
    send: SendToTopic
    clock: Callable[[], float]
    wall_ms: Callable[[], float]
    """Milliseconds since 1970."""
    say: Callable[[str], None]
    tally: QueryTally

    def step(self, requests: Sequence[Arrival | QueryRequest]) -> None:
        """Work a list of requests."""
        taken: list[tuple[Requester, Query]] = []
        for request in requests:
            question = request if isinstance(request, QueryRequest) else self._question(request)
            if question is not None:
                self.tally.asked += 1
                taken += self._read(question)
        self._send_on(taken)

    def _question(self, arrival: Arrival) -> QueryRequest | None:
        """Take a receipt on; None if nobody can or need be answered."""
        receipt = arrival.receipt
        if not receipt.is_alive:
            receipt.drop("revoked")
            return None
        headers = receipt.record.headers
        topic = (header_of(headers, REPLY_TOPIC_HEADER) or b"").decode("utf-8", "replace")
        if topic not in self.reply_topics:
            self.tally.asked += 1
            self._tell_unanswerable()
            receipt.drop("unanswerable")
            return None
        receipt.expect(1, decoded_bytes=0)
        correlation_id = header_of(headers, CORRELATION_HEADER) or b""

        def reply(value: bytes, *, deadline_s: float | None) -> None:
            self.send(Reply(topic, correlation_id, value), deadline_s=deadline_s, settled=lambda _delivered: receipt.settle())

        return QueryRequest(receipt.record.value, Requester(reply, arrival.taken_s), receipt.record.time_ms)

    def _tell_unanswerable(self) -> None:
        self.tally.unanswerable += 1
        if self.tally.unanswerable.bit_count() == 1:  # the first, the second, the fourth …: whoever may ask must not fill our log
            so_far = f" ({self.tally.unanswerable:,} so far)" if self.tally.unanswerable > 1 else ""
            self.say(f"a query names no reply topic that is on the list (query.reply_topics); it is dropped{so_far}")

    def _read(self, question: QueryRequest) -> list[tuple[Requester, Query]]:
        """Return the query, or nothing if it is answered already."""
        asked = question.asked
        try:
            query = parse_query(question.value)
            self._check_mode(query)
        except BadQuery as error:
            self.answer.put([FailedQuery(asked, "bad_query", error.field, error.reason)])
            return []
        until_s = deadline_s(query, sent_ms=question.sent_ms, now_s=asked.taken_s, wall_ms=self.wall_ms())
        asked = asked._replace(deadline_s=until_s)
        if is_late(asked, self.clock()):
            self.answer.put([FailedQuery(asked, "expired", "deadline_ms", "the deadline had passed when the query arrived")])
            return []
        return [(asked, query)]

    def _check_mode(self, query: Query) -> None:
        if query.mode in ("bm25", "hybrid") and not self.has_bm25():
            raise BadQuery("mode", f"the index has no column for full-text search (milvus.bm25), {query.mode} needs one")

    def _send_on(self, taken: list[tuple[Requester, Query]]) -> None:
        """Send each where its vector is computed, or straight to the answer stage if it needs none or the cache has it.

        A text that means nothing (identifiers, or what the masks leave nothing of) is looked for by its words, unless it must be `dense`.
        """
        treated = iter(self.encoder.treat([query.text for _, query in taken if query.text is not None]))
        texts = [None if query.text is None else next(treated) for _, query in taken]
        found = self.cache.get_many([text.digest for text in texts if text is not None])
        ready: list[Answerable] = []
        encoded: list[EncodedChunk | EncodedQuery] = []
        now_s = self.clock()
        for (asked, query), text in zip(taken, texts, strict=True):
            is_exact = words_of(query.text or "").is_exact
            is_empty = text is not None and not any(character.isalpha() for character in text.masked)
            by_words = query.mode == "bm25" or (query.mode != "dense" and (is_exact or is_empty) and self.has_bm25())
            if text is None or by_words or text.digest in found:
                vector = None if text is None or by_words else found[text.digest]
                ready.append(ReadyQuery(asked, query, vector, now_s - asked.taken_s, 0.0, is_exact))
            else:
                ids = self.encoder.encode(text)
                encoded.append(EncodedQuery(asked, query, text.digest if ids.is_whole else None, ids.ids))
        self.answer.put(ready)
        self.embed.put(encoded, urgent=True)
