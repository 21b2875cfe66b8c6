"""The mask `host`: it removes the host in the header of a syslog line, and keeps what only looks like one."""

from collections.abc import Sequence
from typing import TypeVar

import pytest

from consumers.text.mask import NUMBER_ONLY, Masker
from consumers.text.word_patterns import WORD_MASKS

T = TypeVar("T")
U = TypeVar("U")
WORDS = [mask.name for mask in WORD_MASKS]
"""Off, as the brackets around what is masked go with them."""
MASKER = Masker(disabled=WORDS)
SWITCHED = [["host"], ["host", "date"], ["host", "number"]]
HOSTS = (
    ("Dec 10 06:55:46 LabSZ sshd[24200]: Invalid user webmaster", "sshd[]: Invalid user webmaster"),
    ("<34>Oct 11 22:14:15 gw su: 'su root' failed for lonvick", "<> su: 'su root' failed for lonvick"),
    ("Jul  1 09:00:55 calvisitor-10-105-160-95 kernel[0]: ARPT: wake", "kernel[]: ARPT: wake"),
    ("Jul  1 09:00:55 authorMacBook-Pro.local com.apple.cts[43]: sent", "com.apple.cts[]: sent"),
    ("Jun 14 15:16:01 combo sshd(pam_unix)[19939]: check pass", "sshd(pam_unix)[]: check pass"),
    ("Jun 14 15:16:01 10.0.0.7 /usr/sbin/cron[19939]: done", "/usr/sbin/cron[]: done"),
    ("<34>1 2003-10-11T22:14:15.003Z mymachine.example.com su - ID47 - failed", "<> su - ID - failed"),
    ("<165>1 2003-08-24T05:14:15.000003-07:00 192.0.2.1 myproc 8710 - - done", "<> myproc - - done"),
    ("<165>1 2003-08-24T05:14:15+01:00 fe80::a myproc 8710 - - done", "<> myproc - - done"),
    ("<13>1 - gw app - - - no clock", "<> - app - - - no clock"),
)
NO_HOSTS = (
    ("Dec 10 06:55:46 Failed to start", "Failed to start"),
    ("Dec 10 06:55:46 sshd[24200]: gone", "sshd[]: gone"),
    ("Dec 10 06:55:46 Error: gone", "Error: gone"),
    ("Dec 10 06:55:46 ERROR disk: full", "ERROR disk: full"),
    ("Dec 10 06:55:46 warning  net.link[2]: down", "warning net.link[]: down"),
    ("Dec 10 06:55:46 Critical core: down", "Critical core: down"),
    ("Dec 10 06:55:46 INFO [main] a.B: up", "INFO [main] a.B: up"),
    ("Dec 10 06:55:46 gw last message repeated 2 times", "gw last message repeated times"),
    ("Dec 10 06:55:46 [gw] kernel: up", "[gw] kernel: up"),
    ("Dec 10 gw kernel: up", "gw kernel: up"),
    ("at Dec 10 06:55:46 gw kernel: up", "at gw kernel: up"),
    ("<34>1 2003-10-11T22:14:15Z - su - - - up", "<> - su - - - up"),
    ("Debug at Dec 10 06:55:46 gw kernel: up", "Debug at gw kernel: up"),
    ("<x> <34>1 2003-10-11T22:14:15Z gw su up", "<x> <> gw su up"),
    ("1 2003-10-11T22:14:15Z gw su up", "gw su up"),
    ("<34>1 2003-10-11 gw su up", "<> gw su up"),
    ("<b>1 2003-10-11T22:14:15Z gw su up", "<b> gw su up"),
    ("gw kernel: up", "gw kernel: up"),
)
TWO_HOSTS = (
    "Dec 10 06:55:46 gw su run[2]: kernel: up",
    "  Dec 10 06:55:46 gw su: kernel: up",
    "<34>1 2003-10-11T22:14:15Z gw su root mail - up",
    "<34>1 - gw su root mail - up",
    "<34><35>1 2003-10-11T22:14:15Z gw su root",
)
DISABLED: tuple[list[str], ...] = ([], ["date"], ["number"], ["date", "number"], ["groups", "mixed", "number", "hex"])
HEADS = (
    "Dec 10 06:55:46 ",
    "Dec 10 06:55:46 gw ",
    "Dec ",
    "<34>1 2003-10-11T22:14:15Z ",
    "<34>1 2003-10-11T",
    "<",
    "<34>Dec 10 06:55:46 err ",
)
UNITS = ("a", "a-", " ", "1", "1 ", "Dec 10 06:55:46 gw su: ", "[", "a ", "err ")


