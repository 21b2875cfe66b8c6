"""`python -m benchmarks` runs programs, keeps what they print, and goes on when one cannot run. The programs here are small ones."""

import fcntl
import json
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import pytest

from benchmarks.suite import suite
from benchmarks.suite.child import docstring_of, run_program
from benchmarks.suite.programs import JSON_KEYS, PROGRAMS, Program
from benchmarks.suite.results import Machine, read_results
from benchmarks.suite.suite import corpus_of, main

GOOD = '''"""Counts beans.

    python -m beans

Caveats first. Beans
differ.

More.
"""
import json, sys
print("noise")
print(json.dumps({"beans": 3, "arguments": sys.argv[1:]}))
'''
DIFFERENT_WORK = 'import sys\nsys.exit("a line is masked to A here and to B there")\n'
ABSENT = 'import sys\nsys.exit("redis-server is not installed")\n'
SLOW = """import fcntl, subprocess, sys, threading
lock = open("lock", "w")
fcntl.flock(lock, fcntl.LOCK_EX)
source = "import threading; threading.Event().wait(30); open('survived', 'w')"
subprocess.Popen([sys.executable, "-c", source], pass_fds=[lock.fileno()])
threading.Event().wait()
"""
DRAWS = """import pathlib, sys
place = pathlib.Path(sys.argv[sys.argv.index("--plots") + 1])
(place / "growth-one.png").write_bytes(b"")
(place / "other.png").write_bytes(b"")
print("{}")
"""

pytestmark = pytest.mark.process


def _tree(root: Path, **sources: str) -> Path:
    root.mkdir(exist_ok=True)
    for name, source in sources.items():
        (root / f"{name}.py").write_text(source)
    return root


def _run(root: Path, out: Path, *arguments: str, programs: list[Program]) -> tuple[int, list[str]]:
    shown: list[str] = []
    code = main(shown.append, ["--out", str(out), *arguments], programs=programs, root=root)
    return code, shown


def test_what_a_program_prints_is_kept_with_its_caveats(tmp_path: Path) -> None:
    programs = [Program("tokenize", "beans", ("--alone",))]
    code, _ = _run(_tree(tmp_path, beans=GOOD), tmp_path / "out", "--quick", programs=programs)
    kept = read_results(tmp_path / "out" / "results.json")
    assert code == 0
    entry = kept["benchmarks"]["tokenize"]
    assert entry["state"] == "measured"
    assert entry["figures"] == {"beans": 3, "arguments": ["--alone", "--json", "--quick"]}
    assert (entry["caveats"], entry["quick"], entry["revision"]) == ("Beans differ.", True, "unknown")
    report = tmp_path / "out" / "RESULTS.md"
    assert "Caveats: Beans differ." in (text := report.read_text())
    report.unlink()
    assert _run(tmp_path, tmp_path / "out", "--report", programs=programs) == (0, []), "it is written again without measuring"
    assert report.read_text() == text


def test_one_program_that_fails_makes_the_exit_code_1_and_the_others_run(tmp_path: Path) -> None:
    programs = [
        Program("masks", "different"),
        Program("cache", "absent"),
        Program("growth", "nowhere"),
        Program("templates", "beans", needs="logs"),
        Program("tokenize", "beans"),
    ]
    tree = _tree(tmp_path, beans=GOOD, different=DIFFERENT_WORK, absent=ABSENT)
    assert _run(tree, tmp_path / "out", programs=programs)[0] == 1
    kept = read_results(tmp_path / "out" / "results.json")
    assert {name: (entry["state"], entry["reason"]) for name, entry in kept["benchmarks"].items()} == {
        "masks": ("failed", "a line is masked to A here and to B there"),
        "cache": ("absent", "redis-server is not installed"),
        "growth": ("absent", "there is no nowhere"),
        "templates": ("absent", "no labelled logs: --logs DIR names them"),
        "tokenize": ("measured", ""),
    }
    assert _run(tree, tmp_path / "other", programs=programs[1:])[0] == 0, "what is absent is no failure"


