"""The door of the Milvus sink: templates and blocks on a server, or in a local folder.

Made by the worker from its settings, called by the store and answer stages. Promises what `sinks.sink.Sink` promises; and for
a local folder, that one thread writes at a time and that the first failed write is the last (a local folder that goes on
after one loses rows that it has acknowledged).
"""

import time
from collections.abc import Callable, Collection, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sinks.block import Block, BlockColumns, BlockId
from sinks.index_spaces import IndexSpaces, VectorSpace
from sinks.milvus.access import connect
from sinks.milvus.collections import check_name
from sinks.milvus.faults import MilvusFault, refusal
from sinks.milvus.fields import CLOCK_PROPERTY
from sinks.milvus.index_clock import IndexClock
from sinks.milvus.index_time import Clocks, expired_before_ms, read_clocks
from sinks.milvus.lending import Lending
from sinks.milvus.lite import LocalMilvus, check_folder, local_folder
from sinks.milvus.lite_blocks import LiteBlocks
from sinks.milvus.milvus_settings import MilvusSettings
from sinks.milvus.opening import Opened, Wishes, open_collections
from sinks.milvus.server_blocks import ServerBlocks
from sinks.milvus.template_rows import MilvusTemplates
from sinks.milvus.views import MilvusViews
from sinks.milvus.writing import block_batches
from sinks.sink import BlockFilter, Capabilities, ColumnName, FoundBlocks, SeenRun, SinkBroken, SinkBusy, SinkCounts, SinkMismatch

__all__ = ["MilvusSettings", "MilvusSink"]

_WRITE_BYTES = 8_000_000
"""Of blocks, in one write."""
_PING_S = 2.5
"""For one answer to `ping`. In a folder of ten million lines the read took 0.5 s at worst, beside writes at full speed and the joining of
the heads' files (measured); of columns it would wait for the joining of theirs, which takes many times as long."""


