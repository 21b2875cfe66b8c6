"""Whatever identifier a line holds whole, its block has the words to find it by, unless the template's text holds it.

The oracle is the rules of `sinks.words` once more, in Python, one text at a time.
"""

import random
import re
import string

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from sinks.arrow import JoinedTexts, join_texts, string_column
from sinks.block import CodedColumn
from sinks.lines import coded
from sinks.words import block_words, is_identifier, word_keys
from tests.sinks.any_lines import TEXTS
from tests.sinks.time_shapes import time_shapes

TOKEN = re.compile(r"(?:[A-Za-z0-9_.:/@\-]|[^\x00-\xbf\u2000-\u207f\u3000-\u303f\uff00-\uff7f])+")
MARKS = "_.-:/@"
SHAPES = time_shapes()


def trimmed(text: str, pattern: str) -> list[str]:
    return [part for one in re.split(pattern, text) if (part := one.strip(MARKS))]


def is_time(text: str) -> bool:
    return re.sub(r"[0-9]", "0", text).lower() in SHAPES


def names_one_thing(text: str) -> bool:
    has_mark = any(mark in text for mark in MARKS)
    return any(digit in text for digit in string.digits) and (len(text.encode("utf-8", "replace")) >= 6 or has_mark)


def tokens_of(text: str) -> list[str]:
    return [token for found in TOKEN.findall(text.encode("utf-8", "replace").decode()) if (token := found.strip(MARKS))]


def words_of_token(token: str) -> set[str]:
    words: set[str] = set()
    for segment in trimmed(token, "[/@]"):
        parts = {part for part in trimmed(segment, ":") if names_one_thing(part)}
        words |= parts or {one for one in [segment] if names_one_thing(one)}
    words = words or {one for one in [token] if names_one_thing(one)}
    return set() if is_time(token) else {word for word in words if not is_time(word)}


def folded(text: str) -> str:
    return text.encode().lower().decode()


def columns(lines: list[tuple[str, str]]) -> tuple[JoinedTexts, CodedColumn[str]]:
    return join_texts(string_column([text for text, _ in lines])), coded([template for _, template in lines])


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=12))
@example([("10.0.0.1:8080 id node-7:4512345", "<ip> id node-7:<num>")])
@example([("aa:bb:cc:01:02:03/eth0", "")])
@example([("“10.0.0.1” «10.0.0.1» 10.0.0.1… 、10.0.0.1。", ""), ("地址\uff1a10.0.0.1\uff0c\u00a010.0.0.1\u00a0\x1b10.0.0.1", "")])
@example([("………1", ""), ("--------------------------------a-1--------------------", "")])
def test_what_a_text_holds_whole_is_found_unless_the_template_has_it(lines: list[tuple[str, str]]) -> None:
    words = set(block_words(*columns(lines)).tolist())
    for text, template in lines:
        in_template = {folded(token) for token in tokens_of(template)}
        for token in tokens_of(text):
            if folded(token) in in_template or is_time(token):
                continue
            for whole in [token, *trimmed(token, "[/@]"), *trimmed(token, "[:/@]")]:
                assert words.issuperset(word_keys(whole))
                assert words.issuperset(word_keys(whole.swapcase()) if whole.isascii() else ())
                assert is_identifier(whole) == bool(words_of_token(whole))


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=12))
def test_the_words_are_those_that_the_rules_name(lines: list[tuple[str, str]]) -> None:
    in_all: set[int] = set()
    for text, template in lines:
        in_template = {folded(token) for token in tokens_of(template)}
        expected = [word_keys(word) for token in tokens_of(text) if folded(token) not in in_template for word in words_of_token(token)]
        own = {key for keys in expected for key in keys}
        assert block_words(*columns([(text, template)])).tolist() == sorted(own)
        in_all |= own
    assert block_words(*columns(lines)).tolist() == sorted(in_all)


def test_what_differs_from_a_time_in_one_character_has_the_words_that_the_rules_name() -> None:
    rng = random.Random(1)
    for shape in rng.sample(sorted(SHAPES), 6_000):
        at = rng.randrange(len(shape))
        text = shape[:at] + rng.choice(["", shape[at] * 2, *"0a.-:/_@tz"]) + shape[at + 1 :]
        expected = {key for token in tokens_of(text) for word in words_of_token(token) for key in word_keys(word)}
        assert block_words(*columns([(text, "")])).tolist() == sorted(expected), text
        assert bool(expected) == any(map(words_of_token, tokens_of(text))), text


@given(st.lists(TEXTS, min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_the_order_of_lines_does_not_matter(texts: list[str], rng: random.Random) -> None:
    order = rng.sample(texts, len(texts))
    assert np.array_equal(block_words(*columns([(text, "") for text in texts])), block_words(*columns([(text, "") for text in order])))


@given(st.lists(st.integers(0, 2**64), min_size=1, max_size=50))
def test_words_are_positive_and_of_28_bits(numbers: list[int]) -> None:
    words = block_words(*columns([(f"id-{number}", "") for number in numbers]))
    assert len(words)
    assert words.dtype == np.int32
    assert ((words > 0) & (words < 2**28)).all()
