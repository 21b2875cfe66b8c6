"""The real HTTP server of a worker whose change of the model goes as a test says."""

from collections.abc import Mapping
from typing import Any

from worker.asking.refusals import Refused
from worker.runtime.listening import listen
from worker.serving.server import HttpServer
from worker.serving.worker_view import WorkerView
from worker.settings.service_tables import HttpTable

TOKEN = "a-secret-of-the-tests"  # noqa: S105 - nothing else has it
OLD, NEW = "space-1", "space-2"
PLAN = {"model": "bge-small", "templates": 10_000, "seconds": 83.0, "memory_bytes": 140_000_000, "free_bytes": 9_000_000_000}
_NONE = {
    "filled_by": "host:1",
    "written": 0,
    "failed": 0,
    "per_s": None,
    "findings": [],
    "overlap": None,
    "error": "",
    "same": False,
    "plan": None,
}


def view_of(model: str, state: str, templates: int | None = 10_000, *, space: str = OLD, asked: bool = False) -> dict[str, object]:
    return {
        "space": space,
        "model": model,
        "state": state,
        "since_ms": 1_700_000_000_000,
        "preferred": asked,
        "loaded": templates is not None,
        "templates": templates,
    }


def building(templates: int, **told: object) -> dict[str, object]:
    """Return what a worker says while it fills."""
    old, new = view_of("minilm", "ready", asked=True), view_of("bge-small", "building", templates, space=NEW)
    return {**_NONE, "views": [old, new], "asked": OLD, **told}


def changed(**told: object) -> dict[str, object]:
    """Return what it says when the new model is asked."""
    old, new = view_of("minilm", "old"), view_of("bge-small", "ready", space=NEW, asked=True)
    return {**_NONE, "views": [old, new], "asked": NEW, **told}


class ReindexWorker:
    """Answers each GET with the next document, and the last one for ever; an action with `to_action`, or with a refusal.

    Thread: the test's; documents and actions are answered on the server's.
    """

    def __init__(self) -> None:
        self.documents: list[Mapping[str, Any]] = []
        self.to_action: Mapping[str, Any] = building(0, plan=PLAN)
        self.refusal: Refused | None = None
        self.asked: list[Mapping[str, object]] = []
        """The body of every action."""
        table = HttpTable.model_validate({"port": 0, "token": TOKEN})
        self._server = HttpServer(
            listen(table),
            table,
            WorkerView(
                take_request=lambda _request: False, documents={"/api/reindex": self._document}, actions={"/api/reindex": self._act}
            ),
            say=lambda _line: None,
            on_crash=lambda _stage, _error: None,
        )
        self._server.start()

    @property
    def port(self) -> str:
        return self._server.listening.url.rpartition(":")[2]

    def close(self) -> None:
        self._server.stop_intake()
        self._server.close(20.0)

    def _document(self, _parameters: Mapping[str, str]) -> Mapping[str, Any]:
        if self.refusal is not None:
            raise self.refusal
        return self.documents.pop(0) if len(self.documents) > 1 else self.documents[0]

    def _act(self, body: Mapping[str, object]) -> Mapping[str, Any]:
        self.asked.append(body)
        if self.refusal is not None:
            raise self.refusal
        return self.to_action
