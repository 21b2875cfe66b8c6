"""Columns of a local folder: new ones are base64, and those in seven bits a character, as 0.1 wrote them, are still read."""

import tarfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sinks.codec import BlockDamaged, decode_fields, decode_texts
from sinks.index_spaces import VectorSpace
from sinks.milvus.lite_texts import frame_of_text, stored_text
from sinks.milvus.milvus_settings import MilvusSettings
from sinks.reading.line_filter import LineFilter
from sinks.reading.reader import BlockReader
from tests.sinks.settings import strong_sink
from tests.world import block, line

FOLDER = Path(__file__).parents[1] / "golden" / "milvus_lite_0.1.tar.xz"
"""Made by revision 9b73180: two blocks, in seven bits a character, and their template."""
LONGEST = bytes(range(250))
STORED = {
    46: "73f39l~C#Riu\x1a]6_1Ym6{Mn{?`px\\>'\x17Mgt:=._3[nw|\x1e\x1f\x17Oiu{=\x7f\x0fH\x00\x00\x00",
    49: "70drY<f7\x1dOh4:-\x1eS+Vkv\x1b\x1dVo9]o7|\x0e\x0f\x0bGdry\\~G'Ukv;=n\x7fCcry}\x1e_7_qy",
    50: "76d29,^3\x1bNgt\x1a\x1d\x16O)Uk5{\rNk7\\nw[~\x07\x07Ecr9<n?#Sju{\x1d^w?aqy<~O/[ox|@\x00\x00\x00\x00\x00\x00",
}
"""How the last so many of these bytes were stored."""


def in_seven_bits(frame: bytes) -> str:
    """Pack as 0.1 did: one number of all bits."""
    groups = -(-len(frame) // 7)
    bits = int.from_bytes(frame.ljust(7 * groups, b"\0"), "big")
    return f"7{7 * groups - len(frame)}" + "".join(chr(bits >> 7 * at & 0x7F) for at in reversed(range(8 * groups)))


@pytest.mark.parametrize("size", STORED)
def test_what_older_folders_hold_is_read(size: int) -> None:
    frame = LONGEST[len(LONGEST) - size :]
    assert in_seven_bits(frame) == STORED[size]
    assert frame_of_text(STORED[size]) == frame


@given(st.binary(max_size=200))
@example(bytes(range(256)) * 100)
@example(b"\xff" * 49)
def test_a_frame_comes_back_from_both_forms(frame: bytes) -> None:
    assert frame_of_text(stored_text(frame)) == frame
    assert not frame or frame_of_text(in_seven_bits(frame)) == frame


@pytest.mark.parametrize(
    "stored",
    [
        "7", "70", "71", "76", "72abcdefg", "72abcdefghi", "7xabcdefgh", "77abcdefgh", "7٣abcdefgh", "71äbcdefg", "71äbcdefgh",
        "71abcdefghabcdeféh", "71é", "7\ud800", "=damaged", "=é", "x(µ/ý",
    ],
)  # fmt: skip
def test_what_is_damaged_is_seen_when_it_is_decoded(stored: str) -> None:
    frame = frame_of_text(stored)
    assert frame in {stored.encode("utf-8", "replace"), stored[1:].encode("utf-8", "replace")}
    with pytest.raises(BlockDamaged):
        decode_texts(frame)
    with pytest.raises(BlockDamaged):
        decode_fields(frame, 1)


@given(
    st.text(max_size=30).map("7".__add__) | st.text(st.characters(max_codepoint=0x7F), max_size=30).map("70".__add__) | st.text(max_size=9)
)
@example("")
def test_any_text_is_some_bytes(stored: str) -> None:
    assert len(frame_of_text(stored)) <= len(stored.encode("utf-8", "replace"))


@pytest.mark.process
def test_a_folder_of_0_1_is_opened_read_and_written_to(tmp_path: Path) -> None:
    with tarfile.open(FOLDER) as packed:
        packed.extractall(tmp_path, filter="data")
    lines = [line(n, text=f"line {n} of an old folder: session {n * 7919:08x} of user{n % 7}") for n in range(40)]
    more = line(40, text="a line of today")
    for _ in range(2):  # the second time with what the first one wrote
        sink = strong_sink(MilvusSettings(uri=str(tmp_path / "milvus")), VectorSpace(4, "space-1"))
        sink.open()
        sink.write_blocks([block([more], first=2)])
        (template,) = [template for template, _ in sink.templates.all_above("", 10)]
        found = BlockReader(sink).newest_lines([template], 100, LineFilter()).lines[template]
        assert sorted((one.offset, one.text) for one in found) == [(one.offset, one.text) for one in (*lines, more)]
        sink.close()
