"""Codes: the same numbers as regular expressions with look-behind find, whatever stands before and after a text in its column."""

import itertools
import re

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from consumers.columns import string_column, utf8_of
from consumers.text.codes import find_codes

STATUS = re.compile(
    rb"""(?:http|atus|code|rror|resp|http(?:..\.[\doprse/]|/\d?)(?=[" \t]))[ \t=:"'\[(]{1,3}\Z""", re.IGNORECASE | re.DOTALL
)
ERRNO = re.compile(rb"""rrno[ \t=:"'\[(]{1,3}\Z""", re.IGNORECASE)
SIGNAL = re.compile(rb"""gnal[ \t=:"'\[(]{1,3}\Z""", re.IGNORECASE)
EXIT = re.compile(rb"""(?:exit|with)[ _-]?(?:code|[\s\S]{2}atus)[ \t=:"'\[(]{1,3}\Z""", re.IGNORECASE)
TLS = re.compile(rb"(?:tls|ssl)(?:v?| (?=\Z|\d[._]\Z))(?:\d[._])?\Z", re.IGNORECASE)
SEVERITY = re.compile(rb"(?<![\w-])[EWF]\Z")
CLOCK = re.compile(rb" \d.:", re.DOTALL)
LETTERS = re.compile(rb"(?<!\w)[A-Z]{2,3}\Z")
DASHED = re.compile(rb"[A-Z]{2}-\Z")
GOES_ON = re.compile(rb"\w|[-.:,/]\d")
PIECES = (
    *("HTTP", "http", "status", "code", "ERROR", "errno", "HTTP/1.1", "HTTP/", "HTTP/2.o", "HTTP/.", "E", "W", "F", "ORA", "CS", "ABC"),
    *("ABCD", "HTTP/2", "resp", "exit", "with", "signal", "TLS", "tlsv", "SSLv", "v", "1.2"),
    *(*" \t=:\"'[(", *"-.,/_", "é", "\n", "\x00", " 22:", " 2x:", "a"),
    *("2", "13", "200", "404", "1234", "00942", "123456"),
)
texts_of = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=9).map("".join),
    st.text("0123456789EWFABhtp rno=:\"'[(/.-_", max_size=16),
)


def is_code(text: bytes, number: re.Match[bytes]) -> bool:
    before, digits = text[: number.start()], len(number[0])
    if digits == 1 and is_of_protocol(text, number):
        return True
    if digits > 5 or GOES_ON.match(text, number.end()):
        return False
    return bool(
        (digits == 3 and STATUS.search(before))
        or (digits <= 3 and (ERRNO.search(before) or EXIT.search(before)))
        or (digits <= 2 and SIGNAL.search(before))
        or (digits >= 3 and SEVERITY.search(before) and not CLOCK.match(text, number.end()))
        or (digits == 4 and LETTERS.search(before))
        or (digits >= 4 and DASHED.search(before))
    )


def is_of_protocol(text: bytes, digit: re.Match[bytes]) -> bool:
    before, after = text[: digit.start()], text[digit.end() :]
    has_minor = bool(re.match(rb"[._]\d", after))
    is_spaced = bool(re.search(rb" \Z", before)) and not has_minor
    return bool(TLS.search(before)) and not is_spaced and (has_minor or not re.match(rb"\w", after))


def expected(text: bytes) -> list[int]:
    return [place for number in re.finditer(rb"\d+", text) if is_code(text, number) for place in range(*number.span())]


@settings(deadline=None, max_examples=500)
@given(texts=st.lists(texts_of, max_size=6))
@example(texts=["HTTP", " 503", "HTTP ", "503", "E", "1234", "E12", "34"])
@example(texts=["E12345", "E123456", "AB-12345", "AB-123456", 'HTTP/x.1"200'])
@example(texts=["HTTP 503", ".5", "E1234", "x", "E1110 2", "2:", "ORA-00942", "5"])
@example(texts=["HTTP/2 503", "HTTP/1.1 503", 'HTTP/2"\t503', "HTTP/ 503", "HTTP/12 503", "resp=503"])
@example(texts=["TLSv1.3", "tls1_2", "TLS 1.2", "TLS 1", "SSLv3.", "TLSv12", "ssl1.22", "dtls1.2x", "x1.2"])
@example(texts=["signal 9", "signal: 137", "exit status 1", "exitcode=12", "exited with code 1", "status 1", "exit code 1234"])
@example(texts=['"GET / HTTP/1.1" 200', 'HTTP/" 404', "status: '404'", "status=(((404"])
def test_finds_what_regular_expressions_find_in_each_text_alone(texts: list[str]) -> None:
    data, ends = utf8_of(string_column(["errno 1", *texts, " 503"]).slice(1, len(texts)))
    found = [ends[i] + place for i, text in enumerate(texts) for place in expected(text.encode())]
    assert find_codes(data, ends).tolist() == found


@pytest.mark.parametrize("text", ["HTTP 503", 'HTTP/1.1" 200', "errno=[13", "E1234", "ORA-00942", "ABC1234 1", "E1110 22:06"])
def test_every_part_of_a_text_is_read_as_a_text_of_its_own(text: str) -> None:
    data, _ = utf8_of(string_column([text]))
    for begin, end in itertools.combinations(range(len(text) + 1), 2):
        found = find_codes(data, np.array([begin, end], np.int32))
        assert (found - begin).tolist() == expected(text[begin:end].encode())


def test_a_column_without_texts_or_without_digits_has_no_codes() -> None:
    for texts in ([], [""], ["", "HTTP", ""]):
        assert find_codes(*utf8_of(string_column(texts))).tolist() == []
