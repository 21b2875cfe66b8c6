"""What the settings say about redaction and masks is what happens to lines and to queries."""

import json

from tests.varied_words import varied
from tests.worker.chain import Chain
from tests.worker.conftest import NewChain
from worker.settings.tables import AddedMask, MaskTable, RedactTable, new_masker, new_redactor


def test_masks_are_those_of_the_settings() -> None:
    table = MaskTable(disabled=("email",), add=(AddedMask(name="ticket", pattern=r"TICKET-[a-z]+", replacement="ticket"),))
    assert new_masker(table).mask(["closed TICKET-abc for a@b.org"]) == ["closed ticket for a@b.org"]
    assert new_masker(MaskTable(mode="exact")).mask(["at 10.0.0.1"]) == ["at 10.0.0.1"]


def test_nothing_is_redacted_unless_it_was_asked_for() -> None:
    text = "mail to a.person@example.org"
    assert new_redactor(RedactTable()).redact([text]) == [text]
    assert "person" not in new_redactor(RedactTable(rules=("email",))).redact([text])[0]


def test_what_is_redacted_is_neither_embedded_nor_stored_nor_asked(new_chain: NewChain) -> None:
    chain: Chain = new_chain(redact=["email"])
    chain.feed("mail from a.person@example.org bounced", json.dumps({"message": "mail from b.person@example.org bounced"}))
    chain.run()
    stored = [line.text or "" for line in chain.lines()]
    assert len(stored) == 2
    assert len(set(stored)) == 1
    assert not any("person" in text for text in (*stored, *(row.text for row in chain.sink.templates.values())))
    assert chain.redactor.counts["email"] == 2
    chain.ask({"text": "mail from c.person@example.org bounced", "k": 1, "mode": "dense"})
    assert len(chain.embedder) == 0, "the same text, so the same vector"
    assert chain.answer()[0]["hits"][0]["score"] == 1.0


def test_a_secret_in_the_service_is_stored_nowhere_and_what_is_no_level_neither(new_chain: NewChain) -> None:
    chain = new_chain(redact=["email", "password"])
    labels = {"service": "worker --password=hunter2", "level": "b.person@example.org"}
    chain.feed(json.dumps({"message": "mail from a.person@example.org"} | labels), json.dumps({"message": "started"} | labels))
    chain.run()
    stored = chain.lines()
    assert {(line.service, line.level) for line in stored} == {("worker --password=<password>", "")}
    assert sorted(line.text or "" for line in stored) == ["mail from <email>", "started"]
    assert chain.redactor.counts == {"email": 3, "password": 2}, "the kept level of the two records too"


def test_a_secret_in_the_name_of_a_field_or_in_a_number_is_stored_nowhere(new_chain: NewChain) -> None:
    chain = new_chain(redact=["email", "card", "password"])
    fields = {"seen a.person@example.org": "often", "b.person@example.org": 3, "c.person@example.org": 4, "pan": 4111111111111111, "n": 5}
    chain.feed(json.dumps({"message": "started", "users": {"d.person@example.org": True}, "password": 123456} | fields))
    chain.run()
    (line,) = chain.lines()
    assert json.loads(line.fields or "") == {
        "<email>": 3, "n": 5, "pan": "<card>", "password": "<password>", "seen <email>": "often"
    }  # fmt: skip
    assert not [word for word in ("person", "4111", "123456") if word in (line.fields or "")]


def test_a_dead_letter_keeps_the_original_bytes(new_chain: NewChain) -> None:
    chain = new_chain(redact=["email"], max_chunks=1)
    (receipt,) = chain.feed("mail from a.person@example.org " + varied("word", 4000))
    assert b"a.person@example.org" in (receipt.records.value[0] or b"")
    assert b"a.person@example.org" in (chain.letters.posted[0][0].record.value or b"")
    assert chain.ledger.tally["dead_letter"] == 1
