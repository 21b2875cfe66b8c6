"""vectail's side of `benchmarks.by_hand`: the whole service in this process, with its defaults, a turn at a time.

The model is loaded once; index, group and service are new in every turn. What must be warm is indexed by a service before the timed one, so
the timed one begins as after a restart: it knows no template yet, and finds their vectors in Redis and in the index. Of a record in JSON
the whole line is embedded, as by the others (`format = "text"`), not only the message.
"""

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.by_hand_turns import Plan, Turn, keep_vectors
from benchmarks.own_pipeline import say_nothing
from benchmarks.own_service import KeptEngine, in_background
from benchmarks.own_stage import bare_loop, encoded_templates, number_format_of
from benchmarks.rivals.own_process import Opened
from sinks.milvus.milvus_settings import MilvusSettings
from sinks.milvus.milvus_sink import MilvusSink
from sinks.reading.counting import CountQuery
from sinks.reading.line_filter import LineFilter
from sinks.reading.reader import BlockReader
from sinks.row import TemplateId, TemplateText
from worker.cli.run import BackgroundService, load_or_fail, open_service
from worker.connections import vector_space
from worker.embedding.loaded import LoadedModel
from worker.embedding.model.folder import PLAIN
from worker.service.service import Service
from worker.settings.settings import Settings, load_settings

INDEX = "index.db"
_LOOK_S = 0.002
_WAIT_S = 900.0
_PAGE = 16_000


def settings_of(plan: Plan, topic: str) -> Settings:
    """Return a worker's defaults, with addresses of this turn."""
    return load_settings(
        None,
        {
            "topic": [{"name": topic, "format": "text"}],
            "kafka": {"bootstrap_servers": plan.bootstrap_servers, "group": f"by-hand-{Path(plan.folder).name}"},
            "redis": {"url": plan.redis_url},
            "milvus": {"uri": str(Path(plan.folder) / INDEX)},
            "model": {"name": PLAIN},
            "mask": {"mode": plan.mask_mode},
            "http": {"enabled": False},
        },
    )


def index(model: LoadedModel, plan: Plan) -> Turn:
    """Index a topic's records; the vectors of its templates are kept."""
    if plan.warm_topic:
        run_service(settings_of(plan, plan.warm_topic), model, plan.warm_records)
    settings = settings_of(plan, plan.topic)
    seconds, figures = run_service(settings, model, plan.records)
    if plan.mask_mode == "template" and not plan.warm_topic and not figures["waiting_looks"]:
        raise SystemExit("no look saw a template wait for the engine")
    milvus = MilvusSettings(uri=settings.milvus.uri)
    with closing(MilvusSink(milvus, vector_space(model.space), consumer_group=settings.kafka.group)) as sink:
        sink.open(create=False)
        counts = BlockReader(sink).count(CountQuery(LineFilter()))
        texts, last = dict[TemplateId, TemplateText](), ""
        while page := sink.templates.all_above(last, _PAGE):
            texts.update(page)
            last = page[-1][0]
        vectors = sink.templates.vectors(texts)
    keep_vectors(plan.folder, [(texts[template], vector) for template, vector in vectors.items()])
    bare_s = bare_seconds(model, list(texts.values())) if plan.mask_mode == "exact" else 0.0
    return Turn(seconds, sum(row.lines for row in counts.rows), figures | {"bare_s": bare_s})


def run_service(settings: Settings, model: LoadedModel, records: int) -> tuple[float, dict[str, float]]:
    """Run a service until all records of a topic are committed, and drain it; return the seconds from the first one, and figures."""
    service = open_service(settings, model, say=say_nothing)
    with in_background(service) as background:
        ledger, moments = service.pipeline.indexing.ledger, look_moments(background)
        while not ledger.tally["admitted"]:
            next(moments)
        began_s, looks = time.perf_counter(), Looks(service)
        while ledger.tally["indexed"] < records and sum(ledger.committed().values()) < records:  # what is rejected is committed, too
            looks.look()
            next(moments)
        acknowledged_s = time.perf_counter() - began_s
        figures = looks.figures(acknowledged_s) | {"acknowledged_s": acknowledged_s}
        while sum(ledger.committed().values()) < records:
            next(moments)
        seconds = time.perf_counter() - began_s
    return seconds, figures


def look_moments(background: BackgroundService) -> Iterator[None]:
    """Yield every 2 ms while the service runs; raises what it raised, and SystemExit after 15 minutes."""
    until_s = time.monotonic() + _WAIT_S
    while time.monotonic() < until_s:
        background.check()
        time.sleep(_LOOK_S)
        yield
    raise SystemExit(f"the records were not committed within {_WAIT_S:.0f} s")


class Looks:
    """Looks again and again whether the engine of a service is idle while templates wait for it; busy seconds count from its creation.

    Thread: main.
    """

    def __init__(self, service: Service) -> None:
        self._pipeline = service.pipeline
        self._before_s = self._busy_s()
        self._waiting = 0
        self._idle = 0

    def look(self) -> None:
        """Look once."""
        pipeline = self._pipeline
        if len(pipeline.embedder):
            self._waiting += 1
            self._idle += pipeline.guarded_engine.busy_since_s is None

    def figures(self, seconds: float) -> dict[str, float]:
        """Return of each stage the share of these seconds that it was busy, and of `waiting_looks` the share that saw the engine idle.

        `waiting_looks` are those that saw templates wait; without any, the share is 0.
        """
        shares = {f"{name}_share": (busy_s - self._before_s[name]) / seconds for name, busy_s in self._busy_s().items()}
        idle_share = self._idle / max(self._waiting, 1)
        return shares | {"overlap_share": max(shares.values()), "engine_idle_share": idle_share, "waiting_looks": float(self._waiting)}

    def _busy_s(self) -> dict[str, float]:
        pipeline = self._pipeline
        return {name: meter.seconds for name, meter in pipeline.busy.items()} | {"engine": pipeline.embedder.tally.seconds}


def bare_seconds(model: LoadedModel, texts: Sequence[str]) -> float:
    """Return how long the engine beneath the adapter takes for these texts, tokenised before."""
    engine: Any = model.engine
    chunks = encoded_templates(model, [model.prepared.document_prefix + text for text in texts])
    run = bare_loop(engine.kept if isinstance(engine, KeptEngine) else engine, chunks)
    # A thread of its own, like the stage's.
    with ThreadPoolExecutor(1) as thread:
        began_s = time.perf_counter()
        thread.submit(run).result()
        return time.perf_counter() - began_s


def open_ours() -> Opened:
    """Load the model."""
    loaded = load_or_fail(load_settings(None, {"model": {"name": PLAIN}}))
    number_format = number_format_of(loaded.engine)
    model = replace(loaded, engine=KeptEngine(loaded.engine))
    return Opened({"engine": loaded.engine.name, "number_format": number_format}, partial(index, model))
