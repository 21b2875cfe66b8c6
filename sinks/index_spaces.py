"""Which embedding spaces an index has views of, and which one is asked: what the blocks' collection remembers of its models, as JSON.

A view holds the vectors of one model for the same templates (`sinks.sink.TemplateView`). An index has one, and two while its model
changes (`worker.reindex`). Pure values; the sink reads and writes them as one text, so that they change all at once.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from types import MappingProxyType
from typing import Final, Literal, NamedTuple, cast

SpaceState = Literal["building", "ready", "old", "dropping"]
"""`building`: some templates are still missing, nobody asks it; `ready`: complete; `old`: complete, and asked before the preferred one;
`dropping`: to be removed in a moment."""
_STATES: Final = ("building", "ready", "old", "dropping")
_COMPLETE: Final = ("ready", "old")


class VectorSpace(NamedTuple):
    """Which vectors may be compared: a view must be of the same space as the model."""

    dim: int
    """Components of a vector."""
    id: str
    """Collections that record another id are refused."""
    parts: Mapping[str, str] = MappingProxyType({})
    """What the id stands for, by the names that the user knows; the refusal lists the parts that differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSpace:
    """One view, and how far it is."""

    dim: int
    model: str
    """Name of the model, for whoever is to load it; empty: that of the worker that made the index."""
    state: SpaceState
    since_ms: int
    """Since when it is in this state; milliseconds since 1970."""
    waived: tuple[str, ...] = ()
    """Conditions that it may fail before it is asked (`worker.reindex.gate`)."""
    refused: str = ""
    """Why it is not asked, one line; empty: it met its conditions, or was not judged yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceLease:
    """Who fills and follows; another worker takes over when it has not been renewed."""

    owner: str
    until_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexSpaces:
    """`preferred` is one of `views`, and not one that is building; there are two views at most."""

    preferred: str
    """Id of the space that is asked."""
    views: Mapping[str, StoredSpace] = field(default_factory=dict)
    """By the id of their space."""
    lease: SpaceLease | None = None

    @property
    def other(self) -> str | None:
        """The id of the space that is not preferred; None: there is one view."""
        return next((one for one in self.views if one != self.preferred), None)

    def with_view(self, space: str, view: StoredSpace) -> "IndexSpaces":
        """Return these with another view, or one that has changed."""
        return replace(self, views={**self.views, space: view})


def one_view(space: VectorSpace) -> IndexSpaces:
    """Return what an index has that never changed its model."""
    return IndexSpaces(preferred=space.id, views={space.id: StoredSpace(dim=space.dim, model="", state="ready", since_ms=0)})


def encode_spaces(spaces: IndexSpaces) -> str:
    """Return them as one line of JSON."""
    lease = None if spaces.lease is None else asdict(spaces.lease)
    views = {space: asdict(view) for space, view in spaces.views.items()}
    return json.dumps({"preferred": spaces.preferred, "views": views, "lease": lease}, separators=(",", ":"))


def decode_spaces(text: str) -> IndexSpaces:
    """Read what `encode_spaces` wrote. Raises ValueError for anything else, whatever is wrong with it."""
    try:
        told = json.loads(text)
        views = {str(space): _view(view) for space, view in told["views"].items()}
        lease = told["lease"]
        spaces = IndexSpaces(
            preferred=str(told["preferred"]),
            views=views,
            lease=None if lease is None else SpaceLease(owner=str(lease["owner"]), until_ms=int(lease["until_ms"])),
        )
    except (TypeError, KeyError, AttributeError, OverflowError) as error:
        raise ValueError(f"not the spaces of an index: {error}") from None
    if spaces.preferred not in views or views[spaces.preferred].state not in _COMPLETE or len(views) > 2:  # noqa: PLR2004 - a pair
        raise ValueError("not the spaces of an index: none that is complete is preferred, or there are more than two")
    return spaces


def _view(told: Mapping[str, object]) -> StoredSpace:
    if told["state"] not in _STATES:
        raise ValueError(f"a view cannot be {told['state']!r}")
    waived = cast("list[object]", told["waived"])
    return StoredSpace(
        dim=int(cast("int", told["dim"])),
        model=str(told["model"]),
        state=told["state"],
        since_ms=int(cast("int", told["since_ms"])),
        waived=tuple(map(str, waived)),
        refused=str(told.get("refused", "")),
    )
