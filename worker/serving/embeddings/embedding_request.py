"""What a client of the embedding API asks for: read from the bodies of OpenAI's `POST /v1/embeddings` and of TEI's `POST /embed`.

Whatever is not as it must be is refused: a field that is silently read as something else gives vectors that are silently wrong.
"""

import hashlib
import re
import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from worker.embedding.model.vectors import TokenIds
from worker.serving.embeddings.embedding_bodies import (
    INPUT_TYPES,
    LARGEST_ID,
    EmbedDtype,
    Encoding,
    InputType,
    Priority,
    Truncate,
    decode_openai,
    decode_tei,
    wrong_field,
)
from worker.serving.embeddings.embedding_errors import bad_request, empty_input, unknown_model

MOST_INPUTS: Final = 2_048
"""Texts of a request, as OpenAI allows."""
MOST_TOKENS: Final = 300_000
"""Of all texts of a request together, as OpenAI allows; counted by the caller, who has the tokenizer."""

_SUFFIX: Final = re.compile(r"(.+)[:-](document|passage|query)", re.DOTALL)
_TRUNCATE: Final[Mapping[str | bool, Truncate]] = {False: "no", "no": "no", "none": "no", True: "end", "end": "end"}
_USER_KEY: Final = secrets.token_bytes(32)
"""Of this process: whoever reads a digest cannot find out its user by trying names."""
_USER_DIGEST_BYTES: Final = 8


@dataclass(frozen=True, slots=True, eq=False)
class TokenLists:
    """Texts that the client has tokenised: at least one, each with at least one id; by which tokenizer is not known yet."""

    lists: tuple[TokenIds, ...]
    """int32[n] each, 0 or more; special tokens as the client sent them."""

    def __len__(self) -> int:
        """Return how many texts they are."""
        return len(self.lists)


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingRequest:
    """A valid request, before its model is known: every field is one of those allowed, and there is at least one text."""

    model: str
    """As asked; empty where the API has none (TEI)."""
    inputs: tuple[str, ...] | TokenLists
    """At most `MOST_INPUTS` texts, valid Unicode, any of them may be empty."""
    encoding: Encoding = "float"
    dimensions: int | None = None
    """None: all that the model has."""
    input_type: InputType | None = None
    """None: the request does not say; the model's name may (`named`)."""
    truncate: Truncate = "no"
    priority: Priority = "online"
    embed_dtype: EmbedDtype = "float32"
    deadline_ms: int | None = None
    user: str = ""
    """A digest of the user's name that means nothing outside this process; empty if the request names none."""


def read_openai(body: bytes) -> EmbeddingRequest:
    """Read the body of `POST /v1/embeddings`. Raises EmbeddingRefused."""
    read = decode_openai(body)
    if not read.model:
        raise bad_request("You must provide a 'model'.", param="model")
    return EmbeddingRequest(
        model=read.model,
        inputs=_inputs(read.input, "input"),
        encoding=read.encoding_format or "float",
        dimensions=read.dimensions,
        input_type=_input_type(read.input_type, "input_type"),
        truncate=_truncate(read.truncate),
        priority=read.priority or "online",
        embed_dtype=read.embed_dtype or "float32",
        deadline_ms=read.deadline_ms,
        user=_digest_of(read.user),
    )


def read_tei(body: bytes) -> EmbeddingRequest:
    """Read the body of `POST /embed`, TEI's. Raises EmbeddingRefused."""
    read = decode_tei(body)
    if read.normalize is False:
        raise wrong_field("normalize")
    if (read.truncation_direction or "right").lower() != "right":
        raise wrong_field("truncation_direction")
    return EmbeddingRequest(
        model="",
        inputs=_inputs(read.inputs, "inputs"),
        dimensions=read.dimensions,
        input_type=_input_type(read.prompt_name, "prompt_name"),
        truncate=_truncate(read.truncate),
    )


def named(model: str, known: Collection[str]) -> tuple[str, InputType | None]:
    """Return which of the known names a client means, and the type of its texts if the name says so (`NAME:query`, `NAME-query`).

    A name that is known goes before one with a suffix: a model may be called `x-query`. Raises EmbeddingRefused.
    """
    if model in known:
        return model, None
    suffixed = _SUFFIX.fullmatch(model)
    if suffixed is not None and suffixed[1] in known:
        return suffixed[1], INPUT_TYPES[suffixed[2]]
    raise unknown_model(model, known)


def _inputs(found: object, param: str) -> tuple[str, ...] | TokenLists:
    if isinstance(found, str):
        return (found,)
    if not isinstance(found, list):
        raise wrong_field(param)
    if not found:
        raise empty_input(param)
    kinds = set(map(type, found))
    if kinds == {int}:
        return TokenLists((_token_ids(found, param),))
    if kinds not in ({str}, {list}):
        raise wrong_field(param)
    if len(found) > MOST_INPUTS:
        raise bad_request(f"'{param}' has {len(found)} texts; a request may have {MOST_INPUTS}.", param=param)
    if kinds == {str}:
        return tuple(found)
    return TokenLists(tuple(_token_ids(ids, f"{param}[{place}]") for place, ids in enumerate(found)))


def _token_ids(found: list[Any], param: str) -> TokenIds:
    if not found:
        raise empty_input(param)
    if set(map(type, found)) != {int} or min(found) < 0 or max(found) > LARGEST_ID:
        raise bad_request(f"'{param}' must hold token ids: whole numbers, 0 to {LARGEST_ID}.", param=param)
    return np.array(found, dtype=np.int32)


def _input_type(found: str | None, param: str) -> InputType | None:
    if found is None:
        return None
    if found not in INPUT_TYPES:
        raise wrong_field(param)
    return INPUT_TYPES[found]


def _truncate(found: bool | str | None) -> Truncate:  # noqa: FBT001 - as it stands in the body
    if found is None:
        return "no"
    known = _TRUNCATE.get(found.lower() if isinstance(found, str) else found)
    if known is None:
        raise wrong_field("truncate")
    return known


def _digest_of(user: str | None) -> str:
    if not user:
        return ""
    return hashlib.blake2b(user.encode(), digest_size=_USER_DIGEST_BYTES, key=_USER_KEY).hexdigest()
