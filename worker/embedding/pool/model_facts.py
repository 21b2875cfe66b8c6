"""What is told of a model of the pool: metrics and `/v1/models` show it."""

from dataclasses import dataclass
from typing import Final, Literal

ModelState = Literal["absent", "loading", "ready", "draining", "failed"]
MODEL_STATES: Final[tuple[ModelState, ...]] = ("absent", "loading", "ready", "draining", "failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """A model as metrics and `/v1/models` show it; counts only grow."""

    state: ModelState
    size_bytes: int
    """Bytes of the budget that it takes now."""
    leases: int
    waiting: int
    """Requests that wait for it."""
    loads: int
    failed_loads: int
    evictions: int
    """Times that it went because another model needed room."""
    error: str
    """Why the last attempt to load it failed; empty if it did not."""
