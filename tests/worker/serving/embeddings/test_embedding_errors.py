"""Refusals have the status, the shape and the headers that clients of OpenAI and of TEI read."""

import json
import math
import re

import pytest

from worker.serving.embeddings.embedding_errors import (
    EmbeddingRefused,
    bad_request,
    body_too_large,
    body_too_slow,
    empty_input,
    no_vector,
    not_allowed,
    text_too_long,
    token_ids_of_another_tokenizer,
    too_busy,
    too_late,
    too_many_tokens,
    unavailable,
    unknown_model,
    wrong_key,
)

INVALID, SERVER = "invalid_request_error", "server_error"
REFUSALS = (
    (bad_request("no"), 400, INVALID, None, None, "Validation"),
    (empty_input("input"), 400, INVALID, "input", "empty_input", "Empty"),
    (text_too_long(param="input[3]", tokens=300, max_tokens=256), 400, INVALID, "input[3]", "context_length_exceeded", "Validation"),
    (too_many_tokens(param="input", tokens=9, most_tokens=8), 400, INVALID, "input", "max_tokens_per_request", "Validation"),
    (no_vector(param="input[0]", reason="it is zero"), 400, INVALID, "input[0]", "no_vector", "Validation"),
    (token_ids_of_another_tokenizer("input[1]"), 400, INVALID, "input[1]", "token_ids_of_another_tokenizer", "Validation"),
    (wrong_key(), 401, "authentication_error", None, "invalid_api_key", "Validation"),
    (not_allowed("not from there"), 403, "permission_error", None, "forbidden", "Validation"),
    (unknown_model("x", ["m"]), 404, INVALID, "model", "model_not_found", "Validation"),
    (body_too_slow(), 408, INVALID, None, "request_timeout", "Validation"),
    (body_too_large(16), 413, INVALID, None, "request_too_large", "Validation"),
    (too_busy(3), 429, "rate_limit_error", None, "rate_limit_exceeded", "Overloaded"),
    (unavailable("it loads", retry_after_s=1), 503, SERVER, None, "unavailable", "Backend"),
    (too_late(), 504, SERVER, None, "timeout", "Backend"),
)


@pytest.mark.parametrize(("refused", "status", "error_type", "param", "code", "tei_type"), REFUSALS)
def test_a_refusal_has_its_status_and_both_shapes(
    refused: EmbeddingRefused, status: int, error_type: str, param: str | None, code: str | None, tei_type: str
) -> None:  # fmt: skip
    assert refused.status == status
    assert json.loads(refused.openai_body()) == {
        "error": {"message": refused.message, "type": error_type, "param": param, "code": code}
    }  # fmt: skip
    assert json.loads(refused.tei_body()) == {"error": refused.message, "error_type": tei_type}
    assert str(refused) == refused.message


@pytest.mark.parametrize(
    ("seconds", "header"),
    [(0, "1"), (-5, "1"), (0.2, "1"), (1, "1"), (1.01, "2"), (119.5, "120"), (121, "120"), (math.inf, "120"), (math.nan, "1")],
)
def test_a_client_is_told_to_wait_whole_seconds_that_it_accepts(seconds: float, header: str) -> None:
    assert too_busy(seconds).headers() == {"Retry-After": header}


def test_only_what_may_go_well_later_says_when() -> None:
    assert {refused.status for refused, *_ in REFUSALS if "Retry-After" in refused.headers()} == {429, 503}
    assert wrong_key().headers() == {"WWW-Authenticate": "Bearer"}


def test_a_text_that_is_too_long_is_told_with_openais_sentence() -> None:
    refused = text_too_long(param="input[3]", tokens=300, max_tokens=256)
    found = re.match(r"This model's maximum context length is (\d+) tokens", refused.message)  # as pgai finds it
    assert found is not None
    assert found[1] == "256"
    assert "300 tokens in 'input[3]'" in refused.message


def test_token_ids_of_another_tokenizer_are_told_with_what_to_set() -> None:
    message = token_ids_of_another_tokenizer("input").message
    assert "check_embedding_ctx_length=False" in message
    assert "serve.openai_tokens" in message


def test_a_name_without_end_is_not_sent_back() -> None:
    assert unknown_model("x" * 5_000, []).message == f"The model '{'x' * 100}…' does not exist. This server has: none."
