"""What travels between the stages. A stage knows these types and not its neighbours.

A log record on its way into the index. Prepare decodes it and makes a `Chunk` of every line; then it depends on the line's template:

    known                    Chunk → Block                                         prepare → store
    new, its vector cached   EmbeddedChunk → TemplateRow, then Chunk → Block       prepare → store
    new                      EncodedChunk → EmbeddedChunk → TemplateRow, then ...  prepare → embed → store

Until the row of a new template is acknowledged, its chunks wait in `worker.indexing.flights`. A receipt settles when all of its chunks
are stored or rejected. A line that an earlier run has stored (`worker.indexing.resume`) is settled in prepare and sent nowhere.

A query on its way from Kafka or HTTP to its reply:

    not cached               QueryRequest → EncodedQuery → ReadyQuery → QueryReply prepare-queries → embed → answer
    cached, or no vector     QueryRequest → ReadyQuery → QueryReply                prepare-queries → answer
    an error at any stage    FailedQuery → QueryReply                              answer

All types are immutable. Records and receipts belong to `consumers`, rows and blocks to `sinks`, requests and replies to `worker.query`.
"""

from typing import Literal, NamedTuple

from consumers.decode.decoder import LogEntry
from consumers.ledger import Receipt
from worker.embedding.model.vectors import TokenIds, Vector
from worker.query import ErrorCode, Query, Requester

Source = Literal["engine", "memory", "redis", "index"]
"""Where the vector of a new template came from: computed, or found in a cache level or in the index."""
SOURCES: tuple[Source, ...] = ("engine", "memory", "redis", "index")
"""Every `Source`; the order in which tables and logs show them."""


class Chunk(NamedTuple):
    """One piece of a log entry, with the receipt that it settles: a line of a block to be."""

    receipt: Receipt
    entry: LogEntry
    chunk: int
    """Which piece of the entry, from 0."""
    chunks: int
    """How many pieces the entry has."""
    cut: int
    """How the entry was cut (`sinks.lines.cut_of`); 0 for one piece."""
    text: str
    """Raw, redacted."""
    masked: str
    """The text of its template."""
    template: str
    """Id of its template (`sinks.row.template_id`)."""


class EncodedChunk(NamedTuple):
    """A new template as token ids, for the embed stage."""

    template: str
    key: str
    """The cache key of its vector."""
    masked: str
    ids: TokenIds


class EmbeddedChunk(NamedTuple):
    """A new template with its vector, for the store stage."""

    template: str
    key: str
    """The cache key of its vector."""
    masked: str
    vector: Vector
    tokens: int
    """Length of the model's input, special tokens included."""
    source: Source


StoreItem = Chunk | EmbeddedChunk
"""What the store stage writes: a line of a known template, or a new template with the lines that wait for it."""


class KafkaRequest(NamedTuple):
    """A query as Kafka delivered it; `PrepareQueries` makes a `QueryRequest` of it. HTTP makes its own."""

    receipt: Receipt
    polled_s: float
    """On the clock of `time.monotonic`."""


class EncodedQuery(NamedTuple):
    """A query as token ids, for the embed stage."""

    requester: Requester
    query: Query
    digest: str | None
    """The cache key of its vector; None if the text was cut, because the key names the whole text."""
    ids: TokenIds


class ReadyQuery(NamedTuple):
    """A query that can be searched for."""

    requester: Requester
    query: Query
    vector: Vector | None
    """None where none is needed: a listing by frequency, the neighbours of a line, a search by words only."""
    wait_s: float
    """From its arrival until its vector was found or its batch began."""
    embed_s: float
    """How long its batch took; 0 without one."""
    is_exact: bool = False
    """Whether its text is identifiers and nothing else."""


class FailedQuery(NamedTuple):
    """A query to be answered with an error."""

    requester: Requester
    code: ErrorCode
    field: str
    """The field of the request that is at fault; empty if none is."""
    reason: str


Answerable = ReadyQuery | FailedQuery
"""What the answer stage replies to."""
