"""What a person sees of `vectail estimate`: what is needed, and what was read; with `--details` a table of both modes.

Pure: takes the facts of `worker.cli.estimate_verb`, returns text of at most 80 columns.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from worker.cli.estimate_verb import EstimateJson
from worker.cli.screen_tables import Column, plain, table
from worker.runtime.wording import counted, seconds_of

_THOUSAND = 1_000
_UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB")


class _Row(NamedTuple):
    name: str
    key: str
    shown: Callable[[float | None], str]
    rests_on: str = ""


def shown_estimate(facts: EstimateJson, *, details: bool) -> str:
    """Return the text for the terminal."""
    read = (_what_was_read(facts), f"Read as the settings of topic {facts['topic']} say.", *_left_out(facts))
    if not facts["entries"]:
        return "\n".join((*read, "There is nothing to index in it."))
    more = ("", *_table(facts), "", *_engine(facts)) if details else ("`--details` shows the figures behind it.",)
    return "\n".join((*_needs(facts), "", *read, *_saved(facts), *more))


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


def _bytes(value: float | None) -> str:
    return "-" if value is None else shown_bytes(value)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def _one_digit(value: float | None) -> str:
    return "-" if value is None else f"{value:,.1f}"


def _what_was_read(facts: EstimateJson) -> str:
    sampled = facts["sampled"]
    files = f"{counted(facts['files'], 'file')}, {shown_bytes(facts['bytes'])}: "
    if facts["basis"] == "sample":
        return f"{files}about {counted(facts['lines'], 'line')}; {sampled['lines']:,} were read, in {sampled['stretches']:,} places."
    if facts["basis"] == "first":
        return f"The first {counted(facts['lines'], 'line')}, {shown_bytes(facts['bytes'])}. These figures cover only them."
    return f"{files}{counted(facts['lines'], 'line')}, all of them read."


def _left_out(facts: EstimateJson) -> Iterator[str]:
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


def _table(facts: EstimateJson) -> list[str]:
    columns: Sequence[Column[_Row]] = (
        Column("", "name"),
        Column("template", lambda row: row.shown(facts["template"][row.key]), is_right=True),
        Column("exact", lambda row: row.shown(facts["exact"][row.key]), is_right=True),
        Column("", "rests_on"),
    )
    return plain(table(list(_rows(facts)), columns))


def _rows(facts: EstimateJson) -> Iterator[_Row]:
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
    yield _Row("engine: seconds for all templates", "engine_s", _one_digit, "measured")
    yield _Row("memory for all vectors", "memory_bytes", _bytes, "computed")
    yield _Row("Redis", "redis_bytes", _bytes, "computed")
    yield _Row("Milvus: blocks of lines", "milvus_blocks", _number, scaled)
    yield _Row("  their bytes", "milvus_block_bytes", _bytes, "measured")
    yield _Row("  bytes a line", "milvus_bytes_per_line", _one_digit, "measured")
    yield _Row("Milvus: templates with their vectors", "milvus_template_bytes", _bytes, "computed")
    yield _Row("Milvus Lite: all of it on disk", "milvus_lite_disk_bytes", _bytes, "computed")


def _needs(facts: EstimateJson) -> Iterator[str]:
    """Say what the rate takes: workers for lines of known templates, room for the lines, and the engine for each template once."""
    rate = facts["rate_lines_per_s"]
    size = shown_bytes(rate * facts["bytes"] / facts["lines"])
    workers, partitions, kept = facts["workers"], facts["partitions"], facts["milvus_kept_bytes"]
    many = "" if workers is None or partitions is None else f": {counted(workers, 'worker')}, {counted(partitions, 'partition')} a topic"
    yield f"For {_rounded(rate)} lines/s, {size}/s{many}."
    if kept is not None:
        yield f"{facts['kept_days']:,.10g} days of it take about {shown_bytes(kept)} in Milvus."
    ours = facts[facts["mode"]]
    if ours["engine_s"] is not None:
        about = "about " if facts["basis"] == "sample" else ""
        yield f"Engine: {about}{_number(ours['templates'])} templates once, in {seconds_of(ours['engine_s'])}; then only new ones."


def _engine(facts: EstimateJson) -> Iterator[str]:
    engine = facts["engine"]
    if engine["tokens_per_s"] is None:
        yield f"Engine: {engine['name']} computed nothing, so no times are known."
    else:
        measured = f"{engine['measured_tokens']:,} tokens in {engine['measured_s']:.1f} s"
        yield f"Engine: {engine['name']} computes {_rounded(engine['tokens_per_s'])} tokens/s here ({measured})."
    if engine["failed_batches"]:
        yield f"Failed batches, not in this figure: {engine['failed_batches']:,}."
    yield "A worker is half busy at this rate, with lines of known templates."


def _saved(facts: EstimateJson) -> Iterator[str]:
    mode = facts["mode"]
    other = "exact" if mode == "template" else "template"
    modes = {"template": facts["template"], "exact": facts["exact"]}
    free = {name: int(_THOUSAND * (modes[name]["entries_without_embedding_share"] or 0)) for name in (mode, other)}
    about = "about " if facts["basis"] == "sample" else ""
    yield (
        f"Of 1,000 lines, {about}{free[mode]:,} need no embedding: their template came before.\n"
        f"In mode {other} it is {about}{free[other]:,}. When the same lines come again, none does."
    )


def _rounded(number: float) -> str:
    """Return a number with the three digits that a measurement has."""
    return f"{float(f'{number:.3g}'):,.10g}"
