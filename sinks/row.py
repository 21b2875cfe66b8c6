"""The rows that a sink stores: light lines, and the templates they point to.

A line says where it came from (`id`) and what it is (`template`); a template carries the vector, once for all its lines.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

ID_BYTES = 400
TEXT_BYTES = 65_535
SERVICE_BYTES = 256
LEVEL_BYTES = 32
TOPIC_BYTES = 256


class TemplateRow(NamedTuple):
    """One template: a pure function of its digest, so who writes it and how often does not matter.

    Thread: any.
    """

    digest: str
    """32 hex digits, the primary key."""
    vector: NDArray[np.float32]
    """float32[dim], finite and of length 1."""
    text: str
    """The masked text that was embedded, at most `TEXT_BYTES` of UTF-8."""


class LineRow(NamedTuple):
    """One line, or one chunk of a long line, as it was sent.

    Thread: any.
    """

    id: str
    """`topic@epoch/partition/offset/sub/chunk`, deterministic: a replay writes the same row again."""
    template: str
    """Digest of its template."""
    text: str
    """The raw text, at most `TEXT_BYTES` of UTF-8."""
    time: int
    """Milliseconds since 1970."""
    service: str
    level: str
    topic: str
    partition: int
    offset: int
    sub: int
    """Which log entry of the Kafka record."""
    chunk: int
    chunks: int
    """This is chunk `chunk` of `chunks`; joined in order they are the line."""


def row_id(topic: str, epoch: str, partition: int, offset: int, sub: int, chunk: int) -> str:
    """Primary key of a line; injective, because a topic's name holds neither `@` nor `/`."""
    return f"{topic}@{epoch}/{partition}/{offset}/{sub}/{chunk}"


def epoch_of(id_of_row: str) -> str:
    """Return the epoch that a line's id holds."""
    return id_of_row.partition("@")[2].partition("/")[0]
