"""Faults in a row."""

import pytest

from worker.runtime.limits import FaultLimit, LimitReached, TopicFaultLimits


def test_so_many_faults_in_a_row_are_allowed_and_one_more_is_not_and_a_good_outcome_begins_the_count_anew() -> None:
    limit = FaultLimit("undecodable records", most=2)
    for _ in range(5):
        limit.fault()
        limit.fault()
        limit.good()
    limit.fault()
    limit.fault()
    with pytest.raises(LimitReached, match="3 undecodable records in a row"):
        limit.fault()


def test_each_topic_counts_for_itself() -> None:
    limits = TopicFaultLimits("undecodable records", most=2)
    for _ in range(2):
        limits.fault("a", "bad")
        limits.fault("b", "bad")
    limits.good("b")
    limits.good("c")
    limits.fault("b", "bad")
    with pytest.raises(LimitReached, match=r"^3 undecodable records of topic a in a row \(the last: bad\): "):
        limits.fault("a", "bad")
