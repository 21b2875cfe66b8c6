"""What is expected of records is what the worker makes of them: the same lines, the same dead letters."""

import json

import pytest

from consumers.record import Partition
from consumers.registry import RegistryAway
from consumers.registry_settings import RegistrySettings
from consumers.rejection import Rejection
from consumers.text.redact import Redactor
from sinks.line import Line
from tests.log_topics import log_topics
from tests.worker.chain import Chain
from tests.worker.chain_values import record
from tests.worker.conftest import NewChain
from tests.worker.indexing.test_schema_wait import FakeRegistry
from tests.worker.inspecting.audited_index import AuditedIndex, lines_of
from worker.embedding.model.prepared import PreparedModel
from worker.embedding.tokenizer import Tokenizer
from worker.indexing.schema_fetch import SchemaFetch
from worker.indexing.topic_readers import TopicReaders
from worker.inspecting.expected import Expected, ExpectedLines
from worker.settings.settings import Settings

NOT_UTF8 = Rejection("decode", "undecodable", "undecodable: not valid UTF-8")
LONG = " ".join(f"word{n} is, not at all, like word{n * 7}." for n in range(400))
FRAMED = (b"\0\0\0\0\x01\x04hi", b"\0\0\0\0\x02\x04hi", b"\0\0\0\0\x01\x04yo")
VALUES: tuple[bytes | None, ...] = (
    b"disk sda1 is 91 % full\r\n",
    b"\xff not utf-8",
    None,
    b"\n",
    json.dumps([{"message": f"entry {n}", "service": "s" * 300, "level": "warn"} for n in range(5)] + [{}]).encode(),
    LONG.encode(),
    b'{"message": "user a@b.example", "extra": 1, "service": "c@d.example", "level": "e@f.example"}',
    b'[{"message": "short"}, {"message": ' + json.dumps(LONG * 3).encode() + b"}]",
    b"disk sda1 is 92 % full",
)


def stored_by(chain: Chain) -> list[Line]:
    chain.index(*VALUES)
    return sorted(chain.lines())


@pytest.mark.parametrize("redact", [(), ("email",)])
def test_what_is_expected_is_what_the_worker_stores(new_chain: NewChain, audited: AuditedIndex, redact: tuple[str, ...]) -> None:
    chain = new_chain(max_chunks=30, redact=redact)
    stored = stored_by(chain)
    letters = sorted(chain.letters.posted, key=lambda posted: posted[0].record.offset)
    records = [record(offset, value) for offset, value in enumerate(VALUES)]
    expected = audited.expected_lines_of(max_chunks=30, redact=redact).compute_expected(records)
    assert sorted(lines_of(expected)) == stored
    assert len(stored) > 20
    assert {line.template: line.template_text for line in lines_of(expected)} == {
        row.template: row.text for row in chain.sink.templates.values()
    }
    assert [(one.record.offset, one.rejects) for one in expected if one.rejects] == [
        (claim.record.offset, tuple(rejects)) for claim, _, rejects in letters
    ]
    assert [one.record.offset for one in expected if not one.lines and one.rejection is None] == [2, 3]


def test_a_record_that_cannot_be_decoded_is_expected_among_the_dead_letters(new_chain: NewChain, audited: AuditedIndex) -> None:
    chain = new_chain(strict=True, max_chunks=30)
    stored_by(chain)
    records = [record(offset, value) for offset, value in enumerate(VALUES)]
    expected = audited.expected_lines_of(errors="strict", max_chunks=30).compute_expected(records)
    refused = [(one.record.offset, one.refusal) for one in expected if one.refusal is not None]
    assert refused == [(1, NOT_UTF8)]
    assert refused == [(claim.record.offset, rejection) for claim, rejection, rejects in chain.letters.posted if not rejects]
    assert expected[1] == Expected(records[1], (), refusal=NOT_UTF8)


def test_records_of_several_partitions_and_epochs_each_have_their_own_lines(audited: AuditedIndex) -> None:
    places = (Partition("logs", 1), Partition("logs", 0), Partition("other", 1))
    records = [record(offset, b"line %d" % offset, partition=places[offset % 3]) for offset in range(30)]
    records = [one._replace(epoch="e2") if one.offset > 20 else one for one in records]
    expected = audited.expected_lines.compute_expected(records)
    found = [(line.topic, line.epoch, line.partition, line.offset, line.text) for line in lines_of(expected)]
    assert found == [(one.topic, one.epoch, one.partition, one.offset, (one.value or b"").decode()) for one in records]


def compute(registry: FakeRegistry, model: PreparedModel, words: Tokenizer) -> tuple[list[str], dict[int, str]]:
    """Return the texts expected, and the kinds of refusal by offset."""
    fetch = SchemaFetch(registry)
    settings = Settings(topic=log_topics("logs", format="registry"), registry=RegistrySettings(url="http://registry"))
    readers = TopicReaders(settings, model, words, schemas=fetch.schemas)
    expected_lines = ExpectedLines(reader_of=readers.of_topic, redactor=Redactor(()), tokenizer=words, wall_ms=lambda: 1e12, schemas=fetch)
    records = [record(offset, value) for offset, value in enumerate(FRAMED)]
    expected = expected_lines.compute_expected(records)
    texts = [line.text or "" for one in expected for line in one.lines]
    return texts, {one.record.offset: one.refusal.kind for one in expected if one.refusal is not None}


def test_schemas_are_fetched_before_records_are_decoded(prepared_model: PreparedModel, words: Tokenizer) -> None:
    registry = FakeRegistry()
    registry.there = {1}
    assert compute(registry, prepared_model, words) == (["hi", "yo"], {1: "unknown_schema"})
    assert sorted(registry.asked, key=str) == [1, 2]


def test_nothing_is_expected_while_the_registry_is_away(prepared_model: PreparedModel, words: Tokenizer) -> None:
    registry = FakeRegistry()
    registry.is_away = True
    with pytest.raises(RegistryAway):
        compute(registry, prepared_model, words)
