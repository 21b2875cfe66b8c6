"""What the collections look like, in our own words; `client.py` translates them for pymilvus.

The blocks here are a server's; a local folder keeps them in collections of its own (`lite_blocks`).
"""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from sinks.index_spaces import VectorSpace
from sinks.line import LEVEL_BYTES, SERVICE_BYTES
from sinks.row import TEMPLATE_TEXT_BYTES

ID_BYTES = 400
TOPIC_BYTES = 256
EPOCH_BYTES = 64
COLUMN_BYTES = 65_535
"""Most bytes of a head, and of each of a block's encoded columns: no Milvus takes more in a VARCHAR."""
MOST_TEMPLATES = 1_024
MOST_WORDS = 4_096
MOST_SERVICES = 256
MOST_LEVELS = 64
TEMPLATE_BYTES = 32
PAD_DIM = 2
SPACE_DIGITS = 8
"""So many of the embedding space's digits are in the name of the templates' collection."""

LAYOUT = "2"
LAYOUT_PROPERTY = "vectail.layout"
SPACE_PROPERTY = "vectail.space"
SPACE_PARTS_PROPERTY = "vectail.space_parts"
SPACES_PROPERTY = "vectail.spaces"
"""Once the model has changed: every view (`sinks.index_spaces`). The two before are then those of the one that is asked."""
GROUP_PROPERTY = "vectail.group"
TTL_SINCE_PROPERTY = "vectail.ttl_since"
"""When the lifetime of blocks was last changed while templates lived longer than they should: seconds since 1970."""
CLOCK_PROPERTY = "vectail.clock"
"""Of a local folder: the last mark of `sinks.milvus.index_time`."""
TTL_PROPERTY = "collection.ttl.seconds"
"""Milvus's own name; counted from a row's last write, 0 or absent is never."""

Kind = Literal["varchar", "int64", "int32", "varchars", "int64s", "int32s", "vector", "float16", "bfloat16", "int8", "sparse"]
"""With an `s`: arrays. `vector` is one of float32; `sparse` one that Milvus computes."""
Metric = Literal["COSINE", "IP", "L2", "BM25"]
VECTOR_KINDS = ("vector", "float16", "bfloat16", "int8")
ARRAY_ITEMS: Mapping[Kind, Kind] = {"varchars": "varchar", "int64s": "int64", "int32s": "int32"}
IndexParams = Mapping[str, str | int | bool]
"""Milvus's names of what an index is built with, or searched with."""
Row = Mapping[str, Any]
"""A row, or a description, as pymilvus answers it: without types."""


class Field(NamedTuple):
    """One column of a collection.

    Thread: any.
    """

    name: str
    kind: Kind
    limit: int = 0
    """Most bytes of a varchar, most items of an array, dimensions of a vector, else 0."""
    key: bool = False
    metric: Metric | None = None
    """Of a vector; None for everything else."""
    indexed: bool = False
    """A scalar that filters name: indexed where the backend profits from it."""
    index_type: str = "FLAT"
    """Type of a vector's index, when it is created."""
    any_index: bool = True
    """Whether an index of another type will do as well."""
    computed_from: str = ""
    """The column that Milvus computes this one from, by BM25; empty for what rows bring along."""
    item_bytes: int = 0
    """Most bytes of a varchar in an array."""
    stays_on_disk: bool = False
    """Mapped from files instead of held in memory where the backend can do it."""


class VectorChoice(NamedTuple):
    """How the templates' vectors are stored and indexed, once it is clear that this Milvus can do it.

    Thread: any.
    """

    kind: Kind = "vector"
    index_type: str = "FLAT"
    any_index: bool = True
    """Whether an index of another type will do as well."""


ANY_CHOICE = VectorChoice()


