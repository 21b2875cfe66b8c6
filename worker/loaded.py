"""A model that is loaded, checked and ready: prepared files, embedding space, engine, golden vectors.

Made once at every start, before anything is read or created. Whatever the user must change is a ModelError, one line.
"""

import os
from dataclasses import dataclass, replace
from pathlib import Path

from worker.engine.engine import Engine
from worker.engine.llama import LlamaEngine
from worker.judge import EngineFailed, Judge
from worker.model.folder import ModelError
from worker.model.golden import Golden, load_golden
from worker.model.prepared import PreparedModel, prepare_model
from worker.settings import Settings
from worker.space import EmbeddingSpace
from worker.tokenizer import Tokenizer

_LEAST_ROOM_TOKENS = 6
"""One character can be several tokens; a text is split down to its characters, but no further."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedModel:
    """Engine and tokenizer agree with the model's own files.

    Thread: main makes it; the embed stage owns `engine`.
    """

    prepared: PreparedModel
    space: EmbeddingSpace
    engine: Engine
    golden: Golden

    def new_tokenizer(self) -> Tokenizer:
        """Make a tokenizer for one thread."""
        return Tokenizer(self.prepared)


def model_of(settings: Settings) -> PreparedModel:
    """Prepare the model that the settings name, or find it prepared. Raises ModelError."""
    table = settings.model
    folder = table.folder.expanduser() if table.folder is not None else None
    prepared = prepare_model(folder, table.cache.expanduser())
    max_tokens = table.max_tokens or prepared.max_tokens
    if max_tokens > prepared.max_tokens:
        raise ModelError(f"model.max_tokens is {max_tokens}; {prepared.name} takes at most {prepared.max_tokens}")
    return replace(
        prepared,
        max_tokens=max_tokens,
        document_prefix=prepared.document_prefix if table.document_prefix is None else table.document_prefix,
        query_prefix=prepared.query_prefix if table.query_prefix is None else table.query_prefix,
    )


def space_of(model: PreparedModel) -> EmbeddingSpace:
    """Return the embedding space of a prepared model."""
    return EmbeddingSpace(
        weights_sha256=model.weights_sha256,
        tokenizer_sha256=model.tokenizer_sha256,
        pooling=model.pooling,
        normalize=model.normalize,
        dim=model.dim,
        document_prefix=model.document_prefix,
        query_prefix=model.query_prefix,
    )


def load_model(settings: Settings) -> LoadedModel:
    """Load everything and compare: tokenizer parity on a sample, room beside the prefixes, golden vectors. Raises ModelError."""
    prepared = model_of(settings)
    tokenizer = Tokenizer(prepared)
    try:
        tokenizer.check_parity()
        _check_prefixes(prepared, tokenizer)
    finally:
        tokenizer.close()
    threads = settings.engine.threads or len(os.sched_getaffinity(0))
    engine = LlamaEngine(prepared, threads=threads, batch_tokens=settings.engine.batch_tokens)
    golden = load_golden(Path(prepared.golden))
    try:
        Judge(engine, golden).check_engine()
    except EngineFailed as error:
        engine.close()
        raise ModelError(str(error)) from error
    return LoadedModel(prepared=prepared, space=space_of(prepared), engine=engine, golden=golden)


def _check_prefixes(model: PreparedModel, tokenizer: Tokenizer) -> None:
    for name, prefix in (("document_prefix", model.document_prefix), ("query_prefix", model.query_prefix)):
        tokens = int(tokenizer.count([prefix])[0])
        if tokens + _LEAST_ROOM_TOKENS > model.max_tokens:
            raise ModelError(f"model.{name} takes {tokens} of {model.max_tokens} tokens; at least {_LEAST_ROOM_TOKENS} are for the text")
