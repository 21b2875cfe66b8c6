"""What a person sees of `vectail estimate`: a table of both modes and a conclusion; a gigabyte's costs, the fleet for a rate, other fleets.

Pure: takes the facts of `worker.cli.estimate_verb`, returns text of at most 80 columns.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from worker.cli.screen_tables import Column, plain, table
from worker.runtime.wording import counted

_THOUSAND = 1_000
_UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB")
_FEW = 100
_LARGE = 1_000_000
Figure = tuple[str, str, str]
"""A name, a value or its key, and what it rests on."""


class _Row(NamedTuple):
    name: str
    key: str
    shown: Callable[[Any], str]
    rests_on: str = ""


def shown_estimate(facts: Mapping[str, Any]) -> str:
    """Return the text for the terminal."""
    read = (_what_was_read(facts), f"Read as the settings of topic {facts['topic']} say.", *_left_out(facts))
    if not facts["entries"]:
        return "\n".join((*read, "There is nothing to index in it."))
    return "\n".join((*read, "", *_table(facts), "", *_conclusion(facts)))


def shown_bytes(size_bytes: float) -> str:
    """Return bytes in the unit that fits: `780 bytes`, `1.6 MB`."""
    unit = 0
    while size_bytes >= _THOUSAND - 0.05 and unit < len(_UNITS) - 1:
        size_bytes /= _THOUSAND
        unit += 1
    return f"{size_bytes:,.1f} {_UNITS[unit]}" if unit else f"{size_bytes:,.0f} {_UNITS[0]}"


def shown_share(share: float | None) -> str:
    """Return a share in percent; `100.0 %` and `0.0 %` only if exact."""
    if share is None:
        return "-"
    percent = 100 * share
    if 0 < percent < 0.05:  # noqa: PLR2004 - would be rounded to 0.0
        return "< 0.1 %"
    return "> 99.9 %" if 99.95 <= percent < 100 else f"{percent:.1f} %"  # noqa: PLR2004 - to 100.0


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def _one_digit(value: float | None) -> str:
    return "-" if value is None else f"{value:,.1f}"


def _what_was_read(facts: Mapping[str, Any]) -> str:
    sampled = facts["sampled"]
    files = f"{counted(facts['files'], 'file')}, {shown_bytes(facts['bytes'])}: "
    if facts["basis"] == "sample":
        return f"{files}about {counted(facts['lines'], 'line')}; {sampled['lines']:,} were read, in {sampled['stretches']:,} places."
    if facts["basis"] == "first":
        return f"The first {counted(facts['lines'], 'line')}, {shown_bytes(facts['bytes'])}. These figures cover only them."
    return f"{files}{counted(facts['lines'], 'line')}, all of them read."


def _left_out(facts: Mapping[str, Any]) -> Iterator[str]:
    sampled = facts["sampled"]
    reasons = {
        "empty": sampled["empty_lines"],
        "undecodable": sampled["undecodable_lines"],
        "longer than decode.max_record_bytes": sampled["too_large_lines"],
    }
    if any(reasons.values()):
        yield f"Not indexed, of those read: {', '.join(f'{number:,} {reason}' for reason, number in reasons.items() if number)}."
    if sampled["not_utf8_lines"]:
        yield f"Not UTF-8: {counted(sampled['not_utf8_lines'], 'line')} of those read. Is this a text file?"


def _table(facts: Mapping[str, Any]) -> list[str]:
    columns: Sequence[Column[_Row]] = (
        Column("", "name"),
        Column("template", lambda row: row.shown(facts["template"][row.key]), is_right=True),
        Column("exact", lambda row: row.shown(facts["exact"][row.key]), is_right=True),
        Column("", "rests_on"),
    )
    return plain(table(list(_rows(facts)), columns))


def _rows(facts: Mapping[str, Any]) -> Iterator[_Row]:
    is_sample = facts["basis"] == "sample"
    seen, scaled = ("predicted", "scaled") if is_sample else ("counted", "counted")
    yield _Row("templates", "templates", _number, seen)
    if is_sample:
        yield _Row("  at least", "templates_low", _number)
        yield _Row("  at most", "templates_high", _number)
    yield _Row("lines that need no embedding", "entries_without_embedding_share", shown_share, seen)
    yield _Row("tokens that need no embedding", "tokens_without_embedding_share", shown_share, seen)
    yield _Row("tokens a line, mean", "tokens_per_entry_mean", _one_digit, "counted")
    yield _Row("  half of the lines have at most", "tokens_per_entry_p50", _number)
    yield _Row("  99 of 100 lines have at most", "tokens_per_entry_p99", _number)
    yield _Row("  the longest line has", "tokens_per_entry_max", _number)
    yield _Row("lines too long for the model: split", "chunked_entries", _number, scaled)
    yield _Row(f"tokens/s at {facts['rate_lines_per_s']:,.10g} lines/s", "needed_tokens_per_s", _number, "computed")
    yield _Row("engine: seconds for all templates", "engine_s", _one_digit, "measured")
    yield _Row("engine: lines/s it keeps up with", "engine_lines_per_s", _number, "measured")
    yield _Row("memory for all vectors", "memory_bytes", shown_bytes, "computed")
    yield _Row("Redis", "redis_bytes", shown_bytes, "computed")
    yield _Row("Milvus: blocks of lines", "milvus_blocks", _number, scaled)
    yield _Row("  their bytes", "milvus_block_bytes", shown_bytes, "measured")
    yield _Row("  bytes a line", "milvus_bytes_per_line", _one_digit, "measured")
    yield _Row("Milvus: templates with their vectors", "milvus_template_bytes", shown_bytes, "computed")
    yield _Row("Milvus Lite: all of it on disk", "milvus_lite_disk_bytes", shown_bytes, "computed")


def _conclusion(facts: Mapping[str, Any]) -> Iterator[str]:
    engine = facts["engine"]
    if engine["tokens_per_s"] is None:
        yield f"Engine: {engine['name']} computed nothing, so there are no seconds."
    else:
        measured = f"{engine['measured_tokens']:,} tokens in {engine['measured_s']:.1f} s"
        yield f"Engine: {engine['name']} computes {engine['tokens_per_s']:,.0f} tokens/s here ({measured})."
    if engine["failed_batches"]:
        yield f"Failed batches, not in this figure: {engine['failed_batches']:,}."
    if facts["workers"] is not None:
        rate = f"{facts['rate_lines_per_s']:,.10g} lines/s of known templates"
        yield f"Workers for {rate}, each half busy: {facts['workers']:,}."
    mode = facts["mode"]
    other = "exact" if mode == "template" else "template"
    free = {name: int(_THOUSAND * facts[name]["entries_without_embedding_share"]) for name in (mode, other)}
    about = "about " if facts["basis"] == "sample" else ""
    yield (
        f"Of 1,000 lines, {about}{free[mode]:,} need no embedding: their template came before.\n"
        f"In mode {other} it is {about}{free[other]:,}. When the same lines come again, none does."
    )


def sizing_lines(facts: Mapping[str, Any], *, with_fleets: bool) -> Iterator[str]:
    """Return the lines that follow `shown_estimate`; none where nothing is indexed."""
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


def _aligned(rows: Sequence[Figure]) -> list[str]:
    return plain(table(rows, [Column("", 0), Column("", 1, is_right=True), Column("", 2)]))


def _gigabyte_rows(costs: Mapping[str, Any]) -> list[Figure]:
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


def _fleet_rows(fleet: Mapping[str, Any]) -> list[Figure]:
    return [(name, value, rests_on) for name, key, rests_on in FLEET_ROWS for value in (shown_fleet_value(key, fleet[key]),)]


FLEET_ROWS: Sequence[Figure] = (
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

    def fleet(one: Mapping[str, Any]) -> Column[Figure]:
        return Column(rate_name(one["bytes_per_s"]), lambda row: shown_fleet_value(row[1], one[row[1]]), is_right=True)

    return plain(table(FLEET_ROWS, [Column("", 0), *map(fleet, fleets)]))


def rate_name(bytes_per_s: float) -> str:
    """Return `10 MB/s` for 1e7."""
    return shown_bytes(bytes_per_s).replace(".0", "") + "/s"


def _where_a_group_ends(facts: Mapping[str, Any]) -> str:
    return f"One consumer group with one collection takes about {shown_bytes(facts['group_ends_at_bytes_per_s'])}/s of these lines."
