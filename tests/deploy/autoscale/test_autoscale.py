"""The simulated day: what must hold, that its parts are what they stand for, and that it would notice."""

import copy
import itertools
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.deploy.autoscale.days import DAY, chart_behaviour, chart_formula
from tests.deploy.autoscale.hpa import Autoscaler
from tests.deploy.autoscale.simulated_day import HOUR_S, Happened, Spell, live
from tests.deploy.autoscale.simulated_rules import SCRAPE_S, Scrape
from tests.deploy.kubernetes.recorded import Series, case, judge_cases

CAUGHT_UP_S = 600


@pytest.fixture(scope="module")
def day() -> Happened:
    return live(DAY, chart_behaviour(), chart_formula())


def test_a_burst_an_index_and_a_broker_that_were_away_are_caught_up_in_ten_minutes(day: Happened) -> None:
    assert day.drained_s(DAY.burst, since_end=False) <= CAUGHT_UP_S
    assert day.drained_s(DAY.index_away, since_end=True) <= CAUGHT_UP_S
    assert day.drained_s(DAY.broker_away, since_end=True) <= CAUGHT_UP_S


def test_pods_change_at_most_six_times_an_hour_and_are_never_more_than_partitions(day: Happened) -> None:
    assert 0 < day.most_in_an_hour() <= 6
    assert max(after for _, _, after in day.changes) == DAY.partitions, "the burst takes all of them"
    assert day.changes[-1][2] == 1, "and then they go again"


def test_nobody_is_added_while_the_index_is_away_but_for_the_formula(day: Happened) -> None:
    assert day.out_during(DAY.index_away) == 0
    careless = live(DAY, chart_behaviour(), lambda need, _sink, _workers: need)
    assert careless.out_during(DAY.index_away) > 0


@pytest.mark.parametrize("partitions", [12, 24])
def test_more_partitions_change_nothing_of_it(partitions: int) -> None:
    day = DAY._replace(partitions=partitions, usual=partitions / 12)
    happened = live(day, chart_behaviour(), chart_formula())
    assert happened.most_in_an_hour() <= 6
    assert happened.out_during(day.index_away) == 0
    assert max(happened.drained_s(day.burst, since_end=False), happened.drained_s(day.index_away, since_end=True)) <= CAUGHT_UP_S


def test_behaviour_that_is_in_more_of_a_hurry_would_change_too_often() -> None:
    hasty = copy.deepcopy(chart_behaviour())
    hasty["scaleDown"] = {"stabilizationWindowSeconds": 300, "policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}]}
    assert live(DAY, hasty, chart_formula()).most_in_an_hour() > 6


def test_without_a_metric_nothing_changes_and_within_the_tolerance_neither() -> None:
    autoscaler = Autoscaler(chart_behaviour(), 1, 6)
    assert autoscaler.replicas(0, 3, None) == 3
    assert autoscaler.replicas(15, 3, 3.2) == 3
    assert autoscaler.replicas(30, 3, 2.8) == 3


def test_pods_go_one_by_one_and_only_after_the_window() -> None:
    autoscaler = Autoscaler(chart_behaviour(), 1, 6)
    pods, seen = 6, []
    for now_s in range(0, 2 * HOUR_S, 15):
        after = autoscaler.replicas(now_s, pods, 6.0 if now_s == 0 else 0.5)
        if after != pods:
            seen.append((now_s, after))
        pods = after
    assert [after for _, after in seen] == [5, 4, 3, 2, 1]
    assert seen[0][0] >= 1800
    assert all(later[0] - sooner[0] >= 600 for sooner, later in itertools.pairwise(seen))


@pytest.mark.process
def test_what_the_simulation_says_of_the_rules_is_what_prometheus_says(tmp_path: Path) -> None:
    begins, minutes = DAY.burst.began_s // SCRAPE_S - 40, 35
    happened = live(DAY, chart_behaviour(), chart_formula(), seconds=DAY.burst.began_s + HOUR_S)
    scrapes = happened.scrapes[begins : begins + 4 * minutes]
    series = _series([one for one in scrapes if one is not None])
    moments = (40, 44, 60, 100, 130)  # not while pods start: one series stands for all workers, so it is under load a little sooner
    cases = []
    for at in moments:
        need = happened.needs[begins + at]
        assert need is not None
        near = f"max(abs(vectail:workers_needed:max - {need})) < bool {0.02 * need + 0.05}"
        cases.append(case(f"{at * SCRAPE_S} s", series, {near: 1.0}, at_s=at * SCRAPE_S))
    judge_cases(tmp_path, cases)


def _series(scrapes: list[Scrape]) -> Series:
    """Return the scrapes as one worker's series: sums of the workers, as the rules make them."""
    of = 'job="vectail",namespace="search",instance="all"'
    place = f'{of},topic="logs",partition="0"'
    columns = {
        f"vectail_consumer_end_offset{{{place}}}": [one.end for one in scrapes],
        f"vectail_consumer_committed_offset{{{place}}}": [one.committed for one in scrapes],
        f"vectail_consumer_lag_records{{{place}}}": [one.lag for one in scrapes],
        f'vectail_stage_busy_seconds_total{{{of},stage="store"}}': [one.busy_s["store"] for one in scrapes],
        f'vectail_stage_threads{{{of},stage="store"}}': [1.0 for _ in scrapes],
        f'vectail_assigned_partitions{{{of},group="logs"}}': [6.0 for _ in scrapes],
        f'vectail_dependency_up{{{of},dependency="index"}}': [float(one.index_up) for one in scrapes],
        f'vectail_sink_errors_total{{{of},class="busy"}}': [one.refused for one in scrapes],
        f'vectail_sink_seconds_count{{{of},op="blocks"}}': [one.written for one in scrapes],
        f'vectail_sink_seconds_sum{{{of},op="blocks"}}': [one.writing_s for one in scrapes],
    }
    return {selector: " ".join(map(repr, values)) for selector, values in columns.items()}


@pytest.mark.process
def test_it_is_printed_as_one_object() -> None:
    command = [sys.executable, "-m", "tests.deploy.autoscale", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    found = json.loads(done.stdout)
    assert found["added_while_the_index_was_away"] == 0
    assert found["partitions"] == found["most_workers"] == DAY.partitions
    assert len(found["every_change"]) == found["changes"]


def test_a_spell_is_over_at_its_end() -> None:
    assert [Spell(1, 3).holds(at_s) for at_s in range(4)] == [False, True, True, False]
