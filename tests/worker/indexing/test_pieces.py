"""What is stored of an entry."""

import json
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pytest

from consumers.columns import Coded, Column, as_texts, coded, coded_texts, null_column, string_column
from consumers.decode.entries import Entries
from consumers.text.chunk import Chunker
from consumers.text.redact import Redactor
from consumers.text.split_long import PieceLimits
from sinks.block import BlockPlace
from sinks.line import LEVEL_BYTES, PIECE_BYTES, SERVICE_BYTES, Line
from sinks.lines import all_lines, cut_of
from sinks.row import TemplateText
from tests.consumers.counters import count_all, words
from worker.indexing.pieces import Pieces, lines_of_pieces, split_entries

PLACE = BlockPlace("logs", "e1", 3)
OFFSETS = np.array([70, 80, 95])
KAFKA_TIMES = np.array([1_000, 2_000, 3_000])


class Entry(NamedTuple):
    """A log entry as a test writes it."""

    text: str
    row: int = 0
    sub: int = 0
    time_ms: int = 5
    service: str = ""
    level: str = ""


def lower(column: Column) -> Coded:
    return coded(string_column([text.lower() for text in as_texts(column)]))


def entries_of(*entries: Entry) -> Entries:
    return Entries(
        row=np.array([entry.row for entry in entries]),
        sub=np.array([entry.sub for entry in entries], np.int32),
        text=string_column([entry.text for entry in entries]),
        time_ms=np.array([entry.time_ms for entry in entries]),
        service=coded_texts(entry.service for entry in entries),
        level=coded_texts(entry.level for entry in entries),
        fields=null_column(len(entries)),
    )


def chunker_of(max_tokens: int = 10_000) -> Chunker:
    """Return a chunker whose masked texts are in lower case."""
    return Chunker(
        mask=lower,
        count_tokens=count_all(words),
        limits=PieceLimits(max_tokens=max_tokens, overhead_tokens=2, max_text_bytes=PIECE_BYTES, max_chunks=8),
    )


def split(*entries: Entry, redact: Sequence[str] = (), max_tokens: int = 10_000) -> Pieces:
    return split_entries(entries_of(*entries), redactor=Redactor(redact), chunker=chunker_of(max_tokens))


def stored(*entries: Entry, redact: Sequence[str] = (), max_tokens: int = 10_000) -> list[Line]:
    lines = lines_of_pieces(split(*entries, redact=redact, max_tokens=max_tokens), OFFSETS, KAFKA_TIMES)
    for column in (lines.service, lines.level, lines.template):
        assert sorted(set(column.codes.tolist())) == list(range(len(column.values))), "every value is used"
        assert len(set(column.values)) == len(column.values)
    return all_lines(PLACE, lines)


def test_values_of_fields_go_from_the_template_alone_and_as_they_are_after_redaction() -> None:
    entries = entries_of(Entry("mail to someone@example.org on db-1"), Entry("mail to someone@example.org on db-1", row=1))
    entries = entries._replace(fields=string_column(['{"host":"db-1","user":"someone@example.org"}', None]))
    for rules, host in (((), "mail to someone on host"), (("email",), "mail to <email> on host")):
        pieces = split_entries(entries, redactor=Redactor(rules), chunker=chunker_of())
        raw = as_texts(pieces.cut.text)
        assert raw == [raw[0]] * 2
        assert raw[0].endswith(" on db-1")
        assert [pieces.cut.template.text(i) for i in range(2)] == [host, raw[0].lower()]


def test_all_of_an_entry_is_stored() -> None:
    assert stored(Entry("Disk Full", 1, 2, 5, "cart", "WARN"), Entry("Disk Half Full", 2)) == [
        Line(
            *PLACE,
            offset=80,
            sub=2,
            chunk=0,
            chunks=1,
            text="Disk Full",
            template_text=TemplateText("disk full"),
            time=5,
            kafka_time=2_000,
            service="cart",
            level="WARN",
        ),
        Line(
            *PLACE,
            offset=95,
            sub=0,
            chunk=0,
            chunks=1,
            text="Disk Half Full",
            template_text=TemplateText("disk half full"),
            time=5,
            kafka_time=3_000,
        ),
    ]


@pytest.mark.parametrize("redact", [(), ("all",)], ids=["no rules", "rules"])
def test_nothing_is_copied_of_entries_that_are_stored_as_they_came(redact: Sequence[str]) -> None:
    entry = Entry("disk full", service="cart", level="WARN")
    entries = entries_of(entry, entry)
    pieces = split_entries(entries, redactor=Redactor(redact), chunker=chunker_of())
    assert all(after is before for after, before in zip(pieces.entries, entries, strict=True))
    lines = lines_of_pieces(pieces, OFFSETS, KAFKA_TIMES)
    assert lines.text is pieces.cut.text is pieces.entries.text
    assert lines.fields is pieces.entries.fields


def test_the_chunks_of_a_line_say_how_it_was_cut() -> None:
    text = "ten words of which each is a few bytes long"
    before, *lines, after = stored(Entry("before"), Entry(text, 1, 3, 6, "cart", "WARN"), Entry("after", 2), max_tokens=7)
    texts = [line.text or "" for line in lines]
    assert len(lines) > 2
    assert "".join(texts) == text
    assert {(line.chunks, line.cut) for line in lines} == {(len(lines), cut_of(texts))}
    assert [line.chunk for line in lines] == list(range(len(lines)))
    assert [line.template_text for line in lines] == [one.lower() for one in texts]
    assert {(line.offset, line.sub, line.time, line.kafka_time, line.service, line.level) for line in lines} == {
        (80, 3, 6, 2_000, "cart", "WARN")
    }
    assert [(line.text, line.chunks, line.cut, line.service) for line in (before, after)] == [("before", 1, 0, ""), ("after", 1, 0, "")]


