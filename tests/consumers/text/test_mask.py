"""Masking: lines that hurt, columns, settings and versions; `test_masked.py` has what becomes of the lines of many programs."""

import itertools
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from consumers.columns import string_column
from consumers.text.mask import MASKS_VERSION, BadMask, Mask, Masker
from consumers.text.word_patterns import WORD_MASKS
from tests.rows import rows

OF_VARIABLES = (
    *("1", "1.", "a1", "ab:", "1-", " ", "ff", "/", "A1-", "Dec 1 ", "a@", "?a=", "::", "1::"),
    *("status 200", "E1234", "(1)", "1T", "_1", "\t7", "é1"),
    *("a1-", "web1 ", "a-1:2", "1:2.3-a", "on a1 ", "all:", "a@b", "aB1", "1-Nov-", "a.1"),
    *("1_a_", "_m_", "1 sec", "1:1 min ", "550e8400-e29b-41d4-a716-446655440000_", "_abcdef01-"),
)
OF_WORDS = (
    *("GET /", "GET /a/b?", "http://a/", "a://", "a.com ", "a.", "for user ", "of user ", "from user ", "invalid user [", "user=a "),
    *("password for a ", 'user="', "_user", 'file "', "file 'a ", "/a/b", "/var/a ", ":/a", "[]-a.xml ", "C:\\a ", "((", "(,", '" "'),
    *("a, ", "/é", "for ada ", "table ", "ada signed in ", "a.log ", "a-", "\\a", "HK", "C:\\a b", "[a, ", "=<a", "Setting up "),
)
"""Repeated to hostile lines of one megabyte."""
HEADS = ("Dec 10 06:55:46 gw ", "Dec ", "<34>1 2003-10-11T22:14:15Z ", "<34>1 2003-10-11T", "<", "<34>Dec 10 06:55:46 err ")
BEHIND = ("a", "a-", " ", "1", "1 ", "Dec 10 06:55:46 gw su: ", "[", "a ", "err ")
TWO_HOSTS = (
    "Dec 10 06:55:46 gw su run[2]: kernel: up",
    "  Dec 10 06:55:46 gw su: kernel: up",
    "<34>1 2003-10-11T22:14:15Z gw su root mail - up",
    "<34>1 - gw su root mail - up",
    "<34><35>1 2003-10-11T22:14:15Z gw su root",
)

WORDS = [mask.name for mask in WORD_MASKS]
MASKER = Masker(disabled=WORDS)
HOSTILE = [
    *((Masker(), "", unit) for unit in OF_WORDS),
    *((MASKER, head, "a") for head in HEADS),
    *((MASKER, "", unit) for unit in OF_VARIABLES),
    *((MASKER, "Dec 10 06:55:46 ", unit) for unit in BEHIND),
]


def mask(text: str, masker: Masker = MASKER) -> str:
    (masked,) = masker.mask([text])
    return masked


