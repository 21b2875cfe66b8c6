"""Rows for sink tests: short to write, each with the values that the test does not care about filled in."""

import numpy as np
from numpy.typing import NDArray

from sinks.milvus.settings import VectorSpace
from sinks.row import LineRow, TemplateRow, row_id
from sinks.sink import LineFilter, Sink, TemplateHit

DIM = 8
SPACE = VectorSpace(DIM, "space-1")
DIGEST = "d" * 32


def unit(*values: float) -> NDArray[np.float32]:
    """Return a vector of `DIM` dimensions and length 1 that points along `values`, zeros after them."""
    vector = np.zeros(DIM, np.float32)
    vector[: len(values)] = values
    return np.asarray(vector / np.linalg.norm(vector), np.float32)


def template(digest: str, vector: NDArray[np.float32] | None = None, text: str = "failed password for <user>") -> TemplateRow:
    """Return a template row."""
    return TemplateRow(digest, unit(1.0) if vector is None else vector, text)


def line(offset: int, **values: str | int) -> LineRow:
    """Return the line at an offset of `logs`, partition 0, at 1,000 ms times its offset; `values` replace columns."""
    plain: dict[str, str | int] = {
        "id": row_id("logs", "0a0b0c0d", 0, offset, 0, 0),
        "template": DIGEST,
        "text": f"line {offset}",
        "time": 1_000 * offset,
        "service": "sshd",
        "level": "INFO",
        "topic": "logs",
        "partition": 0,
        "offset": offset,
        "sub": 0,
        "chunk": 0,
        "chunks": 1,
    }
    return LineRow(**(plain | values))  # type: ignore[arg-type]


def offsets(lines: list[LineRow]) -> list[int]:
    """Return the offsets of lines, in their order."""
    return [one.offset for one in lines]


def newest(sink: Sink, digest: str, limit: int, only: LineFilter) -> list[LineRow]:
    """Return the newest lines of one template."""
    return sink.newest_lines([digest], limit, only).get(digest, [])


def nearest(sink: Sink, vector: NDArray[np.float32], limit: int) -> list[TemplateHit]:
    """Return the templates nearest to one vector."""
    return sink.nearest_templates(vector[None], limit)[0]
