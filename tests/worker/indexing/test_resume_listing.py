"""How few queries list the blocks of many partitions that are read back at once."""

from collections.abc import Callable

import pytest

from consumers.record import Partition
from sinks.sink import BlockFilter, FoundBlocks
from tests.worker.indexing.test_resume import lines_block, resuming
from tests.world import block, line


class Listed:
    """Notes which blocks were asked for.

    Thread: the test's.
    """

    def __init__(self, find_blocks: Callable[..., FoundBlocks]) -> None:
        self._find_blocks = find_blocks
        self.asked: list[BlockFilter] = []

    def __call__(self, only: BlockFilter, *, limit: int | None = None, strong: bool = False) -> FoundBlocks:
        self.asked.append(only)
        return self._find_blocks(only, limit=limit, strong=strong)


@pytest.mark.parametrize("apart", [1, 10**9])
def test_partitions_are_listed_in_one_query_near_and_far(apart: int) -> None:
    rig = resuming(*(lines_block(apart * number, apart * number + 1, partition=number) for number in range(6)))
    receipts = [rig.admit(apart * number, apart * number + 1, partition=number) for number in range(6)]
    listed = Listed(rig.sink.find_blocks)
    rig.sink.find_blocks = listed  # type: ignore[method-assign]
    assert rig.resume.look_back(receipts)
    assert [len(only.spans) for only in listed.asked if only.spans is not None] == [6]
    for number, receipt in enumerate(receipts):
        lines = [line(offset, partition=number) for offset in (apart * number, apart * number + 1)]
        assert rig.skips(receipt, lines) == [True, True]


def test_partitions_of_another_topic_or_beyond_the_most_of_one_query_are_asked_for_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.indexing.resume._LISTED_AT_ONCE", 4)
    rig = resuming(*(lines_block(number, partition=number) for number in range(6)), block([line(5, topic="other", partition=0)]))
    listed = Listed(rig.sink.find_blocks)
    rig.sink.find_blocks = listed  # type: ignore[method-assign]
    receipts = [rig.admit(number, partition=number) for number in range(6)]
    other = Partition("other", 0)
    rig.ledger.assign([other])
    receipt = rig.ledger.admit(receipts[5].records._replace(topic="other", partition=0))
    assert receipt is not None
    assert rig.resume.look_back([*receipts, receipt])
    asked = [(only.topics, len(only.spans)) for only in listed.asked if only.spans is not None]
    assert sorted(asked) == [(("logs",), 2), (("logs",), 4), (("other",), 1)]
    assert [rig.skips(one, [line(number, partition=number)]) for number, one in enumerate(receipts)] == [[True]] * 6
    assert rig.skips(receipt, [line(5, topic="other")]) == [True]


def test_where_one_query_would_list_too_many_blocks_each_half_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.indexing.resume._MOST_LISTED", 2)
    stored = [*(lines_block(n, partition=n) for n in range(4)), *(lines_block(4 + first, first=first, partition=4) for first in range(3))]
    rig = resuming(*stored)
    listed = Listed(rig.sink.find_blocks)
    rig.sink.find_blocks = listed  # type: ignore[method-assign]
    receipts = [rig.admit(n, partition=n) for n in range(5)]
    assert rig.resume.look_back(receipts)
    assert [len(only.spans) for only in listed.asked if only.spans is not None] == [5, 2, 3, 1, 2, 1, 1]
    assert [rig.skips(one, [line(n, partition=n)]) for n, one in enumerate(receipts)] == [[True]] * 5
