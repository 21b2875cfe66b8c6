"""What `/api/reindex` takes and holds: the models of the index, and the change from one to another."""

from typing import Annotated, Literal, NotRequired, TypedDict

from worker.asking.answers import Count, Ms, Says, Seconds


class ReindexPlanJson(TypedDict):
    """What a change of the model takes."""

    model: str
    templates: Count
    seconds: Annotated[Seconds | None, Says("description", "at the pace measured here, while no lines come in; null: not measured yet")]
    memory_bytes: Annotated[Count, Says("description", "of the model, and with Milvus Lite of the second view")]
    free_bytes: Count | None


class ReindexViewJson(TypedDict):
    """A view: the vectors of one model for the templates of the index."""

    space: str
    model: Annotated[str, Says("description", "empty: that of the worker that made the index")]
    state: Literal["building", "ready", "old", "dropping"]
    since_ms: Ms
    preferred: Annotated[bool, Says("description", "whether questions are answered from it")]
    loaded: Annotated[bool, Says("description", "whether this worker has its model")]
    templates: Annotated[Count | None, Says("description", "null where this worker has not opened it")]


class ReindexFindingJson(TypedDict):
    """A condition that a filled view must meet."""

    name: Literal["complete", "vectors", "speed"]
    met: bool
    found: str


class ReindexRequestJson(TypedDict):
    """Either `to` or `do`."""

    to: NotRequired[Annotated[str, Says("description", "name of the model: one of [[serve.model]], an installed or a prepared one")]]
    accept: NotRequired[Annotated[list[Literal["complete", "vectors", "speed"]], Says("description", "conditions that may fail")]]
    do: NotRequired[Literal["rollback", "drop"]]


class ReindexJson(TypedDict):
    """Of `/api/reindex`."""

    views: list[ReindexViewJson]
    asked: Annotated[str, Says("description", "the space that this worker asks")]
    same: Annotated[bool, Says("description", "whether the two views have the same templates, as this worker has compared them")]
    filled_by: Annotated[str, Says("description", "the worker that fills and follows; empty: none does")]
    written: Annotated[Count, Says("description", "templates that this worker has written into a view since it began")]
    failed: Annotated[Count, Says("description", "of these, texts for which the model has no vector")]
    per_s: float | None
    findings: list[ReindexFindingJson]
    overlap: Annotated[float | None, Says("description", "of the ten nearest templates of both models, 0 to 1; usually 0.3 to 0.4")]
    error: str
    plan: Annotated[ReindexPlanJson | None, Says("description", "of the change that was just begun")]
