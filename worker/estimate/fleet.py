"""What a rate of logs needs: workers, engines, partitions, brokers, Redis and Milvus, and how many consumer groups. Pure.

Theory of operation:
1. Everything that works has `headroom` of its capacity to spare: at 0.5 it could take twice the rate, which is how lag is worked off.
2. Workers follow from the processor time of a known line. Engines follow from the templates of the first day, by the *higher* of the two
   estimators (`worker.estimate.extrapolation`): a new index is the hardest day that an engine has.
3. Milvus follows from the retention: what lives there is the rate times the window, a tenth more because merged blocks are new.
4. A consumer group writes into one collection, and vectail creates it with one shard, which one data node writes. `GROUP_*` say where that
   ends. Above it, a fleet is several groups, each with topics and a collection of its own.
What is assumed and not measured is in `ASSUMPTIONS`, with its source.
"""

import math
from dataclasses import dataclass

from worker.estimate.costs import StreamFigures, forecast_of

RATES_BYTES_PER_S = (1e6, 1e7, 1e8, 1e9, 1e10)
"""Of the table of fleets: 1 MB/s to 10 GB/s."""
DAY_S = 86_400
DEFAULT_RETENTION_DAYS = 30.0
DEFAULT_HEADROOM = 0.5
WORKER_CORES = 1.0
"""Processors that one worker keeps busy. 149,000 lines/s at 6.4 microseconds (benchmarks/RESULTS.md, two AVX-512 cores): Python holds
a lock, so a second processor stays idle."""
PARTITIONS_PER_WORKER = 2
MERGED_AGAIN = 1.1
BROKER_BYTES_PER_S = 100_000_000
KAFKA_REPLICAS = 3
BROKER_PARTITIONS = 4_000
QUERY_NODE_BYTES = 48_000_000_000
QUERY_NODE_DISK_BYTES = 2_000_000_000_000
GROUP_BLOCK_BYTES_PER_S = 15_500_000
"""What one shard of Milvus 2.3.5 was seen to take, on two cores that the writer shared: 265,000 lines/s of 58.6 bytes,
`benchmarks.sink`."""
GROUP_WORKERS = 200

