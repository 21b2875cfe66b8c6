"""What must hold of bodies that are sent to the embedding API: they are read, or refused in the shape of the API that was asked."""

import json
from collections.abc import Callable

import numpy as np

from tests.rows import rows
from worker.serving.embeddings.embedding_answer import encode_openai, encode_tei
from worker.serving.embeddings.embedding_bodies import LARGEST_ID
from worker.serving.embeddings.embedding_errors import EmbeddingRefused
from worker.serving.embeddings.embedding_request import MOST_INPUTS, EmbeddingRequest, TokenLists, read_openai, read_tei

BODIES: tuple[bytes, ...] = tuple(
    row[0].encode()
    for name in ("read_openai", "refused_openai", "read_tei", "refused_tei")
    for row in rows(f"embeddings/{name}")
    if row[0]
)  # fmt: skip


def check_body(given: bytes) -> None:
    """Read a body as both APIs do; what they ask for can be answered."""
    read = _read(read_openai, given)
    if read is not None:
        check_request(read)
        encode_openai(_vectors(read), request=read, model=read.model, prompt_tokens=1)
    read = _read(read_tei, given)
    if read is not None:
        check_request(read)
        encode_tei(_vectors(read))


def check_request(read: EmbeddingRequest) -> None:
    """What is read is as `EmbeddingRequest` says."""
    assert 1 <= len(read.inputs) <= MOST_INPUTS
    if isinstance(read.inputs, TokenLists):
        for ids in read.inputs.lists:
            assert ids.dtype == np.int32
            assert len(ids) > 0
            assert 0 <= ids.min() <= ids.max() <= LARGEST_ID
    else:
        for text in (*read.inputs, read.model, read.user):
            text.encode()
    assert read.dimensions is None or read.dimensions >= 1
    assert len(read.user) in (0, 16)


def _read(reader: Callable[[bytes], EmbeddingRequest], given: bytes) -> EmbeddingRequest | None:
    try:
        return reader(given)
    except EmbeddingRefused as error:
        refused = error
    shown = json.loads(refused.openai_body())["error"]
    assert shown.keys() == {"message", "type", "param", "code"}
    assert (refused.status, shown["type"]) == (400, "invalid_request_error"), shown
    assert json.loads(refused.tei_body())["error"] == shown["message"]
    return None


def _vectors(read: EmbeddingRequest) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    return np.ones((len(read.inputs), 2), dtype=np.float32)
