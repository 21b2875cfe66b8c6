"""Masking: it removes what varies, and keeps what identifies a template.

Most of it is about the variables, without the masks of words, which `test_word_masks.py` tests.
"""

import itertools
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from consumers.columns import string_column
from consumers.text.mask import MASKS_VERSION, NUMBER_ONLY, BadMask, Mask, Masker
from consumers.text.mask_patterns import VARIABLE_MASKS
from consumers.text.word_patterns import WORD_MASKS

TIMES = (
    "2024-01-02T03:04:05.678Z",
    "2024-01-02T03:04:05+01:00",
    "20240102T030405Z",
    "2024-01-02 03:04:05,123",
    "2024/01/02 03:04:05",
    "2005.06.03",
    "2005-06-03-15.42.50.675872",
    "2024-01-02",
    "081109 203615",
    "Jan  2 03:04:05",
    "Sun Dec 04 04:47:44 2005",
    "12 Jan 2026 03:04:05 +0000",
    "Mon, 12 Jan 2026 03:04:05 +0000",
    "10/Oct/2000:13:55:36 -0700",
    "2-Nov-2021 10:00:00.123",
    "12:34:56.789",
    "12:34 PM",
    "1117838570",
    "1608999687919",
    "1608999687.919862906",
)
IDS = (
    "550e8400-e29b-41d4-a716-446655440000",
    "550E8400-E29B-41D4-A716-446655440000",
    "abcdefab-abcd-abcd-abcd-abcdefabcdef",
    "00:1a:2b:3c:4d:5e",
    "00-1A-2B-3C-4D-5E",
    "aa:bb:cc:dd:ee:ff",
    "2001:0db8:85a3:0000:0000:8a2e:0370:7334",
    "fe80::1ff:fe23:4567:890a",
    "2001:db8::a1",
    "fe80::a",
    "10.0.0.1",
    "192.168.100.254:8080",
    "0xdeadBEEF",
    "0x0",
    "00544ea8",
    "a94a8fe5ccb19ba61c4c0873d391e987982fbbd3",
    "R20-M0-NE-C:J05-U01",
    "R30-M0-N9",
    "8f3kd92",
    "someone.else+box@mail.example.org",
)
NUMBERS = (
    "0",
    "12.5",
    "1,234,567",
    "-3",
    "+4",
    "1608999687919862906",
    "12ms",
    "3.5 GB",
    "10K",
    "1h20m3s",
    "7s",
    "5 secs",
    "1.5 min",
    "2 hrs",
)
VARIABLES = (*TIMES, *IDS, *NUMBERS)

CODES = (
    "HTTP 503",
    "status: 404",
    "status=200",
    '"status":500,',
    "code=500",
    "error 404",
    "errno 13",
    "errno=2",
    "E1234",
    "W0612",
    "ORA-00942",
    "TNS-12154",
    "CS0246",
    "SQL0803",
    "ECONNREFUSED",
    "ENOENT",
)
WORDS = (  # noqa: SIM905 - forty short words read better as a sentence
    "ERROR error Error WARN WARNING INFO DEBUG TRACE FATAL CRITICAL NOTICE SEVERE panic failed failure denied refused rejected timeout "
    "exception Traceback abort dead deadbeef facade decade cafe fed bad added beaded May Sun mon std::add a::b e-mail x-y un-named C++ "
    "user@host Marching Decoder"
).split()

SHAPES = {
    "api-7f9c6d5b8-x2x9z": "api",
    "host-17.example": "host.example",
    "blk_-1608999687919862906": "blk",
    "attempt_1445144423722_0020_m_000009_0": "attempt",
    "instance_550e8400-e29b-41d4-a716-446655440000_disk": "instance_disk",
    "5 seconds": "seconds",
    "30 minutes": "minutes",
    "node7": "node",
    "jk2_init()": "jk_init()",
    "core.4900": "core.",
    "sshd[24833]:": "sshd[]:",
    "/v2/54fadb412c4e40cdbaed9335e4c35a9e/servers/17/detail": "/v//servers//detail",
    "/search?user=bob&id=3": "/search?user=&id=",
    "/10.251.39.209:50010": "/",
    "E1110 22:06:37.123456": "E",
    "status=127.0.0.1": "status=",
    "status=2000": "status=",
    "code=50": "code=",
    "AE1234": "",
}
REPEATED = (
    *("1", "1.", "a1", "ab:", "1-", " ", "ff", "/", "A1-", "Dec 1 ", "a@", "?a=", "::", "1::"),
    *("status 200", "E1234", "(1)", "1T", "_1", "\t7", "é1"),
    *("1_a_", "_m_", "1 sec", "1:1 min ", "550e8400-e29b-41d4-a716-446655440000_", "_abcdef01-"),
)
"""Repeated to hostile lines of one megabyte."""

