"""Lines, blocks, templates, and indexes of them for tests: short to write, with the values filled in that a test does not care about."""

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sinks.block import Block, BlockId, BlockPlace
from sinks.build import build
from sinks.heads import Heads
from sinks.index_spaces import VectorSpace
from sinks.line import Line
from sinks.lines import lines_of
from sinks.reading.line_filter import LineFilter, never
from sinks.reading.newest import NewestLines
from sinks.reading.reader import BlockReader
from sinks.row import TemplateId, TemplateRow, TemplateText
from sinks.sink import Sink, TemplateHit
from tests.fakes.sink import FakeSink
from tests.template_ids import id_of
from worker.querying.ranking import Index
from worker.querying.template_index import TemplateIndex

_RUNS = count(1)
_BLOCK_LINES = 10
DIM = 8
SPACE = VectorSpace(DIM, "space-1")
RUN = f"{1:012x}{0:08x}"
MASKS = "m1"
TEMPLATE_TEXT = "failed password for <user>"
TEMPLATE = id_of(TEMPLATE_TEXT)
"""Id of the template of a `line` that names no other."""


def unit(*values: float) -> NDArray[np.float32]:
    """Return a vector of `DIM` dimensions and length 1 that points along `values`, zeros after them."""
    vector = np.zeros(DIM, np.float32)
    vector[: len(values)] = values
    return np.asarray(vector / np.linalg.norm(vector), np.float32)


def template(text: str = TEMPLATE_TEXT, vector: NDArray[np.float32] | None = None) -> TemplateRow:
    """Return the template row of a template's text."""
    return TemplateRow(id_of(text), unit(1.0) if vector is None else vector, TemplateText(text))


def line(offset: int, **values: Any) -> Line:  # noqa: ANN401
    """Return the line at an offset of `logs`, partition 0, at 1,000 ms times its offset; `values` replace columns."""
    plain: dict[str, Any] = {
        "topic": "logs",
        "epoch": "0a0b0c0d",
        "partition": 0,
        "offset": offset,
        "sub": 0,
        "chunk": 0,
        "chunks": 1,
        "text": f"line {offset}",
        "template_text": TEMPLATE_TEXT,
        "time": 1_000 * offset,
        "service": "sshd",
        "level": "INFO",
    }
    plain |= values
    plain.setdefault("kafka_time", plain["time"])
    return Line(**plain)


def run(number: int) -> str:
    """Return the id of the n-th run: of two, the one with the larger number is later."""
    return f"{number:012x}{0:08x}"


def block(lines: Sequence[Line], run: str = RUN, first: int = 0, last: int | None = None, masks: str = MASKS) -> Block:
    """Return one block of lines of one partition, with the numbers `first` … `last` (`first` alone, if there is no `last`)."""
    place = BlockPlace(lines[0].topic, lines[0].epoch, lines[0].partition)
    assert all(one[:3] == place for one in lines), "a block is of one partition"
    (built,) = build(lines_of(lines), masks=masks, written_ms=0)
    return built.block._replace(id=BlockId(place, run, first, first if last is None else last))


def blocks(lines: Sequence[Line], size: int, run: str = RUN) -> list[Block]:
    """Return blocks of `size` lines of one partition, numbered from 0 on."""
    return [block(lines[at : at + size], run, number) for number, at in enumerate(range(0, len(lines), size))]


def offsets(lines: Sequence[Line]) -> list[int]:
    """Return the offsets of lines, in their order."""
    return [one.offset for one in lines]


def told(heads: Heads) -> dict[BlockId, tuple[object, ...]]:
    """Return all that heads say of each block."""
    assert len(set(heads.ids)) == heads.size, "a block came twice"
    return {
        one: (
            *(int(column[i]) for column in (heads.first_offset, heads.last_offset, heads.first_ms, heads.last_ms, heads.lines)),
            int(heads.written_ms[i]),
            heads.services[i],
            heads.levels[i],
            *(
                column[heads.start[i] : heads.start[i + 1]].tolist()
                for column in (heads.templates, heads.pieces, heads.template_first_ms, heads.template_last_ms)
            ),
        )
        for i, one in enumerate(heads.ids)
    }


def nearest(sink: Sink, vector: NDArray[np.float32], limit: int) -> list[TemplateHit]:
    """Return the templates nearest to one vector."""
    return sink.templates.nearest(vector[None], limit)[0]


def open_sink(templates: Iterable[TemplateRow] = (), *, ranks_words: bool = False, orders_blocks: bool = True) -> FakeSink:
    """Return a sink with these templates."""
    sink = FakeSink(dim=DIM, ranks_words=ranks_words, orders_blocks=orders_blocks)
    sink.open()
    sink.templates.upsert(list(templates))
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
    return Index(sink, BlockReader(sink, clock=clock), TemplateIndex(lambda: sink.templates, clock))


def template_texts(lines: Iterable[Line]) -> list[str]:
    """Return the texts of the lines' templates, in their order."""
    return [line.template_text for line in lines]


def counted(index: Index) -> list[int]:
    """Return a list that gets the number of templates of each reading of newest lines."""
    asked: list[int] = []
    whole = index.reader.newest_lines

    def read(
        templates: Collection[TemplateId], limit: int, only: LineFilter, *, deadline_passed: Callable[[], bool] = never
    ) -> NewestLines:
        asked.append(len(templates))
        return whole(templates, limit, only, deadline_passed=deadline_passed)

    index.reader.newest_lines = read  # type: ignore[method-assign]
    return asked
