"""On any text, ids equal those of the model's own tokenizer: seeded random lines, and texts that hypothesis draws."""

import warnings
from collections.abc import Sequence
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.worker.odd_lines import ACCENTS, CONTROLS, EMOJI, INVISIBLE, LONG, PARTS, SCRIPTS, SPACES, SPECIAL, odd_lines
from worker.embedding.model.folder import default_folder
from worker.embedding.model.reference_tokenizer import ReferenceTokenizer
from worker.embedding.tokenizer import Encoded, Tokenizer

LINES, LINES_LONG = 50_000, 200_000
EVERY_PAIR = [chr(first) + chr(second) for first in range(128) for second in range(128)]
PIECES = st.one_of(
    *map(st.sampled_from, (SPECIAL, PARTS, SPACES, INVISIBLE, ACCENTS, SCRIPTS, EMOJI, CONTROLS)),
    st.text(st.characters(max_codepoint=0x7E, min_codepoint=0x20), max_size=30),
    st.text(st.characters(max_codepoint=0x7F), max_size=10),
    st.text(max_size=6),
    st.builds(lambda letters, length: (letters * length)[:length], st.text(min_size=1, max_size=2), st.sampled_from(LONG)),
)
ANY = st.text(st.characters(exclude_categories=[]), max_size=80)
"""Any code points, lone surrogates included."""


def clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def assert_equal(texts: Sequence[str], found: Encoded, wanted: Sequence[NDArray[np.int32]]) -> None:
    assert len(found.offsets) == len(wanted) + 1
    for index, ids in enumerate(wanted):
        if not np.array_equal(found.text(index), ids):
            assert found.text(index).tolist() == ids.tolist(), ascii(texts[index])


def test_ids_equal_on_many_thousand_odd_lines(tokenizer: Tokenizer, own: ReferenceTokenizer, *, long: bool) -> None:
    lines = EVERY_PAIR + odd_lines(2024, (LINES_LONG if long else LINES) - len(EVERY_PAIR), list(own.ids()))
    random = Random(7)
    before = tokenizer.fallback_texts
    start = 0
    while start < len(lines):
        some = lines[start : start + random.choice([1, 2, 63, 64, 65, 500, 8_000, 20_000])]
        assert_equal(some, tokenizer.encode(some), own.encode([clean(line) for line in some]))
        start += len(some)
    # Both tokenizers were used.
    assert 0.2 < (tokenizer.fallback_texts - before) / len(lines) < 0.6


@settings(max_examples=1_000, deadline=None)
@given(texts=st.lists(ANY, max_size=4))
def test_ids_equal_on_any_characters(tokenizer: Tokenizer, own: ReferenceTokenizer, texts: list[str]) -> None:
    assert_equal(texts, tokenizer.encode(texts), own.encode([clean(text) for text in texts]))


@settings(max_examples=1_000, deadline=None)
@given(texts=st.lists(st.lists(PIECES, max_size=8).map("".join), max_size=6))
def test_ids_equal_on_any_mixture(tokenizer: Tokenizer, own: ReferenceTokenizer, texts: list[str]) -> None:
    assert_equal(texts, tokenizer.encode(texts), own.encode([clean(text) for text in texts]))


@settings(max_examples=300, deadline=None)
@given(texts=st.lists(st.text(st.sampled_from("[]SEPCLMAKUNsepcls \n\t#w")), max_size=130))
def test_ids_equal_on_pieces_of_special_tokens_side_by_side(tokenizer: Tokenizer, own: ReferenceTokenizer, texts: list[str]) -> None:
    assert_equal(texts, tokenizer.encode(texts), own.encode([clean(text) for text in texts]))


@pytest.mark.usefixtures("transformers_installed")
def test_ids_equal_those_of_transformers_line_by_line(tokenizer: Tokenizer, own: ReferenceTokenizer) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of torch and others on import
        from transformers import AutoTokenizer  # noqa: PLC0415 - only where it is installed

        reference = AutoTokenizer.from_pretrained(str(default_folder()))
    lines = [clean(line) for line in odd_lines(2025, 6_000, list(own.ids()))]
    assert_equal(lines, tokenizer.encode(lines), [np.array(reference(line)["input_ids"], dtype=np.int32) for line in lines])
