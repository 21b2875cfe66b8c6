"""What the embedding API says about its models: OpenAI's `GET /v1/models` with what else is known of each, and TEI's `GET /info`."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from worker.embedding.pool.model_facts import ModelState
from worker.serving.embeddings.embedding_errors import unknown_model


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedFacts:
    """One model as it stands at this moment; None where it is not known, as of a model that could not be prepared."""

    name: str
    aliases: tuple[str, ...] = ()
    state: ModelState
    created_s: int
    """When the model was prepared, in seconds since 1970."""
    dim: int | None = None
    dimensions: tuple[int, ...] | Literal["any"] = ()
    """Besides `dim`, those that a request may ask for; "any": 1 to `dim`."""
    max_tokens: int | None = None
    space: str | None = None
    """Vectors of one space can be compared."""
    document_prefix: str = ""
    query_prefix: str = ""
    pooling: str | None = None
    device: str | None = None
    memory_bytes: int | None = None
    """None while the model is not in memory."""
    pinned: bool = False
    error: str = ""
    """Why the last attempt to load it failed; empty if it did not."""


def models_document(models: Sequence[ServedFacts]) -> dict[str, object]:
    """Return the answer to `GET /v1/models`."""
    return {"object": "list", "data": [_model(facts) for facts in models]}


def model_document(name: str, models: Sequence[ServedFacts]) -> dict[str, object]:
    """Return the answer to `GET /v1/models/NAME`, of a name or an alias. Raises EmbeddingRefused."""
    for facts in models:
        if name == facts.name or name in facts.aliases:
            return _model(facts)
    raise unknown_model(name, known_names(models))


def known_names(models: Sequence[ServedFacts]) -> Collection[str]:
    """Return every name and alias that a request may use."""
    return [name for facts in models for name in (facts.name, *facts.aliases)]


def tei_document(
    facts: ServedFacts, *, version: str, max_batch_tokens: int, max_client_batch_size: int, max_concurrent_requests: int
) -> dict[str, object]:  # fmt: skip
    """Return the answer to TEI's `GET /info` (1.9.3, `Info`) about the model that `/embed` uses."""
    return {
        "model_id": facts.name,
        "model_sha": None,
        "model_dtype": "float32",
        "served_model_name": facts.name,
        "model_type": {"embedding": {"pooling": facts.pooling}},
        "max_concurrent_requests": max_concurrent_requests,
        "max_input_length": facts.max_tokens,
        "max_batch_tokens": max_batch_tokens,
        "max_batch_requests": None,
        "max_client_batch_size": max_client_batch_size,
        "auto_truncate": False,
        "tokenization_workers": 1,
        "version": version,
        "sha": None,
        "docker_label": None,
    }


def _model(facts: ServedFacts) -> dict[str, object]:
    return {
        "id": facts.name,
        "object": "model",
        "created": facts.created_s,
        "owned_by": "vectail",
        "vectail": {
            "state": facts.state,
            "dim": facts.dim,
            "dimensions": facts.dimensions,
            "max_tokens": facts.max_tokens,
            "space": facts.space,
            "prefixes": {"document": facts.document_prefix, "query": facts.query_prefix},
            "device": facts.device,
            "bytes": facts.memory_bytes,
            "pinned": facts.pinned,
            "error": facts.error,
            "aliases": facts.aliases,
        },
    }
