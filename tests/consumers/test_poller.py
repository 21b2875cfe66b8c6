"""The poll loop, turn by turn on a fake broker: what it admits, what it commits, and when it does neither."""

import threading

import numpy as np
import pytest

from consumers.assignment import Receipt
from consumers.poller import Poller, PollerSettings
from consumers.source import SourceFatal
from tests.consumers.records import new_ledger
from tests.consumers.scene import Scene, idle, turn
from tests.fakes.source import FakeBroker, FakeSource

WAIT_S = 20.0


def test_at_the_cap_it_pauses_and_keeps_polling() -> None:
    scene = Scene(cap_records=3)
    scene.play(lambda: scene.produce(0, 3), lambda: scene.produce(0, 2), *[idle] * 5)
    assert scene.offsets(0) == [0, 1, 2]
    calls = scene.source.calls
    assert calls[calls.index("pause") :].count("fetch") == 6
    assert "resume" not in calls


def test_what_was_fetched_at_the_cap_is_held_and_delivered_in_order() -> None:
    scene = Scene(cap_records=2)
    scene.play(lambda: scene.produce(0, 5), *[scene.settle] * 3)
    assert scene.offsets(0) == [0, 1, 2, 3, 4]


def test_it_resumes_below_the_low_water_mark_and_not_before() -> None:
    resumed: list[bool] = []
    scene = Scene(cap_records=4)

    def look() -> None:
        resumed.append("resume" in scene.source.calls)

    scene.play(
        lambda: scene.produce(0, 5),
        lambda: scene.settle(0),  # the fifth is admitted: four are open
        turn(look, lambda: scene.settle(1)),
        turn(look, lambda: scene.settle(2)),  # two are open now
        idle,
        look,
    )
    assert resumed == [False, False, True]


def test_a_partition_that_arrives_during_a_pause_is_paused_after_its_first_records() -> None:
    scene = Scene(partitions=3, cap_records=1, max_fetch_records=4)

    def first_records_only() -> None:
        assert [record.offset for record in scene.source.handed_out if record.partition == 2] == [0]

    scene.play(
        turn(lambda: scene.give(0, 1), lambda: scene.produce(0, 3), lambda: scene.produce(1, 3), lambda: scene.produce(2, 5)),
        lambda: scene.give(0, 1, 2),
        *[idle] * 20,
        first_records_only,
        lambda: scene.give(2),
        *[scene.settle] * 8,
    )
    assert scene.offsets(2) == [0, 1, 2, 3, 4]


def test_a_fetch_never_asks_for_more_than_is_left_to_hold() -> None:
    scene = Scene(partitions=1, cap_records=2, max_fetch_records=5)
    scene.play(lambda: scene.produce(0, 9), idle, scene.settle, idle)
    assert scene.source.asked == [5, 2, 2, 4, 4]


def test_held_records_of_a_revoked_partition_are_dropped_and_the_others_stay_in_order() -> None:
    scene = Scene(cap_records=1)
    scene.play(
        turn(lambda: scene.produce(0, 2), lambda: scene.produce(1, 2)),
        lambda: scene.give(1),
        *[scene.settle] * 4,
    )
    assert scene.offsets(0) == [0]
    assert scene.offsets(1) == [0, 1]


def test_only_the_settled_prefix_is_committed() -> None:
    scene = Scene()
    scene.play(turn(lambda: scene.produce(0, 4), lambda: scene.produce(1, 2)), lambda: scene.settle(0, 2, 3, 5))
    assert scene.committed() == {0: 1}


def test_nothing_new_is_not_committed_again() -> None:
    scene = Scene()
    scene.play(lambda: scene.produce(0, 2), scene.settle, *[idle] * 5)
    assert scene.broker.commits == [{scene.partition(0): 2}]


def test_a_refused_commit_is_said_and_tried_again_and_the_others_are_not() -> None:
    scene = Scene()

    def refuse() -> None:
        scene.broker.refused[scene.partition(0)] = "coordinator is loading"
        scene.settle()

    scene.play(turn(lambda: scene.produce(0, 2), lambda: scene.produce(1, 2)), refuse, idle, idle)
    assert scene.committed() == {1: 2}
    assert scene.said[:2] == ["commit of logs/0 was refused (coordinator is loading); trying again"] * 2
    assert [commit for commit in scene.broker.commits if scene.partition(1) in commit] == [{scene.partition(1): 2}]


def test_between_two_ticks_nothing_is_committed() -> None:
    scene = Scene(commit_interval_s=3600.0)
    seen: list[dict[int, int]] = []
    scene.play(lambda: scene.produce(0, 2), scene.settle, idle, lambda: seen.append(scene.committed()))
    assert seen == [{}]
    assert scene.committed() == {0: 2}


