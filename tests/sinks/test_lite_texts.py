"""Columns in seven bits a character come back as they were, whatever they were, and are a seventh smaller than base64."""

import base64

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sinks.codec import BlockDamaged, decode_fields, decode_texts
from sinks.milvus.lite_texts import LONGER_CHARACTERS, pack_text, unpack_text

LONGEST = bytes(range(250))
STORED = {
    0: "=",
    1: "=+Q==",
    45: "=zc7P0NHS09TV1tfY2drb3N3e3+Dh4uPk5ebn6Onq6+zt7u/w8fLz9PX29/j5",
    46: "73f39l~C#Riu\x1a]6_1Ym6{Mn{?`px\\>'\x17Mgt:=._3[nw|\x1e\x1f\x17Oiu{=\x7f\x0fH\x00\x00\x00",
    49: "70drY<f7\x1dOh4:-\x1eS+Vkv\x1b\x1dVo9]o7|\x0e\x0f\x0bGdry\\~G'Ukv;=n\x7fCcry}\x1e_7_qy",
    50: "76d29,^3\x1bNgt\x1a\x1d\x16O)Uk5{\rNk7\\nw[~\x07\x07Ecr9<n?#Sju{\x1d^w?aqy<~O/[ox|@\x00\x00\x00\x00\x00\x00",
}
"""How the last so many of these bytes are stored; indexes have them so."""
_HALVES = tuple(
    (np.uint64(upper), np.uint64(lower), np.uint64(shift))
    for upper, lower, shift in (
        (0x00FF_FFFF_F000_0000, 0x0000_0000_0FFF_FFFF, 4),
        (0x0FFF_C000_0FFF_C000, 0x0000_3FFF_0000_3FFF, 2),
        (0x3F80_3F80_3F80_3F80, 0x007F_007F_007F_007F, 1),
    )
)


def packed(frame: bytes) -> str:
    """Pack with numpy, all groups of seven bytes at once."""
    groups = -(-len(frame) // 7)
    # Seven bytes each, with the byte before them on top; the first step leaves that out.
    bits = np.ndarray((groups,), ">u8", b"\0" + frame.ljust(7 * groups, b"\0"), 0, (7,)).astype(np.uint64)
    for upper, lower, shift in _HALVES:
        bits = (bits & upper) << shift | bits & lower
    return f"7{7 * groups - len(frame)}" + bits.astype(">u8").tobytes().decode("ascii")


@pytest.mark.parametrize("size", STORED)
def test_what_is_stored_never_changes(size: int) -> None:
    frame = LONGEST[len(LONGEST) - size :]
    assert pack_text(frame) == STORED[size]
    assert unpack_text(STORED[size]) == frame


@given(st.binary(max_size=200) | st.binary(min_size=46, max_size=60))
@example(bytes(range(256)) * 100)
@example(b"\xff" * 49)
def test_a_frame_comes_back_and_is_packed_as_with_numpy(frame: bytes) -> None:
    stored = pack_text(frame)
    assert unpack_text(stored) == frame
    assert stored.isascii()
    in_base64 = base64.b64encode(frame).decode()
    assert len(stored) <= len(in_base64) + LONGER_CHARACTERS
    assert stored == (packed(frame) if len(in_base64) >= 64 else "=" + in_base64)


def test_a_seventh_is_saved() -> None:
    assert len(pack_text(bytes(42_000))) == 2 + 48_000


@pytest.mark.parametrize(
    "stored",
    [
        "7",
        "70",
        "71",
        "76",
        "72abcdefg",
        "72abcdefghi",
        "7xabcdefgh",
        "77abcdefgh",
        "7٣abcdefgh",
        "71äbcdefg",
        "71äbcdefgh",
        "71abcdefghabcdeféh",
        "71é",
        "7\ud800",
        "=damaged",
        "=é",
        "x(µ/ý",
    ],
)
def test_what_is_damaged_is_seen_when_it_is_decoded(stored: str) -> None:
    frame = unpack_text(stored)
    assert frame in {stored.encode("utf-8", "replace"), stored[1:].encode("utf-8", "replace")}
    with pytest.raises(BlockDamaged):
        decode_texts(frame)
    with pytest.raises(BlockDamaged):
        decode_fields(frame, 1)


@given(
    st.text(max_size=30).map("7".__add__) | st.text(st.characters(max_codepoint=0x7F), max_size=30).map("70".__add__) | st.text(max_size=9)
)
@example("")
def test_any_text_is_unpacked_to_some_bytes(stored: str) -> None:
    assert len(unpack_text(stored)) <= len(stored.encode("utf-8", "replace"))
