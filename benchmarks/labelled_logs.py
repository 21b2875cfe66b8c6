"""Log lines that people have labelled by template.

The layout is LogHub's: `NAME.log` with the lines, and `NAME.csv` with a row for each line: `EventId`, and where there are such columns
`Content` and `EventTemplate`.
Every benchmark on labels reads them here, once. Inconsistent input raises Misfit; nothing is guessed.
"""

import csv
from pathlib import Path
from typing import NamedTuple

from benchmarks.race import Missing
from producers.file_lines import FileUnreadable, LineTooLarge, read_files


class Misfit(Missing):
    """Logs and labels, or questions about them, are inconsistent; the message is one line for the user."""


class Label(NamedTuple):
    """A template as labelled by people."""

    file: str
    """Name of the log without its suffix."""
    event: str
    """`EventId`; unique within its file only."""


class LabelledLine(NamedTuple):
    """A line of the log, unchanged, and its label."""

    text: str
    label: Label
    message: str
    """The line without its head; empty if nobody has cut it off."""
    label_text: str
    """The template that people wrote for the label."""


def read_logs(folder: Path) -> list[LabelledLine]:
    """Read every log that has labels, by name. Raises Misfit."""
    files = sorted(file for file in folder.glob("*.csv") if file.with_suffix(".log").is_file())
    if not files:
        raise Misfit(f"{folder}: no NAME.log with its NAME.csv; give a folder of labelled logs (LogHub) with --logs")
    return [line for file in files for line in _read_log(file)]


def _read_log(labels: Path) -> list[LabelledLine]:
    log = labels.with_suffix(".log")
    try:
        with labels.open(encoding="utf-8", errors="replace", newline="") as rows:
            labelled = [tuple(row.get(name) or "" for name in ("EventId", "Content", "EventTemplate")) for row in csv.DictReader(rows)]
        lines = list(read_files([str(log)]))
    except (OSError, csv.Error, FileUnreadable) as error:
        raise Misfit(f"{labels.stem}: {error}") from error
    if len(lines) != len(labelled):
        raise Misfit(f"{log} has {len(lines)} lines, and {labels.name} labels {len(labelled)}")
    for number, (event, _, _) in enumerate(labelled, 1):
        if not event:
            raise Misfit(f"{labels}: row {number} has no EventId")
    return [
        LabelledLine(line.decode("utf-8", "replace"), Label(labels.stem, event), message, label_text)
        for line, (event, message, label_text) in zip(lines, labelled, strict=True)
        if not isinstance(line, LineTooLarge)
    ]
