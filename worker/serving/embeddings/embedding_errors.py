"""Why the embedding API refuses a request, in the shapes that its clients read: OpenAI's and TEI's.

openai-python makes an exception of the status, fills its `code`, `param` and `type` from the body, and sends a request again after
`Retry-After`; pgai and litellm know a text that is too long by OpenAI's sentence. Each refusal's wording stands here once.
"""

import math
from collections.abc import Collection
from typing import Final, Literal

from worker.serving.responses import HttpError, as_json, retry_after

ErrorType = Literal["invalid_request_error", "authentication_error", "permission_error", "rate_limit_error", "server_error"]
"""OpenAI's."""

MOST_RETRY_S: Final = 120
"""openai-python gives up if it is told to wait longer."""
_SHOWN_CHARACTERS: Final = 100
"""Of a name that a client sent."""
_BAD_REQUEST, _UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND, _TIMED_OUT, _TOO_LARGE = 400, 401, 403, 404, 408, 413
_TOO_MANY, _INTERNAL, _UNAVAILABLE, _TOO_LATE = 429, 500, 503, 504


class EmbeddingRefused(Exception):
    """A request to the embedding API gets no vectors; the message is a sentence for the client."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        error_type: ErrorType = "invalid_request_error",
        param: str | None = None,
        code: str | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        """`param` is the field at fault; `retry_after_s` when it may be sent again, if that helps."""
        super().__init__(message)
        self.status = status
        self.message = message
        self.error_type = error_type
        self.param = param
        self.code = code
        self.retry_after_s = retry_after_s

    def openai_body(self) -> bytes:
        """Return the body of OpenAI's API."""
        return as_json({"error": {"message": self.message, "type": self.error_type, "param": self.param, "code": self.code}})

    def tei_body(self) -> bytes:
        """Return the body that TEI's `/embed` has (1.9.3, `ErrorResponse`): flat, with one of TEI's own types."""
        return as_json({"error": self.message, "error_type": self._tei_type()})

    def headers(self) -> dict[str, str]:
        """Return the headers that go with it: `Retry-After` in whole seconds, 1 to 120."""
        headers = {"WWW-Authenticate": "Bearer"} if self.status == _UNAUTHORIZED else {}
        if self.retry_after_s is not None:
            headers |= retry_after(math.ceil(min(float(MOST_RETRY_S), max(1.0, self.retry_after_s))))
        return headers

    def _tei_type(self) -> str:
        if self.code == "empty_input":
            return "Empty"
        if self.status == _TOO_MANY:
            return "Overloaded"
        return "Backend" if self.error_type == "server_error" else "Validation"


def refusal_of(error: HttpError) -> EmbeddingRefused:
    """Return what another check of the server refused, in this API's terms."""
    message = str(error)
    if error.status == _UNAUTHORIZED:
        return EmbeddingRefused(_UNAUTHORIZED, message, error_type="authentication_error", code="invalid_api_key")
    if error.status == _FORBIDDEN:
        return EmbeddingRefused(_FORBIDDEN, message, error_type="permission_error")
    return EmbeddingRefused(error.status, message, code=error.code)


def not_routed(status: int, path: str) -> EmbeddingRefused:
    """404 or 405: nothing is there, or it is asked for in another way."""
    return EmbeddingRefused(status, f"Invalid URL or method: '{path[:_SHOWN_CHARACTERS]}'.", code="unknown_url")


def internal_error() -> EmbeddingRefused:
    """500: a fault of ours, of which the log says more."""
    return EmbeddingRefused(_INTERNAL, "The server had an error; its log says more.", error_type="server_error")


def bad_request(message: str, *, param: str | None = None, code: str | None = None) -> EmbeddingRefused:
    """400: the request is not valid; sent again it is refused again."""
    return EmbeddingRefused(_BAD_REQUEST, message, param=param, code=code)


def empty_input(param: str) -> EmbeddingRefused:
    """400: there is no text to embed. An empty string is one."""
    return bad_request(f"'{param}' is empty; it must hold at least one text.", param=param, code="empty_input")


