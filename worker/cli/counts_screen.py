"""What a person sees of `vectail counts`: a table of groups, each with a bar as long as its share of the largest."""

from collections.abc import Mapping, Sequence
from typing import Any

from sinks.reading.tally import FIELD
from worker.cli.screen import Screen, StyledText, TableColumn, shown_text, shown_times
from worker.runtime.logs import printable

_BAR_CHARACTERS = 24
_COLUMNS = {
    "time": TableColumn("from", "dim"),
    "template": TableColumn("template", is_wide=True),
    "family": TableColumn("family", is_wide=True),
    "service": TableColumn("service", "magenta"),
    "level": TableColumn("level", "yellow"),
    "topic": TableColumn("topic"),
    "field": TableColumn("field", "magenta"),
}


def show_counts(screen: Screen, answer: Mapping[str, Any]) -> None:
    """Show counts (`by`, `counts`, `complete`, `bucket_ms` if there are buckets)."""
    counts: Sequence[Mapping[str, Any]] = answer["counts"]
    if not counts and answer["complete"]:
        screen.say("No lines in this span; `--since all` looks at all of them.")
    elif counts:
        _show_table(screen, answer, counts)
    if not answer["complete"]:
        screen.say("The count is incomplete: a limit or the time-out cut it short.")


def shown_width(width_ms: int) -> str:
    """Return the width of a bucket in its largest whole unit."""
    for unit_ms, unit in ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s")):
        if width_ms % unit_ms == 0:
            return f"{width_ms // unit_ms} {unit}"
    return f"{width_ms} ms"


def _column(name: str) -> TableColumn:
    if name == "family":
        return TableColumn("family", "dim")  # its text would be beside that of the template
    return _COLUMNS.get(name) or TableColumn(printable(name.removeprefix(FIELD)), "magenta")


def _show_table(screen: Screen, answer: Mapping[str, Any], counts: Sequence[Mapping[str, Any]]) -> None:
    with_text = next((name for name in ("template", "family") if name in answer["by"]), None)
    others = [name for name in answer["by"] if name != with_text]
    day, times = shown_times([count["time"] for count in counts]) if "time" in others else ("", [])
    if "bucket_ms" in answer:
        screen.write((" · ".join(part for part in (day, f"buckets of {shown_width(answer['bucket_ms'])}") if part), "dim"))
    most = max(count["lines"] for count in counts)
    rows: list[list[Sequence[StyledText]]] = []
    for row, count in enumerate(counts):
        group = [times[row] if name == "time" else printable(count[name]) or "-" for name in others]
        bar = "█" * max(round(_BAR_CHARACTERS * count["lines"] / most), 1)
        cells: list[Sequence[StyledText]] = [[(cell, "")] for cell in (*group, f"{count['lines']:,}", bar)]
        rows.append(cells if with_text is None else [*cells, _named_text(count, with_text)])
    columns = [*(_column(name) for name in others), TableColumn("lines", "cyan", is_right=True), TableColumn("")]
    if with_text is None:
        screen.narrow_table(columns, rows)
    else:
        screen.table([*columns, _COLUMNS[with_text]], rows)


def _named_text(count: Mapping[str, Any], of: str) -> list[StyledText]:
    """Return what a template or a family is called, and its text."""
    name: list[StyledText] = [(printable(count["name"]), "bold"), ("  ", "")] if "name" in count else []
    return [*name, (shown_text(count["text"] or count[of]), "")]