class CollectionLayout(NamedTuple):
    """One collection as it must be; its vectors come last.

    Thread: any.
    """

    name: str
    fields: tuple[Field, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """All column names, in order."""
        return tuple(field.name for field in self.fields)

    @property
    def key(self) -> str:
        """Name of the primary key, the first column."""
        return self.fields[0].name

    @property
    def vectors(self) -> tuple[Field, ...]:
        """The vector columns; every collection has at least one."""
        return tuple(field for field in self.fields if field.metric is not None)

    @property
    def vector(self) -> Field:
        """The vector column that rows bring along."""
        return next(field for field in self.vectors if not field.computed_from)

    @property
    def words(self) -> Field | None:
        """The column that BM25 computes, if there is one."""
        return next((field for field in self.vectors if field.computed_from), None)

    @property
    def written(self) -> tuple[Field, ...]:
        """The columns that rows bring along."""
        return tuple(field for field in self.fields if not field.computed_from)


class FieldFound(NamedTuple):
    """A column as Milvus describes it.

    Thread: any.
    """

    type: str
    """Milvus's name of the type, such as `VARCHAR`; of an array `ARRAY<INT64>`."""
    limit: int
    key: bool
    optional: bool
    """Rows may leave it out: nullable, has a default, or is computed by a function."""
    computed_from: str = ""
    """The column that a BM25 function makes it from."""


class CollectionFound(NamedTuple):
    """A collection as Milvus describes it.

    Thread: any.
    """

    fields: Mapping[str, FieldFound]
    auto_id: bool
    properties: Mapping[str, str]
    id: int = 0
    """Another one after the collection was dropped and created again; 0 in a local folder."""
    index_type: str = ""
    """Type of the vector's index."""
    name: str = ""

    @property
    def ttl_s(self) -> int:
        """After how many seconds a row goes; 0 is never."""
        return self.number(TTL_PROPERTY)

    def number(self, name: str) -> int:
        """Return a property that is a number, 0 without one."""
        said = self.properties.get(name, "0")
        return max(int(said), 0) if said.removeprefix("-").isdecimal() else 0


def collection_found(described: Row) -> CollectionFound:
    """Read a description as pymilvus gives it; its types are enums with names."""
    functions = [one for one in described.get("functions", ()) if one["type"].name == "BM25"]
    sources = {output: str(one["input_field_names"][0]) for one in functions for output in one["output_field_names"]}
    fields = {}
    for field in described["fields"]:
        params = field.get("params", {})
        kind, item = str(field["type"].name), field.get("element_type")
        limit = params.get("max_capacity") if kind == "ARRAY" else params.get("max_length", params.get("dim"))
        fields[str(field["name"])] = FieldFound(
            f"ARRAY<{getattr(item, 'name', item)}>" if kind == "ARRAY" else kind,
            int(limit or 0),
            key=bool(field.get("is_primary")),
            optional=bool(field.get("nullable")) or field.get("default_value") is not None or bool(field.get("is_function_output")),
            computed_from=sources.get(field["name"], ""),
        )
    properties = {str(name): str(value) for name, value in described.get("properties", {}).items()}
    return CollectionFound(
        fields, bool(described.get("auto_id")), properties, int(described["collection_id"]), name=str(described["collection_name"])
    )


def templates_name(collection: str, space: str) -> str:
    """Return the name of the templates' collection: a worker with another model cannot write into it."""
    return f"{collection}_templates_{''.join(one if one.isascii() and one.isalnum() else '_' for one in space[:SPACE_DIGITS])}"


def templates_layout(collection: str, space: VectorSpace, choice: VectorChoice = ANY_CHOICE, *, bm25: bool = False) -> CollectionLayout:
    """Columns of `TemplateRow`, the vector moved to the end; `sparse` is the BM25 function of `text`."""
    sparse = Field("sparse", "sparse", metric="BM25", index_type="SPARSE_INVERTED_INDEX", computed_from="text")
    return CollectionLayout(
        templates_name(collection, space.id),
        (
            Field("template", "varchar", TEMPLATE_BYTES, key=True),
            Field("text", "varchar", TEMPLATE_TEXT_BYTES),
            Field("vector", choice.kind, space.dim, metric="COSINE", index_type=choice.index_type, any_index=choice.any_index),
            *((sparse,) if bm25 else ()),
        ),
    )


def blocks_layout(collection: str) -> CollectionLayout:
    """Columns of a block on a server; `pad` is there because Milvus cannot load a collection without a vector (design: sink)."""
    return CollectionLayout(
        collection,
        (
            Field("id", "varchar", ID_BYTES, key=True),
            Field("topic", "varchar", TOPIC_BYTES, indexed=True),
            Field("epoch", "varchar", EPOCH_BYTES),
            Field("partition", "int32", indexed=True),
            Field("first_offset", "int64", indexed=True),
            Field("last_offset", "int64", indexed=True),
            Field("first_ms", "int64", indexed=True),
            Field("last_ms", "int64", indexed=True),
            Field("lines", "int32"),
            Field("head", "varchar", COLUMN_BYTES, stays_on_disk=True),
            Field("templates", "int64s", MOST_TEMPLATES, indexed=True),
            Field("words", "int32s", MOST_WORDS, indexed=True),
            Field("services", "varchars", MOST_SERVICES, indexed=True, item_bytes=SERVICE_BYTES),
            Field("levels", "varchars", MOST_LEVELS, indexed=True, item_bytes=LEVEL_BYTES),
            Field("places", "varchar", COLUMN_BYTES, stays_on_disk=True),
            Field("texts", "varchar", COLUMN_BYTES, stays_on_disk=True),
            Field("fields", "varchar", COLUMN_BYTES, stays_on_disk=True),
            Field("pad", "vector", PAD_DIM, metric="L2"),
        ),
    )
