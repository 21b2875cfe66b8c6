"""What a person sees of the sizing part of `vectail estimate`: a gigabyte's costs, the fleet for a rate, and a table of fleets.

Pure: takes the facts of `worker.cli.estimate`, returns lines of at most 80 columns.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from worker.cli.estimate_screen import shown_bytes
from worker.cli.tables import Column, plain, table

_FEW = 100
_LARGE = 1_000_000
Row = tuple[str, str, str]


def sizing_lines(facts: Mapping[str, Any], *, with_fleets: bool) -> Iterator[str]:
    """Return the lines that follow `worker.cli.estimate_screen.shown_estimate`; none where nothing is indexed."""
    if facts["per_gb"] is None:
        return
    yield ""
    yield f"A gigabyte of these lines, in mode {facts['mode']}"
    yield from _aligned(_gigabyte_rows(facts["per_gb"]))
    fleet, sized = facts["fleet"], facts["sized_for"]
    yield ""
    yield f"{shown_bytes(fleet['bytes_per_s'])}/s, kept {sized['retention_days']:g} days, {sized['headroom']:.0%} of every capacity free"
    yield from _aligned(_fleet_rows(fleet))
    yield _where_a_group_ends(facts)
    if with_fleets:
        yield ""
        yield from _fleets_table(facts["fleets"])
        yield "Without a known speed: -. What each figure assumes: --json, assumptions."


def _aligned(rows: Sequence[Row]) -> list[str]:
    return plain(table(rows, [Column("", 0), Column("", 1, is_right=True), Column("", 2)]))


def _gigabyte_rows(costs: Mapping[str, Any]) -> list[Row]:
    return [
        ("lines", f"{costs['lines']:,}", "scaled"),
        ("worker: processor seconds", f"{costs['worker_core_s']:,.0f}", "measured"),
        ("templates", shown_number(costs["templates"]), "predicted"),
        ("  at least", shown_number(costs["templates_low"]), ""),
        ("  at most", shown_number(costs["templates_high"]), ""),
        ("engine: seconds", shown_number(costs["engine_s"]), "predicted"),
        ("  at most", shown_number(costs["engine_s_high"]), ""),
        ("Redis", shown_bytes(costs["redis_bytes"]), "predicted"),
        ("Milvus: bytes of blocks", shown_bytes(costs["milvus_block_bytes"]), "measured"),
        ("  of them not on a query node's disk", shown_bytes(costs["milvus_resident_bytes"]), "measured"),
        ("Milvus: bytes of templates", shown_bytes(costs["milvus_template_bytes"]), "predicted"),
        ("Milvus Lite: on disk", shown_bytes(costs["milvus_lite_disk_bytes"]), "computed"),
        ("Kafka, compressed, one copy", shown_bytes(costs["kafka_compressed_bytes"]), "assumed"),
    ]


def _fleet_rows(fleet: Mapping[str, Any]) -> list[Row]:
    return [(name, value, rests_on) for name, key, rests_on in FLEET_ROWS for value in (shown_fleet_value(key, fleet[key]),)]


FLEET_ROWS: Sequence[Row] = (
    ("lines/s", "lines_per_s", "scaled"),
    ("worker processes", "workers", "measured"),
    ("their processors", "worker_cores", "measured"),
    ("engine tokens/s", "engine_tokens_per_s", "predicted"),
    ("engines as here", "engines", "measured"),
    ("GPUs", "gpus", "as given"),
    ("partitions", "partitions", "assumed"),
    ("Kafka brokers", "brokers", "assumed"),
    ("Redis", "redis_bytes", "predicted"),
    ("Milvus: rows/s", "milvus_rows_per_s", "measured"),
    ("Milvus: bytes/s", "milvus_bytes_per_s", "measured"),
    ("Milvus: stored", "milvus_bytes", "measured"),
    ("query nodes, in memory", "milvus_query_nodes", "assumed"),
    ("query nodes, mapped", "milvus_query_nodes_mapped", "assumed"),
    ("data nodes", "milvus_data_nodes", "assumed"),
    ("consumer groups", "groups", "assumed"),
)
"""What is shown of a fleet: name, key in `--json`, what it rests on."""


def shown_fleet_value(key: str, value: float | None) -> str:
    """Return a fleet's figure: bytes with their unit, others as numbers."""
    if value is None or "bytes" not in key:
        return shown_number(value)
    return shown_bytes(value) + ("/s" if key.endswith("_per_s") else "")


def shown_number(value: float | None) -> str:
    """Return a number with its thousands, small fractions with one digit; `-` where there is none."""
    if value is None:
        return "-"
    if value < _FEW and value % 1:
        return f"{value:,.1f}"
    return f"{value:,.0f}" if value < _LARGE else f"{value / 1e6:,.1f} M"


def _fleets_table(fleets: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a table of several rates side by side."""

    def fleet(one: Mapping[str, Any]) -> Column[Row]:
        return Column(rate_name(one["bytes_per_s"]), lambda row: shown_fleet_value(row[1], one[row[1]]), is_right=True)

    return plain(table(FLEET_ROWS, [Column("", 0), *map(fleet, fleets)]))


def rate_name(bytes_per_s: float) -> str:
    """Return `10 MB/s` for 1e7."""
    return shown_bytes(bytes_per_s).replace(".0", "") + "/s"


def _where_a_group_ends(facts: Mapping[str, Any]) -> str:
    return f"One consumer group with one collection takes about {shown_bytes(facts['group_ends_at_bytes_per_s'])}/s of these lines."
