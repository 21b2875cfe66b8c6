"""Chunks become the columns that blocks are made of, without an object per line.

What a line holds is said once, in `worker.indexing.pieces.lines_of_entry`; this is the same for many chunks of one partition.
"""

from collections.abc import Sequence

import numpy as np

from sinks.arrow import null_column, string_column
from sinks.block import Lines
from sinks.lines import coded
from worker.messages import Chunk


def lines_of_chunks(chunks: Sequence[Chunk]) -> Lines:
    """Return n ≥ 1 chunks of one partition as columns, in their order."""
    size = len(chunks)
    entries = [chunk.entry for chunk in chunks]
    records = [entry.record for entry in entries]
    return Lines(
        offset=np.fromiter((record.offset for record in records), np.int64, size),
        sub=np.fromiter((entry.sub for entry in entries), np.int32, size),
        chunk=np.fromiter((chunk.chunk for chunk in chunks), np.int32, size),
        chunks=np.fromiter((chunk.chunks for chunk in chunks), np.int32, size),
        cut=np.fromiter((chunk.cut for chunk in chunks), np.uint64, size),
        records=np.ones(size, np.int32),
        time=np.fromiter((entry.time_ms for entry in entries), np.int64, size),
        kafka_time=np.fromiter((record.time_ms for record in records), np.int64, size),
        service=coded([entry.service for entry in entries]),
        level=coded([entry.level for entry in entries]),
        template=coded([chunk.masked for chunk in chunks]),
        text=string_column([chunk.text for chunk in chunks]),
        fields=null_column(size),
    )
