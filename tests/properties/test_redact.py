"""Redaction of random texts: a secret never survives, its surroundings always do, and redacting twice changes nothing more."""

import re
import string

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from consumers.columns import as_texts, string_column
from consumers.text.redact import Redactor
from consumers.text.redact_rules import RULES, Rule
from consumers.text.regex import find_matching

ALNUM = string.ascii_letters + string.digits
NAMES = [rule.name for rule in RULES]

Case = tuple[str, str, str]
"""The text before a secret, which marks it as one; the secret; the text after it."""


def text(alphabet: str, at_least: int, at_most: int) -> st.SearchStrategy[str]:
    return st.text(alphabet, min_size=at_least, max_size=at_most)


def with_check_digit(digits: str) -> str:
    """Append Luhn's check digit: doubled digits from the right, crosswise sum, complement to ten."""
    doubled = [int(digit) * (2 if i % 2 == 0 else 1) for i, digit in enumerate(reversed(digits))]
    return digits + str(-sum(number // 10 + number % 10 for number in doubled) % 10)


def grouped(number: str, separator: str, sizes: tuple[int, ...]) -> str:
    groups = []
    for size in sizes:
        groups.append(number[:size])
        number = number[size:]
    return separator.join(group for group in (*groups, number) if group)


def with_check_digits(country: str, account: str) -> str:
    """Insert the check digits of ISO 13616 after the country code."""
    number = int("".join(str(int(letter, 36)) for letter in f"{account}{country}00"))
    return f"{country}{98 - number % 97:02}{account}"


VISIBLE = "".join(sorted(set(string.punctuation + ALNUM) - set("\"'\\")))
INSIDE_WORD = "".join(sorted(set(VISIBLE) - set("&,;()[]{}<>=:/`")))


def inside_quotes(more: str) -> st.SearchStrategy[str]:
    """Return values that are neither a replacement nor the start of one."""
    return text(VISIBLE + more, 1, 20).filter(lambda value: not re.fullmatch("<[A-Za-z-]*>?", value))


visa = text(string.digits, 14, 14).map(lambda rest: with_check_digit("4" + rest))
amex = text(string.digits, 12, 12).map(lambda rest: with_check_digit("37" + rest))
german = text(string.digits, 18, 18).map(lambda account: with_check_digits("DE", account))
key_body = text(ALNUM + "+/=\n", 1, 80)
opaque = text(ALNUM, 3, 10).map(lambda word: word + "q7Xz" * 5)

SECRETS: dict[str, st.SearchStrategy[Case]] = {
    "private-key": st.tuples(
        st.just(""), key_body.map(lambda body: f"-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----"), st.just("")
    ),
    "url-login": st.tuples(
        st.sampled_from(["https://", "amqp://", "postgresql+psycopg://"]),
        st.tuples(text(ALNUM + "-._~%", 1, 8), text(ALNUM + "-._~%!$()*+,;=:@", 1, 12)).map(":".join),
        st.just("@host/x"),
    ),
    "password": st.one_of(
        st.tuples(
            st.sampled_from(
                ["password=", "DB_PASSWORD=", "passwd: ", "user=a&pwd=", "secret=", "access_token=", "api-key=", "x --password="]
            ),
            text(INSIDE_WORD, 1, 12).filter(lambda word: word.lower() not in {"null", "none", "nil", "true", "false"}),
            st.sampled_from(["", "&a=b", ", b", ";"]),
        ),
        st.tuples(st.sampled_from(['"password": "', 'token="', '{"secret":"']), inside_quotes(" '"), st.just('"')),
        st.tuples(st.just("'password': '"), inside_quotes(' "'), st.just("'")),
        st.tuples(st.sampled_from(['x --api_key "', '["--password", "']), inside_quotes(" '"), st.just('"')),
        st.tuples(st.sampled_from(["x --token ", "--client-secret "]), opaque, st.just("")),
        st.tuples(st.just(""), text(ALNUM + "+/=. ", 1, 20).map(lambda word: f"<Token>x{word}</Token>"), st.just("")),
        st.tuples(st.just(r"{\"apiKey\":\""), inside_quotes(" '"), st.just(r"\"}")),
    ),
    "bearer": st.tuples(
        st.sampled_from(["Authorization: Bearer ", 'authorization": "Basic ', "AUTHORIZATION=bearer "]),
        text(ALNUM + "-._~+/", 1, 40),
        st.just(""),
    ),
    "jwt": st.tuples(st.just(""), st.tuples(opaque, opaque, opaque).map(lambda parts: "eyJ" + ".".join(parts)), st.just("")),
    "cloud-key": st.one_of(
        st.tuples(st.just(""), text(string.ascii_uppercase + string.digits, 16, 16).map(lambda rest: "AKIA" + rest), st.just("")),
        st.tuples(
            st.just(""),
            st.tuples(st.sampled_from(["ghp_", "gho_", "github_pat_", "xoxb-", "sk_" + "live_"]), text(ALNUM, 36, 40)).map("".join),
            st.just(""),
        ),
        st.tuples(st.just(""), text(ALNUM + "_-", 35, 35).map(lambda rest: "AIza" + rest), st.just("")),
        st.tuples(st.just("AccountKey="), text(ALNUM + "+/", 86, 86).map(lambda key: key + "=="), st.just("")),
        st.tuples(st.just("aws_secret_access_key = "), text(ALNUM + "+/", 40, 40), st.just("")),
    ),
    "email": st.tuples(
        st.just(""),
        st.tuples(
            text(ALNUM + "_", 1, 8),
            st.sampled_from(["", ".x", "+y-z"]),
            text(ALNUM, 1, 8),
            st.sampled_from([".com", ".a.de", ".io", ".museum"]),
        ).map(lambda parts: f"{parts[0]}{parts[1]}@{parts[2]}{parts[3]}"),
        st.just(""),
    ),
    "iban": st.tuples(st.just(""), st.one_of(german, german.map(lambda iban: grouped(iban, " ", (4,) * 5))), st.just("")),
    "ipv6": st.tuples(
        st.just(""), st.ip_addresses(v=6).map(str).filter(lambda address: any(one.isdigit() for one in address)), st.just("")
    ),
    "ipv4": st.tuples(st.just(""), st.ip_addresses(v=4).map(str), st.sampled_from(["", ":8080"])),
    "card": st.tuples(
        st.just(""),
        st.one_of(
            visa,
            visa.map(lambda card: grouped(card, " ", (4, 4, 4))),
            visa.map(lambda card: grouped(card, "-", (4, 4, 4))),
            amex.map(lambda card: grouped(card, " ", (4, 6))),
        ),
        st.just(""),
    ),
}

words = text("abcdefgiGäé語.!?#", 0, 6)
surroundings = st.tuples(
    st.one_of(st.just(""), st.tuples(words, st.sampled_from([" ", "\n", "\t(", " [", " {"])).map("".join)),
    st.one_of(st.just(""), st.tuples(st.sampled_from([" ", "\n", ") ", "] ", "}\n"]), words).map("".join)),
)
FRAGMENTS = [
    *["password", "pwd", "PWD", "token", "secret_access_key", "=", ":", " = ", '"', "'", "\\", "null", "n", "<", ">", "<password>", "<x>"],
    *["://", "@", "/", "?", "a", "B7", "b.co", ".", "-", "_", "%40", " ", "\n", "&", ",", ";", "(", ")", "]", "eyJabcdefgh", "ghp_", "sk-"],
    *["AKIAIOSFODNN7EXAMPLE", "Authorization: ", "Digest ", "--", "--password ", "<Password>", "</Password>", "Bearer "],
    *["0123456789abcdefghij", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"],
    *["4111111111111111", "4111 1111", " 1111 1111", "1111", "DE89370400440532013000", "DE89 3704 0044 0532 0130 00", "1.2.3.4", "::1"],
    *["fe80:"],
]
patchworks = st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=14).map("".join)
some_rules = st.one_of(st.just(NAMES), st.just(["all"]), st.lists(st.sampled_from(NAMES), min_size=1, unique=True))


batches = st.lists(patchworks, min_size=1, max_size=60)
"""Many texts for each list, because every list must compile its patterns."""


def redact(texts: list[str], *rules: str) -> tuple[list[str], int]:
    redactor = Redactor(rules)
    return redactor.redact(texts), sum(redactor.counts.values())


def test_every_rule_has_its_secrets() -> None:
    assert list(SECRETS) == NAMES


@pytest.mark.parametrize("rule", RULES, ids=NAMES)
@settings(deadline=None, max_examples=20)
@given(drawn=st.data())
def test_a_secret_goes_and_nothing_else_does(rule: Rule, drawn: st.DataObject) -> None:
    replacement = rule.replacement.rstrip("@")
    cases = drawn.draw(st.lists(st.tuples(SECRETS[rule.name], surroundings), min_size=1, max_size=15))
    texts = [f"{left}{before}{secret}{after}{right}" for (before, secret, after), (left, right) in cases]
    expected = [f"{left}{before}{replacement}{after}{right}" for (before, _, after), (left, right) in cases]
    assert redact(texts, rule.name) == (expected, len(cases))


@settings(deadline=None, max_examples=60)
@given(drawn=st.lists(st.sampled_from(NAMES).flatmap(SECRETS.__getitem__), min_size=1, max_size=6), around=surroundings)
def test_of_several_secrets_in_one_text_none_survives(drawn: list[Case], around: tuple[str, str]) -> None:
    left, right = around
    (redacted,), _ = redact(["\n".join(f"{left}{before}{secret}{after}{right}" for before, secret, after in drawn)], *NAMES)
    for _, secret, _ in drawn:
        assert len(secret) < 8 or secret not in redacted


@settings(deadline=None, max_examples=60)
@given(rules=some_rules, texts=batches)
@example(
    rules=NAMES,
    texts=[
        *["://password=a;@host", "4111111111111111-1.2.3.4", "fe80::4111111111111111", "4111111111111111::1", "1.2.3.4::1"],
        *["AKIAIOSFODNN7EXAMPLEpwd=x", "password: <token>two words</token>x", "password=<Password> x</Password>y"],
        *["token: abc12345!x</password>", "<Password>abc</Password>def</Password>"],
    ],
)
def test_a_second_time_finds_nothing(rules: list[str], texts: list[str]) -> None:
    redacted, _ = redact(texts, *rules)
    assert redact(redacted, *rules) == (redacted, 0)


@settings(deadline=None, max_examples=30)
@given(texts=st.lists(st.one_of(patchworks, st.sampled_from(NAMES).flatmap(SECRETS.__getitem__).map("".join)), min_size=1, max_size=40))
def test_a_trigger_is_in_every_text_that_its_rule_changes(texts: list[str]) -> None:
    column = string_column(texts)
    for rule in RULES:
        triggered = set(find_matching(column, rule.trigger))
        hits = {place for pattern in rule.patterns for place in find_matching(column, pattern)}
        if rule.replace:
            hits = {place for place, text in enumerate(texts) if rule.replace(text, "")[1]}
        assert hits <= triggered, rule.name


@settings(deadline=None, max_examples=20)
@given(texts=st.lists(st.one_of(patchworks, words), max_size=6), rules=some_rules)
def test_a_list_is_redacted_as_its_texts_alone(texts: list[str], rules: list[str]) -> None:
    alone = [redact([text], *rules) for text in texts]
    expected = [text for one, _ in alone for text in one]
    assert redact(texts, *rules) == (expected, sum(count for _, count in alone))
    assert as_texts(Redactor(rules).redact_column(string_column(texts))) == expected
