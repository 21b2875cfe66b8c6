"""An index of blocks for tests of queries: lines in a fake sink, and what searches read it through."""

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import count

from sinks.line import Line
from sinks.reading.filters import LineFilter, never
from sinks.reading.newest import NewestLines
from sinks.reading.reader import BlockReader
from sinks.row import TemplateRow
from tests.fakes.sink import FakeSink
from tests.sinks.blocks import DIM, blocks, run
from worker.querying.ranking import Index
from worker.querying.template_index import TemplateIndex

_RUNS = count(1)
_BLOCK_LINES = 10


def open_sink(templates: Iterable[TemplateRow] = (), *, has_bm25: bool = False) -> FakeSink:
    """Return a sink with these templates."""
    sink = FakeSink(dim=DIM, has_bm25=has_bm25)
    sink.open()
    sink.upsert_templates(list(templates))
    return sink


def write(sink: FakeSink, *lines: Line) -> None:
    """Store lines, in a run of their own for each partition."""
    places: dict[tuple[object, ...], list[Line]] = {}
    for line in lines:
        places.setdefault(line[:3], []).append(line)
    for one in places.values():
        sink.write_blocks(blocks(one, _BLOCK_LINES, run(next(_RUNS))))


def index_of(sink: FakeSink, lines: Sequence[Line] = ()) -> Index:
    """Return what reads a sink, with these lines stored in it."""
    write(sink, *lines)
    clock = lambda: 0.0  # noqa: E731
    return Index(sink, BlockReader(sink, clock=clock), TemplateIndex(sink, clock))


def template_texts(lines: Iterable[Line]) -> list[str]:
    """Return the texts of the lines' templates, in their order."""
    return [line.template_text for line in lines]


def counted(index: Index) -> list[int]:
    """Return a list that gets the number of templates of each reading of newest lines."""
    asked: list[int] = []
    whole = index.reader.newest_lines

    def read(templates: Collection[str], limit: int, only: LineFilter, *, deadline_passed: Callable[[], bool] = never) -> NewestLines:
        asked.append(len(templates))
        return whole(templates, limit, only, deadline_passed=deadline_passed)

    index.reader.newest_lines = read  # type: ignore[method-assign]
    return asked
