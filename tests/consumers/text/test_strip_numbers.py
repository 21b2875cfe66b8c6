"""Stripping many lines at once gives the same result as each line alone, wherever blocks end."""

import random

from consumers.columns import as_texts, string_column
from consumers.text import regex
from consumers.text.strip_numbers import strip_numbers

PARTS = ("port 17", "HTTP 503", "E1234", "a -12ms b", "status: 40", "é 語", "\t\n x", " ", "", "errno=13", "7 GB", "x_1", "(3)")


def strip(texts: list[str]) -> list[str]:
    return as_texts(strip_numbers(regex.join_lines(string_column(texts))))


def test_many_lines_are_squeezed_as_each_alone() -> None:
    draw = random.Random(3)
    texts = [" ".join(draw.choices(PARTS, k=draw.randint(0, 9))) for _ in range(12_000)]
    alone = {text: strip([text])[0] for text in set(texts[:300])}
    together = strip(texts)
    assert len(together) == len(texts)
    assert [together[i] for i in range(300)] == [alone[text] for text in texts[:300]]
    assert strip(texts[::-1]) == together[::-1]


def test_lines_longer_than_a_block_stay_whole() -> None:
    long = "word 12 " * 40_000
    assert strip(["first 1", long, "", long, "last 503"]) == ["first", ("word " * 40_000).strip(), "", ("word " * 40_000).strip(), "last"]


def test_a_code_stands_beside_its_own_word_alone() -> None:
    texts = ["HTTP", "503", "errno", "13 x", "ORA-", "00942", "7", "ms"] * 3_000
    assert strip(texts) == ["HTTP", "", "errno", "x", "ORA-", "", "", "ms"] * 3_000


def test_units_at_the_ends_of_lines_go_wherever_blocks_end() -> None:
    texts = [f"took{' ' * (number % 3)} {number}{unit}" for number in range(10_000) for unit in ("s", "ms", " GB", "x")]
    assert strip(texts) == ["took", "took", "took", "took x"] * 10_000


def test_what_a_line_begins_with_is_no_part_of_the_line_before() -> None:
    assert strip(["E1234 1", ":05", "errno 2"]) == ["E1234", ":", "errno 2"]
    assert strip(["HTTP", '1.1" 200', "HTTP/", '.1" 200']) == ["HTTP", '"', "HTTP/", '."']


def test_no_lines_give_no_texts() -> None:
    assert strip([]) == []
