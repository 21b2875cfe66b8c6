"""The collections as the settings want them: created, checked or altered when the sink opens.

Called by the sink's `open`, with a client that is connected. Whose index it is is checked before anything is created.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from sinks.index_spaces import VectorSpace
from sinks.milvus.backend import Backend, backend, choose, has_bm25
from sinks.milvus.collections import check_owner, check_space, ensure, properties
from sinks.milvus.fields import (
    CLOCK_PROPERTY,
    GROUP_PROPERTY,
    TTL_PROPERTY,
    TTL_SINCE_PROPERTY,
    CollectionFound,
    CollectionLayout,
    blocks_layout,
    templates_layout,
    templates_name,
)
from sinks.milvus.lite_blocks import LiteBlocks
from sinks.milvus.milvus_client import MilvusConnection
from sinks.milvus.milvus_settings import MilvusSettings
from sinks.milvus.retention import lifetimes, told
from sinks.milvus.server_blocks import ServerBlocks

Say = Callable[[str], None]


class Wishes(NamedTuple):
    """What is to be opened, and how.

    Thread: any.
    """

    settings: MilvusSettings
    space: VectorSpace
    group: str
    retention_s: float | None
    """0: blocks stay for ever; None: as long as they do now."""
    local: bool
    create: bool
    adopt: bool
    now_s: float
    """Seconds since 1970."""
    say: Say


class Opened(NamedTuple):
    """What is there now.

    Thread: any.
    """

    blocks: ServerBlocks | LiteBlocks
    templates: CollectionLayout
    index_type: str
    """Of the templates' vectors."""
    ids: tuple[int, int]
    """Of the collections: templates, blocks."""
    retention_s: float | None
    mark: str
    """Of the last process, for `sinks.milvus.index_time`; "" without one."""


def open_collections(client: MilvusConnection, wishes: Wishes) -> Opened:
    """Create what is missing and check what is there; without `create`, only check. Raises SinkMismatch or MilvusFault."""
    settings, space = wishes.settings, wishes.space
    capable = backend(client.version(), local=wishes.local)
    before = client.describe(settings.collection)
    templates, templates_before = wanted_templates(client, settings, space, capable)
    if before is not None:
        check_owner(before, space, wishes.group, adopt=wishes.adopt)
    kept = properties(space, wishes.group) if wishes.create else None
    store, blocks = _open_blocks(client, wishes, capable, kept)
    check_owner(blocks, space, wishes.group, adopt=wishes.adopt)
    found = ensure(client, templates, capable, create=kept)
    check_space(found, space)
    if wishes.create:
        _adopt(client, blocks, wishes)
    if wishes.create and not wishes.local:
        is_new = before is None or templates_before is None
        blocks, found = set_lifetimes(client, blocks, found, wishes.retention_s, wishes.now_s, None if is_new else wishes.say)
    return Opened(
        store, templates, found.index_type, (found.id, blocks.id), blocks.ttl_s or None, blocks.properties.get(CLOCK_PROPERTY, "")
    )


def wanted_templates(
    client: MilvusConnection, settings: MilvusSettings, space: VectorSpace, capable: Backend
) -> tuple[CollectionLayout, CollectionFound | None]:
    """Return how the templates' collection of a space is to look, and what is there. Raises SinkMismatch for wishes that cannot be had."""
    there = client.describe(templates_name(settings.collection, space.id))
    bm25 = has_bm25(settings, capable, there)
    return templates_layout(settings.collection, space, choose(settings, capable), bm25=bm25), there


def _open_blocks(
    client: MilvusConnection, wishes: Wishes, capable: Backend, kept: Mapping[str, str] | None
) -> tuple[ServerBlocks | LiteBlocks, CollectionFound]:
    """Open the blocks and return them and the collection that bears the settings' name; `kept`: its properties, if it may be created."""
    name = wishes.settings.collection
    if wishes.local:
        local = LiteBlocks(client, name, wishes.say)
        local.open(create=kept is not None, properties=kept or {})
        return local, client.described(name)
    layout = blocks_layout(name)
    found = ensure(client, layout, capable, create=kept)
    return ServerBlocks(client, layout, wishes.say), found


def set_lifetimes(
    client: MilvusConnection, blocks: CollectionFound, templates: CollectionFound, retention_s: float | None, now_s: float, say: Say | None
) -> tuple[CollectionFound, CollectionFound]:
    """Tell both collections how long their rows live, as far as that can be done now; returns them as they are then.

    `say` gets a line about each change; None if one of them is new.
    """
    wanted = lifetimes(
        retention_s,
        blocks_ttl_s=blocks.ttl_s,
        templates_ttl_s=templates.ttl_s,
        since=blocks.properties.get(TTL_SINCE_PROPERTY, ""),
        now_s=now_s,
        is_new=say is None,
    )
    for_templates = {} if wanted.templates is None else {TTL_PROPERTY: str(wanted.templates)}
    for_blocks = {} if wanted.blocks is None else {TTL_PROPERTY: str(wanted.blocks)}
    for_blocks |= {} if wanted.since is None else {TTL_SINCE_PROPERTY: wanted.since}
    templates = _alter(client, templates, for_templates, say)
    return _alter(client, blocks, for_blocks, say), templates


def _alter(client: MilvusConnection, found: CollectionFound, changes: dict[str, str], say: Say | None) -> CollectionFound:
    if not changes:
        return found
    client.alter(found.name, changes)
    now = found._replace(properties={**found.properties, **changes})
    if say is not None and now.ttl_s != found.ttl_s:
        say(f"Milvus keeps the rows of {now.name} {told(now.ttl_s)} from now on; it was {told(found.ttl_s)}")
    return now


def _adopt(client: MilvusConnection, blocks: CollectionFound, wishes: Wishes) -> None:
    owner = blocks.properties.get(GROUP_PROPERTY)
    if owner != wishes.group:
        client.alter(blocks.name, {GROUP_PROPERTY: wishes.group})
        wishes.say(f"consumer group {wishes.group!r} has taken the index {blocks.name!r} over from group {owner!r}")