def test_nothing_is_stored_of_an_entry_with_too_many_chunks() -> None:
    entries = [Entry("first", service="a"), Entry(" ".join(["word"] * 200), 1, service="b"), Entry("last", 2, service="c")]
    assert split(*entries, max_tokens=7).cut.too_long.tolist() == [1]
    assert [(line.offset, line.text, line.service) for line in stored(*entries, max_tokens=7)] == [(70, "first", "a"), (95, "last", "c")]


def test_fields_stay_with_their_entries_when_others_are_cut_or_too_long() -> None:
    texts = ["first", " ".join(["word"] * 200), "one two three four"]
    entries = entries_of(*(Entry(text, row) for row, text in enumerate(texts)))._replace(fields=string_column(["{}", '{"a":1}', '{"b":2}']))
    lines = lines_of_pieces(split_entries(entries, redactor=Redactor([]), chunker=chunker_of(max_tokens=7)), OFFSETS, KAFKA_TIMES)
    assert [(line.offset, line.fields) for line in all_lines(PLACE, lines)] == [(70, "{}"), (95, '{"b":2}'), (95, '{"b":2}')]


def test_a_piece_is_no_longer_than_a_block_takes() -> None:
    lines = stored(Entry("ä" * (2 * PIECE_BYTES)), max_tokens=10**9)
    assert "".join(line.text or "" for line in lines) == "ä" * (2 * PIECE_BYTES)
    assert max(len((line.text or "").encode()) for line in lines) <= PIECE_BYTES


@pytest.mark.parametrize(
    ("service", "kept"), [("s" * 300, "s" * SERVICE_BYTES), ("ä" * 200, "ä" * 128), ("a" + "ä" * 200, "a" + "ä" * 127)]
)
def test_a_long_service_is_cut_to_its_column_between_two_characters(service: str, kept: str) -> None:
    (line,) = stored(Entry("disk full", service=service, level="x" * 100))
    assert (line.service, line.level) == (kept, "x" * LEVEL_BYTES)


def test_services_that_are_alike_once_they_are_cut_are_one() -> None:
    lines = stored(*(Entry("disk full", row, service="s" * SERVICE_BYTES + end) for row, end in enumerate("aba")))
    assert [line.service for line in lines] == ["s" * SERVICE_BYTES] * 3


def test_secrets_are_counted_in_every_entry() -> None:
    redactor = Redactor(["email"])
    entries = [Entry("mail from ann@example.org", 0, service="ann@example.org"), *[Entry("mail", 1, service="ann@example.org")] * 2]
    split_entries(entries_of(*entries), redactor=redactor, chunker=chunker_of())
    assert redactor.counts == {"email": 4}


def test_a_service_is_redacted_before_it_is_cut() -> None:
    (line,) = stored(Entry("disk full", service="s" * (SERVICE_BYTES - 4) + " ann@example.org"), redact=["email"])
    assert "ann" not in line.service
    assert len(line.service) <= SERVICE_BYTES


def test_a_trace_is_stored_behind_its_text_with_templates_of_its_own() -> None:
    entries = entries_of(Entry("Disk full", 0), Entry("other", 1))._replace(trace=string_column(["\nAt x", None]))
    pieces = split_entries(entries, redactor=Redactor([]), chunker=chunker_of())
    lines = all_lines(PLACE, lines_of_pieces(pieces, OFFSETS, KAFKA_TIMES))
    assert [(line.offset, line.chunk, line.chunks, line.text, line.template_text) for line in lines] == [
        (70, 0, 2, "Disk full", "disk full"),
        (70, 1, 2, "\nAt x", "\nat x"),
        (80, 0, 1, "other", "other"),
    ]
    assert lines[0].cut == lines[1].cut == cut_of(["Disk full", "\nAt x"])


def test_secrets_are_stored_neither_of_a_trace_nor_of_a_field() -> None:
    entries = entries_of(Entry("full", 0), Entry("full", 1), Entry("full", 2), Entry("full", 2, 1))._replace(
        trace=string_column(["\nmail from ann@example.org", None, None, None]),
        fields=string_column([
            '{"a":"ann@example.org","n":5,"b":true}',
            '{"password":"hunter2","c":"x"}',
            '{"a":"say \\"password=hunter2\\"","d":"e"}',
            '{"a":"b"}',
        ]),
    )  # fmt: skip
    redactor = Redactor(["email", "password"])
    lines = all_lines(PLACE, lines_of_pieces(split_entries(entries, redactor=redactor, chunker=chunker_of()), OFFSETS, KAFKA_TIMES))
    stored_of = [(line.text, line.template_text, line.fields) for line in lines]
    assert not any("ann" in (one or "") or "hunter2" in (one or "") for several in stored_of for one in several)
    fields = [json.loads(line.fields or "") for line in lines if line.chunk == 0]
    assert [one.keys() for one in fields] == [{"a", "n", "b"}, {"password", "c"}, {"a", "d"}, {"a"}]
    assert (fields[0]["n"], fields[0]["b"], fields[1]["c"], fields[2]["d"], fields[3]["a"]) == (5, True, "x", "e", "b")
    assert redactor.counts == {"email": 2, "password": 2}
