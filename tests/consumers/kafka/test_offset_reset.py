"""Where a partition without a usable position resumes: the decision and message of each setting."""

from typing import Any

import pytest

from consumers.kafka.offset_reset import OffsetReset
from consumers.kafka.resume_point import (
    ExpiredPolicy,
    OffsetGone,
    PartitionState,
    Position,
    ResumePoint,
    StartPolicy,
    Truncation,
    choose_resume_point,
    truncation_of,
)
from consumers.record import Partition
from consumers.source import SourceExpired
from tests.consumers.scene import Scene
from tests.rows import rows

LOGS = Partition("logs", 3)
OTHER = Partition("logs", 4)
TRUNCATED_AT_50 = Truncation(50, 1)
REASON = (
    "Partition log truncation detected at offset 100 (leader epoch 1): broker end offset is 50 (offset leader epoch 1). "
    "Reset to INVALID.: Local: Partition log truncation detected (broker 2)"
)


class Stopped:
    """Partitions that the client has stopped; resumes each where its state says."""

    def __init__(self, *, start: StartPolicy = "earliest", expired: ExpiredPolicy = "stop") -> None:
        self.states: dict[Partition, PartitionState] = {}
        self.resumed: list[tuple[Partition, int, bool]] = []
        """Each with its offset, and whether it must be committed."""
        self.points: list[ResumePoint] = []
        self.reset = OffsetReset(start=start, expired=expired)

    def stand(self, partition: Partition, next_offset: int | None, state: PartitionState, truncation: Truncation | None = None) -> None:
        self.states[partition] = state
        position = None if next_offset is None else Position(next_offset, 1)
        self.reset.note_offset_gone(partition, OffsetGone(position, truncation))

    def resume(self) -> None:
        for partition in self.reset.pending_partitions():
            point = self.reset.resume_point(partition, self.states[partition])
            self.points.append(point)
            self.resumed.append((partition, point.offset, point.must_commit))
            self.reset.note_resumed(partition, point)


def resumed(state: list[Any], gone: list[list[Any] | None], start: StartPolicy, expired: ExpiredPolicy) -> list[Any] | str:
    """Return all that a resume point says, or the reason to stop; `gone`: the position and the truncation, if they are known."""
    position, truncation = gone
    told = OffsetGone(None if position is None else Position(*position), None if truncation is None else Truncation(*truncation))
    try:
        return list(choose_resume_point(LOGS, PartitionState(*state), told, start=start, expired=expired))
    except SourceExpired as stopped:
        return str(stopped)


@pytest.mark.parametrize("row", rows("offset_resets"))
def test_every_rule_says_where_a_partition_resumes_and_what_is_said(row: list[Any]) -> None:
    rule, state, gone, start, expired, wanted = row
    assert resumed(state, gone, start, expired) == wanted, rule


def test_the_clients_reason_says_where_the_log_was_truncated() -> None:
    assert truncation_of(REASON) == Truncation(50, 1)
    unknown = "No epoch found less or equal to offset 100 (leader epoch 5): broker end offset is -1 (offset leader epoch -1). "
    assert truncation_of(f"{unknown}Reset using configured policy.: Local: Partition log truncation detected (broker 1)") == (None, None)
    assert truncation_of("fetch failed due to requested offset not available on the broker: Broker: Offset out of range (broker 1)") is None


def test_where_delivered_records_come_again_the_assignment_begins_anew_and_its_start_is_committed() -> None:
    stopped = Stopped(expired="earliest")
    stopped.reset.note_delivered(LOGS)
    stopped.stand(LOGS, 100, PartitionState(80, 0, 150), TRUNCATED_AT_50)
    stopped.resume()
    assert stopped.resumed == [(LOGS, 50, True)]
    assert [point.is_behind for point in stopped.points] == [True]


def test_a_beginning_that_leaves_nothing_out_is_not_committed() -> None:
    stopped = Stopped()
    stopped.stand(LOGS, None, PartitionState(None, 2, 9))
    stopped.resume()
    stopped.resume()
    assert stopped.resumed == [(LOGS, 2, False)]
    assert [point.message for point in stopped.points] == [""]


def test_one_that_skips_is_committed_at_once_and_said() -> None:
    stopped = Stopped(start="latest")
    stopped.stand(LOGS, None, PartitionState(None, 2, 9))
    stopped.resume()
    assert stopped.resumed == [(LOGS, 9, True)]
    assert [bool(point.message) for point in stopped.points] == [True]


def test_with_records_of_it_open_nothing_is_committed_past_them() -> None:
    stopped = Stopped(expired="earliest")
    stopped.reset.note_delivered(LOGS)
    stopped.stand(LOGS, 5, PartitionState(None, 7, 9))
    stopped.resume()
    assert stopped.resumed == [(LOGS, 7, False)]
    assert "offset 5 is next, but the oldest record left is 7: 2 records" in stopped.points[0].message


def test_a_first_record_that_went_before_it_was_fetched_is_a_beginning_and_no_loss() -> None:
    stopped = Stopped()
    stopped.stand(LOGS, 0, PartitionState(None, 3, 9))
    stopped.resume()
    assert stopped.resumed == [(LOGS, 3, False)]


def test_what_is_not_ours_any_more_is_not_resumed() -> None:
    stopped = Stopped(expired="earliest")
    stopped.stand(LOGS, 5, PartitionState(5, 7, 9))
    stopped.stand(OTHER, 5, PartitionState(5, 7, 9))
    stopped.reset.drop([LOGS])
    stopped.resume()
    assert stopped.resumed == [(OTHER, 7, True)]
    assert stopped.reset.expired_records == {"logs": 2}


def test_a_re_created_topic_is_read_from_its_beginning_and_what_expires_later_counts_as_lost() -> None:
    stopped = Stopped(expired="earliest")
    stopped.reset.note_recreated(LOGS)
    stopped.states[LOGS] = PartitionState(5, 0, 9)
    stopped.resume()
    stopped.stand(LOGS, 5, PartitionState(5, 7, 9))
    stopped.resume()
    assert stopped.resumed == [(LOGS, 0, True), (LOGS, 7, True)]
    assert [point.expired_records for point in stopped.points] == [0, 2]


def test_a_position_that_is_gone_ends_the_loop_and_commits_what_is_settled() -> None:
    scene = Scene(commit_interval_s=3600.0)

    def expire() -> None:
        scene.settle(0)
        raise SourceExpired("gone")

    with pytest.raises(SourceExpired, match="gone"):
        scene.play(lambda: scene.produce(0, 2), expire)
    assert scene.committed() == {0: 1}
    assert scene.source.calls[-1] == "close"
    assert scene.poller.intake_ended.is_set()
