"""What travels between the stages. A stage knows these types, and never its neighbour.

A template that is seen for the first time: `Chunk → EncodedChunk → EmbeddedChunk → TemplateRow`. The chunk itself is parked in its
flight meanwhile, so these carry the template only. A query: `Arrival | Question → EncodedQuery → ReadyQuery | FailedQuery`.
Each type is immutable and replaces the one before.
"""

from typing import Literal, NamedTuple

from consumers.decode.decoder import LogEntry
from consumers.ledger import Receipt
from worker.embedding.model.vectors import TokenIds, Vector
from worker.query import (
    Query,
    Requester,
)

Source = Literal["engine", "memory", "redis", "index"]
"""Who had the vector of a template that this process did not know."""
SOURCES: tuple[Source, ...] = ("engine", "memory", "redis", "index")


class Chunk(NamedTuple):
    """One piece of a log entry, with the receipt that it settles. `template` says what it is, the entry where it came from.

    Thread: any.
    """

    receipt: Receipt
    entry: LogEntry
    chunk: int
    chunks: int
    text: str
    masked: str
    template: str
    """Digest of the masked text in the embedding space."""


class EncodedChunk(NamedTuple):
    """A template's masked text as token ids, on its way to the engine.

    Thread: any.
    """

    template: str
    masked: str
    ids: TokenIds


class EmbeddedChunk(NamedTuple):
    """A template with its vector, on its way to the sink.

    Thread: any.
    """

    template: str
    masked: str
    vector: Vector
    tokens: int
    source: Source
    """Did the engine compute the vector just now, or who had it?"""


StoreItem = Chunk | EmbeddedChunk


class Arrival(NamedTuple):
    """A request that came over Kafka.

    Thread: any.
    """

    receipt: Receipt
    taken_s: float
    """When it was polled, on `time.monotonic`'s clock."""


class EncodedQuery(NamedTuple):
    """A query as token ids, on its way to the engine.

    Thread: any.
    """

    asked: Requester
    query: Query
    digest: str | None
    """Under which its vector is cached; None for a text that was cut, whose vector nobody may take for that of the whole."""
    ids: TokenIds


class ReadyQuery(NamedTuple):
    """A query that can be answered.

    Thread: any.
    """

    asked: Requester
    query: Query
    vector: Vector | None
    """None if it needs none: a listing by frequency, what stands around a line, a search by words only."""
    wait_s: float
    embed_s: float
    is_exact: bool = False
    """Its text is identifiers and nothing else."""


class FailedQuery(NamedTuple):
    """A query that is answered with an error: which field, and why.

    Thread: any.
    """

    asked: Requester
    code: str
    """`bad_query`, `expired` or `unavailable`."""
    field: str
    """Which field of the request is to blame; empty if none is."""
    reason: str


Answerable = ReadyQuery | FailedQuery
