"""The half of a pipeline that queries go through, from Kafka or HTTP to their replies."""

from collections.abc import Sequence

from consumers.assignment import Receipt
from consumers.ledger import Ledger
from worker.asking.requests import QueryRequest
from worker.querying.answer import Answer
from worker.querying.kafka_queries import KafkaQueries
from worker.querying.prepare_queries import PrepareQueries
from worker.querying.ready_query import Answerable, KafkaRequest
from worker.runtime.lane import Lane
from worker.runtime.stage import Crash, Meter, Stage, empty
from worker.service.shared_parts import SharedParts

_QUERIES = 1_000
_QUERY_BYTES = 16 * 1024 * 1024
_QUERIES_AT_ONCE = 64


class QueryingPipeline:
    """Ledger, lanes and steps of the queries.

    Thread: main wires it; each part says which thread owns it.
    """

    def __init__(self, parts: SharedParts) -> None:
        settings, connections, surroundings = parts.settings, parts.connections, parts.surroundings
        self._clock = surroundings.clock
        self.ledger = Ledger(cap_records=_QUERIES, cap_bytes=_QUERY_BYTES, dead_letter=parts.dead_letter)
        self.prepare_lane: Lane[KafkaRequest | QueryRequest] = Lane("prepare-queries")
        self.answer_lane: Lane[Answerable] = Lane("answer")
        self.kafka_queries = KafkaQueries(
            frozenset((settings.kafka.reply_topic, *settings.query.reply_topics)),
            connections.replies.send,
            say=surroundings.say,
            tracing=connections.tracing,
        )
        self._prepare = PrepareQueries(
            space=lambda: parts.space().queries,
            kafka_queries=self.kafka_queries,
            answer=self.answer_lane,
            surroundings=surroundings,
        )
        self.answer = Answer(
            sink=connections.sink,
            reader=parts.reader,
            surroundings=surroundings,
            named=settings.template,
            nearness=connections.model.nearness,
            reach=parts.reach.said,
        )
        self.busy = {"prepare-queries": Meter()}

    def prepare_stage(self, on_crash: Crash) -> Stage:
        """Return the stage that empties the prepare lane."""
        body = empty(self.prepare_lane, self._prepare.step, most=_QUERIES_AT_ONCE, meter=self.busy["prepare-queries"])
        return Stage("prepare-queries", body, on_crash)

    def answer_stage(self, on_crash: Crash) -> Stage:
        """Return the stage that empties the answer lane."""
        return Stage("answer", lambda: self.answer.body(self.answer_lane), on_crash)

    def take_polled(self, receipts: Sequence[Receipt]) -> None:
        """Take queries that have just been polled."""
        now_s = self._clock()
        claims = (receipt.claim(row) for receipt in receipts for row in range(receipt.records.size))
        self.prepare_lane.put([KafkaRequest(claim, now_s) for claim in claims])

    def take_request(self, request: QueryRequest) -> None:
        """Take a query that did not come over Kafka."""
        self.prepare_lane.put([request])

    def abandon(self) -> None:
        """Drop what is in the lanes."""
        self.prepare_lane.abandon()
        self.answer_lane.abandon()
