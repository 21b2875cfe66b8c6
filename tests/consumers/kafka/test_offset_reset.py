"""Where a partition without a usable position resumes: the decision and message of each setting."""

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

LOGS = Partition("logs", 3)
OTHER = Partition("logs", 4)
GONE = OffsetGone(None)
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


@pytest.mark.parametrize(
    ("start", "offset", "part"),
    [
        ("earliest", 2, None),
        ("latest", 9, "logs/3: nothing committed yet; starting at 9, skipping 7 records (kafka.offset_reset = latest)"),
    ],
)
def test_a_new_group_begins_where_the_setting_says_and_says_what_it_leaves_out(start: StartPolicy, offset: int, part: str | None) -> None:
    point = choose_resume_point(LOGS, PartitionState(None, 2, 9), GONE, start=start, expired="stop")
    assert (point.offset, point.message) == (offset, part or "")


@pytest.mark.parametrize("committed", [2, 5, 9])
def test_a_committed_offset_that_is_there_stays(committed: int) -> None:
    assert choose_resume_point(LOGS, PartitionState(committed, 2, 9), GONE, start="latest", expired="latest") == ResumePoint(committed, "")


def test_stop_names_the_partition_what_was_committed_what_is_there_and_the_way_out() -> None:
    with pytest.raises(SourceExpired) as stopped:
        choose_resume_point(LOGS, PartitionState(400, 1_650, 2_000), GONE, start="earliest", expired="stop")
    assert str(stopped.value) == (
        "logs/3: offset 400 is next, but the oldest record left is 1650: 1,250 records expired before they were indexed; "
        "`vectail offsets reset --to earliest --topic logs --partition 3` continues with the oldest record left "
        "(kafka.on_expired_offset decides it in future)"
    )


def test_stop_tells_a_topic_that_was_cut_from_one_that_retention_has_emptied() -> None:
    with pytest.raises(SourceExpired, match=r"logs/3: offset 50 is next, but the topic was truncated or re-created: it .* ends at 10"):
        choose_resume_point(LOGS, PartitionState(50, 0, 10), GONE, start="earliest", expired="stop")


@pytest.mark.parametrize(("expired", "offset", "also"), [("earliest", 6, ""), ("latest", 10, ", skipping 4 more")])
@pytest.mark.parametrize("committed", [5, 11])
def test_the_setting_lets_it_go_on_and_what_is_gone_is_said(expired: ExpiredPolicy, offset: int, also: str, committed: int) -> None:
    point = choose_resume_point(LOGS, PartitionState(committed, 6, 10), GONE, start="earliest", expired=expired)
    assert point.offset == offset
    assert point.message.endswith(f"; resuming at {offset}{also} (kafka.on_expired_offset = {expired})")
    assert ("1 record expired before they were indexed" in point.message) == (committed == 5)
    assert point.expired_records == (committed == 5) + (4 if expired == "latest" else 0)


def test_the_clients_reason_says_where_the_log_was_truncated() -> None:
    assert truncation_of(REASON) == Truncation(50, 1)
    unknown = "No epoch found less or equal to offset 100 (leader epoch 5): broker end offset is -1 (offset leader epoch -1). "
    assert truncation_of(f"{unknown}Reset using configured policy.: Local: Partition log truncation detected (broker 1)") == (None, None)
    assert truncation_of("fetch failed due to requested offset not available on the broker: Broker: Offset out of range (broker 1)") is None


@pytest.mark.parametrize("end", [50, 150])
def test_an_offset_behind_a_truncation_is_gone_even_where_the_log_has_grown_beyond_it(end: int) -> None:
    with pytest.raises(SourceExpired) as stopped:
        choose_resume_point(LOGS, PartitionState(100, 0, end), OffsetGone(None, TRUNCATED_AT_50), start="earliest", expired="stop")
    assert str(stopped.value) == (
        f"logs/3: offset 100 is next, but the log was truncated at 50 and ends at {end} now{' with other records' if end > 50 else ''}; "
        "`vectail offsets reset --to 50 --topic logs --partition 3` continues there (kafka.on_expired_offset decides it in future)"
    )


@pytest.mark.parametrize(
    ("expired", "state", "gone", "offset", "records"),
    [
        pytest.param("earliest", (100, 0, 150), OffsetGone(None, TRUNCATED_AT_50), 50, 0, id="back to where it was truncated"),
        pytest.param("latest", (100, 0, 150), OffsetGone(None, TRUNCATED_AT_50), 150, 100, id="all that took its place is skipped"),
        pytest.param("earliest", (100, 60, 150), OffsetGone(None, TRUNCATED_AT_50), 60, 10, id="retention took a part of the new ones"),
        pytest.param("earliest", (30, 0, 150), OffsetGone(Position(100, 1), TRUNCATED_AT_50), 30, 0, id="to what is committed at least"),
        pytest.param("earliest", (None, 5, 150), OffsetGone(Position(100, 1), TRUNCATED_AT_50), 5, 0, id="nothing is committed"),
        pytest.param("latest", (30, 0, 60), OffsetGone(Position(100, 1), TRUNCATED_AT_50), 30, 0, id="latest skips no open record"),
        pytest.param("earliest", (100, 20, 150), OffsetGone(None, Truncation(None, None)), 20, 0, id="nothing of the history is left"),
    ],
)
def test_after_a_truncation_nothing_that_is_unread_is_skipped_unless_the_setting_says_so(
    expired: ExpiredPolicy, state: tuple[int | None, int, int], gone: OffsetGone, offset: int, records: int
) -> None:
    point = choose_resume_point(LOGS, PartitionState(*state), gone, start="earliest", expired=expired)
    assert (point.offset, point.expired_records) == (offset, records)
    assert f"resuming at {offset}" in point.message
    assert point.leader_epoch == (1 if offset == 50 else None)


@pytest.mark.parametrize("next_offset", [40, 50])
def test_what_was_read_before_a_truncation_begins_stays_read(next_offset: int) -> None:
    gone = OffsetGone(Position(next_offset, 1), TRUNCATED_AT_50)
    assert choose_resume_point(LOGS, PartitionState(10, 0, 150), gone, start="earliest", expired="stop") == ResumePoint(next_offset, "")


def test_a_position_that_is_there_keeps_its_leader_epoch_so_that_the_client_can_check_it() -> None:
    state = PartitionState(5, 0, 9, leader_epoch=3)
    assert choose_resume_point(LOGS, state, GONE, start="earliest", expired="stop").leader_epoch == 3
    assert choose_resume_point(LOGS, state, OffsetGone(Position(7, 4)), start="earliest", expired="stop").leader_epoch == 4


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