def test_a_revocation_waits_for_open_records_and_commits_them() -> None:
    points: list[str] = []

    def settle_soon(point: str) -> None:
        points.append(point)
        if points.count("revoke") == 1 and point == "revoke":
            threading.Timer(0.05, scene.settle).start()

    scene = Scene(max_poll_interval_s=300.0, commit_interval_s=3600.0, fail_point=settle_soon)
    after: list[dict[int, int]] = []
    scene.play(lambda: scene.produce(0, 2), lambda: scene.give(1), lambda: after.append(scene.committed()))
    assert after == [{0: 2}]


def test_a_revocation_does_not_wait_for_records_of_partitions_that_stay() -> None:
    late = threading.Timer(0.3, lambda: scene.settle(2, 3))
    starts = [late.start]
    scene = Scene(
        max_poll_interval_s=300.0,
        commit_interval_s=3600.0,
        fail_point=lambda point: starts.pop()() if point == "revoke" and starts else None,
    )
    scene.play(
        turn(lambda: scene.produce(0, 2), lambda: scene.produce(1, 2)),
        turn(lambda: scene.settle(0, 1), lambda: scene.give(1)),
        late.join,
    )
    assert scene.broker.commits == [{scene.partition(0): 2}, {scene.partition(1): 2}]


def test_a_revocation_whose_time_is_up_commits_the_settled_prefix_only() -> None:
    scene = Scene(max_poll_interval_s=25.5, commit_interval_s=3600.0)
    scene.play(lambda: scene.produce(0, 4), turn(lambda: scene.settle(0, 1, 3), lambda: scene.give(1)))
    assert scene.committed() == {0: 2}


@pytest.mark.parametrize(
    ("max_poll_interval_s", "grace_s"), [(300.0, 25.0), (10_000.0, 25.0), (100.0, 15.0), (25.0, 0.0), (5.0, 0.0), (0.0, 0.0)]
)
def test_the_grace_is_a_fifth_of_the_poll_interval_or_30_s_less_what_the_commit_needs(max_poll_interval_s: float, grace_s: float) -> None:
    assert PollerSettings(max_poll_interval_s=max_poll_interval_s).grace_s == pytest.approx(grace_s)


def test_late_settle_after_revoke_commits_nothing() -> None:
    scene = Scene()
    scene.play(lambda: scene.produce(0, 3), lambda: scene.give(1), scene.settle, idle)
    assert scene.offsets(0) == [0, 1, 2]
    assert scene.broker.commits == []


def test_late_settle_does_not_rewind_what_the_next_owner_has_committed() -> None:
    scene = Scene()

    def other_member_commits() -> None:
        scene.broker.committed[scene.partition(0)] = 60

    scene.play(
        lambda: scene.produce(0, 3), lambda: scene.give(1), other_member_commits, scene.settle, lambda: scene.give(0, 1), scene.settle, idle
    )
    assert scene.committed() == {0: 60}


def test_a_lost_partition_is_not_committed() -> None:
    scene = Scene(commit_interval_s=3600.0)
    scene.play(lambda: scene.produce(0, 3), turn(scene.settle, scene.lose, scene.give))
    assert scene.broker.commits == []


def test_after_stop_intake_nothing_is_delivered_and_polling_and_commits_go_on() -> None:
    scene = Scene()
    scene.play(
        lambda: scene.produce(0, 3),
        turn(scene.poller.stop_intake, lambda: scene.produce(0, 3)),
        idle,
        turn(scene.settle, lambda: scene.produce(0, 3)),
        *[idle] * 3,
    )
    assert scene.offsets(0) == [0, 1, 2]
    assert scene.committed() == {0: 3}
    assert len(scene.source.handed_out) == 6, "later records must not be fetched at all"
    assert scene.source.calls.count("fetch") == 8


def test_held_records_are_not_delivered_after_stop_intake() -> None:
    ended: list[bool] = []
    scene = Scene(cap_records=1)
    scene.play(
        lambda: scene.produce(0, 3),
        lambda: ended.append(scene.poller.intake_ended.is_set()),
        scene.poller.stop_intake,
        turn(lambda: ended.append(scene.poller.intake_ended.is_set()), scene.settle),
        idle,
    )
    assert scene.offsets(0) == [0]
    assert ended == [False, True]
    assert scene.committed() == {0: 1}


