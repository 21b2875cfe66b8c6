"""The document at `/api/doctor`: the checks of `vectail doctor`, looked at from inside a worker.

`worker.service.service` hands it to the HTTP server. What the worker has open already (a folder of Milvus Lite, the engine) is asked, not
opened a second time.
"""

from collections.abc import Callable

from worker.asking.documents import Document
from worker.asking.lane_question import TakeRequest
from worker.asking.worker_answers import SuggestionsJson
from worker.connections import vector_space
from worker.indexing.savings import merge_savings
from worker.inspecting.doctor import Examiner
from worker.inspecting.doctor_looks import looks_of_worker
from worker.inspecting.doctor_model import EngineNow, Load
from worker.service.samples import RunningService


def doctor_document(service: RunningService, take_request: TakeRequest, offer: Callable[[], SuggestionsJson]) -> Document:
    """Return the document; `offer` is that of suggested masks, without parameters."""
    connections = service.connections
    looks = looks_of_worker(
        service.settings,
        sink=connections.sink,
        space=vector_space(connections.model.space),
        take_request=take_request,
        engine_now=lambda: engine_now(service),
        offer=offer,
        failures=lambda: failed_loads(service),
    )
    return Examiner(looks).document


def failed_loads(service: RunningService) -> dict[str, str]:
    """Return the models of the embedding service that could not be loaded when they were last asked for, and why."""
    served = service.pipeline.served
    figures = [] if service.embeddings is None or served is None else service.embeddings.figures(served)
    return {one["name"]: one["error"] for one in figures if one["error"]}


def engine_now(service: RunningService) -> EngineNow:
    """Return what the doctor must know of a worker's engine, and of what comes in the partitions that the worker owns."""
    pipeline = service.pipeline
    tally, engine = pipeline.embedder.tally, pipeline.guarded_engine
    savings = merge_savings(pipeline.indexing.flights.savings().values())
    tokens = savings.tokens_embedded + savings.tokens_saved
    growths = [one.lag.growth for one in service.status.lag.by_partition.values() if one.lag.growth is not None]
    return EngineNow(
        name=service.connections.model.engine.name,
        is_up=engine.is_up,
        restarts=engine.restarts,
        batches=tally.batches,
        tokens=tally.tokens,
        busy_s=tally.seconds,
        load=Load(
            lines_per_s=sum(growths) if growths else None,
            new_share=savings.tokens_embedded / tokens if tokens else None,
            tokens_per_line=tokens / savings.chunks if savings.chunks else None,
        ),
    )
