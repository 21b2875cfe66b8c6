"""The change of the index's model in a worker: what it looks at, what it tells, and what requests may ask of it."""

from collections.abc import Callable, Mapping
from typing import Final, Literal, cast

from sinks.index_spaces import VectorSpace
from sinks.milvus.lite import names_server
from sinks.sink import SinkBroken, SinkBusy, SinkMismatch, TemplateView
from worker.asking.refusals import BadQuery, Refused
from worker.asking.reindex_answers import ReindexJson, ReindexPlanJson
from worker.connections import Connections
from worker.embedding.loaded import load_model, model_of, space_of, speed_record
from worker.embedding.model.errors import ModelError
from worker.embedding.pool.served_models import loaded_bytes, on_a_cpu
from worker.reindex.filling import EmbedsTemplates, Filler
from worker.reindex.gate import CONDITIONS
from worker.reindex.named_model import named_settings, settings_of_space
from worker.reindex.plan import free_memory_bytes, plan_of
from worker.reindex.reindexer import ModelsOfSpaces, Reindexer
from worker.reindex.space_changes import StepRefused
from worker.reindex.space_model import SpaceModel
from worker.runtime.stage import Crash
from worker.runtime.surroundings import Surroundings
from worker.service.pipeline import Pipeline
from worker.service.serving_space import ServingSpace
from worker.settings.settings import Settings

_BUSY_SHARE: Final = 0.2
"""Of the time that prepare and the store step have worked, from which on the worker counts as busy."""
_FIELDS: Final = ("to", "accept", "do")
_CLOSE_S: Final = 10.0


