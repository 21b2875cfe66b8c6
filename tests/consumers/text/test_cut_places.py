"""Where texts are cut: at the same places as by regular expressions, which say it in one line each."""

import re
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumers.columns import as_texts
from consumers.text.cut_places import CutStretch

PATTERNS = (r"[^\n]*\n|[^\n]+", r"(?s).*?[.!?;](?:\s+|$)|.+", r"\S+\s*|\s+")
texts = st.text(st.sampled_from("ab.!?;: \n\r\t\x0b\x0c\x1c\x1f\x85\xa0\u2003\u2028\u3000é語\U0001f701"), min_size=2, max_size=30)


def cut(stretch: CutStretch, begin: int, end: int, level: int) -> tuple[list[str], int]:
    begins, level = stretch.cut(begin, end, level)
    return [stretch.text[one:after] for one, after in pairwise([begin, *begins.tolist(), end])], level


@given(before=texts, text=texts, after=texts, level=st.integers(-1, 4))
def test_a_text_is_cut_as_if_nothing_stood_beside_it(before: str, text: str, after: str, level: int) -> None:
    wanted = [re.findall(pattern, text) for pattern in PATTERNS] + [[text[: len(text) // 2], text[len(text) // 2 :]]]
    # A part of one level is cut at finer ones only, so it is a single part of the coarser ones.
    parts, found = next((parts, found) for found, parts in enumerate(wanted) if found > min(level, 2) and len(parts) > 1)
    if any(len(parts) > 1 for parts in wanted[: min(level, 2) + 1]):
        return
    assert cut(CutStretch(before + text + after), len(before), len(before) + len(text), level) == (parts, found)


@pytest.mark.slow
def test_white_space_is_what_a_regular_expression_takes_for_it() -> None:
    characters = [chr(point) for point in range(sys.maxunicode + 1) if not 0xD800 <= point < 0xE000]
    begins = [cut(CutStretch(f"a{character}b"), 0, 3, 1)[1] for character in characters if re.fullmatch(r"\s", character)]
    assert begins == [2] * 29
    joined = CutStretch("".join(f"a{character}b" for character in characters if not re.fullmatch(r"\s", character)))
    assert len(joined.cut(0, len(joined.text), 1)[0]) == 1, "halves, as there are no words"


def test_parts_are_columns_whatever_the_bytes_of_their_characters() -> None:
    stretch = CutStretch("aé\u0800\U0001f701b")
    assert stretch.byte_at.tolist() == [0, 1, 3, 6, 10, 11]
    assert as_texts(stretch.column(np.array([0, 2, 2, 4, 5]))) == ["aé", "", "\u0800\U0001f701", "b"]


def test_a_single_character_is_not_cut() -> None:
    with pytest.raises(ValueError, match="single character"):
        CutStretch("a語b").cut(1, 2, 2)
