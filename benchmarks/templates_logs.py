"""Systems whose lines people have labelled by template: whole lines, and the messages in them; for `benchmarks.templates`."""

from pathlib import Path
from typing import NamedTuple

from benchmarks.labelled_logs import LabelledLine, Misfit, read_logs


class System(NamedTuple):
    """The lines of one log."""

    name: str
    lines: list[LabelledLine]

    @property
    def labels(self) -> list[str]:
        """Return the `EventId` of each line."""
        return [line.label.event for line in self.lines]

    def texts(self, *, whole: bool) -> list[str]:
        """Return the whole lines, which a topic carries, or the messages, which published comparisons group."""
        return [line.text if whole else line.message for line in self.lines]


def read_systems(folder: Path) -> list[System]:
    """Read every log that has labels, by name. Raises Misfit."""
    systems: dict[str, System] = {}
    for line in read_logs(folder):
        systems.setdefault(line.label.file, System(line.label.file, [])).lines.append(line)
    for system in systems.values():
        if not any(line.message for line in system.lines):
            raise Misfit(f"{folder / system.name}.csv: it has no column Content")
    return list(systems.values())
