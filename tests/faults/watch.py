"""Watches while workers work: committed offsets, which may never go back, and what a reader gets of what is committed.

A position that goes back was moved by a member that does not own it. The reader is the product's, at Strong: at any moment it gets every
line below the committed offset, and none of them twice (`tests.faults.oracle` judges), and counts of templates are those of the lines.
"""

import threading
import time
from collections import Counter
from typing import Self

from sinks.milvus.milvus_settings import MilvusSettings
from sinks.milvus.milvus_sink import MilvusSink
from sinks.reading.between import RecordRange
from sinks.reading.counting import CountQuery
from sinks.reading.line_filter import LineFilter
from sinks.reading.reader import BlockReader
from sinks.sink import SinkMismatch
from tests.faults.index import Index
from tests.faults.oracle import judge
from tests.faults.scene import Scene
from tests.faults.stored_lines import Line
from tests.faults.topics import Committed, Topics
from worker.connections import vector_space
from worker.embedding.loaded import space_of

_PAUSE_S = 0.05
_OPEN_PAUSE_S = 0.5
_NO_END = 1 << 62


class CommitWatch:
    """Records each change of the committed offsets until the block ends; none may have gone back.

    Thread: one of its own; the test reads.
    """

    def __init__(self, topics: Topics) -> None:
        self.moved_back: list[tuple[Committed, Committed]] = []
        """Committed offsets before and after each step back."""
        self.longest_rest_s = 0.0
        """The longest time without a commit."""
        self._topics = topics
        self._over = threading.Event()
        self._failed: Exception | None = None
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_more: object) -> None:
        self._over.set()
        self._thread.join()
        if kind is None:
            assert self._failed is None, self._failed
            assert self.moved_back == [], "a position went back"

    def _look(self) -> None:
        last, changed_s = self._topics.committed(), time.monotonic()
        while not self._over.wait(_PAUSE_S):
            try:
                committed = self._topics.committed()
            except AssertionError as failure:
                self._failed = failure
                return
            now_s = time.monotonic()
            self.longest_rest_s = max(self.longest_rest_s, now_s - changed_s)
            if any(committed[partition] < offset for partition, offset in last.items()):
                self.moved_back.append((last, committed))
            if committed != last:
                last, changed_s = committed, now_s


class ReaderWatch:
    """Reads a scene's index on a server again and again until the block ends; each read must be right.

    Thread: one of its own; the test reads.
    """

    def __init__(self, scene: Scene) -> None:
        assert scene.server is not None, "a folder belongs to its worker"
        self.reads = 0
        """How many reads were right."""
        self._scene = scene
        settings = MilvusSettings(uri=scene.server.uri, collection=scene.collection)
        space = vector_space(space_of(scene.model))
        self._sink = MilvusSink(settings, space, consumer_group=scene.topics.group)
        self._over = threading.Event()
        self._failed: Exception | None = None
        self._thread = threading.Thread(target=self._read_again_and_again, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_more: object) -> None:
        self._over.set()
        self._thread.join()
        self._sink.close()
        if kind is None:
            if self._failed is not None:
                raise self._failed
            assert self.reads, "nothing was read"

    def _read_again_and_again(self) -> None:
        try:
            while not self._over.is_set():
                try:
                    self._sink.open(create=False)
                    break
                except SinkMismatch:  # the worker has not created it yet
                    self._over.wait(_OPEN_PAUSE_S)
            reader = BlockReader(self._sink)
            while not self._over.wait(_PAUSE_S):
                self._read(reader)
                self._count(reader)
                self.reads += 1
        except Exception as failure:  # noqa: BLE001 - the test raises it
            self._failed = failure

    def _read(self, reader: BlockReader) -> None:
        topics = self._scene.topics
        committed = topics.committed()
        lines: list[Line] = []
        for partition, end in committed.items():
            stored = reader.lines_between(RecordRange(topics.logs, partition, 0, end), strong=True)
            assert stored.complete, "a block cannot be read"
            for one in stored.lines:
                place = (one.topic, one.epoch, one.partition, one.offset, one.sub, one.chunk, one.chunks, one.cut, one.kafka_time)
                lines.append(Line(one.id, one.template, one.template_text, one.text or "", one.time, one.service, one.level, *place))
        sent = [record for record in list(topics.sent) if record.offset < committed[record.partition]]
        letters = [letter for letter in topics.letters() if letter.offset < committed[letter.partition]]
        index = Index(lines, sorted({line.template for line in lines}), {}, {})
        lost = judge(sent, topics.logs, index, letters, topics.earlier).lost_below(committed)
        assert lost == [], f"a reader missed {lost} below {committed}"

    def _count(self, reader: BlockReader) -> None:
        """Lines only come, so each template has at least the pieces that were there before, and at most those that are there afterwards."""
        before = self._pieces(reader)
        counts = reader.count(CountQuery(LineFilter(topics=(self._scene.topics.logs,)), by=("template",)))
        after = self._pieces(reader)
        assert counts.complete, "a block cannot be counted"
        counted = Counter({str(row.key[0]): row.lines for row in counts.rows})
        wrong = {one: (before[one], counted[one], after[one]) for one in after | counted if not before[one] <= counted[one] <= after[one]}
        assert not wrong, f"pieces of templates before a count, in it, and afterwards: {wrong}"

    def _pieces(self, reader: BlockReader) -> Counter[str]:
        topics = self._scene.topics
        found = [
            reader.lines_between(RecordRange(topics.logs, partition, 0, _NO_END), strong=True) for partition in range(topics.partitions)
        ]
        assert all(one.complete for one in found), "a block cannot be read"
        return Counter(line.template for one in found for line in one.lines)
