"""A screen as a list of columns: every verb but `search` and `demo` shows its rows with `table` and single figures with `facts`.

The rows are those of the document that `--json` prints. Nothing is cut: a row that is wider than the terminal wraps there, and is one line
in a file; line ends inside a cell become blanks. Pure: returns styled lines, which `Screen.lines` and `plain` show.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from worker.runtime.logs import printable

StyledText = tuple[str, str]
"""Some text, and rich's name of its style; empty for none."""
Cell = Sequence[StyledText]
Row = TypeVar("Row")
NONE = "-"


class Column(NamedTuple, Generic[Row]):
    """What a column shows of each row."""

    title: str
    value: str | int | Callable[[Row], object]
    """A key of the row, or a function of it: text, a number, None, or a styled cell. Text is escaped unless it is in a cell."""
    style: str = ""
    is_right: bool = False
    """Align to the right, as numbers are anyway."""
    is_wide: bool = False
    """Takes the remaining width and wraps; only `Screen.rows` heeds it."""

    def of(self, row: Row) -> object:
        """Return the value of a row."""
        if callable(self.value):
            return self.value(row)
        return row[self.value] if isinstance(row, Mapping) or isinstance(self.value, int) else getattr(row, self.value)  # type: ignore[index]


def shown(value: object) -> str:
    """Return a value for display: numbers with thousands, fractions with one digit, `-` for None."""
    if value is None:
        return NONE
    if isinstance(value, float):
        return f"{value:,.1f}"
    return f"{value:,}" if isinstance(value, int) else printable(str(value))


def cell(value: object, style: str = "") -> Cell:
    """Return a value as a styled cell; one that is a cell stays as it is."""
    return value if isinstance(value, list | tuple) else [(shown(value), style)]


def table(rows: Iterable[Row], columns: Sequence[Column[Row]]) -> list[list[StyledText]]:
    """Return the titles, if there are any, and a line for each row; the last column is not padded, and a cell has no line ends."""
    values = [[column.of(row) for column in columns] for row in rows]
    cells = [[_on_one_line(cell(value, column.style)) for value, column in zip(row, columns, strict=True)] for row in values]
    if any(column.title for column in columns):
        cells.insert(0, [[(shown(column.title), "bold")] for column in columns])
    rights = [column.is_right or any(isinstance(row[place], int | float) for row in values) for place, column in enumerate(columns)]
    widths = [max((_width(row[place]) for row in cells), default=0) for place in range(len(columns))]
    return [_line(row, widths, rights) for row in cells]


def facts(pairs: Iterable[tuple[str, str]]) -> list[list[StyledText]]:
    """Return one name and value per line, the values aligned."""
    return table(list(pairs), [Column("", 0), Column("", 1)])


def plain(lines: Iterable[Sequence[StyledText]]) -> list[str]:
    """Return lines without styles."""
    return ["".join(text for text, _ in line) for line in lines]


def _on_one_line(of: Cell) -> Cell:
    return [(text.replace("\n", "  "), style) for text, style in of]


def _width(of: Cell) -> int:
    return sum(len(text) for text, _ in of)


def _line(cells: Sequence[Cell], widths: Sequence[int], rights: Sequence[bool]) -> list[StyledText]:
    parts: list[StyledText] = []
    for place, (one, width, is_right) in enumerate(zip(cells, widths, rights, strict=True)):
        pad = (" " * (width - _width(one)), "")
        parts += [pad, *one] if is_right else [*one, pad]
        parts.append(("" if place == len(cells) - 1 else "  ", ""))
    while parts and not parts[-1][0].strip():
        parts.pop()
    return parts
