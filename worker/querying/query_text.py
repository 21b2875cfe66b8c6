"""Prepares a query text: redacted and masked like a line, prefixed, truncated to the model's limit."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from consumers.text.mask import Masker
from consumers.text.redact import Redactor
from worker.asking.question import Query
from worker.embedding.cache.vector_cache import VectorCache
from worker.embedding.encoded_text import Submit
from worker.embedding.loaded import LoadedModel
from worker.embedding.model.space import CacheKey, Digester
from worker.embedding.model.vectors import TokenIds
from worker.embedding.tokenizer import Tokenizer
from worker.querying.ranking import Meaning
from worker.settings.settings import Settings
from worker.settings.tables import new_masker, new_redactor


class QuerySpace(NamedTuple):
    """How questions get their vectors, and what these are compared with: all that depends on the model, so that it changes all at once.

    Thread: the query prepare thread.
    """

    encoder: "QueryEncoder"
    cache: VectorCache
    submit: Submit
    meaning: Meaning


class QueryText(NamedTuple):
    """A redacted and masked query text."""

    masked: str
    key: CacheKey
    """Of its vector."""


class QueryIds(NamedTuple):
    """A query text as token ids."""

    ids: TokenIds
    is_whole: bool
    """False if the text was truncated: its vector is that of its beginning and must not be cached under the digest of the whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryEncoder:
    """The same text has the same digest and ids in every worker with the same settings.

    Thread: one, because a tokenizer belongs to one thread.
    """

    redactor: Redactor
    masker: Masker
    tokenizer: Tokenizer
    digester: Digester
    prefix: str
    max_tokens: int

    def redacted(self, query: Query) -> Query:
        """Return a query whose phrases are what lines with them are stored with."""
        if not query.filters.phrases or not self.redactor.has_rules:
            return query
        phrases = [self.redactor.redact(any_of) for any_of in query.filters.phrases]
        return query.model_copy(update={"filters": query.filters.model_copy(update={"phrases": phrases})})

    def treat(self, texts: Sequence[str]) -> list[QueryText]:
        """Redact and mask texts. One call for a list costs hardly more than a call for one text."""
        return [QueryText(masked, self.digester.digest(masked)) for masked in self.masker.mask(self.redactor.redact(texts))]

    def encode(self, text: QueryText) -> QueryIds:
        """Return the token ids, int32[n] with n <= max_tokens; a truncated text ends with the closing special token too."""
        ids = self.tokenizer.encode([self.prefix + text.masked]).text(0)
        if len(ids) <= self.max_tokens:
            return QueryIds(ids, is_whole=True)
        ids = ids[: self.max_tokens].copy()
        ids[-1] = self.tokenizer.encode([""]).text(0)[-1]
        return QueryIds(ids, is_whole=False)


def new_query_encoder(settings: Settings, model: LoadedModel) -> QueryEncoder:
    """Return an encoder for one thread; the caller closes its tokenizer."""
    prefix = model.prepared.query_prefix
    return QueryEncoder(
        redactor=new_redactor(settings.redact),
        masker=new_masker(settings.mask),
        tokenizer=model.new_tokenizer(),
        digester=Digester(model.space, prefix),
        prefix=prefix,
        max_tokens=model.prepared.max_tokens,
    )
