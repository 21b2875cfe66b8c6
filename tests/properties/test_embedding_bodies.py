"""The embedding API: any body is read or refused in its shape, vectors are the same in every form, and a known name is itself."""

import json
from base64 import b64decode

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tests.fuzz.embedded import check_body
from worker.embedding.model.vectors import Vectors
from worker.serving.embeddings.embedding_answer import EmbeddingAnswer, encode_openai, encode_tei
from worker.serving.embeddings.embedding_bodies import EmbedDtype, Encoding
from worker.serving.embeddings.embedding_errors import EmbeddingRefused
from worker.serving.embeddings.embedding_request import EmbeddingRequest, TokenLists, named, read_openai

HALVES = st.text(st.one_of(st.characters(), st.characters(categories=["Cs"])), max_size=12)
"""Also with halves of surrogate pairs."""
NUMBERS = st.one_of(st.integers(), st.integers(-2, 3), st.integers(2**31 - 2, 2**31 + 2), st.floats())
WORDS = st.sampled_from(["float", "base64", "bytes", "query", "passage", "end", "END", "no", "bulk", "float16", "right", "m", ""])
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, HALVES, WORDS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(HALVES, inner, max_size=3)),
    max_leaves=8,
)
INPUTS = st.one_of(
    HALVES,
    st.lists(HALVES, max_size=4),
    st.lists(NUMBERS, max_size=4),
    st.lists(st.integers(0, 2**31 - 1), max_size=4),
    st.lists(st.lists(st.integers(0, 2**31 - 1), max_size=3), max_size=4),
    VALUES,
)
FIELDS = st.fixed_dictionaries(
    {"model": st.one_of(st.just("m"), VALUES), "input": INPUTS},
    optional={
        name: st.one_of(WORDS, NUMBERS, VALUES)
        for name in ("encoding_format", "dimensions", "user", "input_type", "truncate", "priority", "embed_dtype", "deadline_ms", "x")
    },
)
TEI_FIELDS = st.fixed_dictionaries(
    {"inputs": INPUTS},
    optional={
        name: st.one_of(WORDS, NUMBERS, VALUES) for name in ("truncate", "truncation_direction", "prompt_name", "normalize", "dimensions")
    },
)
CUT_BODIES = st.builds(lambda fields, end: json.dumps(fields).encode()[:-end], FIELDS, st.integers(1, 60))
NAMES = st.tuples(st.text("mx-:", min_size=1, max_size=3), st.sampled_from(["", "-query", ":document", ":query"])).map("".join)
ROWS: st.SearchStrategy[Vectors] = arrays.arrays(
    np.float32, st.tuples(st.integers(1, 4), st.integers(1, 5)), elements=st.floats(-1, 1, width=32, allow_subnormal=False)
)


@given(st.one_of(VALUES, FIELDS, TEI_FIELDS))
def test_any_json_is_a_request_or_is_refused(document: object) -> None:
    check_body(json.dumps(document).encode())


@given(st.one_of(st.binary(max_size=40), CUT_BODIES))
def test_any_bytes_are_a_request_or_are_refused(body: bytes) -> None:
    check_body(body)


@given(st.lists(HALVES, min_size=1, max_size=5))
def test_texts_are_read_as_they_were_but_for_halves_of_pairs(texts: list[str]) -> None:
    read = read_openai(json.dumps({"model": "m", "input": texts}).encode())
    assert read.inputs == tuple(json.loads(json.dumps(text)).encode("utf-8", "replace").decode() for text in texts)


@given(st.lists(st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=5), min_size=1, max_size=5))
def test_token_ids_are_read_as_they_were(lists: list[list[int]]) -> None:
    read = read_openai(json.dumps({"model": "m", "input": lists}).encode()).inputs
    assert isinstance(read, TokenLists)
    assert [ids.tolist() for ids in read.lists] == lists


@given(ROWS, st.sampled_from(["float32", "float16"]))
def test_vectors_are_the_same_in_every_form(vectors: Vectors, embed_dtype: EmbedDtype) -> None:
    dtype = np.dtype("<f2" if embed_dtype == "float16" else "<f4")

    def answered(encoding: Encoding, accept: str = "") -> EmbeddingAnswer:
        request = EmbeddingRequest(model="m", inputs=("a",), encoding=encoding, embed_dtype=embed_dtype)
        return encode_openai(vectors, request=request, model="m", prompt_tokens=3, accept=accept)

    wanted = vectors.astype(dtype)
    numbers = np.array([one["embedding"] for one in json.loads(answered("float").body)["data"]], dtype=np.float32)
    packed = msgspec.msgpack.decode(answered("float", "application/msgpack").body)
    assert np.array_equal(numbers.astype(dtype), wanted)
    assert [b64decode(one["embedding"]) for one in json.loads(answered("base64").body)["data"]] == [row.tobytes() for row in wanted]
    assert np.array_equal(np.frombuffer(packed["vectors"], dtype).reshape(packed["shape"]), wanted)
    assert answered("bytes").body == answered("base64", "application/octet-stream").body == wanted.tobytes()
    assert np.array_equal(np.array(json.loads(encode_tei(vectors).body), dtype=np.float32), vectors)


@given(NAMES, st.sets(NAMES, max_size=4))
def test_a_known_name_is_itself_and_any_other_a_known_one_with_a_type(model: str, known: set[str]) -> None:
    suffixed = {(name, word) for name in known for mark in ":-" for word in ("query", "document") if model == f"{name}{mark}{word}"}
    if model in known:
        assert named(model, known) == (model, None)
    elif suffixed:
        assert {named(model, known)} == suffixed
    else:
        with pytest.raises(EmbeddingRefused):
            named(model, known)
