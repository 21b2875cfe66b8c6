"""Resume reads back what was acknowledged a moment ago, on the fake, on a local Milvus folder and on a real server."""

from sinks.sink import Sink
from tests.worker.indexing.resuming import Resuming
from tests.world import TEMPLATE_TEXT, block, blocks, line, run


def test_what_was_acknowledged_a_moment_ago_is_passed_over(sink: Sink) -> None:
    rig = Resuming(sink=sink, window_records=20)
    rig.store_templates(TEMPLATE_TEXT)
    for number, one in enumerate(blocks([line(offset) for offset in range(50)], 5), start=1):
        rig.store(one)
        rig.begin_again(0)
        stored = range(5 * number)
        assert rig.skipped(*range(5 * number + 5)) == list(stored)


def test_a_template_that_was_acknowledged_a_moment_ago_counts_and_another_does_not(sink: Sink) -> None:
    rig = Resuming(block([line(5, template_text="late"), line(6, template_text="lost")]), sink=sink)
    assert rig.skipped(5, 6) == []
    rig.store_templates("late")
    rig.begin_again(0)
    assert rig.skipped(5, 6) == [5]


def test_partitions_are_read_back_together_near_and_far(sink: Sink) -> None:
    places = {partition: partition * (1 if partition < 4 else 10**9) for partition in range(8)}
    stored = [block([line(offset, partition=partition, time=7, kafka_time=7)], run(1)) for partition, offset in places.items()]
    rig = Resuming(*stored, sink=sink)
    rig.store_templates(TEMPLATE_TEXT)
    receipts = {partition: rig.admit(offset, offset + 1, partition=partition) for partition, offset in places.items()}
    assert rig.resume.look_back(list(receipts.values()))
    for partition, offset in places.items():
        lines = [line(at, partition=partition, time=7, kafka_time=7) for at in (offset, offset + 1)]
        assert rig.skips(receipts[partition], lines) == [True, False]
    assert all(rig.run_id(one) > run(1) for one in receipts.values())
