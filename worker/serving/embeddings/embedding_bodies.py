"""The bodies that the embedding API reads and writes; the only file of this room that imports msgspec.

Fields that neither OpenAI nor TEI has are ignored, as OpenAI ignores them, and null is absent. Any other field that is not as it must be
is refused with one sentence that names it.

Half of a surrogate pair, which JavaScript writes when it cuts an emoji in two, becomes `?`, as tokenizers read it.
"""

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, TypeVar

import msgspec

from worker.serving.embeddings.embedding_errors import EmbeddingRefused, bad_request

Encoding = Literal["float", "base64", "bytes"]
"""How vectors are written: JSON numbers, base64 in JSON, or bytes alone."""
EmbedDtype = Literal["float32", "float16"]
InputType = Literal["document", "query"]
"""Which of the model's prefixes a text gets."""
Truncate = Literal["no", "end"]
"""What becomes of a text that is too long: it is refused, or its end is cut off."""
Priority = Literal["online", "bulk"]

MOST_DEADLINE_MS: Final = 600_000
LARGEST_ID: Final = 2**31 - 1
INPUT_TYPES: Final[Mapping[str, InputType]] = {
    "document": "document",
    "passage": "document",
    "search_document": "document",
    "classification": "document",
    "clustering": "document",
    "query": "query",
    "search_query": "query",
}
"""The names that Cohere, NVIDIA NIM and Voyage have for them."""
_HALF_ESCAPED: Final = re.compile(rb"\\u[dD][89a-fA-F]")
_INPUT_MUST_BE: Final = "a string, a list of strings, a list of token ids, or a list of lists of token ids"
_MUST_BE: Final[Mapping[str, str]] = {
    "input": _INPUT_MUST_BE,
    "inputs": _INPUT_MUST_BE,
    "model": "a string",
    "user": "a string",
    "encoding_format": "'float', 'base64' or 'bytes'",
    "dimensions": "a whole number, 1 or more",
    "input_type": f"one of {', '.join(map(repr, sorted(INPUT_TYPES)))}",
    "prompt_name": f"one of {', '.join(map(repr, sorted(INPUT_TYPES)))}",
    "truncate": "false or 'end'",
    "truncation_direction": "'right': texts are cut at their end",
    "normalize": "true: vectors always have length 1",
    "priority": "'online' or 'bulk'",
    "embed_dtype": "'float32' or 'float16'",
    "deadline_ms": f"a whole number of milliseconds, 1 to {MOST_DEADLINE_MS}",
}

_Dimensions = Annotated[int, msgspec.Meta(ge=1, le=LARGEST_ID)]
_DeadlineMs = Annotated[int, msgspec.Meta(ge=1, le=MOST_DEADLINE_MS)]
_Body = TypeVar("_Body")


class OpenAIBody(msgspec.Struct):
    """The fields of `POST /v1/embeddings` that are read, null where absent; `input` and the names of types are not checked yet."""

    input: Any = None
    model: str | None = None
    encoding_format: Encoding | None = None
    dimensions: _Dimensions | None = None
    user: str | None = None
    input_type: str | None = None
    truncate: bool | str | None = None
    priority: Priority | None = None
    embed_dtype: EmbedDtype | None = None
    deadline_ms: _DeadlineMs | None = None


class TeiBody(msgspec.Struct):
    """The fields of TEI's `POST /embed` (1.9.3, `EmbedRequest`), likewise."""

    inputs: Any = None
    truncate: bool | str | None = None
    truncation_direction: str | None = None
    prompt_name: str | None = None
    normalize: bool | None = None
    dimensions: _Dimensions | None = None


_OPENAI: Final = msgspec.json.Decoder(OpenAIBody)
_TEI: Final = msgspec.json.Decoder(TeiBody)


def decode_openai(body: bytes) -> OpenAIBody:
    """Decode a body. Raises EmbeddingRefused."""
    return _read(body, _OPENAI)


def decode_tei(body: bytes) -> TeiBody:
    """Decode a body. Raises EmbeddingRefused."""
    return _read(body, _TEI)


def encode_message_pack(document: Mapping[str, object]) -> bytes:
    """Write a document as MessagePack."""
    return msgspec.msgpack.encode(document)


def wrong_field(param: str) -> EmbeddingRefused:
    """400: a field is not what it must be; the message says what that is."""
    return bad_request(f"Invalid '{param}': it must be {_MUST_BE[param]}.", param=param)


def _read(body: bytes, decoder: msgspec.json.Decoder[_Body]) -> _Body:
    try:
        return _decoded(body, decoder)
    except msgspec.ValidationError as error:
        field = re.search(r"\$\.(\w+)", str(error))
        raise bad_request("The body must be a JSON object.") if field is None else wrong_field(field[1]) from None
    except (msgspec.DecodeError, ValueError) as error:
        raise bad_request(f"The body is not valid JSON: {error}.") from None
    except RecursionError:
        raise bad_request("The body is nested too deeply.") from None


def _decoded(body: bytes, decoder: msgspec.json.Decoder[_Body]) -> _Body:
    """Decode a body; one that msgspec refuses for half a surrogate pair is written anew without it."""
    try:
        return decoder.decode(body)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        if _HALF_ESCAPED.search(body) is None:
            raise
    return decoder.decode(json.dumps(json.loads(body.decode()), ensure_ascii=False).encode("utf-8", "replace"))
