"""Create a collection, or check what is there: whose index it is, and each of its fields.

Called when the sink opens. Promises that after `ensure` a collection has our columns and our vectors' indexes and is loaded; a difference
is a `SinkMismatch` of one line that names the collection, the field, what is there, and what was expected.
"""

import json
import re
from collections.abc import Mapping

from sinks.index_spaces import IndexSpaces, VectorSpace, decode_spaces, one_view
from sinks.milvus.backend import Backend, build_params
from sinks.milvus.faults import MilvusFault
from sinks.milvus.fields import (
    ARRAY_ITEMS,
    GROUP_PROPERTY,
    LAYOUT,
    LAYOUT_PROPERTY,
    SPACE_PARTS_PROPERTY,
    SPACE_PROPERTY,
    SPACES_PROPERTY,
    VECTOR_KINDS,
    CollectionFound,
    CollectionLayout,
    Field,
)
from sinks.milvus.milvus_client import MilvusConnection, type_name
from sinks.sink import SinkMismatch

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,200}")
_REFUSED = (6, 1_100)
"""Milvus Lite's "illegal argument", Milvus's "invalid parameter"."""
_FIRST_LAYOUT = {"id", "template", "text", "time"}
"""Columns of the first layout's lines."""


def check_name(collection: str) -> None:
    """Raise SinkMismatch for a name that no Milvus takes."""
    if not _NAME.fullmatch(collection):
        raise SinkMismatch(f"Milvus collection {collection!r}: a name is letters, digits and underscores, and begins with no digit")


def properties(space: VectorSpace, group: str) -> dict[str, str]:
    """Return what a new collection remembers of who made it."""
    return {
        LAYOUT_PROPERTY: LAYOUT,
        SPACE_PROPERTY: space.id,
        SPACE_PARTS_PROPERTY: json.dumps(dict(space.parts)),
        GROUP_PROPERTY: group,
    }


def ensure(client: MilvusConnection, layout: CollectionLayout, capable: Backend, *, create: Mapping[str, str] | None) -> CollectionFound:
    """Create the collection with these properties when it is missing, check its fields when it is there, then load it.

    Without properties nothing is created. Returns it as it is now. Raises SinkMismatch, or MilvusFault when Milvus does not answer.
    """
    found = client.describe(layout.name)
    if found is None:
        if create is None:
            raise SinkMismatch(f"Milvus collection {layout.name!r} does not exist; nothing has been indexed yet")
        found = _create(client, layout, capable, create)
    check_collection(layout, found)
    indexes = [_ensure_index(client, layout, vector, capable, create=create is not None) for vector in layout.vectors]
    client.load(layout.name)
    return found._replace(index_type=indexes[0])


def _create(client: MilvusConnection, layout: CollectionLayout, capable: Backend, kept: Mapping[str, str]) -> CollectionFound:
    """Create a collection, unless somebody else does at the same moment; returns what is there then."""
    try:
        client.create(layout, kept, maps_files=capable.maps_files)
    except MilvusFault:
        found = client.describe(layout.name)
        if found is None:
            raise
    else:
        found = client.describe(layout.name)
    if found is None:
        raise MilvusFault("create", -1, f"collection {layout.name} is not there after it was created")
    return found


def _ensure_index(client: MilvusConnection, layout: CollectionLayout, vector: Field, capable: Backend, *, create: bool) -> str:
    """Check a vector's index and return its type; an empty collection without one is a creation that was cut short, and is finished."""
    found = client.index_of(layout.name, vector.name)
    if found is None and create and client.rows_written(layout.name) == 0:
        _create_index(client, layout, vector)
        if vector == layout.vectors[-1] and capable.scalar_index:
            _index_scalars(client, layout, capable.scalar_index)
        return vector.index_type
    index, metric = found or ("none", "none")
    if metric != vector.metric:
        raise _mismatch(layout, vector, "index", metric, f"metric {vector.metric}")
    if index != vector.index_type and not vector.any_index:
        raise _mismatch(layout, vector, "index", index, vector.index_type)
    return index


def _create_index(client: MilvusConnection, layout: CollectionLayout, vector: Field) -> None:
    try:
        client.index(layout.name, vector, vector.index_type, {} if vector.computed_from else build_params(vector.index_type, vector.limit))
    except MilvusFault as fault:
        if fault.code not in _REFUSED:
            raise
        raise SinkMismatch(
            f"Milvus collection {layout.name!r}, field {vector.name!r}: {vector.index_type} is refused: {fault.reason}"
        ) from None


