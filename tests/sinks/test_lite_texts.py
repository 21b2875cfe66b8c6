"""Columns in seven bits a character come back as they were, whatever they were, and are a seventh smaller if they were base64."""

import base64

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sinks.milvus.lite_texts import LONGER_CHARACTERS, pack_text, unpack_text


@given(st.binary(max_size=200))
@example(bytes(range(256)) * 100)
def test_base64_comes_back_and_is_ascii(raw: bytes) -> None:
    text = base64.b64encode(raw).decode()
    stored = pack_text(text)
    assert unpack_text(stored) == text
    assert stored.isascii()


@given(st.text(max_size=20) | st.text(alphabet="ABab12+/=", min_size=60, max_size=80))
@example("Q" * 66 + "=")
@example("Q" * 65 + "R==")
def test_any_text_comes_back_and_hardly_grows(text: str) -> None:
    assert unpack_text(pack_text(text)) == text
    assert len(pack_text(text)) <= len(text) + LONGER_CHARACTERS


def test_a_seventh_is_saved() -> None:
    assert len(pack_text(base64.b64encode(bytes(42_000)).decode())) == 2 + 48_000


@pytest.mark.parametrize("stored", ["", "7", "71", "72abcdefg", "7xabcdefgh", "79abcdefgh", "71äbcdefgh"])
def test_what_is_damaged_raises_nothing(stored: str) -> None:
    assert isinstance(unpack_text(stored), str)
