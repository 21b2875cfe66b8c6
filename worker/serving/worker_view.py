"""What the HTTP server needs of a worker, and nothing else of it: `worker.service.service` makes it, tests make their own."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from worker.asking.documents import Action, Document, Page
from worker.asking.lane_question import TakeRequest
from worker.settings.settings import Settings


class FurtherApi(Protocol):
    """Paths beside those of the index, with their own shape of errors.

    Thread: the event loop; `stop` and `give_up` any.
    """

    def routes(self) -> Iterable[Any]:
        """Return Starlette's routes."""

    def error_body(self, status: int, path: str) -> bytes | None:
        """Return the body of an answer to a request that reached no route, or failed; None if the path is none of its own."""

    def stop(self) -> None:
        """Take no more requests; those that are open may still be answered."""

    def give_up(self) -> None:
        """Refuse whatever is open: the steps behind have ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerView:
    """Values, and callables that any thread may call; pages, documents and actions are by path."""

    take_request: TakeRequest
    """Called on the server's thread."""
    name: str = ""
    """Of this process, as the page shows it."""
    pages: Mapping[str, Page] = field(default_factory=dict)
    documents: Mapping[str, Document] = field(default_factory=dict)
    actions: Mapping[str, Action] = field(default_factory=dict)
    embeddings: FurtherApi | None = None
    """None: nobody can ask for vectors."""
    has_index: bool = True
    """Whether there is an index that can be asked."""
    settings: Settings | None = None
    """How the MCP tools mask pasted lines; None: there is no `/mcp`."""
