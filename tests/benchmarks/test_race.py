"""The frame of every program: sides take turns, figures are rounded once, and a person reads tables."""

import json
from argparse import Namespace

import pytest

from benchmarks.program import FILES, program
from benchmarks.race import LeftOut, Missing, Wrong, percentile, race, ratios, rounded, spread
from benchmarks.suite.goals import Figure
from benchmarks.table import lines_of

DOC = """Counts beans.

    python -m benchmarks.beans [FILES…] [--quick] [--json]

Caveats first. Beans differ.
"""


def test_every_other_round_goes_backwards_after_rounds_that_are_not_kept() -> None:
    order: list[str] = []

    def side(name: str) -> int:
        order.append(name)
        return len(order)

    found = race({name: lambda name=name: side(name) for name in "abc"}, 2, warm_ups=1, prepare=lambda: order.append("-"))  # type: ignore[misc]
    assert "".join(order) == "-cba-abc-cba"
    assert found == {"a": [6, 12], "b": [7, 11], "c": [8, 10]}


def test_a_side_that_fails_has_no_turns_and_ends_the_race_where_all_must_finish() -> None:
    numbers = iter(range(9))

    def fails_later() -> int:
        if (number := next(numbers)) == 1:
            raise LeftOut("it ended")
        return number

    left_out: dict[str, str] = {}
    assert race({"a": fails_later, "b": lambda: 7}, 2, left_out=left_out) == {"b": [7, 7]}
    assert left_out == {"a": "it ended"}
    numbers = iter(range(1, 9))
    with pytest.raises(Wrong, match="it ended"):
        race({"a": fails_later}, 1)


def test_a_spread_has_the_median_and_the_ends_of_which_the_worst_of_a_cost_is_the_most() -> None:
    found = spread({"speed": [3.0, 1.0, 2.0], "cost": [5.0, 6.0, 9.0]}, costs=["cost"])
    assert found == {"speed": 2, "cost": 6, "worst": {"speed": 1, "cost": 9}, "best": {"speed": 3, "cost": 5}}
    assert ratios([6.0, 3.0], [2.0, 3.0]) == [3, 1]


@pytest.mark.parametrize(("percent", "value"), [(0, 1), (50, 2), (51, 3), (99, 4), (100, 4)])
def test_a_percentile_is_a_value_that_was_seen(percent: float, value: float) -> None:
    assert percentile([4, 2, 3, 1], percent) == value
    with pytest.raises(Wrong):
        percentile([], percent)


def test_figures_keep_four_digits_that_count_and_cosines_more() -> None:
    figures = {"rate": 95692.4, "us": 6.43821, "cosine": 0.9999968, "lines": 123456, "deep": [{"share": 0.0123456}], "none": None}
    assert rounded(figures) == {"rate": 95692, "us": 6.438, "cosine": 0.999997, "lines": 123456, "deep": [{"share": 0.01235}], "none": None}


def test_a_person_reads_goals_first_and_then_every_other_figure() -> None:
    figures = {
        "speed": 12.0, "worst": {"speed": 9.5}, "lines": 60_000, "sides": {"ours": {"us": 1}, "theirs": {"us": 2, "more": None}},
        "of": {"a": {"b": {"c": 7}}}, "each": [{"at": 1}, {"at": 2}],
    }  # fmt: skip
    shown = "\n".join(lines_of(figures, [Figure("beans", "speed", "beans a second", worst="worst.speed", at_least=20)], {}))
    rows = [" ".join(line.split()) for line in shown.splitlines()]
    assert "| beans a second | 12.0 | 9.5 to 12.0 | at least 20 | **missed** |" in rows
    for row in ("| lines | 60,000 |", "| ours | 1 | |", "| theirs | 2 | - |", "| b | 7 |", "| 2 | 2 |"):
        assert row in rows, shown


def test_a_program_prints_one_object_or_one_line_why_there_are_no_figures(capsys: pytest.CaptureFixture[str]) -> None:
    def measure(chosen: Namespace) -> dict[str, object]:
        if "absent" in chosen.files:
            raise Missing("there are no\nbeans")
        if "wrong" in chosen.files:
            raise Wrong("a bean is lost")
        return {"beans": 3.14159, "quick": chosen.quick, "files": chosen.files}

    main, printed = program(DOC, measure, FILES, quick="fewer"), list[str]()
    main(printed.append, ["a.log", "--quick", "--json"])
    assert [json.loads(line) for line in printed] == [{"beans": 3.142, "quick": True, "files": ["a.log"]}]
    with pytest.raises(SystemExit, match="2"):
        main(printed.append, ["absent"])
    assert capsys.readouterr().err.splitlines()[-1] == "python -m benchmarks.beans: error: there are no beans"
    with pytest.raises(SystemExit, match="a bean is lost"):
        main(printed.append, ["wrong"])