@pytest.mark.parametrize(
    ("source", "state", "reason"),
    [
        ('print(\'{"absent": {"onnx": "not installed"}}\')\n', "measured", ""),
        ('print(\'{"absent": {"x": "no Java"}}\')\n', "absent", "no Java"),
        ("import benchmarks.no_such_module\n", "failed", "ModuleNotFoundError: No module named 'benchmarks.no_such_module'"),
        ("import no_such_library\n", "absent", "ModuleNotFoundError: No module named 'no_such_library'"),
        ("import sys\nsys.exit('no broker: java and mvn not installed')\n", "absent", "no broker: java and mvn not installed"),
        ("import sys\nsys.exit('no broker: Kafka ended with exit code 1')\n", "failed", "no broker: Kafka ended with exit code 1"),
        ('print("no figures today")\n', "failed", "it printed no figures: no figures today"),
    ],
    ids=["a side is absent", "the program is absent", "broken import", "library", "broker is absent", "broker crashed", "silent"],
)
def test_what_is_not_installed_is_absent_and_everything_else_a_failure(tmp_path: Path, source: str, state: str, reason: str) -> None:
    _tree(tmp_path / "benchmarks", __init__="", x=source)
    ended = run_program(Program("x", "benchmarks.x"), [], tmp_path)
    assert (ended.state, ended.reason) == (state, reason)


@pytest.mark.long
def test_a_program_that_takes_too_long_ends_with_what_it_started(tmp_path: Path) -> None:
    ended = run_program(Program("x", "slow", limit_s=5.0), [], _tree(tmp_path, slow=SLOW))
    assert (ended.state, ended.reason) == ("failed", "it was not done after 5 s")
    with (tmp_path / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # free when all that had inherited it are gone
    assert not (tmp_path / "survived").exists()


@pytest.mark.long
def test_a_run_of_some_programs_or_one_that_is_interrupted_keeps_the_other_figures(tmp_path: Path) -> None:
    programs, out = [Program("masks", "beans"), Program("tokenize", "beans")], tmp_path / "out"

    def kept() -> dict[str, bool]:
        return {name: entry["quick"] for name, entry in read_results(out / "results.json")["benchmarks"].items()}

    def interrupt_at_the_second(line: str) -> None:
        if line.startswith("2/2"):
            raise KeyboardInterrupt

    _run(_tree(tmp_path, beans=GOOD), out, "--quick", programs=programs)
    _run(tmp_path, out, "--only", "masks", programs=programs)
    assert kept() == {"masks": False, "tokenize": True}
    with pytest.raises(KeyboardInterrupt):
        main(interrupt_at_the_second, ["--quick", "--out", str(out)], programs=programs, root=tmp_path)
    assert kept() == {"masks": True, "tokenize": True}


@pytest.mark.long
def test_a_run_on_another_machine_stands_beside_the_kept_ones_with_its_own_facts(tmp_path: Path) -> None:
    programs, file = [Program("masks", "beans"), Program("tokenize", "beans")], tmp_path / "out" / "results.json"
    _run(_tree(tmp_path, beans=GOOD), tmp_path / "out", programs=programs)
    kept = read_results(file)
    abacus = Machine(facts={"processor": "Abacus 3"}, versions={})
    gone = {"gone": kept["benchmarks"]["masks"]}
    file.write_text(json.dumps(kept | {"machines": [abacus], "benchmarks": kept["benchmarks"] | gone}))
    _run(tmp_path, tmp_path / "out", "--only", "masks", programs=programs)
    mixed = read_results(file)
    machine_of = {name: mixed["machines"][entry["machine"]] for name, entry in mixed["benchmarks"].items()}
    assert machine_of == {"masks": kept["machines"][0], "tokenize": abacus}
    report = (tmp_path / "out" / "RESULTS.md").read_text()
    assert f"tokenize, on machine {mixed['benchmarks']['tokenize']['machine'] + 1} |" in report
    (tmp_path / "beans.py").unlink()
    assert _run(tmp_path, tmp_path / "out", "--only", "tokenize", programs=programs)[0] == 0
    assert read_results(file) == mixed, "where the program is absent, figures of another machine stay"
    _run(_tree(tmp_path, beans=GOOD), tmp_path / "out", programs=programs)
    assert read_results(file)["machines"] == kept["machines"], "nothing is of the other one any more"


@pytest.mark.long
def test_a_run_replaces_one_without_figures_and_a_failed_run_replaces_any(tmp_path: Path) -> None:
    programs, out = [Program("masks", "beans")], tmp_path / "out"
    states = []
    for source in (DIFFERENT_WORK, ABSENT, GOOD, DIFFERENT_WORK):
        _run(_tree(tmp_path, beans=source), out, programs=programs)
        states.append(read_results(out / "results.json")["benchmarks"]["masks"]["state"])
    assert states == ["failed", "absent", "measured", "failed"]


@pytest.mark.parametrize("content", [b'{"machine": {}, "benchmarks": {}}', b'{"machines": [', b"[]", b"7", b"\xff"])
def test_results_of_another_shape_are_refused_before_anything_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes
) -> None:
    file = tmp_path / "out" / "results.json"
    file.parent.mkdir()
    file.write_bytes(content)
    with pytest.raises(SystemExit, match="2"):
        _run(_tree(tmp_path, beans=GOOD), tmp_path / "out", programs=[Program("masks", "beans")])
    assert "was not written by this version" in capsys.readouterr().err
    assert file.read_bytes() == content