@pytest.mark.slow
@pytest.mark.parametrize(("masker", "head", "unit"), HOSTILE, ids=[f"{head}{unit!r}" for _, head, unit in HOSTILE])
def test_a_megabyte_of_one_thing_is_masked(masker: Masker, head: str, unit: str) -> None:
    text = head + unit * (1_000_000 // len(unit.encode())) + "g_"
    masked = mask(text, masker)
    assert len(masked) <= (1 if masker is MASKER else 3) * len(text)
    assert mask(masked, masker) == masked


@pytest.mark.parametrize("disabled", [[], ["date"], ["number"], ["date", "number"], ["groups", "mixed", "number", "hex"]], ids=",".join)
def test_the_word_after_the_host_of_a_syslog_line_is_not_the_next_host(disabled: list[str]) -> None:
    masker = Masker(disabled=[*WORDS, *disabled])
    for line in TWO_HOSTS if not disabled else TWO_HOSTS[:1]:
        masked = mask(line, masker)
        assert mask(masked, masker) == masked
        assert "su" in masked.split() or "su:" in masked.split()


@pytest.mark.parametrize("disabled", [["host"], ["host", "date"], ["host", "number"]], ids=",".join)
def test_the_host_stays_where_the_mask_is_off(disabled: list[str]) -> None:
    masker = Masker(disabled=[*WORDS, *disabled])
    for line in ("Dec 10 06:55:46 gw sshd[1]: bye", "<34>1 2024-01-02T03:04:05Z gw app 1 - - bye"):
        assert "gw" in mask(line, masker).split()


def test_a_lone_surrogate_becomes_a_question_mark() -> None:
    assert mask("half \ud800 of 17") == "half ? of"


def test_a_column_has_each_masked_text_once_in_the_order_of_first_use() -> None:
    texts = ["b 1", "status 404", "a 2", "b 33", "status 503", "", "7", "status 404", "status 208", "a 9", "status 288 of 4"]
    for masker in (Masker(), MASKER, MASKER, Masker(disabled=["number"]), Masker("exact")):
        codes, values = masker.mask_column(string_column(texts))
        alone = masker.mask(texts)
        assert [values[code] for code in codes.tolist()] == alone
        assert values == tuple(dict.fromkeys(alone))
        assert codes.dtype == np.int32
    assert MASKER.mask_column(string_column([])).values == ()


def test_a_code_that_only_masking_makes_is_that_of_its_own_line() -> None:
    assert MASKER.mask([f"status a@b.example {number}" for number in (404, 503, 208)]) == ["status 404", "status 503", "status 208"]


def test_a_stream_whose_lines_never_repeat_is_masked_as_any_other() -> None:
    words = ["".join(letters) for letters in itertools.product("ghijklm", repeat=4)]
    masker = Masker()
    for start in range(0, 2_000, 200):
        chosen = words[start : start + 200]
        assert masker.mask([f"{word} took {start}ms HTTP 503 é" for word in chosen]) == [f"{word} took HTTP 503 é" for word in chosen]


def test_two_threads_share_a_masker() -> None:
    masker = Masker()
    lines = [[f"{name} {number} of HTTP {number % 900 + 100}" for number in range(400)] for name in ("left", "right")]
    with ThreadPoolExecutor(2) as threads:
        masked = list(threads.map(masker.mask, lines * 8))
    assert masked == [[f"{name} of HTTP {number % 900 + 100}" for number in range(400)] for name in ("left", "right")] * 8


def test_the_exact_mode_leaves_every_line_as_it_is() -> None:
    texts = ["a  1 ", "10.0.0.1", "\t", "secret"]
    assert Masker("exact", added=[Mask("mine", "secret", "")]).mask(texts) == texts


def test_the_version_says_whether_settings_change_what_is_masked() -> None:
    plain = str(MASKS_VERSION)
    mine, other = Mask("mine", "a+b", ""), Mask("other", "a+b", "")
    assert Masker().version == Masker(disabled=[], added=[]).version == plain
    changed = [
        Masker(disabled=["date"]),
        Masker(disabled=["date", "url"]),
        Masker(added=[mine]),
        Masker(added=[other]),
        Masker(added=[mine, other]),
        Masker(added=[other, mine]),
        Masker(disabled=["date"], added=[mine]),
        Masker("exact"),
    ]
    versions = {masker.version for masker in changed}
    assert len(versions) == len(changed)
    assert all(re.fullmatch(rf"{plain}\+[0-9a-f]{{8}}", version) for version in versions)


def test_the_version_does_not_depend_on_the_order_of_what_is_disabled() -> None:
    assert Masker(disabled=["url", "date"]).version == Masker(disabled={"date": 0, "url": 0}).version
    assert Masker(disabled=["url", "date", "url"]).version == Masker(disabled=["date", "url"]).version


def test_without_numbers_a_line_keeps_its_own() -> None:
    assert mask("took  12ms  at 10.0.0.1", Masker(disabled=["number", "word"])) == "took 12ms at 10.0.0.1"


def test_added_masks_come_before_those_that_are_built_in() -> None:
    masker = Masker(added=[Mask("order", r"order \d+", "an order"), Mask("tenant", r"tenant-\w+", "TENANT")])
    assert mask("order 17 of tenant-a1b2 and order", masker) == "an order of TENANT and order"


def test_a_replacement_may_hold_a_group_of_the_match() -> None:
    assert mask("user=bob logged in", Masker(added=[Mask("who", r"(user=)\w+", r"\1")])) == "user= logged in"


def test_what_stands_for_a_number_stands_for_a_line_of_nothing_else() -> None:
    masker = Masker(added=[Mask("n", r"\d+", "<n>")])
    assert masker.mask(["took 5", "", "7"]) == ["took <n>", "<n>", "<n>"]


def test_masks_that_undo_one_another_come_to_an_end() -> None:
    masker = Masker(added=[Mask("there", "ab", "ba"), Mask("back", "ba", "abb")])
    masked = mask("took ab", masker)
    assert mask(masked, masker) == masked


@pytest.mark.parametrize(("disabled", "added", "says"), rows("bad_masks"))
def test_a_mask_that_cannot_be_used_is_refused_in_one_line(disabled: list[str], added: list[list[str]], says: str) -> None:
    with pytest.raises(BadMask) as refused:
        Masker(disabled=disabled, added=[Mask(*one) for one in added])
    assert str(refused.value).startswith(says)
    assert "\n" not in str(refused.value)
