"""Long lines as the answers of exports and tails show them: whole, where all of their chunks are there and fit."""

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from sinks.line import Line
from worker.asking.answers import LineJson
from worker.querying.answer_documents import json_bytes, shown_line

MOST_LINES_BYTES = 800_000
"""Of JSON in one answer; a single piece takes less."""


class ShownLine(NamedTuple):
    """A line as an answer shows it.

    Thread: any.
    """

    last: Line
    """Its last piece."""
    document: LineJson
    size_bytes: int
    pieces: int


def shown_lines(lines: Sequence[Line]) -> list[ShownLine]:
    """Return lines as answers show them; the chunks of a long one must stand together.

    A line whose chunks are all there is one, with their texts joined, and says `chunk` 0 of 1; any other is shown chunk by chunk.
    """
    shown: list[ShownLine] = []
    for _, some in groupby(lines, key=lambda line: (line.topic, line.epoch, line.partition, line.offset, line.sub)):
        pieces = list(some)
        whole = _joined(pieces) if len(pieces) > 1 and [one.chunk for one in pieces] == list(range(pieces[0].chunks)) else None
        if whole is not None and (one := _shown(whole, pieces[-1], len(pieces))).size_bytes <= MOST_LINES_BYTES:
            shown.append(one)
        else:
            shown += [_shown(piece, piece, 1) for piece in pieces]
    return shown


def _joined(pieces: Sequence[Line]) -> Line:
    texts = [one.text for one in pieces]
    text = None if None in texts else "".join(text for text in texts if text is not None)
    fields = next((one.fields for one in pieces if one.fields is not None), None)
    return pieces[0]._replace(text=text, fields=fields, chunks=1, cut=0)


def _shown(line: Line, last: Line, pieces: int) -> ShownLine:
    document = shown_line(line)
    return ShownLine(last, document, len(json_bytes(document)) + 2, pieces)
