"""What a gigabyte of logs costs: processor time, engine time, and bytes in Kafka, Redis and Milvus. Pure.

A gigabyte is 10^9 bytes of lines with their line ends. What grows with the lines is scaled; templates are predicted
(`worker.estimate.extrapolation`), between its two estimators. They were compared with real logs only up to eight times the
sample, with stretches of 10 lines; files that are read whole come in stretches of 500, which predict worse. So for a sample of a few
megabytes, the templates of a gigabyte are an order of magnitude and not a measurement.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from worker.estimate.estimate import LITE_TEMPLATE_FACTOR
from worker.estimate.extrapolation import TemplateForecast, predict_templates

GB = 1_000_000_000
CLIENT_US_PER_LINE = 1.6
"""Processor time of the poller (1.3) and the Kafka client's own threads (0.3): `benchmarks.poll_to_ready`, 400,000 lines of eight systems,
two shared AVX-512 cores (docs/performance.md)."""
KAFKA_COMPRESSION = 4.0
"""Raw bytes per byte of a compressed batch. An assumption: not measured, and it depends on codec and batch size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamFigures:
    """What is known about a stream of logs and the machine that it was measured on."""

    bytes_per_line: float
    """Line end included."""
    lines_per_block: float
    build_us_per_line: float
    """Processor time from a record's bytes to its block (`worker.estimate.line_measurement`)."""
    block_bytes_per_line: float
    """In a Milvus server, as it is sent."""
    resident_bytes_per_line: float
    """Of them, what stays in memory in a server that maps the columns of text."""
    folder_bytes_per_line: float
    """In a folder of Milvus Lite."""
    tokens_per_template: float
    template_row_bytes: float
    """Id, vector and text."""
    redis_bytes_per_template: int
    engine_tokens_per_s: float | None
    """Of one engine on the machine; None: not measured."""
    sampled_bytes: int
    stretches: int
    templates_by_stretches: Mapping[int, int]
    """How many templates occur in exactly n of the sample's stretches."""

    @property
    def worker_us_per_line(self) -> float:
        """Processor time of a known line in a worker, the Kafka client's included."""
        return self.build_us_per_line + CLIENT_US_PER_LINE


@dataclass(frozen=True, slots=True, kw_only=True)
class GigabyteCosts:
    """A gigabyte's figures, under their names in `--json`; None: the engine's speed is not known."""

    lines: int
    worker_core_s: float
    """Processor seconds of workers, all lines known."""
    templates: int
    templates_low: int
    templates_high: int
    engine_tokens: int
    """To embed the templates of the first gigabyte, once; of those that follow, fewer."""
    engine_s: float | None
    engine_s_high: float | None
    redis_bytes: int
    milvus_rows: int
    milvus_block_bytes: int
    milvus_resident_bytes: int
    milvus_template_bytes: int
    milvus_lite_disk_bytes: int
    kafka_bytes: int
    """As producers send them, one copy."""
    kafka_compressed_bytes: int


def forecast_of(figures: StreamFigures, size_bytes: float) -> TemplateForecast:
    """Predict how many templates the first `size_bytes` of the stream hold; never fewer than the sample does."""
    return predict_templates(
        figures.templates_by_stretches,
        stretches=figures.stretches,
        factor=size_bytes / figures.sampled_bytes,
        most=size_bytes / figures.bytes_per_line,
    )


def gigabyte_costs(figures: StreamFigures) -> GigabyteCosts:
    """Compute what the first gigabyte of the stream costs."""
    lines = GB / figures.bytes_per_line
    found = forecast_of(figures, GB)
    speed = figures.engine_tokens_per_s
    template_bytes = found.templates * figures.template_row_bytes
    return GigabyteCosts(
        lines=round(lines),
        worker_core_s=round(lines * figures.worker_us_per_line / 1e6, 1),
        templates=round(found.templates),
        templates_low=round(found.low),
        templates_high=round(found.high),
        engine_tokens=round(found.templates * figures.tokens_per_template),
        engine_s=None if not speed else round(found.templates * figures.tokens_per_template / speed, 1),
        engine_s_high=None if not speed else round(found.high * figures.tokens_per_template / speed, 1),
        redis_bytes=round(found.templates * figures.redis_bytes_per_template),
        milvus_rows=round(lines / figures.lines_per_block),
        milvus_block_bytes=round(lines * figures.block_bytes_per_line),
        milvus_resident_bytes=round(lines * figures.resident_bytes_per_line),
        milvus_template_bytes=round(template_bytes),
        milvus_lite_disk_bytes=round(lines * figures.folder_bytes_per_line + template_bytes * LITE_TEMPLATE_FACTOR),
        kafka_bytes=GB,
        kafka_compressed_bytes=round(GB / KAFKA_COMPRESSION),
    )
