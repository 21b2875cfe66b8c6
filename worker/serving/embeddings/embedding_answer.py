"""Vectors as the bytes that clients read: OpenAI's JSON, TEI's, and two compact forms.

Of 384 numbers JSON takes 4.7 kB, base64 in JSON 2.1 kB, the compact forms 1.5 kB, and half of that with float16. Numbers are little-endian.
"""

from base64 import b64encode
from collections.abc import Collection, Sequence
from typing import Final, Literal, NamedTuple

import numpy as np
import orjson

from worker.embedding.engine.matryoshka import truncated
from worker.embedding.model.vectors import Vectors
from worker.serving.embeddings.embedding_bodies import encode_message_pack
from worker.serving.embeddings.embedding_errors import bad_request
from worker.serving.embeddings.embedding_request import EmbeddingRequest

JSON: Final = "application/json"
MESSAGE_PACK: Final = "application/msgpack"
BYTES: Final = "application/octet-stream"

MOST_SHOWN_PLACES: Final = 256
"""Of inputs that were cut: proxies refuse an answer whose header is longer than 4 kB."""

AnswerForm = Literal["json", "msgpack", "bytes"]


class EmbeddingAnswer(NamedTuple):
    """A body, and the headers that go with it."""

    body: bytes
    content_type: str
    headers: dict[str, str]


def encode_openai(
    vectors: Vectors,
    *,
    request: EmbeddingRequest,
    model: str,
    prompt_tokens: int,
    accept: str = "",
    truncated_places: Sequence[int] = (),
) -> EmbeddingAnswer:
    """Return the answer to `POST /v1/embeddings`: row i of float32[n, dim] is the vector of input i.

    `accept` is the request's header: MessagePack or bytes alone, if it names one of them. `truncated_places` are of inputs that were cut.
    """
    headers = _truncated_header(truncated_places)
    written = np.ascontiguousarray(vectors, dtype="<f2" if request.embed_dtype == "float16" else "<f4")
    usage = {"prompt_tokens": prompt_tokens, "total_tokens": prompt_tokens}
    form = form_of(request, accept)
    if form == "bytes":
        headers["x-vectail-shape"] = ",".join(map(str, written.shape))
        headers["x-vectail-dtype"] = request.embed_dtype
        headers["x-vectail-tokens"] = str(prompt_tokens)
        return EmbeddingAnswer(written.tobytes(), BYTES, headers)
    if form == "msgpack":
        document = {"model": model, "shape": written.shape, "dtype": request.embed_dtype, "usage": usage, "vectors": written.tobytes()}
        return EmbeddingAnswer(encode_message_pack(document), MESSAGE_PACK, headers)
    rows = [b64encode(row).decode() for row in written] if request.encoding == "base64" else list(written)
    body = orjson.dumps(
        {
            "object": "list",
            "data": [{"object": "embedding", "index": index, "embedding": row} for index, row in enumerate(rows)],
            "model": model,
            "usage": usage,
        },
        option=orjson.OPT_SERIALIZE_NUMPY,
    )
    return EmbeddingAnswer(body, JSON, headers)


def encode_tei(vectors: Vectors, *, truncated_places: Sequence[int] = ()) -> EmbeddingAnswer:
    """Return the answer to TEI's `POST /embed`: a list of lists of numbers."""
    headers = _truncated_header(truncated_places)
    return EmbeddingAnswer(orjson.dumps(np.ascontiguousarray(vectors), option=orjson.OPT_SERIALIZE_NUMPY), JSON, headers)


def form_of(request: EmbeddingRequest, accept: str) -> AnswerForm:
    """Return how the answer goes out: in the compact form that `accept` names before JSON, else as the request says."""
    for one in accept.lower().split(","):
        media_type = one.partition(";")[0].strip()
        if media_type == MESSAGE_PACK:
            return "msgpack"
        if media_type == BYTES:
            return "bytes"
        if media_type == JSON:
            break
    return "bytes" if request.encoding == "bytes" else "json"


def check_dimensions(asked: int | None, *, dim: int, matryoshka: Collection[int], allow_cut: bool) -> int:
    """Return the dimensions of a request's vectors, at most the model's `dim`.

    `matryoshka` are those that the model may be cut to by its own account; with `allow_cut` any will do. Raises EmbeddingRefused.
    """
    if asked is None or asked == dim or asked in matryoshka or (allow_cut and 1 <= asked < dim):
        return dim if asked is None else asked
    allowed = f"1 to {dim}" if allow_cut or len(matryoshka) >= dim else " or ".join(map(str, sorted({*matryoshka, dim})))
    message = f"Invalid 'dimensions': this model's vectors may have {allowed} dimensions, not {asked}."
    raise bad_request(message, param="dimensions", code="unsupported_dimensions")


def cut(vectors: Vectors, dimensions: int) -> Vectors:
    """Return the first components of every row of float32[n, dim], scaled to length 1 again, or the vectors as they are if none goes."""
    return vectors if dimensions == vectors.shape[1] else truncated(vectors, dimensions)


def _truncated_header(places: Sequence[int]) -> dict[str, str]:
    """Return the header that names the inputs that were cut, `3,17`; it ends with `,...` if there are more than it shows."""
    if not places:
        return {}
    shown = ",".join(map(str, places[:MOST_SHOWN_PLACES]))
    return {"x-vectail-truncated": shown if len(places) <= MOST_SHOWN_PLACES else f"{shown},..."}
