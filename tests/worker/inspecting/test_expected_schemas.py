"""What is expected of records whose schemas a registry has."""

import pytest

from consumers.record import Record
from consumers.registry import RegistryAway
from consumers.registry_settings import RegistrySettings
from consumers.text.redact import Redactor
from tests.log_topics import log_topics
from tests.worker.chain_values import record
from tests.worker.indexing.test_schema_wait import FakeRegistry
from worker.embedding.model.prepared import PreparedModel
from worker.embedding.tokenizer import Tokenizer
from worker.indexing.schema_fetch import SchemaFetch
from worker.indexing.topic_readers import TopicReaders
from worker.inspecting.expected import ExpectedLines
from worker.settings.settings import Settings

VALUES = (b"\0\0\0\0\x01\x04hi", b"\0\0\0\0\x02\x04hi", b"\0\0\0\0\x01\x04yo")


def compute(registry: FakeRegistry, model: PreparedModel, words: Tokenizer) -> tuple[list[str], dict[int, str]]:
    """Return the texts expected, and the kinds of refusal by offset."""
    fetch = SchemaFetch(registry)
    settings = Settings(topic=log_topics("logs", format="registry"), registry=RegistrySettings(url="http://registry"))
    readers = TopicReaders(settings, model, words, schemas=fetch.schemas)
    expected_lines = ExpectedLines(reader_of=readers.of_topic, redactor=Redactor(()), tokenizer=words, wall_ms=lambda: 1e12, schemas=fetch)
    records: list[Record] = [record(offset, value) for offset, value in enumerate(VALUES)]
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
