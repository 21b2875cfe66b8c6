"""What the two collections look like, in our own words; `client.py` translates them for pymilvus.

The columns are those of `sinks.row`, in the same order, so that rows turn into columns by transposing them.
"""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from sinks.row import ID_BYTES, LEVEL_BYTES, SERVICE_BYTES, TEXT_BYTES, TOPIC_BYTES

DIGEST_BYTES = 32
PAD_DIM = 2
SPACE_PROPERTY = "vectail.space"
SPACE_PARTS_PROPERTY = "vectail.space_parts"
TTL_PROPERTY = "collection.ttl.seconds"
"""Milvus's own name; counted from a row's last write, 0 or absent is never."""

Kind = Literal["varchar", "int64", "int32", "vector", "float16", "bfloat16", "int8", "sparse"]
"""`vector` is one of float32; `sparse` one that Milvus computes."""
Metric = Literal["COSINE", "IP", "L2", "BM25"]
VECTOR_KINDS = ("vector", "float16", "bfloat16", "int8")


class Field(NamedTuple):
    """One column of a collection.

    Thread: any.
    """

    name: str
    kind: Kind
    limit: int = 0
    """Most bytes of a varchar, dimensions of a vector, else 0."""
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
    partition_key: bool = False


class Layout(NamedTuple):
    """One collection as it must be; the last field is its vector, and no collection has two.

    Thread: any.
    """

    name: str
    fields: tuple[Field, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """All column names, in order."""
        return tuple(field.name for field in self.fields)

    @property
    def vector(self) -> Field:
        """The one vector column."""
        return self.fields[-1]

    @property
    def written(self) -> tuple[Field, ...]:
        """The columns that rows bring along."""
        return tuple(field for field in self.fields if not field.computed_from)


class FieldFound(NamedTuple):
    """A column as Milvus describes it.

    Thread: any.
    """

    type: str
    """Milvus's name of the type, such as `VARCHAR`."""
    limit: int
    key: bool
    optional: bool
    """Rows may leave it out: nullable, has a default, or is computed by a function."""
    computed_from: str = ""
    """The column that a BM25 function makes it from."""
    partition_key: bool = False


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
        said = self.properties.get(TTL_PROPERTY, "0")
        return max(int(said), 0) if said.removeprefix("-").isdecimal() else 0


def collection_found(described: Mapping[str, Any]) -> CollectionFound:
    """Read a description as pymilvus gives it; its types are enums with names."""
    functions = [one for one in described.get("functions", ()) if one["type"].name == "BM25"]
    sources = {output: str(one["input_field_names"][0]) for one in functions for output in one["output_field_names"]}
    fields = {}
    for field in described["fields"]:
        params = field.get("params", {})
        fields[str(field["name"])] = FieldFound(
            str(field["type"].name),
            int(params.get("max_length", params.get("dim", 0))),
            key=bool(field.get("is_primary")),
            optional=bool(field.get("nullable")) or field.get("default_value") is not None or bool(field.get("is_function_output")),
            computed_from=sources.get(field["name"], ""),
            partition_key=bool(field.get("is_partition_key")),
        )
    properties = {str(name): str(value) for name, value in described.get("properties", {}).items()}
    return CollectionFound(
        fields, bool(described.get("auto_id")), properties, int(described["collection_id"]), name=str(described["collection_name"])
    )


def templates_layout(collection: str, dim: int, *, kind: Kind = "vector", index_type: str = "FLAT", any_index: bool = True) -> Layout:
    """Columns of `TemplateRow`, the vector moved to the end."""
    return Layout(
        f"{collection}_templates",
        (
            Field("digest", "varchar", DIGEST_BYTES, key=True),
            Field("text", "varchar", TEXT_BYTES),
            Field("vector", kind, dim, metric="COSINE", index_type=index_type, any_index=any_index),
        ),
    )


def lines_layout(collection: str, *, bm25: bool = False, partition_key: str = "") -> Layout:
    """Columns of `LineRow`, and `sparse`, the BM25 function of `text`; where there is none, a constant `pad` in its place.

    Milvus cannot load a collection without a vector (design: sink).
    """
    sparse = Field("sparse", "sparse", metric="BM25", index_type="SPARSE_INVERTED_INDEX", computed_from="text")
    fields = (
        Field("id", "varchar", ID_BYTES, key=True),
        Field("template", "varchar", DIGEST_BYTES, indexed=True),
        Field("text", "varchar", TEXT_BYTES),
        Field("time", "int64", indexed=True),
        Field("service", "varchar", SERVICE_BYTES),
        Field("level", "varchar", LEVEL_BYTES),
        Field("topic", "varchar", TOPIC_BYTES),
        Field("partition", "int32"),
        Field("offset", "int64"),
        Field("sub", "int32"),
        Field("chunk", "int32"),
        Field("chunks", "int32"),
        sparse if bm25 else Field("pad", "vector", PAD_DIM, metric="L2"),
    )
    return Layout(collection, tuple(field._replace(partition_key=field.name == partition_key) for field in fields))
