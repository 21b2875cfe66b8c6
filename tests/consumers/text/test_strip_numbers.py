"""Numbers and white space out of many lines at once: as out of each line alone, however they lie in blocks."""

import random

from consumers.text import regex
from consumers.text.strip_numbers import squeezed

PARTS = ("port 17", "HTTP 503", "E1234", "a -12ms b", "status: 40", "é 語", "\t\n x", " ", "", "errno=13", "7 GB", "x_1", "(3)")


def squeeze(texts: list[str]) -> list[str]:
    return regex.as_texts(squeezed(regex.joined(regex.as_column(texts))))


def test_many_lines_are_squeezed_as_each_alone() -> None:
    draw = random.Random(3)
    texts = [" ".join(draw.choices(PARTS, k=draw.randint(0, 9))) for _ in range(12_000)]
    alone = {text: squeeze([text])[0] for text in set(texts[:300])}
    together = squeeze(texts)
    assert len(together) == len(texts)
    assert [together[i] for i in range(300)] == [alone[text] for text in texts[:300]]
    assert squeeze(texts[::-1]) == together[::-1]


def test_lines_longer_than_a_block_stay_whole() -> None:
    long = "word 12 " * 40_000
    assert squeeze(["first 1", long, "", long, "last 503"]) == ["first", ("word " * 40_000).strip(), "", ("word " * 40_000).strip(), "last"]


def test_a_code_stands_beside_its_own_word_alone() -> None:
    texts = ["HTTP", "503", "errno", "13 x", "ORA-", "00942", "7", "ms"] * 3_000
    assert squeeze(texts) == ["HTTP", "", "errno", "x", "ORA-", "", "", "ms"] * 3_000


def test_no_lines_give_no_texts() -> None:
    assert squeeze([]) == []
