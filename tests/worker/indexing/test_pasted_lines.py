"""What a pasted line is taken for: the very template that a worker with these settings stores."""

import json

import numpy as np

from consumers.text.redact import Redactor
from producers.log_feed import synthetic_lines
from tests.template_ids import id_of
from worker.embedding.model.prepared import PreparedModel
from worker.embedding.tokenizer import Tokenizer
from worker.indexing.pasted_lines import LineReader
from worker.indexing.pieces import split_entries
from worker.indexing.topic_readers import TopicReader, TopicReaders
from worker.settings.settings import Settings
from worker.settings.tables import new_redactor

TOPICS = [{"name": "logs"}, {"name": "raw", "mask": {"mode": "exact"}}, {"pattern": "app-.*", "fields": {"text": ("what",)}}]
EVENT = {"@t": "2026-05-28T20:10:00Z", "@mt": "{User} left", "SourceContext": "Shop.Cart", "User": "ann", "password": "hunter2"}


def settings_of(**tables: object) -> Settings:
    return Settings.model_validate({"topic": TOPICS, **tables})


def stored(reader: TopicReader, redactor: Redactor, value: bytes) -> list[str]:
    """Return the templates that a worker stores of a record."""
    entries = reader.decoder.decode([value], np.zeros(1, np.int64)).entries
    template = split_entries(entries, redactor=redactor, chunker=reader.chunker).cut.template
    return list(dict.fromkeys(template.values[code] for code in template.codes.tolist()))


def test_every_line_is_the_template_that_a_worker_stores(words: Tokenizer, prepared_model: PreparedModel) -> None:
    settings = settings_of(redact={"rules": ["password"]})
    reader = LineReader(settings)
    values = [
        *synthetic_lines(3, 20, 1_764_000_000_000),
        json.dumps(EVENT).encode(),
        b"login with password=hunter2 failed",
        b'{"what": "x 7"}',
        b'{"message": "web-1 went away", "what": "web-1 went away", "host": "web-1"}',
    ]
    readers, redactor = TopicReaders(settings, prepared_model, words), new_redactor(settings.redact)
    for topic in ("logs", "raw", "app-web", "unknown"):
        for value in values:
            found = reader.templates_of(value.decode() + "\r\n", topic)
            wanted = stored(readers.of_topic(topic), redactor, value)
            assert [one.text for one in found] == wanted
            assert [(one.template, one.topics) for one in found] == [(id_of(text), (topic,)) for text in wanted]


def test_without_a_topic_every_table_is_tried_and_each_kind_names_its_topics() -> None:
    reader = LineReader(settings_of())
    by_text = {one.text: one.topics for one in reader.templates_of("disk 7 is full", None)}
    assert by_text == {"disk is full": ("logs", "app-.*"), "disk 7 is full": ("raw",)}


def test_values_of_fields_go_from_a_record_that_is_pasted_whole_and_stay_in_its_text_alone() -> None:
    reader = LineReader(settings_of())
    texts = [[one.text for one in reader.templates_of(line, "logs")] for line in ('{"message": "gw-x away", "host": "gw-x"}', "gw-x away")]
    assert texts == [["host away"], ["gw-x away"]]
    (off,) = LineReader(settings_of(mask={"disabled": ["field"]})).templates_of('{"message": "gw-x away", "host": "gw-x"}', "logs")
    assert off.text == "gw-x away"


def test_a_line_that_holds_nothing_is_no_kind_of_line() -> None:
    assert LineReader(settings_of()).templates_of("\n", None) == []


def test_what_is_redacted_is_not_in_the_answer() -> None:
    for one in LineReader(settings_of(redact={"rules": ["password"]})).templates_of("login with password=hunter2 failed", None):
        assert "hunter2" not in one.text