def each_pair(ones: Sequence[T], others: Sequence[U]) -> list[tuple[T, U]]:
    """Return each of `ones` with the first of `others`, and the first of `ones` with each of `others`."""
    return [*((one, others[0]) for one in ones), *((ones[0], other) for other in others[1:])]


def mask(text: str, masker: Masker = MASKER) -> str:
    (masked,) = masker.mask([text])
    return masked


def test_the_host_of_a_syslog_line_goes_and_the_program_stays(subtests: pytest.Subtests) -> None:
    for line, masked in HOSTS:
        with subtests.test(line):
            assert mask(line) == masked
            assert mask(masked) == masked


def test_lines_of_one_template_from_many_hosts_are_masked_alike(subtests: pytest.Subtests) -> None:
    for name in ("gw", "db.example", "node-7", "10.0.0.1", "Build_01"):
        with subtests.test(name):
            assert mask(f"Dec 10 06:55:46 {name} sshd[1]: bye") == mask("Jan  2 03:04:05 other sshd[22]: bye")
            assert mask(f"<34>1 2024-01-02T03:04:05Z {name} app 1 - - bye") == mask("<5>1 2025-11-12T13:14:15.1Z other app 22 - - bye")


def test_what_is_no_host_in_the_head_of_a_line_stays(subtests: pytest.Subtests) -> None:
    for line, masked in NO_HOSTS:
        with subtests.test(line):
            assert mask(line) == masked


def test_only_a_whole_word_is_a_level(subtests: pytest.Subtests) -> None:
    for level in ("error", "errors", "infobox", "notice.example"):
        with subtests.test(level):
            assert mask(f"Dec 10 06:55:46 {level} su: up") == ("error su: up" if level == "error" else "su: up")


def test_the_word_after_the_host_is_not_the_next_host(subtests: pytest.Subtests) -> None:
    for line, disabled in each_pair(TWO_HOSTS, DISABLED):
        with subtests.test(line, disabled=disabled):
            masker = Masker(disabled=[*WORDS, *disabled])
            masked = mask(line, masker)
            assert mask(masked, masker) == masked
            assert "su" in masked.split() or "su:" in masked.split()


def test_the_host_stays_where_the_mask_is_off(subtests: pytest.Subtests) -> None:
    for disabled in SWITCHED:
        with subtests.test(disabled=disabled):
            assert "gw" in mask("Dec 10 06:55:46 gw sshd[1]: bye", Masker(disabled=[*WORDS, *disabled])).split()
            assert "gw" in mask("<34>1 2024-01-02T03:04:05Z gw app 1 - - bye", Masker(disabled=[*WORDS, *disabled])).split()


def test_only_the_lines_of_a_list_that_have_a_host_lose_it() -> None:
    lines = ["", "gw su: up", "Dec 10 06:55:46 gw su: up", "Dec", "", "<34>1 - gw su up", "é", "Nov 1 01:02:03 gw su: down"]
    assert MASKER.mask(lines) == [NUMBER_ONLY, "gw su: up", "su: up", "Dec", NUMBER_ONLY, "<> - su up", "é", "su: down"]


def test_a_megabyte_behind_the_head_of_a_line_is_masked(subtests: pytest.Subtests) -> None:
    for head, unit in each_pair(HEADS, UNITS):
        with subtests.test(head=head, unit=unit):
            text = head + unit * (1_000_000 // len(unit))
            masked = mask(text)
            assert len(masked) <= len(text)
            assert mask(masked) == masked
