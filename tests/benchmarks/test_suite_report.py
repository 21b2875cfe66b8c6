"""The report says what was measured and nothing else; RESULTS.md is what the kept results give."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks.plots import draw_by_hand
from benchmarks.suite.goals import Figure, judge, read_table, value_at
from benchmarks.suite.programs import PROGRAMS
from benchmarks.suite.report import report_text
from benchmarks.suite.results import Entry, Machine, Results, read_results

FOLDER = Path(__file__).parents[2] / "benchmarks"
ABOUT, FIGURES = read_table()
NATIVE, OTHER = {"instruction sets": "avx2, avx512_bf16"}, {"instruction sets": "avx2"}
SPEED = Figure("cache", "times.all", "times the loop", worst="worst.times", at_least=10, reason="the disk is slow", next="no disk")
COST = Figure("cache", "cost", "cost as a share", rounds="rounds", at_most=0.1)


def _entry(state: str = "measured", figures: dict[str, Any] | None = None) -> Entry:
    return Entry(
        machine=0, state=state, reason="" if state == "measured" else "no server | here", figures=figures or {},
        command="python -m benchmarks.cache",
        caveats="One machine.", revision="abc", date="2026-01-02", quick=True, corpus="synthetic", seconds=2.0,
        load_before=[0.5, 0.4, 0.3], load_after=[1.5, 0.5, 0.3], plots=["a.png"] if state == "measured" else [],
    )  # fmt: skip


def _results(**entries: Entry) -> Results:
    return Results(machines=[Machine(facts={"processor": "Abacus 3"}, versions={"Python": "3.11.7"})], benchmarks=entries)


def test_machine_versions_method_and_caveats_come_before_any_figure() -> None:
    text = report_text(_results(cache=_entry(figures={"times": {"all": 12.34}})), {"cache": "a cache", "sink": "a sink"}, [SPEED])
    places = [text.index(words) for words in ("Abacus 3", "3.11.7", "**Method.**", "**Caveats.**", "0.5 0.4 0.3", "12.34")]
    assert places == sorted(places)
    assert "Not run: sink." in text
    assert "![cache: a](plots/a.png)" in text


@pytest.mark.parametrize(
    ("figures", "said", "unsaid"),
    [
        (
            {"times": {"all": 9.99}, "worst": {"times": 4}, "cost": 0.05, "rounds": [0.01, 0.2]},
            [
                "1 met, 1 missed.",
                "| cache: times the loop | 9.99 | at least 10 | the disk is slow | no disk |",
                "| times the loop | 9.99 | 4 to 9.99 | at least 10 | **missed** |",
                "| cost as a share | 0.05 | 0.01 to 0.2 | at most 0.1 | met |",
            ],
            "not written down yet",
        ),
        ({"times": {"all": 10}, "cost": 0.1}, ["2 met"], "the disk is slow"),
        ({"cost": 0.3}, ["| cache: cost as a share | 0.3 | at most 0.1 | not written down yet | not written down yet |"], "**absent**"),
        (None, ["2 not measured.", "**absent**: no server \\| here"], "times the loop"),
    ],
    ids=["missed, with a reason", "met at the bound", "missed, without a reason", "did not run"],
)
def test_a_goal_is_met_or_missed_with_what_is_tried_next_or_not_measured(
    figures: dict[str, Any] | None, said: list[str], unsaid: str
) -> None:
    entry = _entry("absent") if figures is None else _entry(figures=figures)
    text = report_text(_results(cache=entry), {"cache": "a cache"}, [SPEED, COST])
    assert [words for words in said if words not in text] == [], text
    assert unsaid not in text


@pytest.mark.parametrize(("value", "verdict"), [(10, "met"), (9.999, "missed"), (None, "not measured"), ("10", "not measured")])
def test_a_goal_is_met_at_its_bound_and_not_below(value: object, verdict: str) -> None:
    assert judge(SPEED, {"times": {"all": value}}, OTHER).verdict == verdict


def test_a_goal_for_native_bfloat16_is_another_one_elsewhere_or_does_not_apply() -> None:
    figure = Figure("by_hand", "a", "", at_least=4, native_bfloat16=True)
    both = figure._replace(at_least_elsewhere=1.7)
    assert [judge(one, {"a": 2}, machine).verdict for one in (figure, both) for machine in (NATIVE, OTHER)] == [
        "missed", "does not apply", "missed", "met",
    ]  # fmt: skip


def test_every_figure_belongs_to_a_program_and_every_program_is_described() -> None:
    names, kept = [program.name for program in PROGRAMS], read_results(FOLDER / "results.json")["benchmarks"]
    gone = [name for name in ABOUT if name not in names]
    assert [name for name in ABOUT if name not in gone] == names
    assert set(gone) <= kept.keys(), "of a program that is gone only what it measured stays"
    assert {figure.benchmark for figure in FIGURES} <= set(ABOUT)
    assert len({(figure.benchmark, figure.key) for figure in FIGURES}) == len(FIGURES)


def test_results_md_is_what_the_kept_results_give() -> None:
    kept = read_results(FOLDER / "results.json")
    assert (FOLDER / "RESULTS.md").read_text(encoding="utf-8") == report_text(kept, ABOUT, FIGURES)


def test_every_goal_has_a_figure_in_the_kept_results_of_its_benchmark() -> None:
    kept = read_results(FOLDER / "results.json")
    for figure in FIGURES:
        entry = kept["benchmarks"].get(figure.benchmark)
        # A run with --quick has fewer numbers of partitions.
        if entry and entry["state"] == "measured" and not (entry["quick"] and figure.benchmark in ("slow_topics", "growth")):
            first = figure.key.split(".")[0]
            assert value_at(entry["figures"], first) is not None, figure.key
            for picture in entry["plots"]:
                assert (FOLDER / "plots" / picture).stat().st_size < 120_000


def test_the_picture_of_ratios_is_small(tmp_path: Path) -> None:
    keys = [f"vs_{side}_{corpus}" for side in ("naive", "batched") for corpus in ("distinct", "mix", "steady")]
    figures: dict[str, Any] = dict.fromkeys(keys, 10.0) | {"worst": dict.fromkeys(keys, 5.0), "best": dict.fromkeys(keys, 20.0)}
    figures |= {"engine": "vllm", "number_format": "bfloat16", "batched_engine": "llm", "lines_per_template_mix": 131.1}
    draw_by_hand(figures, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "a.png").stat().st_size < 120_000
