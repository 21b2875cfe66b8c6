"""Where a partition without a usable position resumes: the decision and message of each setting, and waiting for answers."""

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


class Client:
    """Stands in for the source: answers from a dictionary, records every resumption.

    Thread: the test's.
    """

    def __init__(self, *, start: StartPolicy = "earliest", expired: ExpiredPolicy = "stop") -> None:
        self.states: dict[Partition, PartitionState | None] = {}
        self.resumed: list[tuple[Partition, int, bool]] = []
        """Each with its offset, and whether it must be committed."""
        self.points: list[ResumePoint] = []
        self.said: list[str] = []
        self.can_resume = True
        self.reset = OffsetReset(start=start, expired=expired, ask_state=self.states.get, resume_at=self.resume_at, say=self.said.append)

    def resume_at(self, partition: Partition, point: ResumePoint) -> bool:
        self.resumed.append((partition, point.offset, point.must_commit))
        self.points.append(point)
        return self.can_resume

    def stand(
        self, partition: Partition, next_offset: int | None, state: PartitionState | None, truncation: Truncation | None = None
    ) -> None:
        self.states[partition] = state
        position = None if next_offset is None else Position(next_offset, 1)
        self.reset.note_offset_gone(partition, OffsetGone(position, truncation))

    def resume(self) -> None:
        self.reset.resume_partitions({LOGS, OTHER})


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


def test_the_latest_of_an_empty_partition_leaves_nothing_out() -> None:
    assert choose_resume_point(LOGS, PartitionState(None, 7, 7), GONE, start="latest", expired="stop") == ResumePoint(7, "")


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
    client = Client(expired="earliest")
    client.reset.note_delivered(LOGS)
    client.stand(LOGS, 100, PartitionState(80, 0, 150), TRUNCATED_AT_50)
    client.resume()
    assert client.resumed == [(LOGS, 50, True)]
    assert [point.is_behind for point in client.points] == [True]


def test_a_beginning_that_leaves_nothing_out_is_not_committed() -> None:
    client = Client()
    client.stand(LOGS, None, PartitionState(None, 2, 9))
    client.resume()
    client.resume()
    assert client.resumed == [(LOGS, 2, False)]
    assert client.said == []


def test_one_that_skips_is_committed_at_once_and_said() -> None:
    client = Client(start="latest")
    client.stand(LOGS, None, PartitionState(None, 2, 9))
    client.resume()
    assert client.resumed == [(LOGS, 9, True)]
    assert len(client.said) == 1


def test_with_records_of_it_open_nothing_is_committed_past_them() -> None:
    client = Client(expired="earliest")
    client.reset.note_delivered(LOGS)
    client.stand(LOGS, 5, PartitionState(None, 7, 9))
    client.resume()
    assert client.resumed == [(LOGS, 7, False)]
    assert "offset 5 is next, but the oldest record left is 7: 2 records" in client.said[0]


def test_where_the_client_stood_counts_and_not_what_was_committed_before() -> None:
    client = Client(expired="earliest")
    client.stand(LOGS, 5, PartitionState(1, 7, 9))
    client.resume()
    assert "offset 5 is next" in client.said[0]


def test_a_first_record_that_went_before_it_was_fetched_is_a_beginning_and_no_loss() -> None:
    client = Client()
    client.stand(LOGS, 0, PartitionState(None, 3, 9))
    client.resume()
    assert client.resumed == [(LOGS, 3, False)]


def test_without_an_answer_it_waits_for_the_next_call() -> None:
    client = Client()
    client.stand(LOGS, None, None)
    client.resume()
    assert client.resumed == []
    client.states[LOGS] = PartitionState(None, 2, 9)
    client.resume()
    assert client.resumed == [(LOGS, 2, False)]


def test_a_move_that_fails_is_tried_again() -> None:
    client = Client()
    client.stand(LOGS, None, PartitionState(None, 2, 9))
    client.can_resume = False
    client.resume()
    client.can_resume = True
    client.resume()
    client.resume()
    assert client.resumed == [(LOGS, 2, False)] * 2
    assert client.said == ["logs/3 cannot resume at 2 yet; trying again"]


def test_what_is_not_ours_any_more_is_not_moved() -> None:
    client = Client(expired="earliest")
    client.stand(LOGS, 5, PartitionState(5, 7, 9))
    client.reset.end_assignment([LOGS])
    client.stand(OTHER, 5, PartitionState(5, 7, 9))
    client.reset.resume_partitions({LOGS})
    client.resume()
    assert client.resumed == []


def test_a_new_assignment_has_delivered_nothing_yet() -> None:
    client = Client(expired="earliest")
    client.reset.note_delivered(LOGS)
    client.reset.end_assignment([LOGS])
    client.stand(LOGS, 5, PartitionState(5, 7, 9))
    client.resume()
    assert client.resumed == [(LOGS, 7, True)]


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
