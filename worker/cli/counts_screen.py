"""What a person sees of `vectail counts`: a table of groups, each with a bar as long as its share of the largest."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sinks.reading.group_names import FIELD
from worker.asking.answers import CountedFamilyJson, FieldStatisticsJson
from worker.cli.screen import Screen, shown_times
from worker.cli.screen_tables import NONE, Column, StyledText
from worker.cli.search_screen import COUNT_CUT, Answer, say_incomplete, shown_alike, shown_fits
from worker.runtime.logs import printable
from worker.runtime.wording import counted

Count = Mapping[str, Any]
"""A group as `worker.asking.answers.CountedJson` has it; what it is counted by is under its name."""
_BAR_CHARACTERS: Final = 24
_FAMILIES: Final = 20
"""Shown of those that are counted."""
_STYLES: Final = {"time": "dim", "family": "dim", "level": "yellow", "topic": ""}


def show_counts(screen: Screen, answer: Answer) -> None:
    """Show counts (`by`, `counts`, `complete`, `bucket_ms` if there are buckets)."""
    counts: Sequence[Count] = answer["counts"]
    if "families" in answer:
        _show_families(screen, answer)
    if answer.get("nothing_close"):
        return
    if not counts and (answer["complete"] or "behind" in answer):
        screen.say("No lines in this span, or none that the filters leave.")
    elif counts:
        if "statistics" in answer:
            screen.say(_shown_statistics(answer["by"][0].removeprefix(FIELD), answer["statistics"]))
        _show_table(screen, answer, counts)
    say_incomplete(screen, answer, COUNT_CUT)


def _show_families(screen: Screen, answer: Answer) -> None:
    """Show whose lines are counted, above the number of them."""
    families: Sequence[CountedFamilyJson] = answer["families"]
    similar = [one["similarity"] for one in families if "similarity" in one]
    if answer.get("nothing_close"):
        screen.say("Nothing close to this is in the index, so nothing is counted. The nearest:")
    elif similar and "strong" not in similar:
        screen.say("Nothing fits this well. These lines are counted:")
    elif families:
        screen.say("These lines are counted:")
    for one in families[:_FAMILIES]:
        text = " · ".join(part for part in (printable(one.get("name", "")), screen.text(one["text"]), shown_alike(one)) if part)
        screen.write((f"  {' '.join(shown_fits([one])):>11}  ", "green"), (text, ""))
    if len(families) > _FAMILIES:
        screen.say(f"  and {len(families) - _FAMILIES} kinds more.")


def _shown_statistics(name: str, found: FieldStatisticsJson) -> str:
    """Return in how many lines a field is, and what its numbers are like."""
    share = 100 * found["with_value"] / max(found["lines"], 1)
    told = f"{printable(name)} is in {found['with_value']:,} of {counted(found['lines'], 'line')} ({share:.3g} %)"
    if (numbers := found["numbers"]) is None:
        return f"{told}."
    figures = "  ".join(f"{figure} {numbers[figure]:,.15g}" for figure in ("min", "p50", "p95", "p99", "max"))
    of = "" if numbers["lines"] == found["with_value"] else f" in {numbers['lines']:,} of them"
    within = f", percentiles within {100 * numbers['error']:.3g} %" if numbers["error"] else ""
    return f"{told}. Numbers{of}{within}:  {figures}"


def shown_width(width_ms: int) -> str:
    """Return the width of a bucket in its largest whole unit."""
    for unit_ms, unit in ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s")):
        if width_ms % unit_ms == 0:
            return f"{width_ms // unit_ms} {unit}"
    return f"{width_ms} ms"


def _show_table(screen: Screen, answer: Answer, counts: Sequence[Count]) -> None:
    with_text = next((name for name in ("template", "family") if name in answer["by"]), None)
    day, times = shown_times([count["time"] for count in counts]) if "time" in answer["by"] else ("", [])
    shown_time = dict(zip((count.get("time") for count in counts), times, strict=False))
    if "bucket_ms" in answer:
        screen.write((" · ".join(part for part in (day, f"buckets of {shown_width(answer['bucket_ms'])}") if part), "dim"))
    most = max(count["lines"] for count in counts)

    def group(name: str) -> Column[Count]:
        title, style = name.removeprefix(FIELD), _STYLES.get(name, "magenta")
        if name == "time":
            return Column("from", lambda count: shown_time[count["time"]], style)
        return Column(title, lambda count: count[name] or NONE, style)

    columns = [group(name) for name in answer["by"] if name != with_text]
    columns += [Column("lines", "lines", "cyan", is_right=True), Column("", lambda count: _bar(count["lines"] / most))]
    if with_text is not None:
        columns.append(Column(with_text, lambda count: _named_text(screen, count, with_text), is_wide=True))
    screen.rows(counts, columns)


def _bar(share: float) -> str:
    return "█" * max(round(_BAR_CHARACTERS * share), 1)


def _named_text(screen: Screen, count: Count, of: str) -> list[StyledText]:
    """Return what a template or a family is called, and its text."""
    name: list[StyledText] = [(printable(count["name"]), "bold"), ("  ", "")] if "name" in count else []
    return [*name, (screen.text(count["text"] or count[of]), "")]
