"""What the HTTP server needs of a worker, and nothing else of it: `worker.service.service` makes it, tests make their own."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from worker.asking.documents import Action, Document, Page
from worker.asking.lane_question import TakeRequest
from worker.settings.settings import Settings


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
    settings: Settings | None = None
    """How the MCP tools mask pasted lines; None: there is no `/mcp`."""
