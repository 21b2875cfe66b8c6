"""`python -m benchmarks.guard` fails when a ratio falls beyond its range, and compares revisions in turns. The benchmark here is tiny."""

import json
import subprocess
from pathlib import Path

import pytest

from benchmarks.guard import main
from benchmarks.guard_measures import MEASURES, Measure, Probe
from benchmarks.guard_verdicts import bounds_of, compared, verdicts

ROOT = Path(__file__).parents[2]
TINY = """import json, pathlib, sys
with open({turns!r}, "a") as turns:
    turns.write("{name} ")
print(json.dumps({{"speed": {speed}, "deep": {{"us": {us}}}}}))
"""
SPEED = Measure("speed", Probe("tiny.bench"), "speed", "ratio")
COST = Measure("cost", Probe("tiny.bench"), "deep.us", "cost")


def _plant(root: Path, turns: Path, *, name: str, speed: float | str, us: float = 5.0) -> None:
    (root / "tiny").mkdir(exist_ok=True)
    (root / "tiny" / "__init__.py").touch()
    (root / "tiny" / "bench.py").write_text(TINY.format(turns=str(turns), name=name, speed=speed, us=us))


def _commit(root: Path) -> None:
    who = ["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
    for command in (["init", "--quiet"], ["add", "."], [*who, "commit", "--quiet", "--message", "First"]):
        subprocess.run(["git", *command], cwd=root, check=True, capture_output=True)


@pytest.fixture
def turns(tmp_path: Path) -> Path:
    """Names of the trees whose benchmark ran, in order."""
    return tmp_path / "turns"


@pytest.fixture
def root(tmp_path: Path, turns: Path) -> Path:
    """A repository with one commit of the tiny benchmark, whose speed is 10."""
    folder = tmp_path / "repository"
    folder.mkdir()
    _plant(folder, turns, name="there", speed=10)
    (folder / "requirements.lock").write_text("a==1\n")
    _commit(folder)
    return folder


def _guard(root: Path, *arguments: str, measures: tuple[Measure, ...] = (SPEED,)) -> tuple[int, list[str]]:
    shown: list[str] = []
    return main(shown.append, ["--file", str(root / "guard.json"), *arguments], measures=measures, root=root, size=0.01), shown


def test_a_ratio_may_leave_its_range_by_its_width_and_by_a_tenth_at_least() -> None:
    assert bounds_of([10.0]) == pytest.approx((9.0, 11.0))
    assert bounds_of([8.0, 10.0, 12.0]) == pytest.approx((8 * 0.6, 12 * 1.4))


@pytest.mark.parametrize(
    ("measure", "now", "says"),
    [
        (SPEED, 9.01, "ok"), (SPEED, 8.99, "fell"), (SPEED, 11.1, "better"),
        (COST, 10.99, "ok"), (COST, 11.01, "fell"), (COST, 8.9, "better"), (COST, "no figures", "no figures"),
    ],
)  # fmt: skip
def test_a_fall_is_a_lower_ratio_or_a_higher_cost_beyond_the_bound(measure: Measure, now: float | str, says: str) -> None:
    (one,) = verdicts([measure], {measure.name: [10.0]}, {measure.name: now})
    assert (one.says, one.fell) == (says, says == "fell")


def test_a_measure_that_is_not_committed_has_no_verdict() -> None:
    (one,) = verdicts([SPEED], {}, {"speed": 3.0})
    assert (one.says, one.fell) == ("not committed", False)


@pytest.mark.parametrize(
    ("ours", "says"),
    [
        ((9.0, 9.2, 9.1, 8.8), "fell"),
        ((9.0, 9.2, 9.1, 9.6), "no change seen"),
        ((9.48, 9.47, 9.48, 9.47), "no change seen"),
        ((11.0, 12.0, 11.5, 11.1), "better"),
        ((11.0, 12.0, 11.5, 10.4), "no change seen"),
        ((5.0, 5.0, 5.0), "no verdict: fewer than 4 rounds"),
    ],
)
def test_a_revision_is_slower_only_if_every_round_is_slower_than_all_of_the_other(ours: tuple[float, ...], says: str) -> None:
    theirs = (9.5, 10.5, 9.9, 9.5)[: len(ours)]
    (one,) = compared([SPEED], [{"speed": value} for value in ours], [{"speed": value} for value in theirs])
    assert (one.says, one.fell) == (says, says == "fell")
    (mirrored,) = compared([COST], [{"cost": 1 / value} for value in ours], [{"cost": 1 / value} for value in theirs])
    assert mirrored.says == says


@pytest.mark.process
def test_what_is_written_is_met_and_a_slower_tree_fails_after_a_second_try(root: Path, turns: Path) -> None:
    assert _guard(root, "--write", "--rounds", "2", measures=(SPEED, COST))[0] == 0
    ratios = json.loads((root / "guard.json").read_text())["ratios"]
    assert ratios["speed"] == [10.0, 10.0]
    assert min(ratios["cost"]) > 5, "divided by the seconds of a reference that is far shorter than one"
    assert _guard(root)[0] == 0
    _plant(root, turns, name="here", speed=5)
    turns.unlink()
    code, shown = _guard(root)
    assert code == 1
    assert shown[-1].split() == ["speed", "10", "5", "9", "fell"]
    assert turns.read_text().split() == ["here", "here"]


@pytest.mark.long
@pytest.mark.process
def test_another_revision_runs_its_own_code_in_turns(root: Path, turns: Path) -> None:
    _plant(root, turns, name="here", speed=5)
    code, shown = _guard(root, "--against", "HEAD", "--rounds", "4", "--json")
    assert code == 1
    assert json.loads(shown[-1]) == [{"name": "speed", "median": 0.5, "low": 0.5, "high": 0.5, "says": "fell"}]
    assert turns.read_text().split() == ["here", "there", "there", "here"] * 2


@pytest.mark.long
@pytest.mark.process
def test_a_figure_that_one_of_the_trees_lacks_is_named_and_fails_if_it_is_ours(root: Path) -> None:
    (root / "tiny" / "later.py").write_text((root / "tiny" / "bench.py").read_text())
    later = SPEED._replace(name="later", probe=Probe("tiny.later"))
    code, shown = _guard(root, "--against", "HEAD", "--rounds", "1", measures=(SPEED, later))
    assert (code, shown[-1].endswith("there: there is no tiny.later")) == (0, True)
    (root / "tiny" / "bench.py").unlink()
    code, shown = _guard(root, "--against", "HEAD", "--rounds", "1")
    assert (code, shown[-1].endswith("here: there is no tiny.bench")) == (1, True)


@pytest.mark.long
@pytest.mark.process
@pytest.mark.parametrize("speed", ["float('nan')", "float('inf')", "None"])
def test_what_is_no_number_is_no_figure_and_is_not_written(root: Path, turns: Path, speed: str) -> None:
    _plant(root, turns, name="here", speed=speed)
    nowhere = SPEED._replace(name="nowhere", probe=Probe("tiny.nowhere"))
    code, shown = _guard(root, "--write", "--rounds", "1", measures=(SPEED, COST, nowhere))
    left_out = ["speed is left out: tiny.bench gives no number for speed", "nowhere is left out: there is no tiny.nowhere"]
    assert (code, shown[1:]) == (1, left_out)
    assert _guard(root, measures=(SPEED, COST))[0] == 1


@pytest.mark.long
@pytest.mark.process
def test_a_revision_with_another_lock_or_none_is_refused_in_one_line(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "requirements.lock").write_text("a==2\n")
    for revision, why in (("HEAD", "HEAD has another requirements.lock"), ("nowhere", "nowhere")):
        with pytest.raises(SystemExit):
            _guard(root, "--against", revision)
        assert why in capsys.readouterr().err
    assert _guard(root, "--against", "HEAD", "--rounds", "1", "--same-packages")[0] == 0


def test_every_committed_ratio_is_measured_and_the_other_way_round() -> None:
    file = ROOT / "benchmarks" / "guard.json"
    if not file.exists():
        pytest.skip("nothing is committed yet")
    assert set(json.loads(file.read_text())["ratios"]) == {measure.name for measure in MEASURES}
