"""Systems whose lines people have labelled by template: whole lines, and the messages in them.

The layout is LogHub's, as in `benchmarks.labelled_logs`; of a row `Content` (the message), `EventId` and `EventTemplate` are read.
`benchmarks.templates` and its neighbours call this once. Inconsistent input raises Misfit.
"""

import csv
from pathlib import Path
from typing import NamedTuple

from benchmarks.labelled_logs import Misfit, read_logs


class System(NamedTuple):
    """The lines of one log, side by side."""

    name: str
    messages: list[str]
    """What published comparisons group: the line without its head."""
    whole: list[str]
    """What a topic carries."""
    labels: list[str]
    """`EventId`."""
    label_texts: dict[str, str]
    """The template that people wrote for each label."""

    def texts(self, *, whole: bool) -> list[str]:
        """Return the whole lines or the messages."""
        return self.whole if whole else self.messages


def read_systems(folder: Path) -> list[System]:
    """Read every log that has labels, by name. Raises Misfit."""
    lines: dict[str, list[tuple[str, str]]] = {}
    for line in read_logs(folder):
        lines.setdefault(line.label.file, []).append((line.text, line.label.event))
    return [_system(folder / f"{name}.csv", of) for name, of in lines.items()]


def _system(file: Path, lines: list[tuple[str, str]]) -> System:
    with file.open(encoding="utf-8", errors="replace", newline="") as rows:
        read = [(row.get("Content"), row["EventId"], row.get("EventTemplate") or "") for row in csv.DictReader(rows)]
    if [event for _, event, _ in read] != [event for _, event in lines]:
        raise Misfit(f"{file.stem}: a line is too long to be compared")
    messages = [content for content, _, _ in read if content is not None]
    if len(messages) != len(read):
        raise Misfit(f"{file}: it has no column Content")
    return System(file.stem, messages, [text for text, _ in lines], [event for _, event in lines], {event: text for _, event, text in read})
