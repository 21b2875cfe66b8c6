"""Records that carry their templates: what is stored of them, and that the template depends on the record alone."""

import json
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from consumers.columns import null_column, string_column
from consumers.decode.decoder import Decoder
from consumers.decode.joined import join_entries
from consumers.text.mask import Masker
from consumers.text.redact import Redactor
from sinks.line import PIECE_BYTES
from sinks.lines import all_lines
from tests.consumers.decode.seen import decode_values, seen
from tests.worker.indexing.test_pieces import KAFKA_TIMES, OFFSETS, PLACE, Entry, chunker_of, entries_of
from worker.embedding.model.prepared import PreparedModel
from worker.embedding.tokenizer import Tokenizer
from worker.indexing.events import EventJoiner
from worker.indexing.pieces import lines_of_pieces, split_entries
from worker.indexing.record_columns import RecordColumns
from worker.indexing.topic_readers import TopicReader, TopicReaders
from worker.settings.settings import Settings
from worker.settings.topic_tables import MultilineTable

LOGGERS = ("Shop.Cart", "Shop.Stock", "Shop.Mail.Sender")
TEMPLATES = ("added {Count} of {Sku} for {User}", "{User} left", "mail to {User} bounced: {Reason}", "stock is low")
USERS = ("ann", "Bob Smith", "eve@example.org", "user-17", "", "root", "a b c d e f g h", "ОЛЬГА")
REASONS = ("mailbox full", "no such host mx1.example.org", "550 5.1.1", "timeout after 30 s", "[greylisted]")


def reader_of(words: Tokenizer, model: PreparedModel, **tables: Any) -> TopicReader:  # noqa: ANN401
    return TopicReaders(Settings.model_validate({"topic": [{"name": "logs"}], **tables}), model, words).of_topic("logs")


def templates_of(reader: TopicReader, values: Sequence[bytes], redactor: Redactor | None = None) -> list[str]:
    """Return the template text of each value, which has one line."""
    entries = reader.decoder.decode(values, np.zeros(len(values), np.int64)).entries
    pieces = split_entries(entries, redactor=redactor or Redactor([]), chunker=reader.chunker)
    assert pieces.cut.row.tolist() == list(range(len(values)))
    return [pieces.cut.template.text(i) for i in range(len(values))]


def labelled_events(size: int) -> list[tuple[tuple[str, str], bytes]]:
    """Return events of Serilog with values of every kind, each with its logger and template."""
    draw = random.Random(7)
    events = []
    for _ in range(size):
        logger, template = draw.choice(LOGGERS), draw.choice(TEMPLATES)
        values = {
            "Count": draw.randrange(900),
            "Sku": f"sku-{draw.choice('abcd')}",
            "User": draw.choice(USERS),
            "Reason": draw.choice(REASONS),
        }
        event = {"@t": "2026-05-28T20:10:00Z", "@mt": template, "SourceContext": logger, **values}
        events.append(((logger, template), json.dumps(event).encode()))
    return events


def test_lines_of_one_statement_are_one_template_whatever_their_values(words: Tokenizer, prepared_model: PreparedModel) -> None:
    events = labelled_events(400)
    found = templates_of(reader_of(words, prepared_model), [value for _, value in events])
    by_label = {label: {text for (one, _), text in zip(events, found, strict=True) if one == label} for label, _ in events}
    assert len(by_label) == len(LOGGERS) * len(TEMPLATES)
    assert {len(texts) for texts in by_label.values()} == {1}, "no label has two templates"
    assert len(set(found)) == len(by_label), "no template has two labels"
    masked = templates_of(reader_of(words, prepared_model, decode={"source_templates": False}), [value for _, value in events])
    assert len(set(masked)) > 3 * len(TEMPLATES), "the values make the difference where texts are masked"


def test_templates_do_not_depend_on_order_or_neighbours(words: Tokenizer, prepared_model: PreparedModel) -> None:
    values = [value for _, value in labelled_events(60)] + [b"added 3 of sku-a for ann", b'{"msg":"ann left","logger":"Shop.Cart"}']
    together = dict(zip(values, templates_of(reader_of(words, prepared_model), values), strict=True))
    random.Random(3).shuffle(values)
    assert dict(zip(values, templates_of(reader_of(words, prepared_model), values), strict=True)) == together
    reader = reader_of(words, prepared_model)
    assert {value: templates_of(reader, [value])[0] for value in values} == together