WORDS = [mask.name for mask in WORD_MASKS]
MASKER = Masker(disabled=WORDS)


def mask(text: str, masker: Masker = MASKER) -> str:
    (masked,) = masker.mask([text])
    return masked


def test_a_variable_goes_whole_and_what_is_around_it_stays(subtests: pytest.Subtests) -> None:
    for example in VARIABLES:
        with subtests.test(example):
            assert mask(f"peer {example} refused") == "peer refused"
            assert mask(f"peer [{example}] refused") in {"peer [] refused", "peer [ ] refused"}
            assert mask(f"peer={example}; refused") in {"peer=; refused", "peer= ; refused"}
            assert mask(example) == NUMBER_ONLY


def test_of_an_identifier_its_words_stay(subtests: pytest.Subtests) -> None:
    for shape, words in SHAPES.items():
        with subtests.test(shape):
            assert mask(f"peer {shape} refused") == f"peer {words} refused".replace("  ", " ")


def test_a_code_that_says_what_happened_stays(subtests: pytest.Subtests) -> None:
    for code in CODES:
        with subtests.test(code):
            assert mask(f"peer 17 {code} refused 9") == f"peer {code} refused"
            assert mask(f"at 12:00:00 [{code}]") == f"at [{code}]"
            assert mask(code) == code


def test_the_status_in_an_access_log_stays() -> None:
    line = '10.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "GET /a/17 HTTP/1.1" 503 2326'
    assert mask(line) == '- - [] "GET /a/ HTTP/" 503'


def test_words_for_levels_and_errors_stay(subtests: pytest.Subtests) -> None:
    for word in WORDS:
        with subtests.test(word):
            assert mask(f"{word} the disk {word}") == f"{word} the disk {word}"


def test_any_run_of_white_space_is_one_space_and_none_at_the_ends(subtests: pytest.Subtests) -> None:
    for spaces in (" \t  ", "\n", "\r\n", "\v\f"):
        with subtests.test(spaces=spaces):
            assert mask(f"{spaces}disk{spaces}full{spaces}") == "disk full"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "Jan  2 03:04:05 gw sshd[123]: Failed password for root from 10.0.0.1 port 22 ssh2",
            "Feb 11 23:59:59 gw sshd[9]: Failed password for root from 172.16.254.3 port 60311 ssh2",
        ),
        ("081109 203615 148 INFO dfs.DataNode: blk_38865049064139660 terminating", "081110 1 2 INFO dfs.DataNode: blk_-6 terminating"),
        ("listening on [fe80::1ff:fe23:4567:890a]:53", "listening on [fe80::dead:beef]:8053"),
        ("took 12ms for 3 MB", "took 1.5s for 300kB"),
    ],
)
def test_two_lines_of_one_kind_are_masked_alike(one: str, other: str) -> None:
    assert mask(one) == mask(other)


def test_two_lines_of_different_kinds_are_not() -> None:
    assert mask("Accepted password for root from 10.0.0.1") != mask("Failed password for root from 10.0.0.1")
    assert mask("upstream answered HTTP 503") != mask("upstream answered HTTP 404")


def test_a_line_of_nothing_but_variables_is_not_empty(subtests: pytest.Subtests) -> None:
    for text in ("", " ", "\n\t", "42", "10.0.0.1 12:00:00", "\u00a0 7"):
        with subtests.test(text=text):
            assert mask(text) == NUMBER_ONLY


