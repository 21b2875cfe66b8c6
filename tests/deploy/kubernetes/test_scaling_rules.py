"""The recording rules that say how many workers are needed, over recorded series."""

from pathlib import Path

import pytest

from tests.deploy.kubernetes.recorded import HOUR_STEPS, case, judge_cases, worker

pytestmark = pytest.mark.process

NEED, TAKES, COUNT = "vectail:workers_needed:max", "vectail:sink_takes:bool", "vectail:index_workers:count"
COST = "vectail:record_busy_seconds:rate5m"
BUSY = {"prepare": 0.2, "engine": 0.1, "store": 0.4}
HALF_HOUR_S = 1800
MANY = "0+15000x240"


def test_what_is_needed_is_what_comes_and_what_waits_times_what_a_record_costs(tmp_path: Path) -> None:
    alone = worker("a", busy=BUSY)  # 100 records a second cost 0.4 s: 4 ms each
    waiting = worker("a", busy=BUSY, lag="30000x240")
    two = worker("a", busy=BUSY) | worker("b", busy=BUSY, partition=1)
    judge_cases(
        tmp_path,
        [
            case("keeps up", alone, {COST: 0.004, NEED: (100 + 100 / 300) * 0.004 / 0.8}, at_s=HALF_HOUR_S),
            case("waits", waiting, {NEED: (100 + 100) * 0.004 / 0.8}, at_s=HALF_HOUR_S),
            case("twice", two, {COST: 0.004, NEED: (200 + 200 / 300) * 0.004 / 0.8, COUNT: 2.0}, at_s=HALF_HOUR_S),
        ],
    )


def test_a_stage_with_more_threads_can_do_more(tmp_path: Path) -> None:
    series = worker("a", busy={"store": 2.0}, lag="0x240")
    threads = next(selector for selector in series if "threads" in selector and 'stage="store"' in selector)
    judge_cases(tmp_path, [case("four writers", series | {threads: "4x240"}, {COST: 0.005, NEED: 0.625}, at_s=HALF_HOUR_S)])


def test_a_worker_with_little_to_do_says_nothing_of_what_a_record_costs_under_load(tmp_path: Path) -> None:
    # An hour of 100 records a second at 4 ms; then one a second at 100 ms, each in a block of its own; two hours later the burst comes.
    hour, quiet = HOUR_STEPS, 2 * HOUR_STEPS
    steps = hour + quiet + 4
    records = f"0+1500x{hour} 360015+15x{quiet}"
    series = worker(
        "a",
        steps=steps,
        busy={},
        coming=f"{records} 367230+150000x4",
        done=f"{records} 367230+1500x4",
        lag=f"0x{hour + quiet} 0+148500x4",
    )
    busy = next(selector for selector in series if "busy_seconds" in selector and 'stage="store"' in selector)
    series[busy] = f"0+6x{hour} 1441.5+1.5x{quiet} 2162+6x4"
    at_s = 15 * (hour + quiet)
    judge_cases(
        tmp_path,
        [
            case("measured", series, {COST: 0.004}, at_s=15 * hour),
            case("quiet", series, {COST: 0.1, f"{NEED} < bool 0.006": 1.0}, at_s=at_s),
        ],
    )


def test_where_nothing_is_known_nothing_is_said_and_without_work_nobody_is_needed(tmp_path: Path) -> None:
    idle = worker("a", busy={}, coming="0", done="0", lag="0x240", written="0", sink_s="0")
    stuck = worker("a", busy={"store": 1.0}, coming="100", done="0", lag="0+1500x240", index="0x240")
    judge_cases(
        tmp_path,
        [
            case("no pods", {}, {NEED: None, TAKES: None, COUNT: None}, at_s=HALF_HOUR_S),
            case("idle from the start", idle, {NEED: 0.0, TAKES: 1.0, COUNT: 1.0}, at_s=HALF_HOUR_S),
            case("nothing done yet", stuck, {NEED: None, TAKES: 0.0, COUNT: 1.0}, at_s=HALF_HOUR_S),
            case("just started", worker("a", busy=BUSY), {NEED: None, COUNT: 1.0}, at_s=0),
        ],
    )


def test_numbers_that_are_none_end_within_bounds(tmp_path: Path) -> None:
    endless = worker("a", busy=BUSY, lag="Inf Inf Inf Inf Inf")
    nothing = worker("a", busy=BUSY, lag="NaN NaN NaN NaN NaN")
    judge_cases(
        tmp_path,
        [
            case("infinite lag", endless, {NEED: 1000.0}, at_s=60),
            case("lag that is no number", nothing, {f"{NEED} != bool {NEED}": 1.0}, at_s=60),
        ],
    )


def test_restarts_resets_and_topics_that_begin_again_make_no_peak(tmp_path: Path) -> None:
    # The counters of a restarted worker begin at 0; the offsets of the group go on.
    restarted = worker("a", busy=BUSY)
    for selector, values in restarted.items():
        if "_total" in selector or "sink_seconds" in selector:
            restarted[selector] = values.replace("x240", "x119 ") + values.replace("x240", "x120")
    rewound = worker("a", busy=BUSY, done="1000000+1500x119 0+1500x120")
    remade = worker("a", busy=BUSY, coming="1000000+1500x119 0+1500x120")
    usual = (100 + 100 / 300) * 0.004 / 0.8
    at_s = 121 * 15
    judge_cases(
        tmp_path,
        [
            case("restarted", restarted, {NEED: usual}, at_s=HALF_HOUR_S + 600),
            case("the group was set back", rewound, {NEED: usual}, at_s=at_s),
            case("the topic was made again", remade, {NEED: 100 / 300 * 0.004 / 0.8}, at_s=at_s),
        ],
    )


def test_a_partition_that_moves_counts_once(tmp_path: Path) -> None:
    before = worker("a", busy=BUSY)
    after = worker("b", busy=BUSY)
    moved = {selector: values.replace("x240", "x121 stale") for selector, values in before.items()}
    moved |= {selector: "_x120 " + values.replace("x240", "x120") for selector, values in after.items()}
    for selector in after:
        if "offset" in selector:
            moved[selector] = "_x120 180000+1500x120"
    judge_cases(tmp_path, [case("moved", moved, {"vectail:records_in:rate1m": 100.0, COUNT: 1.0}, at_s=130 * 15)])


def test_the_index_takes_no_more_when_it_is_away_refuses_or_is_slow(tmp_path: Path) -> None:
    away = worker("a", busy=BUSY) | worker("b", busy=BUSY, index="0x240")
    series = {
        "well": (worker("a", busy=BUSY), 1.0),
        "away for one": (away, 0.0),
        "refuses one write in twenty": (worker("a", busy=BUSY, refused="0.12", written="2"), 0.0),
        "refuses one in forty": (worker("a", busy=BUSY, refused="0.05", written="2"), 1.0),
        "refuses all": (worker("a", busy=BUSY, refused="1", written="0", sink_s="0"), 0.0),
        "slow": (worker("a", busy=BUSY, written="0.3", sink_s="0.9"), 0.0),
        "nothing to write": (worker("a", busy={}, written="0", sink_s="0"), 1.0),
    }
    judge_cases(tmp_path, [case(name, given, {TAKES: value}, at_s=HALF_HOUR_S) for name, (given, value) in series.items()])
