"""The tables of `docs/sizing.md`: what a gigabyte costs and what rates need, for one stream that was measured once.

`python -m worker.estimate.reference` prints them as Markdown; a test compares them with the page. They are the figures of
`vectail estimate` for 16,000 lines of eight real systems (HDFS, Hadoop, Zookeeper, OpenStack, BGL, OpenSSH, Apache, macOS; 2.6 MB). Your
logs and your machine differ: run it on them.
"""

import sys
from collections.abc import Iterator

from worker.estimate.costs import StreamFigures, gigabyte_costs
from worker.estimate.fleet import RATES_BYTES_PER_S, Fleet, FleetOptions, fleet_of

REFERENCE = StreamFigures(
    bytes_per_line=161.3,
    lines_per_block=1_000.0,
    build_us_per_line=4.8,
    block_bytes_per_line=42.72,
    resident_bytes_per_line=7.26,
    folder_bytes_per_line=41.0,
    tokens_per_template=36.57,
    template_row_bytes=1_671.9,
    redis_bytes_per_template=1_061,
    engine_tokens_per_s=4_400.0,
    sampled_bytes=2_580_825,
    stretches=32,
    templates_by_stretches={1: 447, 2: 110, 3: 86, 4: 151},
)
"""All but three are counted by `vectail estimate` and do not depend on the machine. `folder_bytes_per_line` was counted while a folder's
texts took a seventh less, and is scaled by what a line took after and before (`benchmarks.sink`: 52.5 and 47.1). `build_us_per_line` is
the 6.4 microseconds of a known line, without the 1.6 of its client, on two shared AVX-512 cores (`benchmarks.poll_to_ready`).
`engine_tokens_per_s` is 80 templates of 55 tokens a second in vLLM on two AVX2 cores (`benchmarks.engines`)."""
_STEPS = ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


def gigabyte_table() -> str:
    """Return what a gigabyte of the measured stream costs, as Markdown."""
    costs = gigabyte_costs(REFERENCE)
    rows = (
        ("lines", f"{costs.lines:,}"),
        ("workers, processor seconds", f"{costs.worker_core_s:,.0f}"),
        ("templates, predicted", f"{costs.templates:,} ({costs.templates_low:,} to {costs.templates_high:,})"),
        ("engine seconds", _between(costs.engine_s, costs.engine_s_high)),
        ("Redis", shown_size(costs.redis_bytes)),
        ("Milvus: blocks", shown_size(costs.milvus_block_bytes)),
        ("of them in memory where files are mapped", shown_size(costs.milvus_resident_bytes)),
        ("Milvus: templates", shown_size(costs.milvus_template_bytes)),
        ("Milvus Lite: on disk", shown_size(costs.milvus_lite_disk_bytes)),
        ("Kafka, compressed four to one, one copy", shown_size(costs.kafka_compressed_bytes)),
    )
    return "\n".join(("| of 1 GB of logs | |", "|---|---:|", *(f"| {name} | {value} |" for name, value in rows)))


def fleets_table(options: FleetOptions | None = None) -> str:
    """Return the fleets for 1 MB/s to 10 GB/s of the measured stream, as Markdown; by default with the default options."""
    fleets = [fleet_of(REFERENCE, rate, options or FleetOptions()) for rate in RATES_BYTES_PER_S]
    head = " | ".join(shown_size(one.bytes_per_s).replace(".0", "") + "/s" for one in fleets)
    rule = "---:|" * len(fleets)
    return "\n".join((f"| | {head} |", f"|---|{rule}", *_fleet_rows(fleets)))


def shown_size(size_bytes: float) -> str:
    """Return bytes in the largest unit that they fill: `1.6 MB`."""
    for step, unit in _STEPS:
        if size_bytes >= step:
            return f"{size_bytes / step:,.1f} {unit}"
    return f"{size_bytes:,.0f} bytes"


def _fleet_rows(fleets: list[Fleet]) -> Iterator[str]:
    rows = {
        "lines/s": [f"{one.lines_per_s:,.0f}" for one in fleets],
        "worker processes": [f"{one.workers:,}" for one in fleets],
        "their processors": [f"{one.worker_cores:,.1f}" for one in fleets],
        "engine tokens/s, first day, at most": [f"{one.engine_tokens_per_s:,.0f}" for one in fleets],
        "engines of two AVX2 cores": ["-" if one.engines is None else f"{one.engines:,}" for one in fleets],
        "partitions": [f"{one.partitions:,}" for one in fleets],
        "Kafka brokers": [f"{one.brokers:,}" for one in fleets],
        "Redis, first day, at most": [shown_size(one.redis_bytes) for one in fleets],
        "Milvus: rows/s": [f"{one.milvus_rows_per_s:,.0f}" for one in fleets],
        "Milvus: written": [shown_size(one.milvus_bytes_per_s) + "/s" for one in fleets],
        "Milvus: stored after 30 days": [shown_size(one.milvus_bytes) for one in fleets],
        "query nodes, all in memory": [f"{one.milvus_query_nodes:,}" for one in fleets],
        "query nodes, files mapped": [f"{one.milvus_query_nodes_mapped:,}" for one in fleets],
        "consumer groups = collections = data nodes": [f"{one.groups:,}" for one in fleets],
    }
    return (f"| {name} | {' | '.join(values)} |" for name, values in rows.items())


def _between(low: float | None, high: float | None) -> str:
    return "-" if low is None or high is None else f"{low:,.0f} ({high:,.0f} at most)"


if __name__ == "__main__":
    sys.stdout.write(f"{gigabyte_table()}\n\n{fleets_table()}\n")
