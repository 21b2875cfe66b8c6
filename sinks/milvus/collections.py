"""Create both collections, or check what is there field by field.

Called by the sink's `open`. Promises that after `ensure` a collection has our columns, our vector's index, and vectors of
our embedding space; or raises `SinkMismatch` with one line that names the collection, the field, what is there, and what was expected.
"""

import json
import re

from sinks.milvus.backend import Backend, build_params
from sinks.milvus.client import Client, type_name
from sinks.milvus.faults import MilvusFault
from sinks.milvus.fields import (
    SPACE_PARTS_PROPERTY,
    SPACE_PROPERTY,
    TTL_PROPERTY,
    VECTOR_KINDS,
    CollectionFound,
    Field,
    Layout,
)
from sinks.milvus.settings import VectorSpace
from sinks.sink import SinkMismatch

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,200}")
_REFUSED = 1_100
"""Milvus's "invalid parameter"."""


def check_name(collection: str) -> None:
    """Raise SinkMismatch for a name that no Milvus takes."""
    if not _NAME.fullmatch(collection):
        raise SinkMismatch(f"Milvus collection {collection!r}: a name is letters, digits and underscores, and begins with no digit")


def ensure(client: Client, layout: Layout, space: VectorSpace, capable: Backend, ttl_s: int | None, *, create: bool) -> CollectionFound:
    """Create the collection when it is missing, check it when it is there, then load it; returns it as it is now.

    Rows go `ttl_s` after their last write (0: never; None: as it is there); a present collection is told when it has another value.
    Without `create` nothing is created or altered. Raises SinkMismatch, or MilvusFault when Milvus does not answer.
    """
    found = client.describe(layout.name)
    if found is None:
        if not create:
            raise SinkMismatch(f"Milvus collection {layout.name!r} does not exist; nothing has been indexed yet")
        found = _create(client, layout, space, ttl_s or 0)
    check_collection(layout, found, space)
    if create and ttl_s is not None and found.ttl_s != ttl_s:
        client.alter(layout.name, {TTL_PROPERTY: str(ttl_s)})
        found = found._replace(properties={**found.properties, TTL_PROPERTY: str(ttl_s)})
    index = _ensure_index(client, layout, capable, create=create)
    client.load(layout.name)
    return found._replace(index_type=index)


def _create(client: Client, layout: Layout, space: VectorSpace, ttl_s: int) -> CollectionFound:
    """Create a collection, unless somebody else does at the same moment; returns what is there then."""
    properties = {SPACE_PROPERTY: space.id, SPACE_PARTS_PROPERTY: json.dumps(dict(space.parts))}
    if ttl_s:
        properties[TTL_PROPERTY] = str(ttl_s)
    try:
        client.create(layout, properties)
    except MilvusFault:
        found = client.describe(layout.name)
        if found is None:
            raise
    else:
        found = client.describe(layout.name)
    if found is None:
        raise MilvusFault("create", -1, f"collection {layout.name} is not there after it was created")
    return found


def _ensure_index(client: Client, layout: Layout, capable: Backend, *, create: bool) -> str:
    """Check the vector's index and return its type; an empty collection without one is a creation that was cut short, and is finished."""
    vector = layout.vector
    found = client.index_of(layout.name, vector.name)
    if found is None and create and client.rows_written(layout.name) == 0:
        _create_indexes(client, layout, capable)
        return vector.index_type
    index, metric = found or ("none", "none")
    if metric != vector.metric:
        raise _mismatch(layout, vector, "index", metric, f"metric {vector.metric}")
    if index != vector.index_type and not vector.any_index:
        raise _mismatch(layout, vector, "index", index, vector.index_type)
    return index


def _create_indexes(client: Client, layout: Layout, capable: Backend) -> None:
    """Create the vector's index and those of the scalars that filters name."""
    vector = layout.vector
    try:
        client.index(layout.name, vector, vector.index_type, build_params(vector.index_type, vector.limit))
    except MilvusFault as fault:
        if fault.code != _REFUSED:
            raise
        raise SinkMismatch(
            f"Milvus collection {layout.name!r}, field {vector.name!r}: {vector.index_type} is refused: {fault.reason}"
        ) from None
    for field in layout.fields if capable.scalar_index else ():
        if field.indexed:
            client.index(layout.name, field, str(capable.scalar_index))


def check_collection(layout: Layout, found: CollectionFound, space: VectorSpace) -> None:
    """Raise SinkMismatch for the first difference between what is there and what must be."""
    for field in layout.fields:
        _check_field(layout, field, found)
    strangers = [name for name, there in found.fields.items() if name not in layout.names and not there.optional]
    if strangers:
        raise SinkMismatch(f"Milvus collection {layout.name!r}, field {strangers[0]!r}: every row would need it, expected no such field")
    there = found.properties.get(SPACE_PROPERTY)
    if there != space.id:
        raise SinkMismatch(
            f"Milvus collection {layout.name!r}: its vectors are of embedding space {there or 'unknown'}, this worker's are of {space.id}"
            f"{_difference(found, space)}; use another collection or the model that filled this one"
        )


def _difference(found: CollectionFound, space: VectorSpace) -> str:
    """Say what tells the two spaces apart, as far as the collection remembers."""
    try:
        there = json.loads(found.properties.get(SPACE_PARTS_PROPERTY, "{}"))
        differing = [name for name in space.parts if there.get(name, space.parts[name]) != space.parts[name]]
    except (ValueError, AttributeError):
        return ""
    told = ", ".join(f"{name} is {there[name]!r} there and {space.parts[name]!r} here" for name in differing)
    return f" ({told})" if told else ""


def _check_field(layout: Layout, field: Field, found: CollectionFound) -> None:
    there = found.fields.get(field.name)
    if there is None:
        raise _mismatch(layout, field, "field", "missing", f"a {type_name(field.kind)}")
    if there.key != field.key:
        raise _mismatch(layout, field, "primary key", _yes(there.key), _yes(field.key))
    if field.key and found.auto_id:
        raise _mismatch(layout, field, "auto_id", "on", "off")
    if there.type != type_name(field.kind):
        raise _mismatch(layout, field, "type", there.type, type_name(field.kind))
    if field.limit and there.limit != field.limit:
        raise _mismatch(layout, field, "dim" if field.kind in VECTOR_KINDS else "max_length", str(there.limit), str(field.limit))
    if there.computed_from != field.computed_from:
        raise _mismatch(layout, field, "BM25 function", _source(there.computed_from), _source(field.computed_from))
    if there.partition_key != field.partition_key:
        raise _mismatch(layout, field, "partition key", _yes(there.partition_key), _yes(field.partition_key))


def _source(column: str) -> str:
    return f"one of {column!r}" if column else "none"


def _mismatch(layout: Layout, field: Field, what: str, found: str, expected: str) -> SinkMismatch:
    return SinkMismatch(f"Milvus collection {layout.name!r}, field {field.name!r}: {what} is {found}, expected {expected}")


def _yes(flag: bool) -> str:  # noqa: FBT001 (a word for a flag)
    return "yes" if flag else "no"
