"""The half of a pipeline that log records go through, from the ledger to the index."""

import math
from functools import cache, partial

from consumers.assignment import Receipt
from consumers.decode.registry_schemas import Schemas
from consumers.ledger import Ledger
from worker.indexing.flights import Flights
from worker.indexing.line_batch import LineBatch, StoreItem, StoreOutlet
from worker.indexing.line_router import LineRouter
from worker.indexing.prepare import Prepare
from worker.indexing.record_outcomes import RecordOutcomes
from worker.indexing.resume import Resume
from worker.indexing.runs import Runs
from worker.indexing.schema_lookup import SchemaLookup
from worker.indexing.schema_wait import SchemaWait
from worker.indexing.store import Store, StoreRules
from worker.indexing.stored_before import StoredBefore
from worker.indexing.topic_readers import TopicReaders
from worker.runtime.fair_share import FairQueue
from worker.runtime.lane import Lane
from worker.runtime.limits import MOST_REJECTED, MOST_UNDECODABLE, FaultLimit, TopicFaultLimits
from worker.runtime.stage import Crash, Meter, Stage, empty
from worker.service.shared_parts import SharedParts
from worker.settings.masks_version import topic_masks_version

_PREPARE_RECORDS = 8_000
"""Records that share the costs of a batch: compiling patterns, taking a lock."""


class IndexingPipeline:
    """Ledger, lanes and steps of the logs; with `kafka.index = false` nothing comes in and it has no stages, so no upkeep either.

    Thread: main wires it; each part says which thread owns it.
    """

    def __init__(self, parts: SharedParts) -> None:
        settings, connections, surroundings = parts.settings, parts.connections, parts.surroundings
        self._parts = parts
        limits = settings.limits
        self.ledger = Ledger(cap_records=limits.max_in_flight_records, cap_bytes=limits.max_in_flight_bytes, dead_letter=parts.dead_letter)
        shared = FairQueue(topic_of=_topic, size_of=_records, weight_of=settings.weight_of)
        self.prepare_lane: Lane[Receipt] = Lane("prepare", size=_records, shared=shared)
        self.store_lane: Lane[StoreItem] = Lane("store", size=_lines)
        self.flights = Flights(keep_s=self._keep_s)
        self.runs = Runs(surroundings)
        self.store = Store(
            sink=connections.sink,
            flights=self.flights,
            runs=self.runs,
            ledger=self.ledger,
            rules=StoreRules(masks_of=partial(topic_masks_version, settings), flush_s=settings.index.flush_s, most_refused=MOST_REJECTED),
            surroundings=surroundings,
        )
        self.resume = Resume(
            sink=connections.sink,
            reader=parts.reader,
            runs=self.runs,
            window_records=limits.max_in_flight_records,
            surroundings=surroundings,
        )
        self.schema_lookup = (
            None
            if connections.registry is None or not settings.kafka.index
            else SchemaLookup(connections.registry, Schemas(), wake=self.prepare_lane.wake, say=surroundings.say)
        )
        """None: there is no Schema Registry, or nothing to read with it."""
        schemas = None if self.schema_lookup is None else self.schema_lookup.schemas
        self.readers = TopicReaders(settings, connections.model.prepared, parts.home.tokenizer, schemas)
        """Of the prepare thread; they count what was found, dropped and replaced."""
        self._prepare = self._prepare_step()
        self.busy = {"prepare": Meter(), "store": Meter()}

    def prepare_stages(self, on_crash: Crash) -> list[Stage]:
        """Return the stage that empties the prepare lane."""
        return [Stage("prepare", self._run_prepare, on_crash)] if self._parts.settings.kafka.index else []

    def store_stages(self, on_crash: Crash) -> list[Stage]:
        """Return the stages that empty the store lane."""
        settings, body = self._parts.settings, partial(self.store.body, self.store_lane, self.busy["store"])
        writers = settings.index.writers if settings.kafka.index else 0
        return [Stage(f"store-{n}", body, on_crash) for n in range(1, writers + 1)]

    def abandon(self) -> None:
        """Drop what is in the lanes."""
        self.prepare_lane.abandon()
        self.store_lane.abandon()
        if self.schema_lookup is not None:
            self.schema_lookup.stop()

    def _run_prepare(self) -> None:
        """Work the records until the lane is closed and empty, then those that still wait for their schemas."""
        tracing = self._parts.connections.tracing
        step = self._prepare.step if tracing is None else tracing.around_batches(self._prepare.step)
        empty(self.prepare_lane, step, most=_PREPARE_RECORDS, meter=self.busy["prepare"])()
        self._prepare.finish()

    def _prepare_step(self) -> Prepare:
        undecodable = TopicFaultLimits("undecodable records", most=MOST_UNDECODABLE)
        lookup = self.schema_lookup
        return Prepare(
            ledger=self.ledger,
            reader_of=self.readers.of_topic,
            stored_before=StoredBefore(self.resume, self.store.hide),
            outcomes=RecordOutcomes(undecodable, self.readers.rule_tally),
            router=self._line_router(),
            surroundings=self._parts.surroundings,
            schema_wait=None if lookup is None else SchemaWait(lookup, reads=cache(self._may_name_schemas)),
        )

    def _line_router(self) -> LineRouter:
        parts, store = self._parts, self.store
        return LineRouter(
            flights=self.flights,
            space=lambda: parts.space().templates,
            store=StoreOutlet(lane=self.store_lane, hide=store.hide, reject=store.reject, fail_flight=store.fail_flight),
            rejected=FaultLimit("texts that the engine rejects", most=MOST_REJECTED),
        )

    def _may_name_schemas(self, topic: str) -> bool:
        return self._parts.settings.topic_table(topic).format in ("auto", "registry")

    def _keep_s(self) -> float:
        retention_s = self._parts.connections.sink.retention_s
        return math.inf if retention_s is None else retention_s


def _topic(receipt: Receipt) -> str:
    return receipt.records.topic


def _records(receipt: Receipt) -> int:
    return receipt.records.size


def _lines(item: StoreItem) -> int:
    return item.size if isinstance(item, LineBatch) else 1
