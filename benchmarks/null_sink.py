"""A sink that takes everything and keeps nothing, for benchmarks of what lies before it."""
# ruff: noqa: ARG002 - the protocol names the arguments

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.safety_sides import NOTHING
from sinks.block import Block, BlockColumns, BlockId
from sinks.index_spaces import IndexSpaces, VectorSpace, one_view
from sinks.row import TemplateId, TemplateRow, TemplateText, Vector
from sinks.sink import (
    BlockFilter,
    Capabilities,
    ColumnName,
    FoundBlocks,
    SeenRun,
    SinkCounts,
    TemplateCapabilities,
    TemplateHit,
    TemplateView,
)


class NullTemplates:
    """Takes templates and holds none.

    Thread: any.
    """

    capabilities = TemplateCapabilities(ranks_words=False, scans=False)

    def upsert(self, rows: Sequence[TemplateRow]) -> None:
        """Acknowledge."""

    def vectors(self, templates: Collection[TemplateId]) -> dict[TemplateId, Vector]:
        """Return nothing."""
        return {}

    def texts(self, templates: Collection[TemplateId]) -> dict[TemplateId, TemplateText]:
        """Return nothing."""
        return {}

    def stored(self, templates: Collection[TemplateId]) -> set[TemplateId]:
        """Return all of them: a worker looks each minute, and writes every template again if one is gone."""
        return set(templates)

    def nearest(self, vectors: NDArray[np.float32], limit: int) -> list[list[TemplateHit]]:
        """Return nothing."""
        return [[] for _ in vectors]

    def matching(self, text: str, limit: int) -> list[TemplateHit]:
        """Return nothing."""
        return []

    def all_above(self, last: str, limit: int) -> list[tuple[TemplateId, TemplateText]]:
        """Return nothing."""
        return []

    def count(self) -> int:
        """Return 0."""
        return 0


class NullSink:
    """Takes everything, keeps nothing: what a sink costs is not in the figures.

    Thread: any.
    """

    retention_s: float | None = None
    capabilities = Capabilities(orders_blocks=False)

    def __init__(self, templates: TemplateView | None = None) -> None:
        self.templates: TemplateView = templates or NullTemplates()
        self.space = VectorSpace(0, "")
        """Of the worker's model, where a whole service runs over it."""
        self.blocks = 0
        self.block_bytes = 0

    def open(self, *, create: bool = True, adopt: bool = False) -> None:
        """Do nothing."""

    def ping(self) -> None:
        """Do nothing."""

    def spaces(self) -> IndexSpaces:
        """Say that there is one view."""
        return one_view(self.space)

    def change_spaces(self, before: IndexSpaces, after: IndexSpaces) -> bool:
        """Refuse: it has one view."""
        return before == after

    def open_view(self, space: VectorSpace, *, create: bool = False) -> TemplateView:
        """Return the one view."""
        del space, create
        return self.templates

    def prefer(self, space: str) -> None:
        """Do nothing."""

    def drop_view(self, space: str) -> None:
        """Do nothing."""

    def write_blocks(self, blocks: Sequence[Block], *, again: bool = False) -> None:
        """Acknowledge."""
        self.blocks += len(blocks)
        self.block_bytes += sum(block.size_bytes for block in blocks)

    def delete_blocks(self, ids: Collection[BlockId]) -> None:
        """Acknowledge."""

    def date_ms(self) -> int:
        """Return 0."""
        return 0

    def drop_expired(self) -> int:
        """Return 0."""
        return 0

    def find_blocks(self, only: BlockFilter, *, limit: int | None = None, strong: bool = False) -> FoundBlocks:
        """Return nothing."""
        return NOTHING

    def unseen_blocks(self, seen: Collection[SeenRun]) -> list[BlockId]:
        """Return nothing."""
        return []

    def read_columns(
        self, ids: Collection[BlockId], columns: Collection[ColumnName], *, strong: bool = False
    ) -> dict[BlockId, BlockColumns]:
        """Return nothing."""
        return {}

    def read_words(self, ids: Collection[BlockId]) -> dict[BlockId, NDArray[np.int32]]:
        """Return nothing."""
        return {}

    def counts(self) -> SinkCounts:
        """Return zeros."""
        return SinkCounts(0, 0)

    def close(self) -> None:
        """Do nothing."""
