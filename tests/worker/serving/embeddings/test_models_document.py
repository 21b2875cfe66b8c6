"""What is said about models has OpenAI's fields, and TEI's."""

import json

import pytest

from worker.serving.embeddings.embedding_errors import EmbeddingRefused
from worker.serving.embeddings.models_document import ServedFacts, known_names, model_document, models_document, tei_document

READY = ServedFacts(
    name="all-MiniLM-L6-v2",
    aliases=("text-embedding-3-small", "default"),
    state="ready",
    created_s=1_700_000_000,
    dim=384,
    dimensions="any",
    max_tokens=256,
    space="5e8f",
    document_prefix="passage: ",
    query_prefix="query: ",
    pooling="mean",
    device="cpu",
    memory_bytes=57_000_000,
    pinned=True,
)
BROKEN = ServedFacts(name="broken", state="failed", created_s=0)


def test_a_model_has_openais_fields_and_what_else_is_known() -> None:
    document = models_document([READY, BROKEN])
    assert json.loads(json.dumps(document))["data"][0] == {
        "id": "all-MiniLM-L6-v2",
        "object": "model",
        "created": 1_700_000_000,
        "owned_by": "vectail",
        "vectail": {
            "state": "ready",
            "dim": 384,
            "dimensions": "any",
            "max_tokens": 256,
            "space": "5e8f",
            "prefixes": {"document": "passage: ", "query": "query: "},
            "device": "cpu",
            "bytes": 57_000_000,
            "pinned": True,
            "error": "",
            "aliases": ["text-embedding-3-small", "default"],
        },
    }
    assert document["object"] == "list"


def test_a_model_is_found_by_any_of_its_names() -> None:
    both = [BROKEN, READY]
    assert known_names(both) == ["broken", "all-MiniLM-L6-v2", "text-embedding-3-small", "default"]
    assert models_document(both)["data"] == [model_document(name, both) for name in ("broken", "default")]
    with pytest.raises(EmbeddingRefused, match="This server has: all-MiniLM-L6-v2, broken, default, text-embedding-3-small"):
        model_document("nope", both)


def test_tei_is_told_what_its_clients_read() -> None:
    document = tei_document(READY, version="1.2.3", max_batch_tokens=512, max_client_batch_size=2_048, max_concurrent_requests=60)
    assert document == {
        "model_id": "all-MiniLM-L6-v2",
        "model_sha": None,
        "model_dtype": "float32",
        "served_model_name": "all-MiniLM-L6-v2",
        "model_type": {"embedding": {"pooling": "mean"}},
        "max_concurrent_requests": 60,
        "max_input_length": 256,
        "max_batch_tokens": 512,
        "max_batch_requests": None,
        "max_client_batch_size": 2_048,
        "auto_truncate": False,
        "tokenization_workers": 1,
        "version": "1.2.3",
        "sha": None,
        "docker_label": None,
    }
