"""Masks over log-like lines and all of Unicode: one output per text, never empty, and masking twice changes nothing more.

Whatever masks are on: a text is masked alike alone and among others, in any order, by its form and without.
"""

import itertools
import re
import string
from collections.abc import Collection, Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from consumers.text.mask import MASKS, NUMBER_ONLY, Mask, Masker
from consumers.text.word_patterns import WORD_MASKS

VARIABLES = (
    *("2024-01-02T03:04:05.678Z", "2024-01-02 03:04:05,123", "Jan  2 03:04:05", "Sun Dec 04 04:47:44 2005"),
    *("550e8400-e29b-41d4-a716-446655440000", "abcdefab-abcd-abcd-abcd-abcdefabcdef", "aa:bb:cc:dd:ee:ff", "fe80::1ff:fe23:4567:890a"),
    *("fe80::a", "10.0.0.1:80", "0xdead", "R20-M0-NE-C:J05-U01", "x2x9z", "12ms", "3 GB", "-1", "a@b.example", "/x?user=bob&id=3"),
    *("HTTP 503", "status=404", 'HTTP/1.1" 200', "errno 13", "E1234", "ORA-00942", "Dec 10 06:55:46 gw sshd[1]: "),
    *("<34>1 2003-10-11T22:14:15Z gw su ", "0_550e8400-e29b-41d4-a716-446655440000", "try_0020_m_000009_0", "5 secs"),
    *('{"user_id":7,"level":"error"}',),
)
WORDS = (
    *("for user bob ", "invalid user bob from ", "password for bob from ", "for user", "user", "from", "by", "failed", "a"),
    *("gw.example.com", "a.b.us", ".com", "example.org:", "https://a.example/help/me?x=1", "http://", "jdbc:mysql://h/db", "//"),
    *("GET /a/17/b HTTP/1.1", 'POST "/a/b"', "GET ", "/var/log/syslog", "/etc/hosts", "~/a/b/c", "./a/b", "../x", "/a/b:/c/d", "/é/b/c"),
    *("user=bob", "path=", 'rhost="a b"', "reason=x", "userId=", "file 'a b'", 'image: "', "relation ", "C:\\a\\b", "\\", "blk", "blk blk"),
    *("()", "[ , ]", "(((", ")))", "({[<", ">]})", '""', '" "', "''", "`", "[]", "(a", "|", ",", ";", " , ", " : ", "<", ">", "~", "=="),
    *("é", "中", "\U0001f600", "\u0085", "\u00a0", "\u2028", "\x00", "\t", "\n", "don't"),
)
"""Pieces that the masks of words match, or nearly."""
pieces = st.one_of(
    st.sampled_from(VARIABLES),
    st.sampled_from(WORDS),
    st.sampled_from(WORDS).flatmap(lambda one: st.integers(0, len(one)).map(lambda cut: one[:cut])),
    st.sampled_from(VARIABLES).flatmap(lambda one: st.integers(0, len(one)).map(lambda cut: one[:cut])),
    st.sampled_from(
        ["ERROR", "disk", "Dec", "Mon,", "code", "HTTP", "T", "Z", "ms", "_", "-", ":", "::", " ", "=", "?", "&", "@", ".", "[", '"', "/"]
    ),
    st.text("abcdefABCDEF0123456789", max_size=6),
    st.text(max_size=3),
)
lines = st.one_of(
    st.lists(pieces, max_size=12).map("".join),
    st.lists(pieces, max_size=12).map(" ".join),
    st.text(),
    st.text("0aE-:_ T.@?=&", max_size=30),
)
few = settings(deadline=None, max_examples=100)

NAMES = [mask.name for mask in MASKS]
NO_WORDS = [mask.name for mask in WORD_MASKS]
MASKER, ANOTHER = Masker(), Masker()
VARIABLES_ONLY = Masker(disabled=NO_WORDS)
OWN = (
    Mask("pairs", r"\[\]|\(\)|\{\}", ""),
    Mask("n", r"\d+", "<n>"),
    Mask("turn", "ab", "ba"),
    Mask("grow", "ERR", "WARN WARN"),
    Mask("back", "WARN", "ERR"),
)
UNLIKE = ["".join(letters) for letters in itertools.product("ghijklm", repeat=3)]
"""Texts of as many forms."""


