"""What moves between prepare, embed and store for a template that is seen for the first time.

One such text's life: `Chunk → EncodedChunk → EmbeddedChunk → TemplateRow`; each type replaces the one before. The chunk
itself is parked in its flight meanwhile, so these carry the template only.
"""

from typing import NamedTuple

from worker.cache.vectors import Vector
from worker.engine.engine import TokenIds
from worker.savings import Source


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
