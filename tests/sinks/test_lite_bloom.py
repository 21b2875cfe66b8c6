"""The word filters of a local folder: never a no to a word that is there, seldom a yes to one that is not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sinks.block import ANY_WORD
from sinks.milvus.lite_bloom import FILTER_CHARACTERS, MOST_FILTER_BYTES, BloomFilters, bloom_filter, decode_filter, encode_filter

WORD = st.integers(1, 2**28 - 1)


def random_words(count: int, seed: int = 7) -> NDArray[np.int32]:
    return np.random.default_rng(seed).integers(1, 2**28, count).astype(np.int32)


def filters_of(*blocks: NDArray[np.int32]) -> BloomFilters:
    """Return the filters of blocks with these words."""
    filters = BloomFilters()
    for words in blocks:
        filters.add([bloom_filter(words)])
    return filters


@given(st.lists(st.sets(WORD, max_size=40), min_size=1, max_size=5), st.data())
def test_a_word_that_is_there_is_found(blocks: list[set[int]], data: st.DataObject) -> None:
    filters = filters_of(*(np.array(sorted(words), np.int32) for words in blocks))
    place = data.draw(st.integers(0, len(blocks) - 1))
    wanted = data.draw(st.sets(st.sampled_from(sorted(blocks[place]))) if blocks[place] else st.just(set()))
    assert filters.seen().may_hold(np.arange(len(blocks)), wanted)[place]


@pytest.mark.parametrize(("words", "most_wrong"), [(10, 0.01), (2_048, 0.005), (4_096, 0.04)])
def test_words_that_are_not_there_seldom_pass(words: int, most_wrong: float) -> None:
    filters = filters_of(random_words(words))
    passing = [filters.seen().may_hold(np.zeros(1, np.int64), [word])[0] for word in random_words(4_000, seed=8).tolist()]
    assert np.mean(passing) <= most_wrong


def test_all_words_must_be_held() -> None:
    filters = filters_of(np.array([1, 2], np.int32), np.array([2, 3], np.int32))
    assert filters.seen().may_hold(np.array([0, 1]), [1, 2]).tolist() == [True, False]
    assert filters.seen().may_hold(np.array([1, 0, 1]), [3]).tolist() == [True, False, True]


def test_a_block_without_words_holds_none_and_one_with_any_word_holds_all() -> None:
    filters = filters_of(np.empty(0, np.int32), np.array([ANY_WORD, 5], np.int32))
    assert filters.seen().may_hold(np.array([0, 1]), [77]).tolist() == [False, True]
    assert filters.seen().may_hold(np.array([0, 1]), []).tolist() == [True, True]


def test_small_blocks_have_small_filters() -> None:
    sizes = [len(bloom_filter(random_words(count))) for count in (0, 1, 5, 100, 2_048, 4_096, 60_000)]
    assert sizes == [8, 8, 16, 256, 4_096, 4_096, MOST_FILTER_BYTES]


@given(st.sets(WORD, max_size=3_000))
def test_a_filter_survives_being_text(words: set[int]) -> None:
    found = bloom_filter(np.array(sorted(words), np.int32))
    text = encode_filter(found)
    assert decode_filter(text) == found
    assert len(text) <= FILTER_CHARACTERS


@pytest.mark.parametrize("text", ["", "%", "AAAA", "é", encode_filter(bytes(2 * MOST_FILTER_BYTES))])
def test_what_cannot_be_read_passes_every_word(text: str) -> None:
    assert decode_filter(text) == b""


def test_what_a_reader_has_seen_does_not_change() -> None:
    filters = filters_of(np.array([1], np.int32))
    seen = filters.seen()
    for count in range(1, 400):
        filters.add([bloom_filter(random_words(count))])
    assert len(seen.start) == 1
    assert seen.may_hold(np.zeros(1, np.int64), [1]).tolist() == [True]
    assert filters.seen().select(np.array([0, 5])) == [bloom_filter(np.array([1], np.int32)), bloom_filter(random_words(5))]
