"""Columns in base64 come back as they were, and what is no base64 is damaged when it is decoded, never a column that is not there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sinks.block import base64_characters
from sinks.codec import BlockDamaged, decode_fields, decode_places, decode_texts
from sinks.milvus.base64_texts import base64_text, frame_of_base64


@given(st.binary(max_size=40))
def test_a_column_comes_back_and_its_characters_are_known(frame: bytes) -> None:
    assert frame_of_base64(base64_text(frame)) == frame
    assert len(base64_text(frame)) == base64_characters(len(frame))


def test_what_is_stored_never_changes() -> None:
    assert base64_text(bytes(range(240, 251))) == "8PHy8/T19vf4+fo="
    assert base64_text(b"") == ""


@pytest.mark.parametrize("stored", ["damaged", "=", "KLUv/Q", "KLUv\n/Q==", "(µ/ý", "KLUv/Q==é", "\ud800"])
def test_what_is_no_base64_is_damaged(stored: str) -> None:
    frame = frame_of_base64(stored)
    with pytest.raises(BlockDamaged):
        decode_places(frame)
    with pytest.raises(BlockDamaged):
        decode_texts(frame)
    with pytest.raises(BlockDamaged):
        decode_fields(frame, 1)
