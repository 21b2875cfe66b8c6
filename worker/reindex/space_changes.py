"""What an index may become: the steps from one view to two, to the other one asked, and back to one. Pure; each returns what is then."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from sinks.index_spaces import IndexSpaces, SpaceLease, SpaceState, StoredSpace, VectorSpace

LEASE_MS: Final = 30_000
"""Whoever fills renews its lease in a third of this; after all of it another worker goes on."""
DROP_AFTER_MS: Final = 35_000
"""A view that was given up is removed only then: questions that were embedded for it are answered first (they wait 30 s at most)."""

_LONGEST_REASON: Final = 300


class StepRefused(Exception):
    """The index cannot take this step now; the message is one line that says what can be done."""


def begin(spaces: IndexSpaces, home: VectorSpace, home_model: str, to: VectorSpace, model: str, now_ms: int) -> IndexSpaces:
    """Begin to fill a view of another space, or to complete one that was asked before. Raises StepRefused."""
    if to.id == spaces.preferred:
        raise StepRefused(f"the index is of this model already ({model}, embedding space {to.id})")
    other = spaces.other
    if other is not None and other != to.id:
        raise StepRefused(f"the index has a second view already, of {_named(spaces, other)}: finish that, or give it up with --drop")
    if other is not None and spaces.views[other].state == "dropping":
        raise StepRefused(f"the view of {_named(spaces, other)} is being removed; try again in a minute")
    if other is not None and spaces.views[other].state == "building":
        return spaces
    old = spaces.views[spaces.preferred]
    if home.id == spaces.preferred:
        old = replace(old, dim=home.dim, model=old.model or home_model)
    if other is not None:
        return replace(spaces, views=_in_states(spaces, {other: "building"}, now_ms))
    new = StoredSpace(dim=to.dim, model=model, state="building", since_ms=now_ms)
    return replace(spaces, views={spaces.preferred: old, to.id: new})


def waive(spaces: IndexSpaces, conditions: tuple[str, ...]) -> IndexSpaces:
    """Let the view that is building fail these conditions; it will be judged again."""
    other = spaces.other
    if other is None:
        return spaces
    return spaces.with_view(other, replace(spaces.views[other], waived=conditions, refused=""))


def refuse(spaces: IndexSpaces, space: str, why: str) -> IndexSpaces:
    """Remember why a view that is building is not asked, for every worker to tell."""
    if not is_building(spaces, space):
        return spaces
    return spaces.with_view(space, replace(spaces.views[space], refused=why[:_LONGEST_REASON]))


def is_building(spaces: IndexSpaces, space: str) -> bool:
    """Whether this is the second view, and some of its templates are missing or were not judged."""
    return spaces.other == space and spaces.views[space].state == "building"


def ask_other(spaces: IndexSpaces, now_ms: int) -> IndexSpaces:
    """Prefer the other view; the one before stays, and is kept complete."""
    other = spaces.other
    if other is None:
        raise StepRefused("the index has one view: there is nothing to go to")
    return replace(spaces, preferred=other, views=_in_states(spaces, {spaces.preferred: "old", other: "ready"}, now_ms))


def roll_back(spaces: IndexSpaces, now_ms: int) -> IndexSpaces:
    """Prefer the view that was asked before. Raises StepRefused."""
    other = spaces.other
    if other is None or spaces.views[other].state != "old":
        raise StepRefused("there is no view to go back to: the index has one, or the other one is not complete yet")
    return ask_other(spaces, now_ms)


def give_up(spaces: IndexSpaces, now_ms: int) -> IndexSpaces:
    """Give up the view that is not preferred. Raises StepRefused."""
    other = spaces.other
    if other is None:
        raise StepRefused("the index has one view, which is the one that is asked: nothing can be dropped")
    if spaces.views[other].state == "dropping":
        return spaces
    return replace(spaces, views=_in_states(spaces, {other: "dropping"}, now_ms))


def without_other(spaces: IndexSpaces) -> IndexSpaces:
    """Forget the view that has been removed, and who filled."""
    return IndexSpaces(preferred=spaces.preferred, views={spaces.preferred: spaces.views[spaces.preferred]})


def leased(spaces: IndexSpaces, owner: str, now_ms: int) -> IndexSpaces | None:
    """Take or renew the lease; None: another worker has it. The same object: it need not be renewed yet."""
    lease = spaces.lease
    if lease is not None and lease.owner != owner and lease.until_ms > now_ms:
        return None
    if lease is not None and lease.owner == owner and lease.until_ms > now_ms + LEASE_MS * 2 // 3:
        return spaces
    return replace(spaces, lease=SpaceLease(owner=owner, until_ms=now_ms + LEASE_MS))


def is_due_to_go(spaces: IndexSpaces, now_ms: int) -> bool:
    """Whether the view that was given up may be removed now."""
    other = spaces.other
    return other is not None and spaces.views[other].state == "dropping" and now_ms >= spaces.views[other].since_ms + DROP_AFTER_MS


def _in_states(spaces: IndexSpaces, states: Mapping[str, SpaceState], now_ms: int) -> dict[str, StoredSpace]:
    return {
        space: replace(view, state=states[space], since_ms=now_ms, refused="") if space in states else view
        for space, view in spaces.views.items()
    }


def _named(spaces: IndexSpaces, space: str) -> str:
    return spaces.views[space].model or f"embedding space {space}"
