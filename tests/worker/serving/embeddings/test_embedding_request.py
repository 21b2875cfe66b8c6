"""What a body asks for, or which field of it is at fault."""

import hashlib
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.rows import rows
from worker.serving.embeddings.embedding_errors import EmbeddingRefused
from worker.serving.embeddings.embedding_request import MOST_INPUTS, EmbeddingRequest, TokenLists, named, read_openai, read_tei


def body(**fields: object) -> bytes:
    return json.dumps({"model": "m", "input": "a"} | fields).encode()


@pytest.mark.parametrize(("given", "texts", "others"), rows("embeddings/read_openai"))
def test_a_body_of_openai_is_read(given: str, texts: list[str], others: dict[str, Any]) -> None:
    read = replace(read_openai(given.encode()), user="")
    assert read == EmbeddingRequest(model="m", inputs=tuple(texts), **others)


@pytest.mark.parametrize(("given", "param", "code", "message"), rows("embeddings/refused_openai"))
def test_what_is_wrong_in_a_body_of_openai_is_named(given: str, param: str | None, code: str | None, message: str) -> None:
    with pytest.raises(EmbeddingRefused) as refused:
        read_openai(given.encode())
    assert (refused.value.status, refused.value.param, refused.value.code) == (400, param, code)
    assert refused.value.message.startswith(message)


@pytest.mark.parametrize(("given", "texts", "others"), rows("embeddings/read_tei"))
def test_a_body_of_tei_is_read(given: str, texts: list[str], others: dict[str, Any]) -> None:
    assert read_tei(given.encode()) == EmbeddingRequest(model="", inputs=tuple(texts), **others)


@pytest.mark.parametrize(("given", "param", "tei_type", "message"), rows("embeddings/refused_tei"))
def test_what_is_wrong_in_a_body_of_tei_is_named(given: str, param: str, tei_type: str, message: str) -> None:
    with pytest.raises(EmbeddingRefused) as refused:
        read_tei(given.encode())
    assert (refused.value.status, refused.value.param) == (400, param)
    assert json.loads(refused.value.tei_body()) == {"error": refused.value.message, "error_type": tei_type}
    assert refused.value.message.startswith(message)


@pytest.mark.parametrize(
    ("given", "lists"), [([7], [[7]]), ([0, 2**31 - 1], [[0, 2**31 - 1]]), ([[7]], [[7]]), ([[1, 2], [3]], [[1, 2], [3]])]
)
def test_a_list_of_ids_is_one_text_and_a_list_of_lists_several(given: object, lists: list[list[int]]) -> None:
    read = read_openai(body(input=given)).inputs
    assert isinstance(read, TokenLists)
    assert [ids.tolist() for ids in read.lists] == lists
    assert {ids.dtype for ids in read.lists} == {np.dtype(np.int32)}
    assert len(read) == len(lists)


@pytest.mark.parametrize("one", ["a", [1]])
def test_a_request_has_as_many_texts_as_openai_allows_and_no_more(one: object) -> None:
    assert len(read_openai(body(input=[one] * MOST_INPUTS)).inputs) == 2_048
    with pytest.raises(EmbeddingRefused, match="'input' has 2049 texts; a request may have 2048"):
        read_openai(body(input=[one] * (MOST_INPUTS + 1)))


def test_one_text_may_have_more_token_ids_than_a_request_texts() -> None:
    assert len(read_openai(body(input=[1] * (MOST_INPUTS + 1))).inputs) == 1


def test_bytes_that_are_no_text_and_nesting_without_end_are_refused() -> None:
    with pytest.raises(EmbeddingRefused, match="not valid JSON"):
        read_openai(b'{"model":"m","input":"\xff"}')
    for opening, closing in ((b"[", b"]"), (b'{"a":', b"}")):
        for half in (b"", rb'"x":"\ud800",'):
            with pytest.raises(EmbeddingRefused, match="nested too deeply"):
                read_openai(b"{" + half + b'"model":"m","input":' + opening * 99_999 + b"1" + closing * 99_999 + b"}")


def test_a_user_is_known_again_and_not_by_name() -> None:
    one, again, other = (read_openai(body(user=user)).user for user in ("ann@example.org", "ann@example.org", "bob@example.org"))
    assert one == again != other
    assert len(one) == len(other) == 16
    assert one != hashlib.blake2b(b"ann@example.org", digest_size=8).hexdigest()  # which others can compute, too
    assert read_openai(body(user="")).user == read_openai(body()).user == ""


@pytest.mark.parametrize(("model", "known", "name", "input_type"), rows("embeddings/names"))
def test_a_name_may_say_the_type_of_its_texts_unless_a_model_has_that_name(
    model: str, known: list[str], name: str, input_type: str | None
) -> None:  # fmt: skip
    assert named(model, known) == (name, input_type)


@pytest.mark.parametrize("model", ["", "x", "M", "m:", ":query", "m:question", "m:query:query", "m:search_query", "m query", "m-query "])
def test_a_name_that_is_unknown_is_refused_with_those_there_are(model: str) -> None:
    with pytest.raises(EmbeddingRefused, match=r"does not exist\. This server has: a, m\.$") as refused:
        named(model, ["m", "a"])
    assert (refused.value.status, refused.value.param, refused.value.code) == (404, "model", "model_not_found")
