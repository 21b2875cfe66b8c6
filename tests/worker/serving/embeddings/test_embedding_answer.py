"""Vectors go out as clients read them, and are the same numbers in every form."""

import json
from base64 import b64decode

import msgspec
import numpy as np
import pytest

from worker.embedding.model.vectors import Vectors
from worker.serving.embeddings.embedding_answer import check_dimensions, cut, encode_openai, encode_tei, form_of
from worker.serving.embeddings.embedding_bodies import EmbedDtype, Encoding
from worker.serving.embeddings.embedding_errors import EmbeddingRefused
from worker.serving.embeddings.embedding_request import EmbeddingRequest

TWO: Vectors = np.array([[0.6, -0.8, 0.0], [0.1, 1e-7, 0.9949874]], dtype=np.float32)
COMPACT = ["application/msgpack", "application/octet-stream"]


def asked(*, encoding: Encoding = "float", embed_dtype: EmbedDtype = "float32") -> EmbeddingRequest:
    return EmbeddingRequest(model="m", inputs=("a", "b"), encoding=encoding, embed_dtype=embed_dtype)


def test_numbers_go_out_in_openais_shape() -> None:
    answer = encode_openai(TWO, request=asked(), model="m:query", prompt_tokens=7)
    assert answer.body == (
        b'{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.6,-0.8,0.0]},'
        b'{"object":"embedding","index":1,"embedding":[0.1,1e-7,0.9949874]}],'
        b'"model":"m:query","usage":{"prompt_tokens":7,"total_tokens":7}}'
    )
    assert (answer.content_type, answer.headers) == ("application/json", {})


def test_base64_is_what_openais_client_reads() -> None:
    document = json.loads(encode_openai(TWO, request=asked(encoding="base64"), model="m", prompt_tokens=7).body)
    assert document.keys() == {"object", "data", "model", "usage"}
    assert [(one["object"], one["index"]) for one in document["data"]] == [("embedding", 0), ("embedding", 1)]
    read = [np.frombuffer(b64decode(one["embedding"]), dtype="float32") for one in document["data"]]  # as openai-python does
    assert np.array_equal(read, TWO)
    assert document["data"][0]["embedding"] == "mpkZP83MTL8AAAAA"


def test_half_precision_is_half_the_bytes() -> None:
    one = encode_openai(TWO, request=asked(embed_dtype="float16", encoding="base64"), model="m", prompt_tokens=7)
    assert b64decode(json.loads(one.body)["data"][1]["embedding"]) == TWO[1].astype("<f2").tobytes()
    numbers = json.loads(encode_openai(TWO, request=asked(embed_dtype="float16"), model="m", prompt_tokens=7).body)
    assert np.array_equal(np.array([one["embedding"] for one in numbers["data"]], dtype=np.float16), TWO.astype(np.float16))


def test_bytes_alone_have_their_shape_in_headers() -> None:
    answer = encode_openai(TWO, request=asked(encoding="bytes"), model="m", prompt_tokens=7, truncated_places=[1])
    assert (answer.body, answer.content_type) == (TWO.tobytes(), "application/octet-stream")
    assert answer.headers == {
        "x-vectail-truncated": "1",
        "x-vectail-shape": "2,3",
        "x-vectail-dtype": "float32",
        "x-vectail-tokens": "7",
    }


def test_message_pack_holds_the_bytes_and_what_they_are() -> None:
    answer = encode_openai(TWO, request=asked(embed_dtype="float16"), model="m", prompt_tokens=7, accept="application/msgpack")
    assert msgspec.msgpack.decode(answer.body) == {
        "model": "m",
        "shape": [2, 3],
        "dtype": "float16",
        "usage": {"prompt_tokens": 7, "total_tokens": 7},
        "vectors": TWO.astype("<f2").tobytes(),
    }
    assert (answer.content_type, answer.headers) == ("application/msgpack", {})


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", "json"),
        ("*/*", "json"),
        ("application/json", "json"),
        ("application/msgpack", "msgpack"),
        ("text/html, Application/Octet-Stream;q=0.9, application/msgpack", "bytes"),
        ("application/json, application/msgpack", "json"),
        ("application/msgpackx", "json"),
    ],
)
def test_the_first_form_that_is_accepted_is_chosen(accept: str, form: str) -> None:
    assert form_of(asked(), accept) == form
    assert form_of(asked(encoding="bytes"), accept) == (form if form == "msgpack" else "bytes")


