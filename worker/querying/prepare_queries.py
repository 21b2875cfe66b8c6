"""The prepare step for queries: parse, check, redact and mask the text, and skip the engine where the vector is cached.

It has a thread of its own, so that log lines never delay a query. A query reads vectors from the cache and leaves nothing behind: it
starts no flight, joins none, and never becomes a template.
"""

from collections.abc import Callable, Sequence
from functools import partial

from worker.asking.question import Query
from worker.asking.refusals import BadQuery
from worker.asking.requests import QueryRequest, Requester, is_late, monotonic_deadline_s
from worker.embedding.encoded_text import Embedded, EmbeddingLate, EncodedText
from worker.embedding.model.vectors import EmbeddingFailed
from worker.querying.forms import parse_query
from worker.querying.kafka_queries import KafkaQueries
from worker.querying.query_text import QuerySpace
from worker.querying.query_words import words_of
from worker.querying.ranking import Meaning
from worker.querying.ready_query import Answerable, FailedQuery, KafkaRequest, ReadyQuery, late_query
from worker.runtime.lane import Outlet
from worker.runtime.surroundings import Surroundings


class PrepareQueries:
    """Every request goes on to be answered, or is settled: counted as unanswerable, or dropped because its partition was revoked.

    Thread: one, the query prepare thread; the engine's outcomes come on the embed thread.
    """

    def __init__(
        self,
        *,
        space: Callable[[], QuerySpace],
        kafka_queries: KafkaQueries,
        answer: Outlet[Answerable],
        surroundings: Surroundings,
    ) -> None:
        """`space` says which model embeds from now on; `kafka_queries` accepts those that came over Kafka."""
        self._space = space
        self._kafka_queries = kafka_queries
        self._answer = answer
        self._surroundings = surroundings

    def step(self, requests: Sequence[KafkaRequest | QueryRequest]) -> None:
        """Prepare a list of requests."""
        valid: list[tuple[Requester, Query]] = []
        for one in requests:
            request = one if isinstance(one, QueryRequest) else self._kafka_queries.accept(one)
            if request is not None:
                valid += self._parse(request)
        self._send_on(valid)

    def _parse(self, request: QueryRequest) -> list[tuple[Requester, Query]]:
        """Return the valid query and its requester with the deadline; an empty list if it is answered with an error."""
        requester = request.requester
        try:
            query = self._space().encoder.redacted(parse_query(request.value, request.form))
        except BadQuery as error:
            self._answer.put([FailedQuery(requester, "bad_query", error.field, error.reason)])
            return []
        until_s = monotonic_deadline_s(query, sent_ms=request.sent_ms, now_s=requester.taken_s, wall_ms=self._surroundings.wall_ms())
        requester = requester._replace(deadline_s=until_s)
        if is_late(requester, self._surroundings.clock()):
            self._answer.put([late_query(requester, "the deadline had passed when the query arrived")])
            return []
        return [(requester, query)]

    def _send_on(self, valid: Sequence[tuple[Requester, Query]]) -> None:
        """Send each query to the embed stage, or straight to the answer stage if it needs no vector or the cache has it.

        A text of identifiers only, or without a letter left after masking, has no meaning to embed: it is searched by words, unless the
        query asks for `dense`.
        """
        encoder, cache, submit, meaning = self._space()
        treated = iter(encoder.treat([query.text for _, query in valid if query.text is not None]))
        texts = [None if query.text is None else next(treated) for _, query in valid]
        found = cache.get_many([text.key for text in texts if text is not None])
        ready: list[Answerable] = []
        asked: list[tuple[Requester, Query]] = []
        encoded: list[EncodedText] = []
        now_s = self._surroundings.clock()
        for (requester, query), text in zip(valid, texts, strict=True):
            is_exact = words_of(query.text or "").is_exact
            is_empty = text is not None and not any(character.isalpha() for character in text.masked)
            by_words = query.mode == "words" or (query.mode != "dense" and (is_exact or is_empty))
            if text is None or by_words or text.key in found:
                vector = None if text is None or by_words else found[text.key]
                ready.append(ReadyQuery(requester, query, vector, now_s - requester.taken_s, 0.0, is_exact, meaning))
            else:
                ids = encoder.encode(text)
                asked.append((requester, query))
                key = text.key if ids.is_whole else None
                encoded.append(EncodedText(ids.ids, key, urgency="query", is_late=partial(is_late, requester)))
        self._answer.put(ready)
        submit(encoded, partial(self._take_embedded, meaning, asked))

    def _take_embedded(self, meaning: Meaning, asked: Sequence[tuple[Requester, Query]], embedded: Sequence[Embedded]) -> None:
        self._answer.put([_answerable(*asked[one.place], one, meaning) for one in embedded])


def _answerable(requester: Requester, query: Query, embedded: Embedded, meaning: Meaning) -> Answerable:
    if isinstance(embedded.outcome, EmbeddingLate):
        return late_query(requester, "the deadline has passed")
    if isinstance(embedded.outcome, EmbeddingFailed):
        return FailedQuery(requester, "bad_query", "text", embedded.outcome.reason)
    wait_s, embed_s = embedded.started_s - requester.taken_s, embedded.ended_s - embedded.started_s
    return ReadyQuery(requester, query, embedded.outcome, wait_s, embed_s, meaning=meaning)