def test_json_prints_the_seven_figures_or_none_and_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    figures = {key: number for number, key in enumerate(JSON_KEYS)} | {"more": 1}
    programs = [Program("by_hand", "by_hand"), Program("masks", "different")]
    _tree(tmp_path, by_hand=f"print('''{json.dumps(figures)}''')\n", different=DIFFERENT_WORK)
    code, shown = _run(tmp_path, tmp_path / "out", "--quick", "--json", programs=programs)
    assert code == 0
    assert [json.loads(line) for line in shown] == [{key: number for number, key in enumerate(JSON_KEYS)}]
    _tree(tmp_path, by_hand='print(\'{"vs_naive_mix": 1, "vs_naive_distinct": null}\')\n')
    assert _run(tmp_path, tmp_path / "out", "--json", programs=programs) == (1, [])
    assert "no vs_naive_distinct, vs_naive_steady" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.long
def test_logs_reach_the_programs_that_read_files_and_are_described_without_their_place(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "A.log").write_text("one\ntwo\n")
    programs = [Program("masks", "beans", takes_files=True), Program("templates", "beans", needs="logs"), Program("cache", "beans")]
    _run(_tree(tmp_path, beans=GOOD), tmp_path / "out", "--logs", str(logs), programs=programs)
    kept = read_results(tmp_path / "out" / "results.json")
    arguments = {name: entry["figures"]["arguments"] for name, entry in kept["benchmarks"].items()}
    assert arguments == {"masks": ["--json", str(logs / "A.log")], "templates": ["--json", "--logs", str(logs)], "cache": ["--json"]}
    assert corpus_of(logs) == "1 logs (A), 2 lines, 8 bytes"
    assert str(logs) not in (tmp_path / "out" / "RESULTS.md").read_text()


@pytest.mark.long
def test_pictures_are_those_of_the_kept_run_even_if_another_is_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs, plots = [Program("growth", "draws", plots="--plots")], tmp_path / "out" / "plots"
    plots.mkdir(parents=True)
    (plots / "growth-of_an_earlier_run.png").touch()
    _run(_tree(tmp_path, draws=DRAWS), tmp_path / "out", programs=programs)
    assert read_results(tmp_path / "out" / "results.json")["benchmarks"]["growth"]["plots"] == ["growth-one.png"]
    assert [file.name for file in plots.iterdir()] == ["growth-one.png"]
    report = (tmp_path / "out" / "RESULTS.md").read_text()

    def draw_half(_program: Program, arguments: Sequence[str], _root: Path) -> NoReturn:
        (Path(arguments[-1]) / "growth-one.png").write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(suite, "run_program", draw_half)
    with pytest.raises(KeyboardInterrupt):
        _run(tmp_path, tmp_path / "out", programs=programs)
    assert (tmp_path / "out" / "RESULTS.md").read_text() == report
    assert "(plots/growth-one.png)" in report
    assert (plots / "growth-one.png").read_bytes() == b""


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.name)
def test_every_program_of_the_suite_is_there_and_says_its_caveats(program: Program) -> None:
    root = Path(__file__).parents[2]
    first, caveats = docstring_of(root, program.module)
    assert first
    assert caveats or program.name in ("retrieval", "templates", "questions")
