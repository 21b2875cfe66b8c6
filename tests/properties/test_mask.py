"""Masks over log-like lines and all of Unicode: one output per text, never empty, and masking twice changes nothing more."""

import re
import string

from hypothesis import example, given, settings
from hypothesis import strategies as st

from consumers.text.mask import NUMBER_ONLY, Mask, Masker

VARIABLES = (
    "2024-01-02T03:04:05.678Z",
    "2024-01-02 03:04:05,123",
    "Jan  2 03:04:05",
    "Sun Dec 04 04:47:44 2005",
    "550e8400-e29b-41d4-a716-446655440000",
    "abcdefab-abcd-abcd-abcd-abcdefabcdef",
    "aa:bb:cc:dd:ee:ff",
    "fe80::1ff:fe23:4567:890a",
    "fe80::a",
    "10.0.0.1:80",
    "0xdead",
    "R20-M0-NE-C:J05-U01",
    "x2x9z",
    "12ms",
    "3 GB",
    "-1",
    "a@b.example",
    "/x?user=bob&id=3",
    "HTTP 503",
    "status=404",
    'HTTP/1.1" 200',
    "errno 13",
    "E1234",
    "ORA-00942",
    "Dec 10 06:55:46 gw sshd[1]: ",
    "<34>1 2003-10-11T22:14:15Z gw su ",
)
pieces = st.one_of(
    st.sampled_from(VARIABLES),
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

MASKER, ANOTHER = Masker(), Masker()
WITHOUT_NUMBERS = Masker(disabled=["number", "date"])
ADDED = Masker(
    added=[
        Mask("brackets", r"\[\]|\(\)|\{\}", ""),
        Mask("n", r"\d+", "<n>"),
        Mask("turn", "ab", "ba"),
        Mask("grow", "ERR", "WARN WARN"),
        Mask("back", "WARN", "ERR"),
    ]
)


@few
@given(line=lines)
@example(line="12abcdefab-abcd-abcd-abcd-abcdefabcdef")
@example(line='"GET / HTTP/1.1" 200')
@example(line="x status 1200 200")
@example(line="HTTP HTTP 200 200 200")
@example(line="a@b.c@d.e")
@example(line="\x0e5")
@example(line="Dec 10 06:55:46 Dec 10 06:55:46 gw su: gw su:")
def test_a_masked_line_is_masked_to_itself(line: str) -> None:
    (masked,) = MASKER.mask([line])
    assert ANOTHER.mask([masked]) == [masked]


@few
@given(line=lines)
@example(line="[" * 40 + "]" * 40)
@example(line="a" * 40 + "b" * 40)
@example(line="ERR")
@example(line="<34>1 2003-10-11T22:14:15Z gw su root")
def test_so_it_is_with_masks_of_a_users_own_and_some_switched_off(line: str) -> None:
    for masker in (WITHOUT_NUMBERS, ADDED):
        (masked,) = masker.mask([line])
        assert masker.mask([masked]) == [masked]


@few
@given(texts=st.lists(lines, max_size=8))
@example(texts=["0", "ms", "HTTP", "503 a", "x -", "1", "", "."])
def test_masks_one_for_one_and_never_to_nothing(texts: list[str]) -> None:
    masked = MASKER.mask(texts)
    assert len(masked) == len(texts)
    assert all(masked)
    assert masked == [one for text in texts for one in ANOTHER.mask([text])]
    assert MASKER.mask(texts) == masked


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
    assert MASKER.mask([words]) == [words]
