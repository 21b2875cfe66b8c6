"""How new templates get their vectors, and where these go: all that depends on the model, as one value, so that it changes all at once."""

from collections.abc import Sequence
from dataclasses import dataclass

from sinks.sink import TemplateView
from worker.embedding.cache.vector_levels import Levels
from worker.embedding.encoded_text import Submit
from worker.embedding.model.space import Digester
from worker.embedding.tokenizer import Encoded, Tokenizer


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateEncoder:
    """Token ids and cache keys of templates.

    Thread: one, because a tokenizer belongs to one thread.
    """

    tokenizer: Tokenizer
    digester: Digester
    prefix: str
    """Put before each text."""

    def encode(self, texts: Sequence[str]) -> Encoded:
        """Return the token ids of each text, special tokens included."""
        return self.tokenizer.encode([self.prefix + text for text in texts])


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateSpace:
    """Encoder, caches, engine and view are of one model.

    Thread: prepare's.
    """

    encoder: TemplateEncoder
    levels: Levels
    submit: Submit
    view: TemplateView
