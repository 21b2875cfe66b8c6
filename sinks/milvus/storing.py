"""One batch becomes as many requests as it takes, and every row of it is counted.

Called by the sink's upserts. A batch that is more than somebody on the way takes at once is halved here, and not in the store step: that
halves to find a row that is at fault, and here none is. A single row that is too large is refused like anything else that is not on
the short list: it fits its columns, so the limit is one that somebody set too low; the world's fault, and no dead letter.
"""

from sinks.milvus.client import Client
from sinks.milvus.faults import MilvusFault
from sinks.milvus.fields import Layout
from sinks.milvus.packing import ColumnValues


def upsert_in_parts(client: Client, layout: Layout, columns: tuple[ColumnValues, ...], *, splits: bool) -> None:
    """Store one batch; `splits` halves it for as long as it is too large. Raises MilvusFault, also for rows that were not counted."""
    parts = [columns]
    while parts:
        part = parts.pop()
        rows = len(part[0])
        try:
            counted = client.upsert(layout, part)
        except MilvusFault as fault:
            if not splits or rows == 1 or not fault.may_be_size:
                raise
            middle = rows // 2
            parts += [tuple(column[middle:] for column in part), tuple(column[:middle] for column in part)]
            continue
        if counted != rows:
            raise MilvusFault("upsert", -1, f"{counted} of {rows} rows of {layout.name} were acknowledged")
