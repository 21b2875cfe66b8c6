"""Both collections as the settings want them: created, checked or altered when the sink opens.

Called by the sink's `open`, with a client that is connected.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

from sinks.milvus.backend import backend, choose, has_bm25
from sinks.milvus.client import Client
from sinks.milvus.collections import ensure
from sinks.milvus.fields import Layout, lines_layout, templates_layout
from sinks.milvus.settings import MilvusSettings, VectorSpace


class Opened(NamedTuple):
    """What is there now.

    Thread: any.
    """

    lines: Layout
    templates: Layout
    index_type: str
    """Of the templates' vectors."""
    ids: tuple[int, int]
    """Of the collections: templates, lines."""
    retention_s: float | None
    is_new: bool
    """Whether the lines' collection was created now."""


def ensure_both(
    client: Client, settings: MilvusSettings, space: VectorSpace, *, local: bool, create: bool, say: Callable[[str], None]
) -> Opened:
    """Create what is missing and check what is there; without `create`, only check. Raises SinkMismatch or MilvusFault."""
    capable = backend(client.version(), local=local)
    choice = choose(settings, capable)
    bm25 = has_bm25(settings, capable, client.describe(settings.collection))
    lines = lines_layout(settings.collection, bm25=bm25, partition_key=settings.partition_key)
    templates = templates_layout(settings.collection, space.dim, **choice._asdict(), any_index=settings.index == "auto")
    before = [client.describe(layout.name) for layout in (templates, lines)]
    ttls_s = [0 if one is None else one.ttl_s for one in before]
    wanted = lifetimes(None if local else settings.retention_s, templates_ttl_s=ttls_s[0], lines_ttl_s=ttls_s[1])
    found = [ensure(client, layout, space, capable, ttl_s, create=create) for layout, ttl_s in zip((templates, lines), wanted, strict=True)]
    for one, ttl_s, now in zip(before, ttls_s, found, strict=True):
        if one is not None and now.ttl_s != ttl_s:
            say(f"Milvus keeps the rows of {now.name} {told(now.ttl_s)} from now on; it was {told(ttl_s)}")
    return Opened(lines, templates, found[0].index_type, (found[0].id, found[1].id), found[1].ttl_s or None, before[1] is None)


_MOST_TTL_S = 3_155_760_000
"""A hundred years: Milvus takes no more."""


class Lifetimes(NamedTuple):
    """What both collections are to be told, in seconds, 0 for ever; None: leave it.

    Thread: any.
    """

    templates: int | None
    lines: int | None


def lifetimes(retention_s: float | None, *, lines_ttl_s: int, templates_ttl_s: int) -> Lifetimes:
    """Say what is to be set; `retention_s` is the settings' (0: for ever; None: as found), the others are what is there now."""
    if retention_s is not None:
        return Lifetimes(_ttl_s(2 * retention_s), _ttl_s(retention_s))
    shortest_s = min(2 * lines_ttl_s, _MOST_TTL_S)
    return Lifetimes(shortest_s if 0 < templates_ttl_s < shortest_s else None, None)


def told(seconds: int) -> str:
    """Return a lifetime as a person reads it."""
    return f"{seconds / 86_400:.4g} days" if seconds else "for ever"


def _ttl_s(seconds: float) -> int:
    return min(math.ceil(seconds), _MOST_TTL_S)