def test_vectors_that_are_a_part_of_others_go_out_as_they_are() -> None:
    wide = np.arange(12, dtype=np.float32).reshape(2, 6)
    part = wide[:, ::2]
    for accept in ("", *COMPACT):
        given = encode_openai(part, request=asked(), model="m", prompt_tokens=7, accept=accept)
        assert given == encode_openai(part.copy(), request=asked(), model="m", prompt_tokens=7, accept=accept)
    assert json.loads(encode_tei(part).body) == part.tolist()


def test_tei_gets_a_list_of_lists() -> None:
    answer = encode_tei(TWO, truncated_places=[0, 1])
    assert answer.body == b"[[0.6,-0.8,0.0],[0.1,1e-7,0.9949874]]"
    assert (answer.content_type, answer.headers) == ("application/json", {"x-vectail-truncated": "0,1"})


def test_places_of_inputs_that_were_cut_fit_into_a_header() -> None:
    def header(places: range) -> str:
        return encode_tei(TWO, truncated_places=places).headers["x-vectail-truncated"]

    assert header(range(3, 18, 14)) == "3,17"
    assert header(range(256)).endswith(",254,255")
    assert header(range(257)).endswith(",254,255,...")
    assert len(header(range(1_000, 2_048))) < 4_000 / 2


@pytest.mark.parametrize(
    ("asked_dimensions", "matryoshka", "allow_cut", "given"),
    [
        (None, (), False, 384),
        (384, (), False, 384),
        (384, (), True, 384),
        (128, (64, 128), False, 128),
        (1, range(1, 385), False, 1),
        (100, (64, 128), True, 100),
        (1, (), True, 1),
    ],
)
def test_dimensions_that_the_model_has_are_given(
    asked_dimensions: int | None, matryoshka: tuple[int, ...], allow_cut: bool, given: int  # noqa: FBT001 - of a table
) -> None:  # fmt: skip
    assert check_dimensions(asked_dimensions, dim=384, matryoshka=matryoshka, allow_cut=allow_cut) == given


@pytest.mark.parametrize(
    ("asked_dimensions", "matryoshka", "allow_cut", "allowed"),
    [
        (128, (), False, "384"),
        (100, (128, 64), False, "64 or 128 or 384"),
        (385, range(1, 385), False, "1 to 384"),
        (385, (), True, "1 to 384"),
        (0, (), True, "1 to 384"),
        (-1, (64,), True, "1 to 384"),
    ],
)
def test_other_dimensions_are_refused_with_those_there_are(
    asked_dimensions: int, matryoshka: tuple[int, ...], allow_cut: bool, allowed: str  # noqa: FBT001 - of a table
) -> None:  # fmt: skip
    with pytest.raises(EmbeddingRefused, match=f"may have {allowed} dimensions, not {asked_dimensions}") as refused:
        check_dimensions(asked_dimensions, dim=384, matryoshka=matryoshka, allow_cut=allow_cut)
    assert (refused.value.status, refused.value.param) == (400, "dimensions")


def test_a_vector_that_is_cut_has_length_1_again() -> None:
    short = cut(TWO, 2)
    assert np.allclose(np.linalg.norm(short, axis=1), 1)
    assert np.allclose(short[0], [0.6, -0.8])
    assert cut(TWO, 3) is TWO
    assert np.array_equal(TWO[1], np.array([0.1, 1e-7, 0.9949874], dtype=np.float32))