def test_a_template_is_the_source_template_after_the_masks(words: Tokenizer, prepared_model: PreparedModel) -> None:
    event = {"@t": "2026-05-28T20:10:00Z", "@mt": "order 4711 of {User} took {Elapsed:0.00} ms", "SourceContext": "Shop", "User": "ann"}
    (found,) = templates_of(reader_of(words, prepared_model), [json.dumps(event).encode()])
    assert found == Masker().mask(["Shop: order 4711 of {User} took {Elapsed:0.00} ms"])[0]
    assert "{User}" in found
    assert "4711" not in found


@pytest.mark.parametrize("tables", [{"mask": {"mode": "exact"}}, {"decode": {"source_templates": False}}])
def test_exact_masks_and_a_switch_leave_source_templates_alone(
    words: Tokenizer, prepared_model: PreparedModel, tables: dict[str, Any]
) -> None:
    assert templates_of(reader_of(words, prepared_model, **tables), [b'{"@mt":"{User} left","User":"ann"}']) == ["ann left"]


def test_a_field_that_the_settings_trust_is_a_source_template(words: Tokenizer, prepared_model: PreparedModel) -> None:
    value = b'{"message":"ann left","log":{"record":{"template":"<*> left"}}}'
    assert templates_of(reader_of(words, prepared_model), [value]) == ["ann left"]
    trusting = reader_of(words, prepared_model, decode={"template_fields": ["log.record.template"]})
    assert templates_of(trusting, [value]) == ["<*> left"]


def test_secrets_of_a_source_template_are_not_stored_and_are_counted_in_every_entry() -> None:
    redactor = Redactor(["email"])
    sources = ["Mail to ann@example.org for {User}", None, "Mail to ann@example.org for {User}", "{User} left"]
    entries = entries_of(*(Entry("x", row) for row in range(4)))._replace(template=string_column(sources))
    pieces = split_entries(entries, redactor=redactor, chunker=chunker_of())
    found = [pieces.cut.template.text(i) for i in range(4)]
    assert not any("ann" in text for text in found)
    assert (found[0], found[1], found[3]) == (found[2], "x", "{user} left")
    assert redactor.counts == {"email": 2}


def test_a_template_longer_than_a_piece_is_none() -> None:
    sources = ["t" * PIECE_BYTES, "t" * (PIECE_BYTES + 1)]
    entries = entries_of(Entry("x", 0), Entry("y", 1))._replace(template=string_column(sources))
    pieces = split_entries(entries, redactor=Redactor([]), chunker=chunker_of(max_tokens=10**6))
    assert [pieces.cut.template.text(i) for i in range(2)] == [sources[0], "y"]


def test_a_joined_event_has_the_template_of_its_first_record() -> None:
    values = [b'{"@mt":"could not add {Sku}","Sku":"sku-7"}', b"java.io.IOException: gone", b"\tat Shop.add(Shop.java:7)"]
    records = RecordColumns(OFFSETS[:1] + np.arange(3), KAFKA_TIMES, None, values, [3])
    decoded = EventJoiner(MultilineTable(start="java"), Decoder().open_texts).join(records, decode_values(values), is_over=True).decoded
    pieces = split_entries(decoded.entries, redactor=Redactor([]), chunker=chunker_of())
    lines = all_lines(PLACE, lines_of_pieces(pieces, OFFSETS, KAFKA_TIMES))
    assert [(line.text, line.template_text, line.records) for line in lines] == [
        ("could not add sku-7", "could not add {sku}", 3),
        (lines[1].text, (lines[1].text or "").lower(), 3),
    ]


def test_templates_stay_with_their_entries_when_others_are_put_before_them() -> None:
    first = entries_of(Entry("a", 0), Entry("b", 1))._replace(template=string_column([None, "of b"]))
    other = entries_of(Entry("c", 0))
    joined = join_entries([other._replace(row=np.array([2])), first._replace(row=np.array([0, 3]))])
    assert joined.text.to_pylist() == ["a", "c", "b"]
    assert joined.template is not None
    assert joined.template.to_pylist() == [None, None, "of b"]
    assert [entry.template for entry in seen(joined.take(np.array([2, 0])))] == ["of b", None]
    assert join_entries([other, other._replace(template=null_column(1))]).template is not None
    assert join_entries([other, other]).template is None
