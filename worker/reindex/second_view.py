"""What tells of an index with two views whether both have the same templates; `vectail verify` says it."""

from dataclasses import dataclass

from sinks.index_spaces import SpaceState, VectorSpace
from sinks.sink import Sink
from worker.inspecting.busy_retry import BusyRetry
from worker.reindex.filling import missing_templates


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondView:
    """The view that is not asked, beside the one that is."""

    model: str
    """Its name; empty: that of the worker that made the index."""
    space: str
    state: SpaceState
    templates: int
    missing: int
    """Templates of the view that is asked that it does not have."""
    only_there: int
    """Templates that only it has."""


def second_view(sink: Sink, busy_retry: BusyRetry) -> SecondView | None:
    """Compare both views, template by template; None: there is one. Raises SinkMismatch, SinkBusy, SinkBroken."""

    def compare() -> SecondView | None:
        spaces = sink.spaces()
        other = spaces.other
        if other is None or spaces.views[other].state == "dropping":
            return None
        view, preferred = (sink.open_view(VectorSpace(spaces.views[space].dim, space)) for space in (other, spaces.preferred))
        return SecondView(
            model=spaces.views[other].model,
            space=other,
            state=spaces.views[other].state,
            templates=view.count(),
            missing=sum(1 for _ in missing_templates(preferred, view)),
            only_there=sum(1 for _ in missing_templates(view, preferred)),
        )

    return busy_retry.call(compare)