ALONE = (
    "12abcdefab-abcd-abcd-abcd-abcdefabcdef",
    '"GET / HTTP/1.1" 200',
    "x status 1200 200",
    "HTTP HTTP 200 200 200",
    "a@b.c@d.e",
    "for user bob by for user x failed",
    "x gw.example.com()x",
    "(" * 40 + "[" * 40 + "]" * 40 + ")" * 40,
    "/a/b/c \u0085",
    "\x0e5",
    "Dec 10 06:55:46 Dec 10 06:55:46 gw su: gw su:",
    "[" * 40 + "]" * 40,
    "a" * 40 + "b" * 40,
    "ERR",
    "<34>1 2003-10-11T22:14:15Z gw su root",
    "user b by for user for user x a user",
    "a" * 13 + "b.",
)
TOGETHER = (
    *([line] for line in ALONE),
    ["0", "ms", "HTTP", "503 a", "x -", "1", "", "."],
    ["", "0"],
    ["", ""],
    ["{}", "]", "", '{"a":1}', ""],
    ["x gw.example.com", "db.example.com()x"],
    ['user="a', 'b" file "', '"', "(", ")", "blk", "blk"],
    ["0_550e8400-e29b-41d4-a716-446655440000xdead", "status a@b.example 404"],
)
OFF: tuple[frozenset[str], ...] = (frozenset(), frozenset({"number", "date"}), frozenset(NO_WORDS))
"""Sets of masks that are off; the last ones are all that know words."""


def assert_masked_alike(texts: list[str], disabled: Collection[str], own: Sequence[Mask]) -> None:
    """Mask texts together, alone and in the other order, by two maskers: one for one, never to nothing, and once for all."""
    one, other = (Masker(disabled=disabled, added=own) for _ in range(2))
    masked = one.mask(texts)
    assert len(masked) == len(texts)
    assert all(masked)
    assert masked[::-1] == [text for alone in texts[::-1] for text in other.mask([alone])]
    assert other.mask(masked) == masked
    assert one.mask(masked) == masked
    assert one.mask(texts) == masked


@pytest.mark.parametrize("own", [(), OWN], ids=["ours", "and their own"])
@pytest.mark.parametrize("disabled", OFF, ids=["all", "no numbers", "no words"])
def test_texts_of_all_kinds_are_masked_alike(disabled: frozenset[str], own: Sequence[Mask]) -> None:
    for texts in TOGETHER:
        assert_masked_alike(texts, disabled, own)


@few
@given(texts=st.lists(lines, max_size=8), disabled=st.sampled_from(OFF) | st.sets(st.sampled_from(NAMES)), own=st.sampled_from([(), OWN]))
@example(texts=["a" * 13 + "b.", "b" + "a" * 13 + "."], disabled=set(), own=OWN)
@example(texts=["x gw.example.com", "db.example.com()x"], disabled={"list"}, own=())
@example(texts=["() (", ") ()", "é()é"], disabled={"number", "list"}, own=())
@example(texts=['file "a b"', "() x ."], disabled={"list"}, own=())
def test_with_any_masks_off_order_and_company_do_not_matter(texts: list[str], disabled: Collection[str], own: Sequence[Mask]) -> None:
    assert_masked_alike(texts, disabled, own)


@few
@given(texts=st.lists(lines, max_size=6), disabled=st.sets(st.sampled_from([name for name in NAMES if name != "number"])))
@example(texts=["a 0_550e8400-e29b-41d4-a716-446655440000xdead b"], disabled=set())
@example(texts=["a 1_m_2_m_0xdead", "0 5 secs 0xdead", "status a@b.example 404"], disabled=set())
def test_a_text_is_masked_by_its_form_as_without(texts: list[str], disabled: set[str]) -> None:
    without = Masker(disabled=disabled)
    without.mask(UNLIKE)  # as no form came twice, the next batch is masked without forms
    assert without.mask([*texts, *UNLIKE])[: len(texts)] == Masker(disabled=disabled).mask(texts)


@few
@given(line=lines)
def test_digits_survive_in_codes_alone(line: str) -> None:
    (masked,) = MASKER.mask([line])
    if masked != NUMBER_ONLY:
        for number in re.finditer(r"\d+", masked, re.ASCII):
            before = masked[: number.start()]
            assert re.search(r"""(?i:http|atus|code|rror|rrno|HTTP/")[ =:"'\[(]{1,3}$|[A-Z]-?$""", before), masked
            assert len(number[0]) <= 5


@few
@given(words=st.lists(st.text(string.ascii_letters.replace("T", ""), min_size=1), min_size=1).map(" ".join))
def test_words_stay(words: str) -> None:
    assert VARIABLES_ONLY.mask([words]) == [words]
    (masked,) = MASKER.mask([words])
    assert set(masked.split(" ")) == set(words.split(" "))
