"""How long blocks and templates live, and in which order that is changed.

Blocks live L, templates three times that: a worker counts a template as known for at most L after it was written, a block may be as old as
1.1 L, and no block may outlive a template of its lines. A template that was written once, when nothing was ever removed, is as old as the
index: so when blocks are to live shorter than before, templates follow only after L has passed, in which every template that is still
in use was written again. When blocks are to live longer, templates come first.

Pure functions, called when the sink opens and after each of its writes.
"""

import math
from typing import NamedTuple

_MOST_TTL_S = 3_155_760_000
"""A hundred years: Milvus takes no more."""
_TEMPLATES_LONGER = 3


class Lifetimes(NamedTuple):
    """What the collections are to be told, templates first, in seconds, 0 for ever; None: leave it.

    Thread: any.
    """

    blocks: int | None
    templates: int | None
    since: str | None
    """The mark to keep: since when blocks live as long as they do."""


def lifetimes(retention_s: float | None, *, blocks_ttl_s: int, templates_ttl_s: int, since: str, now_s: float, is_new: bool) -> Lifetimes:
    """Say what is to be set now; `retention_s` is the settings' (0: for ever; None: as found), the others are what is there.

    `since` is the mark of an earlier call. `is_new`: one of the collections was created just now.
    """
    lives_s = blocks_ttl_s if retention_s is None else _ttl_s(retention_s)
    wanted_s = _ttl_s(_TEMPLATES_LONGER * lives_s)
    blocks = None if lives_s == blocks_ttl_s else lives_s
    if wanted_s == templates_ttl_s:
        return Lifetimes(blocks, None, None)
    is_longer = wanted_s == 0 or 0 < templates_ttl_s < wanted_s
    if is_longer or is_new:
        return Lifetimes(blocks, wanted_s, None)
    since_s = _since(since, lives_s)
    if blocks is not None or since_s is None:
        return Lifetimes(blocks, None, f"{math.ceil(now_s)}/{lives_s}")
    return Lifetimes(None, wanted_s if now_s >= since_s + lives_s else None, None)


def told(seconds: int) -> str:
    """Return a lifetime as a person reads it."""
    return f"{seconds / 86_400:.4g} days" if seconds else "for ever"


def _since(mark: str, lives_s: int) -> int | None:
    """Read a mark; one of another lifetime says nothing."""
    began, _, lived = mark.partition("/")
    return int(began) if began.isdecimal() and lived == str(lives_s) else None


def _ttl_s(seconds: float) -> int:
    return min(math.ceil(seconds), _MOST_TTL_S)