class MilvusSink:
    """A `Sink` on Milvus; once a local write has failed, every call but `close` raises SinkBroken.

    Thread: any; writes to a local folder take turns behind one lock.
    """

    def __init__(
        self,
        settings: MilvusSettings,
        space: VectorSpace,
        *,
        consumer_group: str = "vectail",
        retention_s: float | None = None,
        say: Callable[[str], None] = lambda _line: None,
        clocks: Callable[[], Clocks] = read_clocks,
    ) -> None:
        """`retention_s`: after how many seconds a block goes; 0: never, None: as the collections have it, in a local folder never.

        `say` takes one line about what `open` changes in existing collections, and about a clock that was set.
        """
        self._settings = settings
        self._space = space
        self._group = consumer_group
        self._wanted_s = retention_s
        self._say = say
        self._lent = Lending()
        self._index_clock = IndexClock(clocks, say)
        self._retention_s = retention_s or None
        self._blocks: ServerBlocks | LiteBlocks | None = None
        self._views = MilvusViews(settings, space, consumer_group, self._lent, say)

    @property
    def retention_s(self) -> float | None:
        """After how many seconds a block goes, as the server says since the last write, or the settings for a local folder; None: never."""
        return self._retention_s

    @property
    def capabilities(self) -> Capabilities:
        """A limited `find_blocks` of a local folder returns the latest blocks; a server does not promise it."""
        return Capabilities(orders_blocks=isinstance(self._blocks, LiteBlocks))

    @property
    def templates(self) -> MilvusTemplates:
        """The templates of its own space, or of the one that was preferred last."""
        return self._views.preferred

    @property
    def repaired_files(self) -> int:
        """How many index files of a local folder `open` removed, to be built again."""
        return 0 if self._lent.local is None else self._lent.local.repaired

    @property
    def local_pid(self) -> int | None:
        """Of the process that serves the open local folder; None where there is none."""
        return None if self._lent.local is None else self._lent.local.pid

    def open(self, *, create: bool = True, adopt: bool = False) -> None:
        """Connect, then create or check all collections and load them; without `create`, nothing is created, indexed or altered.

        `adopt` takes the index over from another consumer group. Raises SinkMismatch (one line) or SinkBusy, and leaves nothing open;
        after SinkBusy, `open` may be called again.
        """
        if self._lent.broken:
            raise SinkBroken(self._lent.broken)
        self.close()
        check_name(self._settings.collection)
        folder = local_folder(self._settings.uri)
        if folder is not None and not create:
            check_folder(folder)
        is_local = folder is not None
        wishes = Wishes(self._settings, self._space, self._group, self._wanted_s, is_local, create, adopt, time.time(), self._say)
        try:
            local = None if folder is None else LocalMilvus(folder)
            client = self._lent.open(local, lambda: connect(self._settings, local))
            self._use(open_collections(client, wishes))
        except MilvusFault as fault:
            self.close()
            if folder is not None:
                raise SinkMismatch(f"Milvus folder {folder} cannot be used: {fault}") from None
            raise refusal(fault, write=False, local=False) from None
        except SinkMismatch:
            self.close()
            raise

    def write_blocks(self, blocks: Sequence[Block], *, again: bool = False) -> None:
        """Store all blocks, or raise. `again`: some of them may be there already."""
        for batch in block_batches(blocks, _WRITE_BYTES):
            with self._lent.calls(write=True):
                self._there().write(batch, again=again)
        if (there := self._views.check_not_replaced(time.time())) is not None:
            self._retention_s = there.ttl_s or None

    def delete_blocks(self, ids: Collection[BlockId]) -> None:
        """Remove these blocks; one that is not there is no error."""
        with self._lent.calls(write=True):
            self._there().delete(ids)

    def date_ms(self) -> int:
        """Return the date of a block that is written now: index time of a local folder (`sinks.milvus.index_time`), else the wall clock."""
        return round(self._index_clock.look().index_ms)

    def drop_expired(self) -> int:
        """Remove the blocks of a local folder that have expired, and return how many; a server does it by itself.

        Stores for the next process what time it is: call it once a minute.
        """
        if self._lent.local is None:
            return 0
        moment = self._index_clock.look()
        with self._lent.calls() as client:  # no rows are on their way: after a failure the folder is as good as before
            client.alter(self._settings.collection, {CLOCK_PROPERTY: moment.mark})
        if self._retention_s is None:
            return 0
        with self._lent.calls(write=True):
            blocks = self._there()
            expired_ms = expired_before_ms(moment.index_ms, self._retention_s)
            return blocks.drop_written_before(expired_ms) if isinstance(blocks, LiteBlocks) else 0

    def find_blocks(self, only: BlockFilter, *, limit: int | None = None, strong: bool = False) -> FoundBlocks:
        """Return the blocks that pass a filter, at most `limit` of them: in a local folder the latest, on a server any."""
        with self._lent.calls():
            blocks = self._there()
            return blocks.find(only, limit) if isinstance(blocks, LiteBlocks) else blocks.find(only, limit, _consistency(strong=strong))

    def unseen_blocks(self, seen: Collection[SeenRun]) -> list[BlockId]:
        """Return the blocks that begin behind what was seen of their run; only ids are read, in a local folder from memory."""
        with self._lent.calls():
            blocks = self._there()
            return blocks.unseen(seen) if isinstance(blocks, LiteBlocks) else blocks.unseen(seen, _consistency(strong=False))

    def read_columns(
        self, ids: Collection[BlockId], columns: Collection[ColumnName], *, strong: bool = False
    ) -> dict[BlockId, BlockColumns]:
        """Return these columns of those of `ids` that are stored; asked for in bounded pieces."""
        with self._lent.calls():
            blocks = self._there()
            if isinstance(blocks, LiteBlocks):
                return blocks.columns(ids, columns)
            return blocks.columns(ids, columns, _consistency(strong=strong))

    def read_words(self, ids: Collection[BlockId]) -> dict[BlockId, NDArray[np.int32]]:
        """Return the words of those of `ids` that are stored (Strong); a local folder keeps them only as filters, and returns nothing."""
        with self._lent.calls():
            blocks = self._there()
            return {} if isinstance(blocks, LiteBlocks) else blocks.words(ids)

    def ping(self) -> None:
        """Return when a head has been read, or none was there: a few seconds at most, however busy the writers are."""
        self._there()
        only = 'id == ""' if self._lent.local is None else "slot in [0]"
        with self._lent.call_at_once() as client:
            client.query(self._settings.collection, only, ["id"], limit=1, timeout_s=_PING_S)

    def spaces(self) -> IndexSpaces:
        """Return the views that the index has now."""
        return self._views.spaces()

    def change_spaces(self, before: IndexSpaces, after: IndexSpaces) -> bool:
        """Remember other views, unless somebody has changed them meanwhile; returns whether it is so now."""
        return self._views.change(before, after)

    def open_view(self, space: VectorSpace, *, create: bool = False) -> MilvusTemplates:
        """Return the view of a space. Raises SinkMismatch and SinkBusy."""
        return self._views.open_view(space, create=create, now_s=time.time())

    def prefer(self, space: str) -> None:
        """Make an open view the `templates`."""
        self._views.prefer(space)

    def drop_view(self, space: str) -> None:
        """Remove a view that is not the `templates`."""
        self._views.drop(space)

    def counts(self) -> SinkCounts:
        """Count the rows of both, exactly."""
        with self._lent.calls():
            blocks = self._there().count()
        return SinkCounts(blocks, self.templates.count())

    def close(self) -> None:
        """Release the connection and the folder."""
        self._lent.close()
        self._blocks = None

    def _use(self, opened: Opened) -> None:
        self._blocks = opened.blocks
        if isinstance(opened.blocks, LiteBlocks):
            self._index_clock.begin(opened.mark, opened.blocks.dates(), self._retention_s)
        else:
            self._retention_s = opened.retention_s
        self._views.use(opened)

    def _there(self) -> ServerBlocks | LiteBlocks:
        self._lent.check()
        if self._blocks is None:
            raise SinkBusy("the Milvus sink is not open")
        return self._blocks


def _consistency(*, strong: bool) -> Literal["Strong"] | None:
    return "Strong" if strong else None
