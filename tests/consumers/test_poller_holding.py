"""What the poller does at the cap: batches in parts, what it holds, when it pauses and when it only waits."""

from tests.consumers.scene import Scene, idle, turn

FOR_EVER_S = 10_000.0


def test_what_one_poll_brought_is_delivered_in_one_call_with_a_receipt_for_each_partition() -> None:
    scene = Scene()
    scene.play(turn(lambda: scene.produce(0, 3), lambda: scene.produce(1, 2)), idle, lambda: scene.produce(0, 1))
    sizes = [[(receipt.records.partition, receipt.records.size) for receipt in receipts] for receipts in scene.batches]
    assert sizes == [[(0, 3), (1, 2)], [(0, 1)]]


def test_the_bytes_of_what_is_held_are_of_its_own_records() -> None:
    scene = Scene(partitions=1, cap_bytes=100)

    def produce() -> None:
        for size_bytes in (90, 20, 70, 5):
            scene.broker.produce(0, b"x" * size_bytes)

    seen: list[int] = []
    scene.play(produce, turn(lambda: seen.append(scene.ledger.open_bytes), scene.settle), lambda: seen.append(scene.ledger.open_bytes))
    assert seen == [90, 95]


def test_while_the_ledger_makes_room_it_polls_for_one_record_at_a_time_and_does_not_pause() -> None:
    scene = Scene(partitions=1, cap_records=2, max_fetch_records=16, patience_s=FOR_EVER_S)
    scene.play(lambda: scene.produce(0, 20), *[scene.settle] * 12)
    assert "pause" not in scene.source.calls
    assert scene.source.asked[:5] == [16, 1, 1, 1, 1]
    assert scene.offsets(0) == list(range(20))
    assert scene.committed() == {0: 20}


def test_with_too_many_records_held_it_pauses_however_patient_it_is() -> None:
    scene = Scene(partitions=1, cap_records=1, max_fetch_records=16, patience_s=FOR_EVER_S)
    scene.play(lambda: scene.produce(0, 40), *[idle] * 10)
    assert len(scene.source.handed_out) == 1 + 18
    calls = scene.source.calls
    assert calls[calls.index("pause") :].count("fetch") >= 6, "it keeps polling"
