"""A query's text as the model gets it: treated like a line, behind the prefix of queries, cut where the model reads no further."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from consumers.text.mask import Masker
from consumers.text.redact import Redactor
from worker.embedding.loaded import LoadedModel
from worker.embedding.model.space import Digester
from worker.embedding.model.vectors import TokenIds
from worker.embedding.tokenizer import Tokenizer
from worker.settings.settings import Settings
from worker.settings.tables import new_masker, new_redactor


class QueryText(NamedTuple):
    """What is embedded, and what it is called in the cache.

    Thread: any.
    """

    masked: str
    digest: str


class QueryIds(NamedTuple):
    """A query's text as the engine gets it.

    Thread: any.
    """

    ids: TokenIds
    is_whole: bool
    """False when the model reads no further: the vector is that of the beginning, and the digest names the whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryEncoder:
    """The same text has the same digest and ids in every worker with the same settings.

    Thread: one; the tokenizer belongs to a thread.
    """

    redactor: Redactor
    masker: Masker
    tokenizer: Tokenizer
    digester: Digester
    prefix: str
    max_tokens: int

    def treat(self, texts: Sequence[str]) -> list[QueryText]:
        """Redact and mask texts; a list takes hardly longer than one of them."""
        return [QueryText(masked, self.digester.digest(masked)) for masked in self.masker.mask(self.redactor.redact(texts))]

    def encode(self, text: QueryText) -> QueryIds:
        """Return its ids, int32[at most max_tokens]; the last id closes the sequence."""
        ids = self.tokenizer.encode([self.prefix + text.masked]).text(0)
        if len(ids) <= self.max_tokens:
            return QueryIds(ids, is_whole=True)
        ids = ids[: self.max_tokens].copy()
        ids[-1] = self.tokenizer.encode([""]).text(0)[-1]
        return QueryIds(ids, is_whole=False)


def new_query_encoder(settings: Settings, model: LoadedModel) -> QueryEncoder:
    """Make the encoder of one thread; its tokenizer is the caller's to close."""
    prefix = model.prepared.query_prefix
    return QueryEncoder(
        redactor=new_redactor(settings.redact),
        masker=new_masker(settings.mask),
        tokenizer=model.new_tokenizer(),
        digester=Digester(model.space, prefix),
        prefix=prefix,
        max_tokens=model.prepared.max_tokens,
    )
