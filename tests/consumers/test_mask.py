"""Masking: what varies goes, what says which kind of line it is stays."""

import re
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consumers.mask import MASKS, NUMBER_ONLY, Masker

EXAMPLES = {
    "timestamp": [
        "2024-01-02T03:04:05.678Z",
        "2024-01-02T03:04:05+01:00",
        "2024-01-02 03:04:05,123",
        "2024/01/02 03:04:05",
        "2005-06-03-15.42.50.363779",
        "2024-01-02",
        "Jan  2 03:04:05",
        "Sun Dec 04 04:47:44 2005",
        "Mon, Jan 12 2026 03:04:05",
        "10/Oct/2000:13:55:36 -0700",
        "12:34:56.789",
    ],
    "uuid": ["550e8400-e29b-41d4-a716-446655440000", "550E8400-E29B-41D4-A716-446655440000", "abcdefab-abcd-abcd-abcd-abcdefabcdef"],
    "mac": ["00:1a:2b:3c:4d:5e", "00-1A-2B-3C-4D-5E", "aa:bb:cc:dd:ee:ff"],
    "ipv6": [
        "2001:0db8:85a3:0000:0000:8a2e:0370:7334",
        "fe80::1ff:fe23:4567:890a",
        "2001:db8::a1",
        "2001:db8:aa:bb::",
        "fe80::a",
        "2001:db8:a:b:c:d:e::f",
    ],
    "ipv4": ["10.0.0.1", "192.168.100.254:8080"],
    "hex": ["0xdeadBEEF", "0x0", "a94a8fe5ccb19ba61c4c0873d391e987982fbbd3", "00ffaabb", "7fDEADBEEF"],
    "number": ["0", "12.5", "1,234,567", "-3", "+4", "1608999687919862906"],
    "spaces": [" \t  ", "\n", "\r\n"],
}
WORDS = (  # noqa: SIM905 - forty short words read better as a sentence
    "ERROR error Error WARN WARNING INFO DEBUG TRACE FATAL CRITICAL NOTICE SEVERE panic failed failure denied refused rejected timeout "
    "exception Traceback abort dead deadbeef facade decade cafe fed bad added beaded May Sun mon std::add a::b e-mail x-y un-named C++"
).split()

variables = st.sampled_from([example for name, examples in EXAMPLES.items() if name != "spaces" for example in examples])
words = st.one_of(st.sampled_from(WORDS), st.text("ghijklmnopqrstuvwxyzGHIXYZäß語", min_size=1, max_size=8))
lines = st.lists(st.one_of(words, variables), min_size=1, max_size=10).map(" ".join)


def mask(text: str) -> str:
    (masked,) = Masker().mask([text])
    return masked


def test_every_mask_has_its_examples() -> None:
    assert [one.name for one in MASKS] == list(EXAMPLES)


@pytest.mark.parametrize("example", [example for name, examples in EXAMPLES.items() if name != "spaces" for example in examples])
def test_a_variable_goes_whole_and_what_is_around_it_stays(example: str) -> None:
    assert mask(f"peer {example} refused") == "peer refused"
    assert mask(f"peer [{example}] refused") == "peer [] refused"
    assert mask(f"peer={example}, refused") == "peer=, refused"
    assert mask(example) == NUMBER_ONLY


@pytest.mark.parametrize("name", [one.name for one in MASKS])
def test_each_mask_finds_its_examples_by_itself(name: str) -> None:
    (pattern,) = (one.pattern for one in MASKS if one.name == name)
    for example in EXAMPLES[name]:
        assert re.fullmatch(pattern, example), example


@pytest.mark.parametrize("word", WORDS)
def test_words_for_levels_and_errors_stay(word: str) -> None:
    assert mask(f"{word} the disk {word}") == f"{word} the disk {word}"


@pytest.mark.parametrize("spaces", EXAMPLES["spaces"])
def test_any_run_of_white_space_is_one_space_and_none_at_the_ends(spaces: str) -> None:
    assert mask(f"{spaces}disk{spaces}full{spaces}") == "disk full"


def test_numbers_inside_words_go_too() -> None:
    assert mask("blk_-160 took 12ms on node7/cpu3") == "blk_ took ms on node/cpu"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "Jan  2 03:04:05 gw sshd[123]: Failed password for root from 10.0.0.1 port 22 ssh2",
            "Feb 11 23:59:59 gw sshd[9]: Failed password for root from 172.16.254.3 port 60311 ssh2",
        ),
        ("081109 203615 148 INFO dfs.DataNode: blk_38865049064139660 terminating", "081110 1 2 INFO dfs.DataNode: blk_-6 terminating"),
        ("listening on [fe80::1ff:fe23:4567:890a]:53", "listening on [fe80::dead:beef]:8053"),
    ],
)
def test_two_lines_of_one_kind_are_masked_alike(one: str, other: str) -> None:
    assert mask(one) == mask(other)


def test_two_lines_of_different_kinds_are_not() -> None:
    assert mask("Accepted password for root from 10.0.0.1") != mask("Failed password for root from 10.0.0.1")


@pytest.mark.parametrize("text", ["", " ", "\n\t", "42", "10.0.0.1 12:00:00", "\u00a0 7"])
def test_a_line_of_nothing_but_variables_is_not_empty(text: str) -> None:
    assert mask(text) == NUMBER_ONLY


@pytest.mark.parametrize(
    "text",
    ["1" * 1_000_000, "1." * 500_000, "a1" * 500_000, "ab:" * 333_333, "1-" * 500_000, " " * 1_000_000, "ff" * 500_000 + "g"],
    ids=["digits", "points", "hex", "colons", "dashes", "spaces", "long_hex"],
)
def test_a_megabyte_of_one_thing_is_masked(text: str) -> None:
    assert len(mask(text)) <= len(text)


def test_nul_and_characters_beyond_ascii_stay() -> None:
    assert mask("käse\x00 語 ٣ \U0001f701 7") == "käse\x00 語 ٣ \U0001f701"


def test_the_exact_mode_leaves_every_line_as_it_is() -> None:
    texts = ["a  1 ", "10.0.0.1", "\t"]
    assert Masker("exact").mask(texts) == texts


@pytest.mark.parametrize("mode", ["template", "exact"])
def test_no_texts_give_no_texts(mode: str) -> None:
    assert Masker("exact" if mode == "exact" else "template").mask([]) == []


@settings(deadline=None, max_examples=300)
@given(texts=st.lists(st.text(), max_size=8))
def test_masks_one_for_one_and_never_to_nothing(texts: list[str]) -> None:
    masked = Masker().mask(texts)
    assert len(masked) == len(texts)
    assert all(masked)
    assert masked == [mask(text) for text in texts]


@settings(deadline=None, max_examples=300)
@given(text=st.one_of(st.text(), st.text(string.hexdigits + " :.-/x")))
def test_no_ascii_digit_survives(text: str) -> None:
    masked = mask(text)
    assert masked == NUMBER_ONLY or not set(masked) & set(string.digits)


@settings(deadline=None, max_examples=300)
@given(line=lines)
def test_a_masked_line_is_masked_to_itself(line: str) -> None:
    assert mask(mask(line)) == mask(line)
