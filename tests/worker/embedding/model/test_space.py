"""Embedding spaces, and the cache keys of texts in them."""

import hashlib
import re
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
DIFFERENT: dict[str, dict[str, object]] = {
    "weights": {"weights_sha256": "ab"},
    "architecture": {"architecture": "layers=3"},
    "tokenizer": {"tokenizer_sha256": "ab"},
    "pooling": {"pooling": "cls"},
    "dim": {"dim": 768},
    "document_prefix": {"document_prefix": "passage: "},
    "query_prefix": {"query_prefix": ""},
    "a letter that moved over": {"weights_sha256": "aal", "architecture": "ayers=6"},
    "prefixes exchanged": {"document_prefix": "query: ", "query_prefix": ""},
}


@pytest.mark.parametrize("changes", DIFFERENT.values(), ids=DIFFERENT)
def test_everything_that_decides_what_a_vector_means_makes_another_space(changes: dict[str, object]) -> None:
    other = replace(SPACE, **changes)  # type: ignore[arg-type]
    assert other.id != SPACE.id
    assert Digester(other, "").digest("a line") != Digester(SPACE, "").digest("a line")


@pytest.mark.parametrize("name", [field.name for field in fields(EmbeddingSpace)])
def test_no_part_is_left_out_of_the_id(name: str) -> None:
    """A part added later must be hashed, too, or one index would mix vectors of two spaces."""
    value: Any = getattr(SPACE, name)
    other: Any = value + type(value)("1")
    assert replace(SPACE, **{name: other}).id != SPACE.id


def test_the_parts_have_the_names_that_a_user_knows() -> None:
    assert SPACE.parts == {
        "weights": "aa",
        "architecture": "layers=6",
        "tokenizer": "bb",
        "pooling": "mean",
        "dims": "384",
        "document_prefix": "",
        "query_prefix": "query: ",
    }


def test_the_same_parts_are_the_same_space() -> None:
    assert replace(SPACE).id == SPACE.id
    assert re.fullmatch("[0-9a-f]{16}", SPACE.id)


def _blake2b(*parts: str, size_bytes: int) -> str:
    prefixed = b"".join(len(part.encode()).to_bytes(8, "little") + part.encode() for part in parts)
    return hashlib.blake2b(prefixed, digest_size=size_bytes).hexdigest()


def test_ids_are_blake2b_over_length_prefixed_parts_so_a_later_version_finds_its_vectors_again() -> None:
    assert SPACE.id == _blake2b("aa", "layers=6", "bb", "mean", "384", "", "query: ", size_bytes=8)
    assert Digester(SPACE, "passage: ").digest("café") == _blake2b(SPACE.id, "passage: café", size_bytes=16)


@given(st.text("aé", max_size=4), st.text("aé", max_size=4))
def test_digests_are_equal_exactly_for_equal_texts(one: str, other: str) -> None:
    digester = Digester(SPACE, "")
    assert (digester.digest(one) == digester.digest(other)) == (one == other)


def test_the_prefix_is_part_of_the_text_that_is_embedded() -> None:
    assert Digester(SPACE, "passage: ").digest("line") == Digester(SPACE, "").digest("passage: line")
    assert Digester(SPACE, "passage: ").digest("line") != Digester(SPACE, "").digest("line")
