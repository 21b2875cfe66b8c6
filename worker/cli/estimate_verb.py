"""`vectail estimate`: predicts what vectail will need for a user's files, before anything is run.

Reads a sample, sends nothing, writes nothing. All files are read as one topic's settings say, and no rule drops, samples or joins. It
loads the model to count tokens and to try the engine for a moment; it connects to neither Kafka nor Redis nor Milvus, so their figures
are computed. `--json` prints what `estimate_files` returns.
"""

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TypedDict

from consumers.text.chunk import Chunker
from consumers.text.mask import MaskMode
from producers.file_lines import FileUnreadable
from worker.cli.exits import user_error
from worker.cli.output import warn
from worker.embedding.cache.frame import FrameCodec
from worker.embedding.cache.memory import ENTRY_BYTES
from worker.embedding.engine.engine import Engine
from worker.embedding.loaded import load_model, model_of, space_of
from worker.embedding.model.errors import ModelError
from worker.embedding.model.prepared import PreparedModel
from worker.embedding.model.space import Digester, EmbeddingSpace
from worker.embedding.tokenizer import Tokenizer
from worker.estimate.engine_measurement import EngineMeasurement, measure_engine
from worker.estimate.estimate import DAY_S, RESTS_ON, USUAL_DAYS, EstimateInputs, Rate, SampleScale, estimate_mode, workers_for
from worker.estimate.line_measurement import BATCH_LINES, LineMeasurement, LineTrial
from worker.estimate.line_sampling import Line, LineSample
from worker.estimate.sample_tally import SampleTally
from worker.indexing.pieces import new_chunker, new_decoder
from worker.runtime.logs import configure_logs
from worker.settings.settings import Settings
from worker.settings.tables import new_redactor
from worker.settings.topic_tables import TopicTable

