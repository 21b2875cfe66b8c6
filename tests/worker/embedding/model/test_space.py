"""Embedding spaces, and the cache keys of texts in them."""

import hashlib
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.embedding.model.space import Digester, EmbeddingSpace

SPACE = EmbeddingSpace(
    weights_sha256="aa",
    architecture="layers=6",
    tokenizer_sha256="bb",
    pooling="mean",
    dim=384,
    document_prefix="",
    query_prefix="query: ",
)


@pytest.mark.parametrize("name", [field.name for field in fields(EmbeddingSpace)])
def test_no_part_is_left_out_of_the_id(name: str) -> None:
    """A part added later must be hashed, too, or one index would mix vectors of two spaces."""
    value: Any = getattr(SPACE, name)
    other: Any = not value if isinstance(value, bool) else value + type(value)("1")
    assert replace(SPACE, **{name: other}).id != SPACE.id


def _blake2b(*parts: str, size_bytes: int) -> str:
    prefixed = b"".join(len(part.encode()).to_bytes(8, "little") + part.encode() for part in parts)
    return hashlib.blake2b(prefixed, digest_size=size_bytes).hexdigest()


def test_ids_are_blake2b_over_length_prefixed_parts_so_a_later_version_finds_its_vectors_again() -> None:
    assert SPACE.id == _blake2b("aa", "layers=6", "bb", "mean", "384", "", "query: ", size_bytes=8)
    assert Digester(SPACE, "passage: ").digest("café") == _blake2b(SPACE.id, "passage: café", size_bytes=16)


def test_a_space_of_whole_names_has_the_id_that_it_had_before_names_were_split() -> None:
    assert "words" not in SPACE.parts
    assert replace(SPACE, splits_words=True).parts == SPACE.parts | {"words": "split"}


@given(st.text("aé", max_size=4), st.text("aé", max_size=4))
def test_digests_are_equal_exactly_for_equal_texts(one: str, other: str) -> None:
    digester = Digester(SPACE, "")
    assert (digester.digest(one) == digester.digest(other)) == (one == other)


def test_the_prefix_is_part_of_the_text_that_is_embedded() -> None:
    assert Digester(SPACE, "passage: ").digest("line") == Digester(SPACE, "").digest("passage: line")
    assert Digester(SPACE, "passage: ").digest("line") != Digester(SPACE, "").digest("line")