def test_a_megabyte_of_one_thing_is_masked(subtests: pytest.Subtests) -> None:
    for unit in REPEATED:
        with subtests.test(unit=unit):
            text = unit * (1_000_000 // len(unit)) + "g_"
            masked = mask(text)
            assert len(masked) <= len(text)
            assert mask(masked) == masked


def test_nul_and_characters_beyond_ascii_stay() -> None:
    assert mask("käse\x00 語 ٣ \U0001f701 7") == "käse\x00 語 ٣ \U0001f701"


def test_a_lone_surrogate_becomes_a_question_mark() -> None:
    assert mask("half \ud800 of 17") == "half ? of"


def test_neighbours_in_a_list_do_not_touch() -> None:
    assert MASKER.mask(["port -", "17", "", "ms took", "HTTP", "503 for", "x 5", "s"]) == [
        "port -",
        "0",
        "0",
        "ms took",
        "HTTP",
        "for",
        "x",
        "s",
    ]


def test_a_column_has_each_masked_text_once_in_the_order_of_first_use() -> None:
    texts = ["b 1", "status 404", "a 2", "b 33", "status 503", "", "7", "status 404", "status 208", "a 9", "status 288 of 4"]
    for masker in (Masker(), MASKER, MASKER, Masker(disabled=["number"]), Masker("exact")):
        codes, values = masker.mask_column(string_column(texts))
        alone = masker.mask(texts)
        assert [values[code] for code in codes.tolist()] == alone
        assert values == tuple(dict.fromkeys(alone))
        assert codes.dtype == np.int32
    assert MASKER.mask_column(string_column([])).values == ()


def test_lines_that_differ_in_digits_alone_keep_their_codes() -> None:
    lines = [f"peer {number} answered HTTP {status}" for status in (200, 208, 404, 888) for number in (8, 17, 8)]
    masker = Masker()
    for _ in range(2):
        assert masker.mask(lines) == [f"peer answered HTTP {status}" for status in (200, 208, 404, 888) for _ in range(3)]


def test_known_and_new_lines_with_and_without_codes_may_come_together() -> None:
    masker = Masker()
    for _ in range(3):
        assert masker.mask(["took 1ms"]) == ["took"]
    assert masker.mask(["took 2ms", "HTTP 503 to 17", "a 1"]) == ["took", "HTTP 503 to", "a"]
    assert masker.mask(["HTTP 404 to 17", "b 2", "a 2", "HTTP 503 to 18", "took 3ms"]) == ["HTTP 404 to", "b", "a", "HTTP 503 to", "took"]


def test_a_code_that_only_masking_makes_is_that_of_its_own_line() -> None:
    assert MASKER.mask([f"status a@b.example {number}" for number in (404, 503, 208)]) == ["status 404", "status 503", "status 208"]


def test_0x_and_7x_are_not_alike() -> None:
    for text, masked in (("a 0xdead b", "a b"), ("a 7xdead b", "a xdead b"), ("a 0xfade b", "a b")):
        assert mask(text) == masked


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


@pytest.mark.parametrize("mode", ["template", "exact"])
def test_no_texts_give_no_texts(mode: str) -> None:
    assert Masker("exact" if mode == "exact" else "template").mask([]) == []


EXAMPLE_OF = {
    "json": 'peer {"user_id":7,"level":"error"}',
    "host": "Dec 10 06:55:46 gw sshd[7]: bye refused",
    "email": "peer a@b.example refused",
    "query": "peer /x?name=value refused",
    "date": "peer Dec 4 refused",
    "groups": "peer aa:bb:cc:dd:ee:ff refused",
    "ipv6": "peer fe80::a refused",
    "uuid": "peer disk_550e8400-abcd-41d4-a716-446655440000_old refused",
    "place": "peer R20-M0-N9-C refused",
    "attempt": "peer try_0020_m_000009_0 refused",
    "duration": "peer refused for 5 secs",
    "hex": "peer 0xdeadbeef refused",
    "mixed": "peer x2xkz9z refused",
    "unit": "peer refused for 12ms",
    "number": "peer 17 refused",
}


def test_a_mask_that_is_off_is_not_applied(subtests: pytest.Subtests) -> None:
    assert set(EXAMPLE_OF) == {one.name for one in VARIABLE_MASKS}
    for name, example in EXAMPLE_OF.items():
        with subtests.test(name):
            assert mask(example, Masker(disabled=[*WORDS, name])) != mask(example)


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
    assert mask("took  12ms  at 10.0.0.1", Masker(disabled=["number"])) == "took 12ms at 10.0.0.1"


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


@pytest.mark.parametrize(
    ("disabled", "added", "says"),
    [
        (["datee"], [], "no built-in mask is called 'datee'; the nearest name is 'date'"),
        ([], [Mask("mine", "(", "")], "mask 'mine': Invalid regular expression: missing ): (("),
        ([], [Mask("mine", "(?=a)b", "")], "mask 'mine': Invalid regular expression"),
        ([], [Mask("mine", "a*", "")], "mask 'mine': it matches the empty text"),
        ([], [Mask("mine", r"\b", "x")], "mask 'mine': it matches the empty text"),
        ([], [Mask("mine", "a", r"\1")], "mask 'mine': Invalid replacement string"),
        ([], [Mask("mine", r"\C", "")], "mask 'mine': it matches a part of a character"),
        ([], [Mask("mine", "a", "aa")], "mask 'mine': it changes its own replacement, 'aa', into 'aaaa'"),
        ([], [Mask("date", "a", "")], "two masks are called 'date'"),
        ([], [Mask("mine", "a", ""), Mask("mine", "b", "")], "two masks are called 'mine'"),
    ],
)
def test_a_mask_that_cannot_be_used_is_refused_in_one_line(disabled: list[str], added: list[Mask], says: str) -> None:
    with pytest.raises(BadMask) as refused:
        Masker(disabled=disabled, added=added)
    assert str(refused.value).startswith(says)
    assert "\n" not in str(refused.value)