def text_too_long(*, param: str, tokens: int, max_tokens: int) -> EmbeddingRefused:
    """400: a text has more tokens than the model takes. `param` says which: `input`, or `input[3]`."""
    message = (
        f"This model's maximum context length is {max_tokens} tokens, however you requested {tokens} tokens in '{param}'. "
        "Please shorten the text, or let it be cut with 'truncate'."
    )
    return bad_request(message, param=param, code="context_length_exceeded")


def too_many_tokens(*, param: str, tokens: int, most_tokens: int) -> EmbeddingRefused:
    """400: all texts of the request together have too many tokens."""
    message = f"'{param}' has {tokens} tokens in all; a request may have {most_tokens}. Please send fewer texts at a time."
    return bad_request(message, param=param, code="max_tokens_per_request")


def no_vector(*, param: str, reason: str) -> EmbeddingRefused:
    """400: the engine works, but has no vector for a text."""
    return bad_request(f"The model has no vector for '{param}': {reason}.", param=param, code="no_vector")


def token_ids_of_another_tokenizer(param: str) -> EmbeddingRefused:
    """400: a list of token ids is not framed by this model's special tokens, or holds ids that a text cannot have."""
    message = (
        f"'{param}' holds token ids of another tokenizer than this model's, so their vectors would be wrong. Please send texts: with "
        "LangChain's OpenAIEmbeddings set check_embedding_ctx_length=False. Or let the server decode OpenAI's ids: its setting is "
        "serve.openai_tokens."
    )
    return bad_request(message, param=param, code="token_ids_of_another_tokenizer")


def wrong_key() -> EmbeddingRefused:
    """401: no API key, or another one than this server's."""
    message = "Incorrect API key provided; send this server's token as a bearer token in the 'Authorization' header."
    return EmbeddingRefused(_UNAUTHORIZED, message, error_type="authentication_error", code="invalid_api_key")


def not_allowed(message: str) -> EmbeddingRefused:
    """403: who asks, or from where, may not."""
    return EmbeddingRefused(_FORBIDDEN, message, error_type="permission_error", code="forbidden")


def unknown_model(model: str, known: Collection[str]) -> EmbeddingRefused:
    """404: no model has this name; the message lists those there are."""
    shown = model if len(model) <= _SHOWN_CHARACTERS else f"{model[:_SHOWN_CHARACTERS]}…"
    message = f"The model '{shown}' does not exist. This server has: {', '.join(sorted(known)) or 'none'}."
    return EmbeddingRefused(_NOT_FOUND, message, param="model", code="model_not_found")


def body_too_slow() -> EmbeddingRefused:
    """408: the request did not arrive in time."""
    return EmbeddingRefused(_TIMED_OUT, "The request did not arrive in time.", code="request_timeout")


def body_too_large(most_bytes: int) -> EmbeddingRefused:
    """413: the body is longer than `serve.max_body_bytes`."""
    message = f"The request is too large; its body may have {most_bytes} bytes. Please send fewer texts at a time."
    return EmbeddingRefused(_TOO_LARGE, message, code="request_too_large")


def too_busy(retry_after_s: float) -> EmbeddingRefused:
    """429: so much work waits that this request would not be answered in time."""
    message = "The server has too much work waiting. Please try again after the seconds in 'Retry-After'."
    return EmbeddingRefused(_TOO_MANY, message, error_type="rate_limit_error", code="rate_limit_exceeded", retry_after_s=retry_after_s)


def unavailable(message: str, *, retry_after_s: float) -> EmbeddingRefused:
    """503: the model, or the server, cannot answer now; later it may."""
    return EmbeddingRefused(_UNAVAILABLE, message, error_type="server_error", code="unavailable", retry_after_s=retry_after_s)


def too_late() -> EmbeddingRefused:
    """504: the deadline passed before the vectors were there."""
    return EmbeddingRefused(_TOO_LATE, "The deadline passed before the texts were embedded.", error_type="server_error", code="timeout")