class ModelChange(ModelsOfSpaces):
    """Makes the reindexer, opens models for it, and answers `/api/reindex`.

    Thread: `open`, `use` and `close` the reindexer's, `use` also a request's; documents and actions one at a time.
    """

    def __init__(
        self,
        settings: Settings,
        connections: Connections,
        pipeline: Pipeline,
        surroundings: Surroundings,
        *,
        owner: str,
        is_stopping: Callable[[], bool],
        on_crash: Crash,
    ) -> None:
        self._settings = settings
        self._connections = connections
        self._pipeline = pipeline
        self._surroundings = surroundings
        self._on_crash = on_crash
        self._spaces: dict[str, ServingSpace] = {pipeline.space.id: pipeline.space}
        self._embedding: dict[str, SpaceModel] = {}
        self._worked = (0.0, 0.0, False)
        home = SpaceModel(connections.model, pipeline.embedder.submit, surroundings.is_abandoned)
        filler = Filler(pause=surroundings.pause, is_busy=self._is_busy, clock=surroundings.clock)
        self.reindexer = Reindexer(
            connections.sink, home, self, filler, surroundings, owner=owner, fills=settings.kafka.index, is_stopping=is_stopping
        )

    def open(self, name: str, space: str, view: TemplateView) -> EmbedsTemplates:
        """Load a model beside the worker's own, on the CPU where that one is vLLM's. Raises ModelError."""
        chosen = settings_of_space(self._settings, name, space)
        loaded = load_model(on_a_cpu(chosen, model_of(chosen)))
        serving = self._pipeline.open_space(loaded, view, self._on_crash)
        self._spaces[space] = serving
        self._embedding[space] = SpaceModel(loaded, serving.templates.submit, self._surroundings.is_abandoned)
        return self._embedding[space]

    def use(self, space: str) -> None:
        """Embed questions and new templates with an opened model from now on."""
        self._pipeline.space = self._spaces[space]

    def close(self, space: str) -> None:
        """Unload a model."""
        self._embedding.pop(space).close()
        self._pipeline.close_space(self._spaces.pop(space), _CLOSE_S)

    def document(self, _parameters: Mapping[str, str]) -> ReindexJson:
        """Return how far the change is. Raises Refused."""
        return _refused(lambda: self._told(None))

    def act(self, body: Mapping[str, object]) -> ReindexJson:
        """Do what a request asks for: `to`, or `do`. Raises Refused."""
        unknown = sorted(set(body) - set(_FIELDS))
        if unknown:
            raise BadQuery(unknown[0], "there is no such field")
        if ("to" in body) == ("do" in body):
            raise BadQuery("to", "name a model, or say what to do: rollback or drop")
        return _refused(lambda: self._told(self._begun(body)))

    def _begun(self, body: Mapping[str, object]) -> ReindexPlanJson | None:
        if "to" in body:
            return self._start(body)
        self._do(body)
        return None

    def _start(self, body: Mapping[str, object]) -> ReindexPlanJson:
        name, accept = body["to"], body.get("accept", [])
        if not isinstance(name, str) or not name:
            raise BadQuery("to", "must be the name of a model")
        if not isinstance(accept, list) or not all(one in CONDITIONS for one in accept):
            raise BadQuery("accept", f"must be a list of {', '.join(CONDITIONS)}")
        chosen = named_settings(self._settings, name)
        model = model_of(chosen)
        chosen = on_a_cpu(chosen, model)
        space = space_of(model, chosen.model.dims)
        plan = plan_of(
            model=name,
            templates=self._connections.sink.counts().templates,
            dim=space.dim,
            model_bytes=loaded_bytes(chosen, model),
            is_local=not names_server(self._settings.milvus.uri),
            texts_per_s=max(speed_record(chosen, model).read().values(), default=None),
            free_bytes=free_memory_bytes(),
        )
        self.reindexer.start(VectorSpace(space.dim, space.id, space.parts), name, tuple(cast("list[str]", accept)))
        return plan

    def _do(self, body: Mapping[str, object]) -> None:
        step = body["do"]
        if "accept" in body or step not in ("rollback", "drop"):
            raise BadQuery("do", "must be rollback or drop, and nothing else")
        if step == "rollback":
            self.reindexer.roll_back()
        else:
            self.reindexer.drop()

    def _told(self, plan: ReindexPlanJson | None) -> ReindexJson:
        reindexer, spaces = self.reindexer, self._connections.sink.spaces()
        progress, counts = reindexer.progress, reindexer.counts(spaces)
        tally = progress.tally
        return {
            "views": [
                {
                    "space": space,
                    "model": view.model or (reindexer.home_model if space == reindexer.home_space else ""),
                    "state": view.state,
                    "since_ms": view.since_ms,
                    "preferred": space == spaces.preferred,
                    "loaded": space in reindexer.opened,
                    "templates": counts.get(space),
                }
                for space, view in spaces.views.items()
            ],
            "asked": reindexer.active,
            "same": reindexer.are_same(counts),
            "filled_by": "" if spaces.lease is None else spaces.lease.owner,
            "written": tally.written,
            "failed": tally.failed,
            "per_s": round(tally.written / tally.seconds, 1) if tally.seconds else None,
            "findings": [
                {"name": cast('Literal["complete", "vectors", "speed"]', one.name), "met": one.is_met, "found": one.found}
                for one in progress.findings
            ],
            "overlap": None if progress.overlap is None else round(progress.overlap, 3),
            "error": progress.error or next((view.refused for view in spaces.views.values() if view.refused), ""),
            "plan": plan,
        }

    def _is_busy(self) -> bool:
        """Whether lines come in: prepare or the store step has worked for a fifth of the time since the last look, a second ago or more."""
        now_s, meters = self._surroundings.clock(), self._pipeline.indexing.busy
        looked_s, seconds, was_busy = self._worked
        if now_s < looked_s + 1:
            return was_busy
        now = sum(meter.seconds for meter in meters.values())
        self._worked = (now_s, now, now - seconds >= _BUSY_SHARE * (now_s - looked_s))
        return self._worked[2]


def _refused(told: Callable[[], ReindexJson]) -> ReindexJson:
    """Return what is told, or say why not. Raises Refused."""
    try:
        return told()
    except StepRefused as error:
        raise Refused("busy", str(error)) from None
    except ModelError as error:
        raise Refused("not_found", str(error)) from None
    except SinkMismatch as error:
        raise Refused("busy", str(error)) from None
    except (SinkBusy, SinkBroken) as error:
        raise Refused("unavailable", f"the index does not answer: {error}") from None
