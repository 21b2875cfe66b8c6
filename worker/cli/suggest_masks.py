"""`vectail templates --suggest`: suggests masks that would merge templates, from a sample of a file or of a topic's newest records.

It reads with the user's settings and masks included, and sends, stores and commits nothing; it needs neither a model nor an index.
`--json` prints what `suggest_masks` returns.
"""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

from consumers.columns import Column, concat
from consumers.groupless.groupless_reader import GrouplessReader
from worker.cli.absent_server import REACH_S
from worker.cli.exits import user_error
from worker.cli.line_source import LineSource, line_source, source_failures
from worker.cli.output import warn
from worker.connections import open_registry
from worker.estimate.line_sampling import LineSample
from worker.estimate.newest_records import newest_records
from worker.estimate.sample_texts import SampleTexts
from worker.indexing.schema_fetch import SchemaFetch
from worker.masks.offered_masks import suggested, suggestions_json
from worker.runtime.logs import configure_logs
from worker.settings.masks_version import masks_version
from worker.settings.settings import Settings

SAMPLE_LINES = 20_000
MOST_SUGGESTIONS = 20
_MOST_BYTES = 1 << 28
"""Of texts that are held at once; reading stops there."""
_ANSWER_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestOptions:
    """The options of `vectail templates --suggest`."""

    source: str | None = None
    """A file, `-` for standard input, or a topic."""
    file: str | None = None
    """Instead: a file, whatever topics there are."""
    sample_lines: int = SAMPLE_LINES
    top: int = MOST_SUGGESTIONS
    topic: str | None = None
    """Of a file: the topic whose settings hold; without one: the topic to read. None: the first of the settings."""


def suggest_masks(settings: Settings, options: SuggestOptions) -> dict[str, object]:
    """Read a sample and return what `--json` prints. Raises CommandFailed."""
    configure_logs(quiet=True)
    source = line_source(options.source, settings, file=options.file, topic=options.topic)
    topic, table = source.topic, settings.masks_of(source.topic)
    if table.mode == "exact":
        raise user_error("mask.mode is exact, so no mask is applied; templates come with mode template")
    with source_failures(source, settings):
        texts, text, basis = _read_file(settings, options, source) if source.is_file else _read_topic(settings, options, topic)
    found = suggested(table, text, top=options.top)
    return {
        "source": source.name,
        "topic": topic,
        "basis": basis,
        "lines": texts.lines,
        "entries": texts.entries,
        "left_out": texts.left_out,
        "masks": masks_version(table),
        "table": "mask" if settings.topic_table(topic).mask is None else "topic.mask",
        "templates": found.before,
        "templates_after": found.after,
        "suggestions": suggestions_json(found),
    }


def _read_file(settings: Settings, options: SuggestOptions, source: LineSource) -> tuple[SampleTexts, Column, str]:
    """Raises FileUnreadable."""
    sample = LineSample([source.name], sample_lines=options.sample_lines, max_record_bytes=settings.decode.max_record_bytes, say=warn)
    texts = SampleTexts(settings, source.topic)
    some = ([line for stretch in stretches for line in stretch.lines if line is not None] for stretches in sample.lists())
    table = settings.masks_of(source.topic)
    text, is_whole = _concat_bounded(texts.read(values).of(table) for values in some)
    return texts, text, sample.basis if is_whole else "first"


def _read_topic(settings: Settings, options: SuggestOptions, topic: str) -> tuple[SampleTexts, Column, str]:
    """Raises TopicUnknown, RangeUnreadable, SourceMisconfigured, RegistryMisconfigured, RegistryAway."""
    registry = open_registry(settings.registry)
    fetch = None if registry is None else SchemaFetch(registry)
    texts = SampleTexts(settings, topic, None if fetch is None else fetch.schemas)
    kafka, table = settings.kafka, settings.masks_of(topic)
    with closing(GrouplessReader(kafka.bootstrap_servers, kafka.librdkafka, topic_epoch=kafka.topic_epoch or "-")) as reader:
        reader.partitions([topic], REACH_S)

        def columns() -> Iterator[Column]:
            for records in newest_records(reader, topic, options.sample_lines, timeout_s=_ANSWER_S):
                values, headers = [record.value for record in records], [record.headers for record in records]
                if fetch is not None:
                    fetch.fetch_for(values, headers)
                yield texts.read(values, headers).of(table)

        text, _ = _concat_bounded(columns())
    return texts, text, "newest"


def _concat_bounded(columns: Iterator[Column]) -> tuple[Column, bool]:
    """Return texts as one column, and whether these are all."""
    read: list[Column] = []
    size_bytes = 0
    for column in columns:
        read.append(column)
        size_bytes += column.nbytes
        if size_bytes > _MOST_BYTES:
            return concat(read), False
    return concat(read), True
