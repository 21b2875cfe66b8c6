"""`vectail templates --suggest`: suggests masks that would merge templates, from a sample of a file or of a topic's newest records.

It reads with the user's settings and masks included, and sends, stores and commits nothing; it needs neither a model nor an index.
`--json` prints what `suggest_masks` returns.
"""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from consumers.columns import Column, concat
from consumers.groupless.groupless_reader import GrouplessReader, RangeUnreadable, TopicUnknown
from consumers.kafka.source_settings import SourceMisconfigured
from consumers.registry import RegistryAway, RegistryMisconfigured
from producers.file_lines import STDIN, FileUnreadable
from worker.cli.exits import failure, user_error
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

    source: str
    """A file, `-` for standard input, or a topic."""
    sample_lines: int = SAMPLE_LINES
    top: int = MOST_SUGGESTIONS
    topic: str | None = None
    """Of a file: the topic whose settings hold. None: the first of the settings."""


def suggest_masks(settings: Settings, options: SuggestOptions) -> dict[str, object]:
    """Read a sample and return what `--json` prints. Raises CommandFailed."""
    configure_logs(quiet=True)
    is_file = options.source == STDIN or Path(options.source).exists()
    topic = options.source if not is_file else options.topic or next((one.name for one in settings.topic if one.name), "logs")
    table = settings.masks_of(topic)
    if table.mode == "exact":
        raise user_error("mask.mode is exact, so no mask is applied; templates come with mode template")
    try:
        texts, text, basis = _read_file(settings, options, topic) if is_file else _read_topic(settings, options, topic)
    except (FileUnreadable, SourceMisconfigured, TopicUnknown, RegistryMisconfigured) as error:
        raise user_error(error) from error
    except (RangeUnreadable, RegistryAway) as error:
        raise failure(error) from error
    found = suggested(table, text, top=options.top)
    return {
        "source": options.source,
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


def _read_file(settings: Settings, options: SuggestOptions, topic: str) -> tuple[SampleTexts, Column, str]:
    """Raises FileUnreadable."""
    sample = LineSample([options.source], sample_lines=options.sample_lines, max_record_bytes=settings.decode.max_record_bytes, say=warn)
    texts = SampleTexts(settings, topic)
    some = ([line for stretch in stretches for line in stretch.lines if line is not None] for stretches in sample.lists())
    table = settings.masks_of(topic)
    text, is_whole = _concat_bounded(texts.read(values).of(table) for values in some)
    return texts, text, sample.basis if is_whole else "first"


def _read_topic(settings: Settings, options: SuggestOptions, topic: str) -> tuple[SampleTexts, Column, str]:
    """Raises TopicUnknown, RangeUnreadable, SourceMisconfigured, RegistryMisconfigured, RegistryAway."""
    registry = open_registry(settings.registry)
    fetch = None if registry is None else SchemaFetch(registry)
    texts = SampleTexts(settings, topic, None if fetch is None else fetch.schemas)
    kafka, table = settings.kafka, settings.masks_of(topic)
    with closing(GrouplessReader(kafka.bootstrap_servers, kafka.librdkafka, topic_epoch=kafka.topic_epoch or "-")) as reader:

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
