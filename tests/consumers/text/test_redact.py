"""Redaction: every rule replaces its secrets wherever they occur, and nothing else."""

import threading

import pytest

from consumers.columns import as_texts, string_column
from consumers.text.mask import Masker
from consumers.text.redact import BadRule, Redactor
from consumers.text.redact_rules import RULES
from consumers.text.word_patterns import WORD_MASKS
from tests.consumers.text.recorded import recorded

AKIA = "AKIA" + "IOSFODNN7EXAMPLE"
GITHUB = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0." + "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
STAND_INS = sorted({rule.replacement.rstrip("@") for rule in RULES})
NAMES = [rule.name for rule in RULES]


def redact(text: str, *rules: str) -> str:
    (redacted,) = Redactor(rules).redact([text])
    return redacted


@pytest.mark.slow
def test_a_secret_goes_and_nothing_else_does(subtests: pytest.Subtests) -> None:
    rows = [*recorded("redacted")]
    assert list(dict.fromkeys(row["rule"] for row in rows)) == NAMES
    for rule, text, expected in (row.values() for row in rows):
        with subtests.test(rule, text=text):
            redactor = Redactor([rule])
            assert redactor.redact([text]) == redactor.redact([expected]) == [expected]
            assert (redactor.counts == {rule: 0}) == (text == expected)
            # a truncated block extends to the end
            assert redact(f"first\n{text}\nlast", rule) in {f"first\n{expected}\nlast", f"first\n{expected}"}


def test_a_text_without_a_secret_is_handed_back_as_it_is() -> None:
    texts = ["Failed password for root", "plain ünïcode \x00 語\r\n", "", "lone \ud800 surrogate"]
    assert all(after is before for after, before in zip(Redactor(NAMES).redact(texts), texts, strict=True))


def test_a_column_without_a_secret_is_handed_back_as_it_is() -> None:
    for texts in (["Failed password for root", "plain ünïcode \x00 語\r\n", ""], [], ["only looks like one: password=null, v1.2.3.4"]):
        column = string_column(texts)
        assert Redactor(NAMES).redact_column(column) is column


def test_a_column_is_redacted_as_a_list_is_also_when_it_begins_in_the_middle_of_memory() -> None:
    texts = ["a", "b@x.com", "語", f"d {AKIA}", "", "f 4111111111111111 b@x.com"]
    expected = ["a", "<email>", "語", "d <cloud-key>", "", "f <card> <email>"]
    assert as_texts(Redactor("all").redact_column(string_column(texts))) == expected
    assert as_texts(Redactor("all").redact_column(string_column(["g@x.com", *texts, "h@x.com"]).slice(1, len(texts)))) == expected


@pytest.mark.parametrize("rules", ["all", ("all",), ["all", "email"]])
def test_all_is_every_rule_but_those_for_addresses(rules: str | list[str]) -> None:
    assert list(Redactor(rules).counts) == [name for name in NAMES if name not in {"ipv4", "ipv6"}]


def test_addresses_can_be_named_besides_all() -> None:
    assert redact("b@x.com from 10.0.0.1 or fe80::1", "all", "ipv4", "ipv6") == "<email> from <ip> or <ip>"


@pytest.mark.parametrize(
    ("name", "near"), [("emial", "email"), ("creditcard", "card"), ("ALL", "all"), ("private_key", "private-key"), ("a\nb", "")]
)
def test_an_unknown_rule_is_refused_in_one_line_with_the_nearest(name: str, near: str) -> None:
    with pytest.raises(BadRule) as refused:
        Redactor(["email", name])
    assert near in str(refused.value)
    assert repr(name) in str(refused.value)
    assert "\n" not in str(refused.value)


def test_replacements_are_counted_by_rule_not_by_line() -> None:
    redactor = Redactor("all")
    redactor.redact(["a@x.com b@x.com 4111111111111111", "password=x&token=y c@x.com", "nothing", 'secret="a<password>b"'])
    redactor.redact(["d@x.com"])
    assert {name: count for name, count in redactor.counts.items() if count} == {"email": 4, "card": 1, "password": 3}


def test_counts_are_read_while_another_thread_redacts() -> None:
    redactor = Redactor("all")
    started = threading.Event()

    def work() -> None:
        for _ in range(50):
            redactor.redact(["a@x.com"] * 10)
            started.set()

    worker = threading.Thread(target=work)
    worker.start()
    started.wait()
    seen = [sum(redactor.counts.values()) for _ in range(100)]
    worker.join()
    assert seen == sorted(seen)
    assert redactor.counts["email"] == 500


def test_a_replacement_survives_the_masks_of_variables_and_meets_no_rule(subtests: pytest.Subtests) -> None:
    masker = Masker(disabled=[mask.name for mask in WORD_MASKS])  # those of words take values out, replaced or not
    for replacement in STAND_INS:
        with subtests.test(replacement):
            texts = [
                replacement,
                f"user {replacement} failed",
                f"https://{replacement}host",
                f"password={replacement}",
                f'"token": "{replacement}"',
                f"Bearer {replacement}",
            ]
            assert all(replacement in masked for masked in masker.mask(texts))
            redactor = Redactor(NAMES)
            assert redactor.redact(texts) == texts
            assert not any(redactor.counts.values())


@pytest.mark.parametrize("text", ["password=\ud800", "b@x.com \ud800"])
def test_a_lone_surrogate_beside_a_secret_is_no_error(text: str) -> None:
    assert "?" in redact(text, "email") or text.startswith("password")
    assert "\ud800" not in redact(text, "password", "email")


HOSTILE = {
    "private-key": "-----BEGIN PRIVATE KEY-----",
    "url-login": "://a@",
    "password": "--token a1",
    "bearer": "authorization: digest a=b, ",
    "jwt": "eyJabcdefgh.a",
    "cloud-key": AKIA,
    "email": "a@b.co.1",
    "iban": "DE89 3704 ",
    "ipv6": "from 2001:db8::a1 port 1",
    "ipv4": "1.",
    "card": "4111 ",
}
"""For each rule, the unit whose repetition takes longest."""


@pytest.mark.slow
def test_a_megabyte_of_one_thing_is_redacted(subtests: pytest.Subtests) -> None:
    assert list(HOSTILE) == NAMES
    for name, part in HOSTILE.items():
        with subtests.test(name):
            text = part * (1_000_000 // len(part))
            redacted = redact(text, *NAMES)
            assert redact(redacted, *NAMES) == redacted


def test_what_holds_other_secrets_goes_whole() -> None:
    text = f"password=p@ss.word!x token={JWT} https://{AKIA}:{GITHUB}@h Authorization: Bearer {JWT} secret=4111111111111111z"
    assert redact(text, "all") == (
        "password=<password> token=<password> https://<login>@h Authorization: Bearer <bearer> secret=<password>"
    )