def test_the_last_commit_comes_before_the_group_is_left() -> None:
    scene = Scene(commit_interval_s=3600.0)
    scene.play(lambda: scene.produce(0, 2), scene.settle)
    assert scene.committed() == {0: 2}
    calls = [call for call in scene.source.calls if call in ("commit", "close")]
    assert calls == ["commit", "close"]


def test_what_is_still_open_at_the_end_is_not_waited_for() -> None:
    late = threading.Timer(0.3, lambda: scene.settle(1))
    scene = Scene(max_poll_interval_s=300.0, fail_point=lambda point: late.start() if point == "revoke" else None)
    scene.play(lambda: scene.produce(0, 2), lambda: scene.settle(0))
    late.join(WAIT_S)
    assert scene.committed() == {0: 1}


def test_finish_without_a_commit_commits_nothing() -> None:
    scene = Scene(commit_interval_s=3600.0)
    scene.play(lambda: scene.produce(0, 2), scene.settle, lambda: scene.poller.finish(commit=False))
    assert scene.broker.commits == []
    assert "close" in scene.source.calls


def test_once_commits_are_forbidden_nothing_is_committed_whatever_settles() -> None:
    scene = Scene()
    scene.play(lambda: scene.produce(0, 3), lambda: scene.settle(0), scene.poller.commits.forbid, scene.settle, lambda: scene.give(1), idle)
    assert scene.committed() == {0: 1}


def test_a_fatal_client_ends_the_loop_and_commits_nothing() -> None:
    scene = Scene(commit_interval_s=3600.0)

    def fence() -> None:
        scene.settle()
        scene.source.fatal = "fenced"

    with pytest.raises(SourceFatal, match="fenced"):
        scene.play(lambda: scene.produce(0, 2), fence)
    assert scene.broker.commits == []
    assert scene.source.calls[-1] == "close"
    assert scene.poller.intake_ended.is_set()


def test_an_error_of_ours_ends_the_loop_and_commits_nothing() -> None:
    scene = Scene(commit_interval_s=3600.0)

    def break_down() -> None:
        scene.settle()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        scene.play(lambda: scene.produce(0, 2), break_down)
    assert scene.broker.commits == []
    assert scene.source.assigned == set()


def test_lag_is_counted_from_the_first_record_seen_and_then_from_what_is_committed() -> None:
    lags: list[int] = []
    scene = Scene(partitions=1, cap_records=2)
    scene.broker.committed[scene.partition(0)] = 100

    def look() -> None:
        lags.append(scene.poller.lag_records())

    scene.play(
        look,
        lambda: scene.broker.produce(0, b"x", gap=100),
        look,
        lambda: scene.produce(0, 4),
        look,
        turn(look, scene.settle),
        idle,
        look,
        scene.settle,
    )
    assert lags == [0, 1, 5, 5, 3]


def test_a_partition_with_nothing_new_has_no_lag() -> None:
    lags: list[int] = []
    scene = Scene()
    scene.broker.committed[scene.partition(0)] = 5
    scene.play(lambda: scene.produce(0, 5), idle, lambda: lags.append(scene.poller.lag_records()))
    assert scene.delivered == []
    assert lags == [0]


def test_no_other_thread_ever_calls_the_source() -> None:
    broker = FakeBroker()
    source = FakeSource(broker)
    ledger = new_ledger()
    arrived = threading.Event()
    receipts: list[Receipt] = []

    def deliver(admitted: list[Receipt]) -> None:
        receipts.extend(admitted)
        arrived.set()

    settings = PollerSettings(commit_interval_s=0.0, max_poll_interval_s=300.0)
    poller = Poller(source=source, ledger=ledger, deliver=deliver, settings=settings, say=lambda _line: None)
    thread = threading.Thread(target=poller.run)
    thread.start()
    broker.produce(0, b"x")
    assert arrived.wait(WAIT_S)
    poller.stop_intake()
    assert poller.intake_ended.wait(WAIT_S)
    for receipt in receipts:
        receipt.drop(np.arange(receipt.records.size), "empty")
    poller.finish(commit=True)
    thread.join(WAIT_S)
    assert not thread.is_alive()
    assert source.threads == {thread.ident}
    assert broker.committed == {broker.partitions[0]: 1}


def test_fail_points_lie_where_a_crash_hurts() -> None:
    points: list[tuple[str, int, int]] = []
    scene = Scene(fail_point=lambda point: points.append((point, len(scene.delivered), len(scene.broker.commits))))
    scene.play(lambda: scene.produce(0, 2), scene.settle, lambda: scene.give(1))
    assert points == [("polled", 0, 0), ("before_commit", 2, 0), ("after_commit", 2, 1), ("revoke", 2, 1), ("revoke", 2, 1)]