def _index_scalars(client: MilvusConnection, layout: CollectionLayout, index_type: str) -> None:
    """Index what filters name. A server that has no index for arrays (the first ones of 2.4) looks through all of them instead."""
    for field in layout.fields:
        try:
            if field.indexed:
                client.index(layout.name, field, index_type)
        except MilvusFault as fault:
            if field.kind not in ARRAY_ITEMS or fault.code not in _REFUSED:
                raise


def check_owner(found: CollectionFound, space: VectorSpace, group: str, *, adopt: bool) -> None:
    """Raise SinkMismatch unless these blocks are of our layout, our embedding space and, unless we `adopt` them, our consumer group."""
    layout = found.properties.get(LAYOUT_PROPERTY)
    if layout is None and found.fields.keys() >= _FIRST_LAYOUT:
        raise SinkMismatch(
            f"Milvus collection {found.name!r} is an index of the first layout, with a row per line: this version stores blocks of lines; "
            "set milvus.collection to a new name and index again (Kafka still has the lines), then drop the old collection"
        )
    if layout != LAYOUT:
        raise SinkMismatch(
            f"Milvus collection {found.name!r} has layout {layout or 'unknown'}, this version reads and writes layout {LAYOUT}; "
            "set milvus.collection to a new name"
        )
    check_view_of(found, space)
    owner = found.properties.get(GROUP_PROPERTY)
    if owner != group and not adopt:
        raise SinkMismatch(
            f"Milvus collection {found.name!r} is the index of consumer group {owner!r}, this worker's group is {group!r} and would "
            "store every line a second time; set milvus.collection to a new name, or take the index over with --adopt"
        )


def spaces_of(blocks: CollectionFound) -> IndexSpaces:
    """Return the views that the blocks' collection remembers. Raises SinkMismatch for what no version of ours has written."""
    kept = blocks.properties.get(SPACES_PROPERTY)
    if kept is None:
        return one_view(VectorSpace(0, blocks.properties.get(SPACE_PROPERTY, "")))
    try:
        return decode_spaces(kept)
    except ValueError as error:
        raise SinkMismatch(f"Milvus collection {blocks.name!r}, property {SPACES_PROPERTY}: {error}") from None


def check_view_of(blocks: CollectionFound, space: VectorSpace) -> None:
    """Raise SinkMismatch unless an index has a complete view of our embedding space."""
    view = spaces_of(blocks).views.get(space.id)
    if view is None:
        check_space(blocks, space)
    elif view.state in ("building", "dropping"):
        what = "are still being computed" if view.state == "building" else "are being removed"
        raise SinkMismatch(
            f"Milvus collection {blocks.name!r}: its vectors of embedding space {space.id}, this worker's, {what}; "
            "start with the model that is asked (`vectail reindex --status` names it)"
        )


def check_space(found: CollectionFound, space: VectorSpace) -> None:
    """Raise SinkMismatch unless a collection is of our embedding space."""
    there = found.properties.get(SPACE_PROPERTY)
    if there != space.id:
        raise SinkMismatch(
            f"Milvus collection {found.name!r}: its vectors are of embedding space {there or 'unknown'}, this worker's are of {space.id}"
            f"{_difference(found, space)}; use another collection, the model that filled this one, or change it with `vectail reindex`"
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


def check_collection(layout: CollectionLayout, found: CollectionFound) -> None:
    """Raise SinkMismatch for the first difference between the columns that are there and those that must be."""
    for field in layout.fields:
        _check_field(layout, field, found)
    strangers = [name for name, there in found.fields.items() if name not in layout.names and not there.optional]
    if strangers:
        raise SinkMismatch(f"Milvus collection {layout.name!r}, field {strangers[0]!r}: every row would need it, expected no such field")


def _check_field(layout: CollectionLayout, field: Field, found: CollectionFound) -> None:
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
        raise _mismatch(layout, field, _name_of_limit(field), str(there.limit), str(field.limit))
    if there.computed_from != field.computed_from:
        raise _mismatch(layout, field, "BM25 function", _source(there.computed_from), _source(field.computed_from))


def _name_of_limit(field: Field) -> str:
    return "dim" if field.kind in VECTOR_KINDS else "max_capacity" if field.kind in ARRAY_ITEMS else "max_length"


def _source(column: str) -> str:
    return f"one of {column!r}" if column else "none"


def _mismatch(layout: CollectionLayout, field: Field, what: str, found: str, expected: str) -> SinkMismatch:
    return SinkMismatch(f"Milvus collection {layout.name!r}, field {field.name!r}: {what} is {found}, expected {expected}")


def _yes(flag: bool) -> str:  # noqa: FBT001 (a word for a flag)
    return "yes" if flag else "no"
