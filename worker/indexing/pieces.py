"""Splits log entries into pieces as configured: the only place that decides which lines are stored of an entry.

Prepare builds the index with it, `vectail estimate` predicts an index, and `worker.inspecting` computes the lines that a record must have.
Redaction happens here, before anything is chunked, embedded or stored. All of it works on columns, without an object for each line.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from consumers.columns import Coded, Column, as_texts, coded, coded_texts, present, replace_rows, string_column, take
from consumers.decode.decode_tally import DecodeTally
from consumers.decode.decoder import Decoder
from consumers.decode.entries import Entries
from consumers.decode.registry_schemas import Schemas
from consumers.text.chunk import Chunker, Cut
from consumers.text.redact import Redactor
from consumers.text.split_long import PieceLimits
from sinks import block
from sinks.block import Lines
from sinks.line import LEVEL_BYTES, NO_LEADER_EPOCH, PIECE_BYTES, SERVICE_BYTES
from sinks.lines import cut_of, take_coded
from sinks.row import TemplateText
from worker.embedding.model.prepared import PreparedModel
from worker.embedding.tokenizer import Tokenizer
from worker.indexing.redact_fields import redact_fields
from worker.settings.tables import DecodeTable, MaskTable, new_masker
from worker.settings.topic_tables import TopicTable


def new_decoder(topic: TopicTable, decode: DecodeTable, tally: DecodeTally | None = None, schemas: Schemas | None = None) -> Decoder:
    """Return a decoder as configured for a topic; `schemas` are those of the Schema Registry, if there is one."""
    return Decoder(topic.rules(decode), tally=tally, schemas=schemas)


def new_chunker(mask: MaskTable, decode: DecodeTable, model: PreparedModel, tokenizer: Tokenizer) -> Chunker:
    """Return a chunker as configured; it may be used only on the thread of `tokenizer`."""
    prefix = model.document_prefix
    return Chunker(
        mask=new_masker(mask).mask_column,
        count_tokens=lambda texts: tokenizer.count([prefix + text for text in texts]).tolist(),
        limits=PieceLimits(
            max_tokens=model.max_tokens,
            overhead_tokens=int(tokenizer.count([prefix])[0]),
            max_text_bytes=PIECE_BYTES,
            max_chunks=decode.max_chunks,
        ),
        takes_templates=mask.mode == "template",
        takes_values=mask.takes_values,
    )


class Pieces(NamedTuple):
    """Log entries, and how they were split.

    Thread: any.
    """

    entries: Entries
    """Redacted, with labels as long as a block takes. Their texts are uncut."""
    cut: Cut
    """m pieces; its rows are rows of `entries`. An entry that it calls too long has none."""
    cut_id: NDArray[np.uint64]
    """uint64[m]: how the entry of each piece was cut (`sinks.lines.cut_of`); 0 where it has only one."""


def split_entries(entries: Entries, *, redactor: Redactor, chunker: Chunker) -> Pieces:
    """Redact n entries, clip their labels, split and mask them. Only what is returned may be embedded or stored.

    A level is one of a few words (`consumers.decode.levels`) and holds no secret.
    """
    text, trace, fields, service, source = entries.text, entries.trace, entries.fields, entries.service, entries.template
    if redactor.has_rules:
        text, service = redactor.redact_column(text), _redact_labels(service, redactor)
        trace, fields = None if trace is None else _redact_traces(trace, redactor), redact_fields(fields, redactor)
        source = None if source is None else _redact_sources(source, redactor)
    entries = entries._replace(
        text=text,
        trace=trace,
        template=source,
        fields=fields,
        service=_renamed(service, [_clip(label, SERVICE_BYTES) for label in service.values]),
        level=_renamed(entries.level, [_clip(level, LEVEL_BYTES) for level in entries.level.values]),
    )
    cut = chunker.split(text, trace, source, fields)
    return Pieces(entries, cut, _cut_ids(cut))


def lines_of_pieces(
    pieces: Pieces, offset: NDArray[np.int64], kafka_time: NDArray[np.int64], leader_epoch: NDArray[np.int32] | None = None
) -> Lines:
    """Return what is stored of entries of one partition: a line for each piece, in their order.

    The columns are of the decoded values: row `entries.row[i]` of them belongs to entry i, and those of an entry of several records are
    neighbours. For entries of several partitions the lines are to be told apart by `entries.row`. No `leader_epoch`: none is known.
    """
    entries, cut = pieces.entries, pieces.cut
    value = entries.row[cut.row]
    records = np.ones(len(cut.row), np.int32) if entries.records is None else entries.records[cut.row]
    if leader_epoch is None:
        leader_epoch = np.full(len(offset), NO_LEADER_EPOCH, np.int32)
    of_first = leader_epoch[value]
    return Lines(
        offset=offset[value],
        sub=entries.sub[cut.row],
        chunk=cut.chunk,
        chunks=cut.chunks,
        cut=pieces.cut_id,
        records=records,
        entries=entries_of_records(value, cut.row),
        time=entries.time_ms[cut.row],
        kafka_time=kafka_time[value],
        leader_epoch=of_first,
        last_leader_epoch=of_first if entries.records is None else leader_epoch[value + records - 1],
        service=take_coded(block.CodedColumn(*entries.service), cut.row),
        level=take_coded(block.CodedColumn(*entries.level), cut.row),
        template=block.CodedColumn(cut.template.codes, tuple(map(TemplateText, cut.template.values))),
        text=cut.text,
        fields=entries.fields if cut.text is entries.text else take(entries.fields, cut.row),
    )


def entries_of_records(record: NDArray[np.int64], entry: NDArray[np.generic]) -> NDArray[np.int32]:
    """Return for each of n pieces how many entries its record has: int32[n]. Pieces of one record, and of one entry, are neighbours."""
    is_entry = np.ones(len(record), np.bool_)
    is_entry[1:] = (record[1:] != record[:-1]) | (entry[1:] != entry[:-1])
    begins = np.flatnonzero(is_entry)
    if (record[begins[1:]] != record[begins[:-1]]).all():
        return np.ones(len(record), np.int32)
    _, of_record, entries = np.unique(record[begins], return_inverse=True, return_counts=True)
    counted: NDArray[np.int32] = entries.astype(np.int32)[of_record][np.cumsum(is_entry) - 1]
    return counted


def _cut_ids(cut: Cut) -> NDArray[np.uint64]:
    """Return how the entry of each piece was cut; the pieces of an entry are neighbours."""
    cut_id = np.zeros(len(cut.row), np.uint64)
    split = np.flatnonzero(cut.chunks > 1)
    if len(split):
        texts = as_texts(take(cut.text, split))
        starts = np.flatnonzero(cut.chunk[split] == 0)
        for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(split)], strict=True):
            cut_id[split[start:end]] = cut_of(texts[start:end])
    return cut_id


def _redact_traces(trace: Column, redactor: Redactor) -> Column:
    rows = np.flatnonzero(present(trace))
    return replace_rows(trace, rows, redactor.redact_column(take(trace, rows))) if len(rows) else trace


def _redact_sources(source: Column, redactor: Redactor) -> Column:
    """Redact source templates; few of them differ."""
    rows = np.flatnonzero(present(source))
    before = coded(take(source, rows))
    after = _redact_labels(before, redactor)
    return source if after is before else replace_rows(source, rows, take(string_column(after.values), after.codes.astype(np.int64)))


def _redact_labels(column: Coded, redactor: Redactor) -> Coded:
    redacted = redactor.redact(column.values)
    if tuple(redacted) == column.values:
        return column
    for label, after, entries in zip(column.values, redacted, np.bincount(column.codes).tolist(), strict=True):
        if after != label:
            redactor.redact([label] * (entries - 1))  # it counts what it replaces, in every entry
    return _renamed(column, redacted)


def _renamed(column: Coded, values: Sequence[str]) -> Coded:
    """Return the column with other values, some of which may be alike now."""
    if tuple(values) == column.values:
        return column
    renamed = coded_texts(values)
    return Coded(renamed.codes[column.codes], renamed.values)


def _clip(text: str, most_bytes: int) -> str:
    """Cut a label to what is stored of it: labels are for filtering, so a cut one is better than a dead letter."""
    return text if len(text) * 4 <= most_bytes else text.encode("utf-8", "replace")[:most_bytes].decode("utf-8", "ignore")