ASSUMPTIONS = {
    "headroom": "the share of every capacity that is left for working off lag",
    "worker_us_per_line": "measured here on your lines, plus 1.6 for polling, which was measured on two AVX-512 cores; known lines",
    "templates": "extrapolated from the sample; the engine and Redis are sized by the higher estimator, over the first day",
    "worker_cores": f"a worker keeps {WORKER_CORES} processors busy (measured: 149,000 lines/s at 6.4 microseconds)",
    "partitions": f"{PARTITIONS_PER_WORKER} for each worker, so that workers can be doubled",
    "brokers": f"{BROKER_BYTES_PER_S / 1e6:.0f} MB/s each with {KAFKA_REPLICAS} copies, 3 at least; assumed, not measured",
    "kafka_partitions": f"{BROKER_PARTITIONS:,} a broker, 200,000 a cluster: Kafka's own recommendation (KIP-578)",
    "milvus_memory": f"a query node has {QUERY_NODE_BYTES / 1e9:.0f} GB of memory and "
    f"{QUERY_NODE_DISK_BYTES / 1e12:.0f} TB of disk for this; assumed. One replica",
    "milvus_writes": f"{GROUP_BLOCK_BYTES_PER_S / 1e6:.1f} MB/s of blocks for a shard: seen with Milvus 2.3.5 on two shared cores. "
    "Its limit on larger machines was not measured",
    "group_workers": f"{GROUP_WORKERS} workers a group; assumed, because a group's members must fit one record of Kafka (KAFKA-3810)",
    "gpu": "no GPU was measured: give a card's tokens/s with --gpu-tokens-per-s",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetOptions:
    """What a person decides."""

    retention_days: float = DEFAULT_RETENTION_DAYS
    headroom: float = DEFAULT_HEADROOM
    """Share of every capacity that is left free, at least 0 and below 1."""
    gpu_tokens_per_s: float | None = None
    """Of one card; None: not measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """What one rate needs, under its names in `--json`; None: the speed was not measured."""

    bytes_per_s: float
    lines_per_s: float
    workers: int
    worker_cores: float
    workers_bytes_per_s: float
    """What these workers can take."""
    engine_tokens_per_s: float
    """That the first day needs, averaged over it."""
    engines: int | None
    """Engines like that of this machine."""
    gpus: int | None
    partitions: int
    brokers: int
    redis_bytes: int
    """Templates of the first day."""
    milvus_rows_per_s: float
    milvus_bytes_per_s: float
    milvus_bytes: int
    """In object storage, at the end of the retention."""
    milvus_query_nodes: int
    """With all columns in memory: Milvus before 2.5."""
    milvus_query_nodes_mapped: int
    """With the columns of text on the nodes' disks: 2.5 and newer, as vectail creates them."""
    milvus_data_nodes: int
    groups: int
    """Consumer groups, with a collection and at least one data node each."""


def fleet_of(figures: StreamFigures, bytes_per_s: float, options: FleetOptions) -> Fleet:
    """Compute the fleet for a rate of raw logs."""
    free = 1 - options.headroom
    lines_per_s = bytes_per_s / figures.bytes_per_line
    cores = lines_per_s * figures.worker_us_per_line / 1e6 / free
    workers = _at_least_one(cores / WORKER_CORES)
    day = forecast_of(figures, bytes_per_s * DAY_S)
    tokens_per_s = day.high * figures.tokens_per_template / DAY_S
    block_bytes_per_s = lines_per_s * figures.block_bytes_per_line
    stored_lines = lines_per_s * DAY_S * options.retention_days * MERGED_AGAIN
    stored_bytes = stored_lines * figures.block_bytes_per_line
    resident_bytes = stored_lines * figures.resident_bytes_per_line
    groups = max(_at_least_one(block_bytes_per_s / (GROUP_BLOCK_BYTES_PER_S * free)), _at_least_one(workers / GROUP_WORKERS))
    partitions = PARTITIONS_PER_WORKER * workers
    return Fleet(
        bytes_per_s=bytes_per_s,
        lines_per_s=round(lines_per_s, 1),
        workers=workers,
        worker_cores=round(cores, 2),
        workers_bytes_per_s=round(workers * WORKER_CORES * 1e6 / figures.worker_us_per_line * figures.bytes_per_line, 1),
        engine_tokens_per_s=round(tokens_per_s, 2),
        engines=_machines(tokens_per_s, figures.engine_tokens_per_s, free),
        gpus=_machines(tokens_per_s, options.gpu_tokens_per_s, free),
        partitions=partitions,
        brokers=brokers_for(bytes_per_s, partitions, headroom=options.headroom),
        redis_bytes=round(day.high * figures.redis_bytes_per_template),
        milvus_rows_per_s=round(lines_per_s / figures.lines_per_block, 2),
        milvus_bytes_per_s=round(block_bytes_per_s, 1),
        milvus_bytes=round(stored_bytes),
        milvus_query_nodes=_at_least_one(stored_bytes / QUERY_NODE_BYTES),
        milvus_query_nodes_mapped=max(
            _at_least_one(resident_bytes / QUERY_NODE_BYTES), _at_least_one((stored_bytes - resident_bytes) / QUERY_NODE_DISK_BYTES)
        ),
        milvus_data_nodes=groups,
        groups=groups,
    )


def brokers_for(bytes_per_s: float, partitions: int, *, headroom: float) -> int:
    """Return brokers for a rate of raw logs and for so many partitions, all copies counted; three at least, so that one may fail."""
    by_bytes = bytes_per_s * KAFKA_REPLICAS / (BROKER_BYTES_PER_S * (1 - headroom))
    return max(3, math.ceil(by_bytes), math.ceil(partitions * KAFKA_REPLICAS / BROKER_PARTITIONS))


def group_ends_at_bytes_per_s(figures: StreamFigures, headroom: float) -> float:
    """Return the rate of raw logs, in bytes/s, above which `fleet_of` has more than one consumer group."""
    free = 1 - headroom
    by_shard = GROUP_BLOCK_BYTES_PER_S * free / figures.block_bytes_per_line
    by_workers = GROUP_WORKERS * WORKER_CORES * free * 1e6 / figures.worker_us_per_line
    return min(by_shard, by_workers) * figures.bytes_per_line


def _machines(tokens_per_s: float, speed: float | None, free: float) -> int | None:
    return None if not speed else _at_least_one(tokens_per_s / (speed * free))


def _at_least_one(number: float) -> int:
    return max(1, math.ceil(round(number, 9)))
