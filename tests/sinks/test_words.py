"""Identifiers are words, times and what a template says are not, and stored words never change their numbers."""

import numpy as np
import pytest

from sinks.arrow import JoinedTexts, join_texts, string_column
from sinks.lines import coded
from sinks.words import block_words, field_word, field_words, is_identifier, word_keys
from tests.sinks.time_shapes import time_shapes


def words_of(*lines: tuple[str, str]) -> set[int]:
    return set(block_words(join_texts(string_column([text for text, _ in lines])), coded([template for _, template in lines])).tolist())


def test_an_address_is_found_with_a_port_and_without() -> None:
    text = "Receiving block blk_1 src: /10.250.19.102:54106 dest: host@10.250.10.6:50010"
    assert words_of((text, "")) == {*word_keys("blk_1"), *word_keys("10.250.19.102"), *word_keys("10.250.10.6")}
    assert word_keys("10.250.19.102:54106") == word_keys("/10.250.19.102") == word_keys("10.250.19.102")


def test_a_token_of_the_template_is_no_word_but_a_part_of_one_is() -> None:
    assert words_of(("node-7 up", "node-7 up")) == set()
    assert words_of(("node-7:4512345 up", "node-7:<num> up")) == set(word_keys("node-7:4512345"))
    assert words_of(("node-7 up", "other"), ("node-8 up", "node-8 up")) == set(word_keys("node-7"))
    assert words_of(("node-7 up", "node-8 up"), ("node-8 up", "node-7 up")) == {*word_keys("node-7"), *word_keys("node-8")}


def test_a_token_with_the_hash_of_another_one_does_not_hide_it() -> None:
    made_up, hidden = "o3wuekdk3e3knhwm", "order-77/user-12"  # of 16 bytes and with the same 64-bit hash
    assert word_keys(made_up)[0] not in word_keys(hidden)
    assert words_of((made_up, ""), (hidden, "")) == words_of((hidden, ""), (made_up, "")) == {*word_keys(made_up), *word_keys(hidden)}


def test_several_tokens_have_no_keys() -> None:
    assert word_keys("node-7 node-8") == word_keys("id=node-7,8") == ()


def test_endless_punctuation_is_trimmed() -> None:
    marks = "_.-" * 20_000
    assert words_of((f"{marks}a-1{marks}", ""), ("-1" * 30_000, "")) == {*word_keys("a-1"), *word_keys("1" + "-1" * 29_999)}


def test_stored_words_never_change() -> None:
    assert word_keys("10.250.19.102") == (110_735_351,)
    assert word_keys("blk_-1608999687919862906") == (199_208_940,)
    keys = [98_236_967, 38_418_144, 68_049_444, 193_443_686, 108_700_122, 198_756_145]
    assert [word_keys("1.34567890ABCDEF12"[:length])[0] for length in (3, 7, 8, 9, 16, 17)] == keys
    assert (field_word("a", "b"), field_word("user", "日志")) == (83_743_412, field_words([("user", "日志")])[0])


def test_names_and_values_of_fields_are_words_of_their_own() -> None:
    words = [field_word("user", "root"), field_word("root", "user"), field_word("userr", "oot"), field_word("user", "")]
    assert len(set(words)) == 4
    assert field_words([]).tolist() == []
    assert field_word("user", "\ud800") == field_word("user", "?")


def test_no_lines_have_no_words() -> None:
    assert block_words(join_texts(string_column([])), coded([])).tolist() == []


@pytest.mark.parametrize("length", range(3, 40))
def test_a_word_is_the_same_wherever_it_stands(length: int) -> None:
    word = "1.34567890abcdef12"[:length].ljust(length, "x")
    keys = set(word_keys(word))
    assert len(keys) == 1
    for around in ("{0}", " {0}", "{0} ", "x {0}", "{0} {0} {0}", "”{0}“", "日 {0}", "_{0}_", "x/{0}/x", "x:{0}:x"):
        assert words_of((around.format(word), "")) == keys
    assert words_of((word[:-1], ""), (word, ""), ("", "")) >= keys
    assert words_of((word[:-1], ""), (word[-1], "")).isdisjoint(keys)


@pytest.mark.slow
def test_many_tokens_are_all_found_and_each_word_once() -> None:
    names = [f"id-{number}" for number in range(20_000)]
    expected = sorted({key for name in names for key in word_keys(name)})
    for lines in (names, [" ".join(names)], names + names[::-1]):
        assert block_words(join_texts(string_column(lines)), coded([""] * len(lines))).tolist() == expected


def test_there_is_room_for_the_words_of_the_densest_texts() -> None:
    marks = "abcdefghijklmnopqrstuvwxyz"
    texts = [" ".join(f"{one}.1.{other}" for other in marks) for one in marks]  # two words in six bytes
    expected = {key for text in texts for token in text.split() for key in word_keys(token)}
    assert len(expected) == 26 * 26 + 26
    assert words_of(*((text, "") for text in texts)) == expected
    assert len(word_keys("a.1.b")) == 2


def test_a_slice_of_a_column_has_its_own_words_and_nulls_none() -> None:
    column = string_column([None if i % 3 == 2 else f"node-{i} 日志" for i in range(10)])
    for first, size in ((0, 10), (4, 3), (5, 1), (9, 1), (3, 0)):
        own = [i for i in range(first, first + size) if i % 3 != 2]
        found = block_words(join_texts(column.slice(first, size)), coded([""] * size))
        assert set(found.tolist()) == {word_keys(f"node-{i}")[0] for i in own}


@pytest.mark.parametrize(
    ("ends", "codes"),
    [([0, 9], [0]), ([-1, 8], [0]), ([5, 3], [0]), ([0, 3, 8], [0, 0]), ([0, 8], [1]), ([0, 8], [-1]), ([0, 8], []), ([0, 8], [0, 0])],
)
def test_columns_that_do_not_fit_are_refused(ends: list[int], codes: list[int]) -> None:
    texts = JoinedTexts(np.frombuffer(b"node-123", np.uint8), np.array(ends, np.int32))
    with pytest.raises(ValueError, match="do not fit"):
        block_words(texts, coded(["t"])._replace(codes=np.array(codes, np.int32)))


def test_all_shapes_of_times_are_none() -> None:
    shapes = sorted(time_shapes())
    assert words_of(*((shape, "") for shape in shapes)) == set()
    assert words_of(*((shape.upper().replace("0", "7"), "") for shape in shapes)) == set()


def test_templates_beyond_the_cache_are_read_every_time() -> None:
    long = "node-7 " + "x" * 9_000_000
    for _ in range(2):
        assert words_of(("node-7 up", long)) == set()
        assert words_of(("node-7 up", "short")) == set(word_keys("node-7"))


@pytest.mark.parametrize("address", ["10.10.34.39", "10.11.21.140", "24.83.37.136", "1.2.3.4"])
def test_an_address_is_no_time(address: str) -> None:
    assert is_identifier(address)


def test_a_file_is_found_without_its_extension() -> None:
    stored = words_of(("wrote /done/job_1445144423722_0020_1.jhist", ""))
    assert stored == {*word_keys("job_1445144423722_0020_1"), *word_keys("job_1445144423722_0020_1.jhist")}
    assert words_of(("app.config", ""), ("2015-10-18.log", ""), ("page.404", "")) == set(word_keys("2015-10-18.log")) | set(
        word_keys("page.404")
    )
