"""What the two collections look like, in our own words; `client.py` translates them for pymilvus.

The columns are those of `sinks.row`, in the same order, so that rows turn into columns by transposing them.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from sinks.row import ID_BYTES, LEVEL_BYTES, SERVICE_BYTES, TEXT_BYTES, TOPIC_BYTES

DIGEST_BYTES = 32
PAD_DIM = 2
SPACE_PROPERTY = "vectail.space"
SPACE_PARTS_PROPERTY = "vectail.space_parts"
TTL_PROPERTY = "collection.ttl.seconds"
"""Milvus's own name; counted from a row's last write, 0 or absent is never."""

Kind = Literal["varchar", "int64", "int32", "vector"]
Metric = Literal["COSINE", "L2"]


class Space(NamedTuple):
    """Which vectors may be compared.

    Thread: any.
    """

    id: str
    parts: Mapping[str, str]
    """What it is made of, by the names that the user knows; for the message when two differ."""


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


class CollectionFound(NamedTuple):
    """A collection as Milvus describes it.

    Thread: any.
    """

    fields: Mapping[str, FieldFound]
    auto_id: bool
    properties: Mapping[str, str]
    id: int = 0
    """Another one after the collection was dropped and created again; 0 in a local folder."""

    @property
    def ttl_s(self) -> int:
        """After how many seconds a row goes; 0 is never."""
        said = self.properties.get(TTL_PROPERTY, "0")
        return max(int(said), 0) if said.removeprefix("-").isdecimal() else 0


def templates_layout(collection: str, dim: int) -> Layout:
    """Columns of `TemplateRow`, the vector moved to the end."""
    return Layout(
        f"{collection}_templates",
        (
            Field("digest", "varchar", DIGEST_BYTES, key=True),
            Field("text", "varchar", TEXT_BYTES),
            Field("vector", "vector", dim, metric="COSINE"),
        ),
    )


def lines_layout(collection: str) -> Layout:
    """Columns of `LineRow`, and a constant `pad`: Milvus cannot load a collection without a vector (design: sink)."""
    return Layout(
        collection,
        (
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
            Field("pad", "vector", PAD_DIM, metric="L2"),
        ),
    )
