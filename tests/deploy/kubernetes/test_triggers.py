"""What KEDA would be told: each trigger's query over recorded series, and each formula by KEDA's own library."""

from pathlib import Path
from typing import Any

import pytest

from tests.deploy.kubernetes.go_programs import BUILD_S, values_of
from tests.deploy.kubernetes.recorded import case, judge_cases, worker
from tests.deploy.kubernetes.rendered import manifests
from tests.deploy.kubernetes.values_sets import VALUES

pytestmark = [pytest.mark.process, pytest.mark.long, pytest.mark.timeout(BUILD_S), pytest.mark.usefixtures("programs")]

BUSY = {"store": 0.4}
AT_S = 1800
USUAL = (100 + 100 / 300) * 0.004 / 0.8


def scaled_object(values: str) -> dict[str, Any]:
    (found,) = manifests(VALUES[values], "ScaledObject")
    spec: dict[str, Any] = found["spec"]
    return spec


def queries(values: str) -> dict[str, str]:
    return {one["name"]: one["metadata"]["query"] for one in scaled_object(values)["triggers"] if one["type"] == "prometheus"}


def formula_of(values: str) -> str:
    formula: str = scaled_object(values)["advanced"]["scalingModifiers"]["formula"]
    return formula


def test_without_an_answer_there_is_none_so_that_keda_keeps_what_runs(tmp_path: Path) -> None:
    need, sink, workers = (queries("scaled")[name] for name in ("need", "sink", "workers"))
    other = {selector.replace("search", "another"): values for selector, values in worker("a", busy=BUSY).items()}
    stopped = {selector: values.replace("x240", "x60 stale") for selector, values in worker("a", busy=BUSY).items()}
    nan = worker("a", busy=BUSY, lag="0x117 NaN NaN NaN NaN NaN")
    endless = worker("a", busy=BUSY, lag="0x117 Inf Inf Inf Inf Inf")
    overlapping = worker("a", busy=BUSY) | {
        selector: "_x112 " + values.replace("x240", "x6 stale")
        for selector, values in worker("b", busy=BUSY).items()
        if "assigned" in selector
    }
    judge_cases(
        tmp_path,
        [
            case("one worker", worker("a", busy=BUSY), {need: USUAL, sink: 1.0, workers: 1.0}, at_s=AT_S),
            case("absent", {}, {need: None, sink: None, workers: None}, at_s=AT_S),
            case("only in another namespace", other, {need: None, sink: None, workers: None}, at_s=AT_S),
            case("no pods any more", stopped, {need: None, sink: None, workers: None}, at_s=AT_S),
            case("NaN is an error", nan, {f"{need} != bool {need}": 1.0}, at_s=AT_S),
            case("Inf is bounded", endless, {need: 1000.0}, at_s=AT_S),
            case("a pod and its successor", overlapping, {workers: 1.0, "max(vectail:index_workers:count)": 2.0}, at_s=118 * 15),
        ],
    )


def test_where_there_may_be_no_pod_its_absence_is_a_number_and_lag_starts_the_first(tmp_path: Path) -> None:
    need, sink, workers = (queries("scaled to none")[name] for name in ("need", "sink", "workers"))
    judge_cases(
        tmp_path,
        [
            case("no pods", {}, {need: 0.0, sink: 1.0, workers: 0.0}, at_s=AT_S),
            case("one worker", worker("a", busy=BUSY), {need: USUAL, sink: 1.0, workers: 1.0}, at_s=AT_S),
        ],
    )
    none = {"need": 0.0, "sink": 1.0, "workers": 0.0}
    said = values_of(
        formula_of("scaled to none"),
        [
            {**none, "lag": 0.0},
            {**none, "lag": 999.0},
            {**none, "lag": 1000.0},
            {"lag": 5e6, "need": 7.5, "sink": 1.0, "workers": 1.0},
            {"lag": 5e6, "need": 7.5, "sink": 0.0, "workers": 1.0},
        ],
    )
    assert said == [0.0, 0.0, 1.0, 7.5, 1.0]
    spec = scaled_object("scaled to none")
    (lag,) = (one["metadata"] for one in spec["triggers"] if one["type"] == "kafka")
    assert lag["excludePersistentLag"] == "false", "lag that stands still is all there is without a pod, and KEDA would take it for 0"
    assert lag["allowIdleConsumers"] == "true", "else KEDA caps the lag at partitions x lagThreshold"
    assert float(spec["advanced"]["scalingModifiers"]["activationTarget"]) < 1


def test_the_index_away_or_at_its_limit_never_adds_a_worker() -> None:
    cases = [
        ({"need": need, "sink": sink, "workers": workers}, need if sink else min(need, workers))
        for need in (0.0, 0.3, 1.0, 4.2, 1000.0)
        for sink in (0.0, 1.0)
        for workers in (1.0, 3.0)
    ]
    assert values_of(formula_of("scaled"), [given for given, _ in cases]) == [value for _, value in cases]


def test_a_trigger_that_is_not_there_would_be_found() -> None:
    (said,) = values_of(formula_of("scaled"), [{"need": 1.0, "sink": 1.0}])
    assert isinstance(said, str)
    assert "workers" in said


def test_keda_takes_no_number_that_is_none_for_zero_and_never_scales_to_zero_for_an_error() -> None:
    for values in ("scaled", "scaled to none", "scaled static members", "scaled embed"):
        spec = scaled_object(values)
        for trigger in spec["triggers"]:
            assert trigger["metadata"].get("ignoreNullValues", "false") == "false"
            assert trigger["type"] == "kafka" or "ignoreNullValues" in trigger["metadata"]
            assert trigger["name"]
        assert spec["fallback"]["behavior"] == "currentReplicasIfHigher"
        assert spec["fallback"]["replicas"] >= 1
        if "scalingModifiers" in spec["advanced"]:
            assert spec["advanced"]["scalingModifiers"]["target"] == "1", "KEDA ignores the fallback unless it is a whole number"


def test_the_embedding_service_is_scaled_by_the_work_that_waits_for_its_own_pods(tmp_path: Path) -> None:
    (query,) = queries("scaled embed").values()
    of = 'vectail_serve_backlog_seconds{job="vectail",namespace="search",role="embed"'
    two = {f'{of},instance="a",model="m"}}': "3x240", f'{of},instance="a",model="n"}}': "1x240", f'{of},instance="b",model="m"}}': "2x240"}
    index = {of.replace('role="embed"', 'role="index"') + ',instance="c",model="m"}': "50x240"}
    odd = {f'{of},instance="a",model="m"}}': " ".join(["NaN"] * 130), f'{of},instance="b",model="m"}}': "2x240"}
    endless = {f'{of},instance="a",model="m"}}': " ".join(["Inf"] * 130), f'{of},instance="b",model="m"}}': "2x240"}
    judge_cases(
        tmp_path,
        [
            case("work waits", two | index, {query: 6.0}, at_s=AT_S),
            case("absent", index, {query: None}, at_s=AT_S),
            case("NaN is left out", odd, {query: 2.0}, at_s=AT_S),
            case("Inf is an hour", endless, {query: 3602.0}, at_s=AT_S),
            case("nothing waits", {f'{of},instance="a",model="m"}}': "0x240"}, {query: 0.0}, at_s=AT_S),
        ],
    )
