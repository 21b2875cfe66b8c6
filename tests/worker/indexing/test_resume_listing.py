"""How few queries list the blocks of many partitions that are read back at once."""

from collections.abc import Sequence

import pytest

from consumers.record import Partition
from sinks.sink import BlockFilter, FoundBlocks
from tests.worker.indexing.resuming import Resuming
from tests.worker.indexing.test_resume import lines_block, resuming
from tests.world import block, line


def spans_asked(rig: Resuming) -> list[tuple[Sequence[str], int]]:
    """Note of which topics, and of how many spans, each listing of blocks is from now on."""
    asked: list[tuple[Sequence[str], int]] = []
    find_blocks = rig.sink.find_blocks

    def noted(only: BlockFilter, *, limit: int | None = None, strong: bool = False) -> FoundBlocks:
        if only.spans is not None:
            asked.append((only.topics, len(only.spans)))
        return find_blocks(only, limit=limit, strong=strong)

    rig.sink.find_blocks = noted  # type: ignore[method-assign]
    return asked


@pytest.mark.parametrize("apart", [1, 10**9])
def test_partitions_are_listed_in_one_query_near_and_far(apart: int) -> None:
    rig = resuming(*(lines_block(apart * number, apart * number + 1, partition=number) for number in range(6)))
    receipts = [rig.admit(apart * number, apart * number + 1, partition=number) for number in range(6)]
    asked = spans_asked(rig)
    assert rig.resume.look_back(receipts)
    assert [spans for _, spans in asked] == [6]
    for number, receipt in enumerate(receipts):
        lines = [line(offset, partition=number) for offset in (apart * number, apart * number + 1)]
        assert rig.skips(receipt, lines) == [True, True]


def test_partitions_of_another_topic_or_beyond_the_most_of_one_query_are_asked_for_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.indexing.resume._LISTED_AT_ONCE", 4)
    rig = resuming(*(lines_block(number, partition=number) for number in range(6)), block([line(5, topic="other", partition=0)]))
    asked = spans_asked(rig)
    receipts = [rig.admit(number, partition=number) for number in range(6)]
    other = Partition("other", 0)
    rig.ledger.assign([other])
    receipt = rig.ledger.admit(receipts[5].records._replace(topic="other", partition=0))
    assert receipt is not None
    assert rig.resume.look_back([*receipts, receipt])
    assert sorted(asked) == [(("logs",), 2), (("logs",), 4), (("other",), 1)]
    assert [rig.skips(one, [line(number, partition=number)]) for number, one in enumerate(receipts)] == [[True]] * 6
    assert rig.skips(receipt, [line(5, topic="other")]) == [True]


def test_where_one_query_would_list_too_many_blocks_each_half_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worker.indexing.resume._MOST_LISTED", 2)
    stored = [*(lines_block(n, partition=n) for n in range(4)), *(lines_block(4 + first, first=first, partition=4) for first in range(3))]
    rig = resuming(*stored)
    asked = spans_asked(rig)
    receipts = [rig.admit(n, partition=n) for n in range(5)]
    assert rig.resume.look_back(receipts)
    assert [spans for _, spans in asked] == [5, 2, 3, 1, 2, 1, 1]
    assert [rig.skips(one, [line(n, partition=n)]) for n, one in enumerate(receipts)] == [[True]] * 5
