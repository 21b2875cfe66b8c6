"""`vectail peek`: shows how records of a topic, or lines of a file, are decoded with the current settings. Nothing is indexed or committed.

Of a topic the newest records are read, without a group; of a file the first lines.
"""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import Any

from consumers.decode.from_line import LineHeaders
from consumers.decode.rules import Format
from consumers.groupless.groupless_reader import GrouplessReader
from consumers.record import Partition, Record
from producers.file_lines import LineTooLarge, read_files
from worker.cli.absent_server import REACH_S
from worker.cli.line_source import LineSource, line_source, source_failures
from worker.cli.output import warn
from worker.connections import open_registry
from worker.embedding.loaded import model_of
from worker.embedding.tokenizer import Tokenizer
from worker.indexing.schema_fetch import SchemaFetch
from worker.indexing.topic_readers import TopicReaders
from worker.inspecting.peeked import Peek
from worker.runtime.logs import configure_logs
from worker.settings.masks_version import topic_masks_version
from worker.settings.settings import Settings
from worker.settings.topic_tables import TopicTable

_ANSWER_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PeekOptions:
    """The options of `vectail peek`."""

    source: str | None = None
    """A file, `-` for standard input, or a topic."""
    file: str | None = None
    """Instead: a file, whatever topics there are."""
    number: int = 10
    topic: str | None = None
    """Of a file: the topic whose settings hold; without one: the topic to read. None: the first of the settings."""
    form: Format | None = None
    """Instead of the format in the settings."""


def peek(settings: Settings, options: PeekOptions) -> dict[str, Any]:
    """Decode some records and return what `--json` prints. Raises CommandFailed."""
    configure_logs()
    source = line_source(options.source, settings, file=options.file, topic=options.topic)
    topic = source.topic
    if options.form is not None:
        table = settings.topic_table(topic).model_copy(update={"name": topic, "pattern": None, "exclude": (), "format": options.form})
        settings = settings.model_copy(update={"topic": (table, *settings.topic)})
    with source_failures(source, settings):
        records = list(_lines_of(source, settings, options.number) if source.is_file else _records_of(topic, options.number, settings))
        told = _look_at(settings, topic, records)
    table = settings.topic_table(topic)
    return {
        "topic": topic,
        "source": "file" if source.is_file else "topic",
        "masks": topic_masks_version(settings, topic),
        "records": told,
        "summary": _summary(told, table),
    }


def _look_at(settings: Settings, topic: str, records: Sequence[Record]) -> list[dict[str, Any]]:
    """Look at records, one by one. Raises ModelError, RegistryMisconfigured, RegistryAway."""
    registry = open_registry(settings.registry)
    fetch = None if registry is None else SchemaFetch(registry)
    model = model_of(settings)
    rules = settings.topic_table(topic).rules(settings.decode)
    with closing(Tokenizer(model)) as tokenizer:
        readers = TopicReaders(settings, model, tokenizer, None if fetch is None else fetch.schemas)
        looking = Peek(
            reader=readers.of_topic(topic),
            tally=readers.decode_tally,
            headers=LineHeaders(rules.clock),
            redactor=readers.redactor,
            tokenizer=tokenizer,
            prefix=model.document_prefix,
        )
        if fetch is not None:
            fetch.fetch_for([record.value for record in records], [record.headers for record in records])
        return [_looked_at(looking, record, time.time() * 1000) for record in records]


def _looked_at(looking: Peek, record: Record, now_ms: float) -> dict[str, Any]:
    """Look at a record. One of a file has no time of Kafka's; a time in its line that needs one to find its year is as if sent now."""
    told = looking.look_at(record, now_ms)
    if not record.time_ms and any(entry["time_from"] == "kafka" for entry in told["entries"]):
        sent_now = looking.look_at(record._replace(time_ms=int(now_ms)), now_ms)["entries"]
        for entry, other in zip(told["entries"], sent_now, strict=True):
            if entry["time_from"] == "kafka" != other["time_from"]:
                entry |= {"time": other["time"], "time_from": other["time_from"]}
    return told


def _lines_of(source: LineSource, settings: Settings, number: int) -> Iterator[Record]:
    """Return the first lines of a file as records that have no time. Raises FileUnreadable."""
    lines = read_files([source.name], say=warn, max_record_bytes=settings.decode.max_record_bytes)
    for offset, line in enumerate(islice(lines, number)):
        value = line.head + bytes(line.size_bytes - len(line.head)) if isinstance(line, LineTooLarge) else line
        yield Record(source.topic, 0, offset, "", 0, None, value, ())


def _records_of(topic: str, number: int, settings: Settings) -> Iterator[Record]:
    """Return the newest records of a topic, by partition and offset. Raises TopicUnknown, RangeUnreadable, SourceMisconfigured."""
    kafka = settings.kafka
    with closing(GrouplessReader(kafka.bootstrap_servers, kafka.librdkafka, topic_epoch=kafka.topic_epoch or "-")) as reader:
        ranges = reader.offset_ranges(reader.partitions([topic], REACH_S), _ANSWER_S)
        filled: dict[Partition, tuple[int, int]] = {
            partition: (max(found.first_offset, found.end_offset - number), found.end_offset)
            for partition, found in ranges.items()
            if found.end_offset > found.first_offset
        }
        newest: list[Record] = []
        for partition, (first, end) in filled.items():
            for records in reader.read(partition, first, end, epoch="", timeout_s=_ANSWER_S):
                newest += records
    newest.sort(key=lambda record: (record.time_ms, record.offset))
    yield from sorted(newest[-number:], key=lambda record: (record.partition, record.offset))


def _summary(told: Sequence[dict[str, Any]], table: TopicTable) -> dict[str, Any]:
    """Return the totals of what was seen."""
    entries = [entry for one in told for entry in one["entries"]]
    return {
        "records": len(told),
        "entries": len(entries),
        "by_format": dict(Counter(one["format"] for one in told if one["format"] and one["outcome"] != "rejected").most_common()),
        "empty": sum(one["outcome"] == "empty" for one in told),
        "rejected": dict(Counter(one["reason"] for one in told if one["outcome"] == "rejected").most_common()),
        "with_time": sum(entry["time_from"] != "kafka" for entry in entries),
        "with_level": sum(bool(entry["level"]) for entry in entries),
        "with_service": sum(bool(entry["service"]) for entry in entries),
        "with_fields": sum(entry["fields"] is not None for entry in entries),
        "dropped": sum(entry["dropped_by"] is not None for entry in entries),
        "templates": len({chunk["template"] for entry in entries for chunk in entry["chunks"]}),
        "joins_records": table.multiline is not None,
    }