SAMPLE_LINES = 20_000
RATE = Rate(1_000.0)
_MODES: tuple[MaskMode, ...] = ("template", "exact")
_UNITS = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
_RATE = re.compile(r"([0-9]+(?:\.[0-9]+)?|\.[0-9]+)\s*(?:([kmgt]?)(b)/s)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateOptions:
    """The options of `vectail estimate`."""

    files: tuple[str, ...]
    sample_lines: int = SAMPLE_LINES
    rate: Rate = RATE
    trial_s: float = 2.0
    """How long to try the engine; then half as long, in processor time, the way of a line to its block."""
    topic: str | None = None
    """The topic whose settings hold. None: the first of the settings."""


class TriedEngineJson(TypedDict):
    """How fast the engine was."""

    name: str
    tokens_per_s: float | None
    measured_tokens: int
    measured_s: float
    failed_batches: int


class EstimatedFilesJson(TypedDict):
    """What is known of the files; the figures of each mode are those of `ModeEstimate`."""

    files: int
    topic: str | None
    bytes: int
    basis: str
    lines: int
    entries: int
    sampled: Mapping[str, int]
    rate_lines_per_s: float
    mode: MaskMode
    template: Mapping[str, float | None]
    exact: Mapping[str, float | None]
    rests_on: Mapping[str, str]


class EstimateJson(EstimatedFilesJson):
    """What `vectail estimate --json` prints."""

    engine: TriedEngineJson
    worker: dict[str, float | None]
    workers: int | None
    partitions: int | None
    """Of each topic, so that the workers can be doubled."""
    kept_days: float
    milvus_kept_bytes: int | None
    """What so many days of lines at this rate take."""


def parse_rate(text: str) -> Rate:
    """Return `5000` as lines a second and `50MB/s` as bytes a second; a megabyte is 10^6 bytes. Raises CommandFailed."""
    found = _RATE.fullmatch(text.strip())
    if found is None or not (number := float(found[1])):
        raise user_error(f"--rate {text}: expected lines a second like 5000, or bytes a second like 50MB/s or 1GB/s")
    return Rate(number) if found[3] is None else Rate(number * _UNITS[found[2].lower()], "bytes")


def estimate_files(settings: Settings, options: EstimateOptions, *, new_engine: Callable[[], Engine] | None = None) -> EstimateJson:
    """Sample the files, try the engine, and return what `--json` prints. Raises CommandFailed.

    `new_engine` replaces the engine that the settings choose.
    """
    configure_logs()
    try:
        sample = LineSample(options.files, sample_lines=options.sample_lines, max_record_bytes=settings.decode.max_record_bytes, say=warn)
        model = model_of(settings)
        tokenizer = Tokenizer(model)
        try:
            tally = new_sample_tally(settings, model, tokenizer, options.topic)
            lines: list[Line] = []
            for stretches in sample.lists():
                tally.add_stretches(stretches)
                lines += [line for stretch in stretches for line in stretch.lines][: BATCH_LINES - len(lines)]
            tally.finish()
            trial = _new_trial(settings, model, tokenizer, options.topic)
            line_measurement = trial.measure(lines, clock=time.process_time, least_s=options.trial_s / 2)
        finally:
            tokenizer.close()
        engine = new_engine() if new_engine is not None else load_model(settings).engine
    except (FileUnreadable, ModelError) as error:
        raise user_error(error) from error
    try:
        measurement = measure_engine(engine, tally.modes["template"].kept, clock=time.perf_counter, least_s=options.trial_s)
    finally:
        engine.close()
    space = space_of(model, settings.model.dims)
    facts = _document(settings, options, sample, tally, _inputs(options.rate, tally, space, measurement))
    workers = workers_for(facts["rate_lines_per_s"], line_measurement.us_per_line)
    per_line = facts[facts["mode"]]["milvus_bytes_per_line"]
    kept_days = USUAL_DAYS if settings.index.retention_days is None else settings.index.retention_days
    return {
        **facts,
        "engine": _engine_facts(engine.name, measurement),
        "worker": _worker_facts(line_measurement),
        "workers": workers,
        "partitions": None if workers is None else 2 * workers,
        "kept_days": kept_days,
        "milvus_kept_bytes": None if per_line is None else round(per_line * facts["rate_lines_per_s"] * kept_days * DAY_S),
    }


def new_sample_tally(settings: Settings, model: PreparedModel, tokenizer: Tokenizer, topic: str | None = None) -> SampleTally:
    """Make a tally that decodes, redacts, masks and chunks as the worker with these settings would, in both modes.

    `topic`: whose settings hold; None: the first of the settings.
    """
    prefix, table = model.document_prefix, _table_of(settings, topic)
    return SampleTally(
        decoder=new_decoder(table, settings.decode),
        redactor=new_redactor(settings.redact),
        chunkers={mode: _new_chunker(settings, table, mode, model, tokenizer) for mode in _MODES},
        encode=lambda texts: tokenizer.encode([prefix + text for text in texts]),
    )


def _new_trial(settings: Settings, model: PreparedModel, tokenizer: Tokenizer, topic: str | None) -> LineTrial:
    """Make what a line goes through in the mode of the settings; it shares nothing with the tally but the tokenizer."""
    table = _table_of(settings, topic)
    mode = (table.mask or settings.mask).mode
    return LineTrial(
        decoder=new_decoder(table, settings.decode),
        redactor=new_redactor(settings.redact),
        chunker=_new_chunker(settings, table, mode, model, tokenizer),
    )


def _new_chunker(settings: Settings, table: TopicTable, mode: MaskMode, model: PreparedModel, tokenizer: Tokenizer) -> Chunker:
    return new_chunker((table.mask or settings.mask).model_copy(update={"mode": mode}), settings.decode, model, tokenizer)


def _table_of(settings: Settings, topic: str | None) -> TopicTable:
    return settings.topic[0] if topic is None else settings.topic_table(topic)


def _inputs(rate: Rate, tally: SampleTally, space: EmbeddingSpace, measurement: EngineMeasurement) -> EstimateInputs:
    return EstimateInputs(
        dim=space.dim,
        redis_key_bytes=len(f"vectail:{space.id}:{Digester(space, space.document_prefix).digest('')}"),
        redis_value_bytes=FrameCodec(space.dim).frame_bytes,
        vector_bytes=4 * space.dim + ENTRY_BYTES,
        rate_lines_per_s=rate.lines_per_s(tally.size_bytes / tally.lines if tally.lines else 0.0),
        engine_tokens_per_s=measurement.tokens_per_s,
    )


def _document(
    settings: Settings, options: EstimateOptions, sample: LineSample, tally: SampleTally, inputs: EstimateInputs
) -> EstimatedFilesJson:
    table = _table_of(settings, options.topic)
    total_bytes = tally.size_bytes if sample.total_bytes is None else sample.total_bytes
    factor = total_bytes / tally.size_bytes if sample.basis == "sample" and tally.size_bytes else 1.0
    scale = SampleScale(
        factor=factor, lines=round(tally.lines * factor), entries=round(tally.entries * factor), stretches=tally.stretches
    )  # fmt: skip
    return {
        "files": len(sample.files),
        "topic": options.topic or table.name or table.pattern,
        "bytes": total_bytes,
        "basis": sample.basis,
        "lines": scale.lines,
        "entries": scale.entries,
        "sampled": {
            "lines": tally.lines,
            "entries": tally.entries,
            "bytes": tally.size_bytes,
            "stretches": tally.stretches,
            "empty_lines": tally.empty_lines,
            "undecodable_lines": tally.undecodable_lines,
            "too_large_lines": tally.too_large_lines,
            "not_utf8_lines": tally.not_utf8_lines,
        },
        "rate_lines_per_s": inputs.rate_lines_per_s,
        "mode": settings.mask.mode,
        "template": asdict(estimate_mode(tally.modes["template"], scale, inputs)),
        "exact": asdict(estimate_mode(tally.modes["exact"], scale, inputs)),
        "rests_on": RESTS_ON,
    }


def _engine_facts(name: str, measurement: EngineMeasurement) -> TriedEngineJson:
    speed = measurement.tokens_per_s
    return {
        "name": name,
        "tokens_per_s": None if speed is None else round(speed, 1),
        "measured_tokens": measurement.tokens,
        "measured_s": round(measurement.seconds, 3),
        "failed_batches": measurement.failed_batches,
    }


def _worker_facts(measurement: LineMeasurement) -> dict[str, float | None]:
    per_line = measurement.us_per_line
    return {
        "us_per_line": None if per_line is None else round(per_line, 3),
        "measured_lines": measurement.lines,
        "measured_core_s": round(measurement.seconds, 3),
    }
