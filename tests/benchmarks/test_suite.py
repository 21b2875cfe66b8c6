"""`python -m benchmarks` runs programs, keeps what they print, and goes on when one cannot run. The programs here are small ones."""

import fcntl
import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import pytest

from benchmarks.suite import suite
from benchmarks.suite.child import docstring_of, run_program
from benchmarks.suite.machine import revision
from benchmarks.suite.programs import BY_HAND, JSON_KEYS, PROGRAMS, Program
from benchmarks.suite.results import Machine, NotResults, read_results
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
BROKEN_IMPORT = "import benchmarks.no_such_module\n"
OTHERS_IMPORT = "import no_such_library\n"
SILENT = 'print("no figures today")\n'
SLOW = """import fcntl, subprocess, sys, threading
lock = open("lock", "w")
fcntl.flock(lock, fcntl.LOCK_EX)
source = "import threading; threading.Event().wait(30); open('survived', 'w')"
subprocess.Popen([sys.executable, "-c", source], pass_fds=[lock.fileno()])
threading.Event().wait()
"""
CHANGES_THE_TREE = """import pathlib
pathlib.Path("new").touch()
print("{}")
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
    assert "Caveats: Beans differ." in (tmp_path / "out" / "RESULTS.md").read_text()


@pytest.mark.long
def test_one_program_that_fails_makes_the_exit_code_1_and_the_others_run(tmp_path: Path) -> None:
    programs = [Program("masks", "different"), Program("tokenize", "beans")]
    code, shown = _run(_tree(tmp_path, beans=GOOD, different=DIFFERENT_WORK), tmp_path / "out", programs=programs)
    report = (tmp_path / "out" / "RESULTS.md").read_text()
    assert code == 1
    assert "**failed**: a line is masked to A here and to B there" in report
    assert any(line.startswith("  measured in") for line in shown)


@pytest.mark.long
def test_what_cannot_run_here_is_absent_and_no_failure(tmp_path: Path) -> None:
    programs = [
        Program("cache", "absent"),
        Program("growth", "nowhere"),
        Program("templates", "beans", needs="logs"),
    ]
    code, _ = _run(_tree(tmp_path, absent=ABSENT, beans=GOOD), tmp_path / "out", programs=programs)
    kept = read_results(tmp_path / "out" / "results.json")
    assert code == 0
    assert {name: (entry["state"], entry["reason"]) for name, entry in kept["benchmarks"].items()} == {
        "cache": ("absent", "redis-server is not installed"),
        "growth": ("absent", "there is no nowhere"),
        "templates": ("absent", "no labelled logs: --logs DIR names them"),
    }


@pytest.mark.long
def test_a_program_that_prints_its_own_name_as_absent_could_not_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    figures = dict.fromkeys(JSON_KEYS) | {"absent": {"by_hand": "no Java"}}
    _tree(tmp_path, by_hand=f"import json\nprint(json.dumps({figures}))\n")
    assert _run(tmp_path, tmp_path / "out", programs=[BY_HAND._replace(module="by_hand")])[0] == 0
    kept = read_results(tmp_path / "out" / "results.json")
    entry = kept["benchmarks"]["by_hand"]
    assert (entry["state"], entry["reason"], entry["figures"]) == ("absent", "no Java", {})
    assert _run(tmp_path, tmp_path / "out", "--json", programs=[BY_HAND._replace(module="by_hand")]) == (1, [])
    assert "by_hand: no Java" in capsys.readouterr().err


@pytest.mark.long
def test_a_side_that_is_absent_leaves_the_program_measured(tmp_path: Path) -> None:
    ended = run_program(Program("x", "x"), [], _tree(tmp_path, x='print(\'{"absent": {"onnx": "not installed"}}\')\n'))
    assert ended.state == "measured"


@pytest.mark.long
@pytest.mark.parametrize(("source", "state"), [(BROKEN_IMPORT, "failed"), (OTHERS_IMPORT, "absent")])
def test_only_a_missing_library_explains_a_broken_import(tmp_path: Path, source: str, state: str) -> None:
    ended = run_program(Program("x", "imports"), [], _tree(tmp_path, imports=source))
    assert ended.state == state
    assert "No module named" in ended.reason


@pytest.mark.long
@pytest.mark.parametrize(
    ("reason", "state"), [("no broker: java and mvn not installed", "absent"), ("no broker: Kafka ended with exit code 1", "failed")]
)
def test_a_broker_that_is_not_installed_is_absent_and_one_that_crashed_has_failed(tmp_path: Path, reason: str, state: str) -> None:
    ended = run_program(Program("x", "growth"), [], _tree(tmp_path, growth=f"import sys\nsys.exit({reason!r})\n"))
    assert (ended.state, ended.reason) == (state, reason)


@pytest.mark.long
def test_a_program_without_figures_has_failed(tmp_path: Path) -> None:
    ended = run_program(Program("x", "silent"), [], _tree(tmp_path, silent=SILENT))
    assert (ended.state, ended.reason) == ("failed", "it printed no figures: no figures today")


@pytest.mark.long
def test_a_program_that_takes_too_long_ends_with_what_it_started(tmp_path: Path) -> None:
    ended = run_program(Program("x", "slow", limit_s=5.0), [], _tree(tmp_path, slow=SLOW))
    assert (ended.state, ended.reason) == ("failed", "it was not done after 5 s")
    with (tmp_path / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # free when all that had inherited it are gone
    assert not (tmp_path / "survived").exists()


@pytest.mark.long
def test_only_keeps_the_other_figures(tmp_path: Path) -> None:
    programs = [Program("masks", "beans"), Program("tokenize", "beans")]
    _tree(tmp_path, beans=GOOD)
    _run(tmp_path, tmp_path / "out", "--quick", programs=programs)
    _run(tmp_path, tmp_path / "out", "--only", "masks", programs=programs)
    kept = read_results(tmp_path / "out" / "results.json")
    assert {name: entry["quick"] for name, entry in kept["benchmarks"].items()} == {"masks": False, "tokenize": True}


@pytest.mark.long
def test_a_whole_run_that_is_interrupted_keeps_the_other_figures(tmp_path: Path) -> None:
    programs = [Program("masks", "beans"), Program("tokenize", "beans")]
    _run(_tree(tmp_path, beans=GOOD), tmp_path / "out", "--quick", programs=programs)

    def interrupt_at_the_second(line: str) -> None:
        if line.startswith("2/2"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        main(interrupt_at_the_second, ["--out", str(tmp_path / "out")], programs=programs, root=tmp_path)
    kept = read_results(tmp_path / "out" / "results.json")
    assert {name: entry["quick"] for name, entry in kept["benchmarks"].items()} == {"masks": False, "tokenize": True}


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
    _run(tmp_path, tmp_path / "out", programs=programs)
    assert read_results(file)["machines"] == kept["machines"], "nothing is of the other one any more"


@pytest.mark.long
def test_figures_of_another_machine_outlive_a_run_where_the_program_is_absent(tmp_path: Path) -> None:
    programs, out = [Program("growth", "draws", plots="--plots")], tmp_path / "out"
    _run(_tree(tmp_path, draws=DRAWS), out, programs=programs)
    file = out / "results.json"
    file.write_text(json.dumps(read_results(file) | {"machines": [Machine(facts={"GPU": "Abacus 3"}, versions={})]}))
    kept = read_results(file)
    (tmp_path / "draws.py").unlink()
    code, shown = _run(tmp_path, out, programs=programs)
    assert (code, shown[1:]) == (0, ["  absent in 0 s: there is no draws; the kept figures stay"])
    assert read_results(file) == kept
    assert (out / "plots" / "growth-one.png").exists()


@pytest.mark.long
def test_a_run_replaces_one_without_figures_and_a_failed_run_replaces_any(tmp_path: Path) -> None:
    programs, out = [Program("masks", "beans")], tmp_path / "out"
    states = []
    for source in (DIFFERENT_WORK, ABSENT, GOOD, DIFFERENT_WORK):
        _run(_tree(tmp_path, beans=source), out, programs=programs)
        states.append(read_results(out / "results.json")["benchmarks"]["masks"]["state"])
    assert states == ["failed", "absent", "measured", "failed"]


@pytest.mark.long
def test_the_revision_is_that_of_the_beginning(tmp_path: Path) -> None:
    root = _tree(tmp_path / "tree", changes=CHANGES_THE_TREE)
    who = ["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
    for command in (["init", "--quiet"], ["add", "."], [*who, "commit", "--quiet", "--message", "First"]):
        subprocess.run(["git", *command], cwd=root, check=True, capture_output=True)
    _run(root, tmp_path / "out", programs=[Program("masks", "changes")])
    kept = read_results(tmp_path / "out" / "results.json")
    assert (root / "new").exists()
    assert kept["benchmarks"]["masks"]["revision"] == revision(root).removesuffix(" with changes")


@pytest.mark.long
def test_results_of_another_shape_are_refused_before_anything_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "out" / "results.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"machine": {}, "versions": {}, "benchmarks": {}}))
    with pytest.raises(SystemExit, match="2"):
        _run(_tree(tmp_path, beans=GOOD), tmp_path / "out", programs=[Program("masks", "beans")])
    assert "was not written by this version" in capsys.readouterr().err
    assert "machines" not in json.loads(file.read_text())


@pytest.mark.long
@pytest.mark.parametrize("content", [b'{"machines": [', b"[]", b"7", b"\xff"])
def test_a_file_that_is_no_object_of_results_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "results.json"
    file.write_bytes(content)
    with pytest.raises(NotResults, match="was not written by this version"):
        read_results(file)


@pytest.mark.long
def test_report_is_written_again_without_measuring(tmp_path: Path) -> None:
    programs = [Program("masks", "beans")]
    _run(_tree(tmp_path, beans=GOOD), tmp_path / "out", programs=programs)
    report = tmp_path / "out" / "RESULTS.md"
    text = report.read_text()
    report.unlink()
    (tmp_path / "beans.py").unlink()
    assert _run(tmp_path, tmp_path / "out", "--report", programs=programs) == (0, [])
    assert report.read_text() == text


@pytest.mark.long
def test_json_prints_the_seven_figures_and_writes_nothing(tmp_path: Path) -> None:
    figures = {key: number for number, key in enumerate(JSON_KEYS)} | {"more": 1}
    programs = [Program("by_hand", "by_hand"), Program("masks", "different")]
    _tree(tmp_path, by_hand=f"print('''{json.dumps(figures)}''')\n", different=DIFFERENT_WORK)
    code, shown = _run(tmp_path, tmp_path / "out", "--quick", "--json", programs=programs)
    assert code == 0
    assert [json.loads(line) for line in shown] == [{key: number for number, key in enumerate(JSON_KEYS)}]
    assert not (tmp_path / "out").exists()


@pytest.mark.long
def test_json_without_all_seven_figures_prints_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _tree(tmp_path, by_hand='print(\'{"vs_naive_mix": 1, "vs_naive_distinct": null}\')\n')
    code, shown = _run(tmp_path, tmp_path / "out", "--json", programs=[Program("by_hand", "by_hand")])
    assert (code, shown) == (1, [])
    assert "no vs_naive_distinct, vs_naive_steady" in capsys.readouterr().err


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
def test_pictures_of_a_program_are_those_of_this_run_with_its_name(tmp_path: Path) -> None:
    programs = [Program("growth", "draws", plots="--plots")]
    plots = tmp_path / "out" / "plots"
    plots.mkdir(parents=True)
    (plots / "growth-of_an_earlier_run.png").touch()
    _run(_tree(tmp_path, draws=DRAWS), tmp_path / "out", programs=programs)
    kept = read_results(tmp_path / "out" / "results.json")
    assert kept["benchmarks"]["growth"]["plots"] == ["growth-one.png"]
    assert [file.name for file in plots.iterdir()] == ["growth-one.png"]


@pytest.mark.long
def test_an_interrupted_run_leaves_the_pictures_that_the_report_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs, picture = [Program("growth", "draws", plots="--plots")], tmp_path / "out" / "plots" / "growth-one.png"
    _run(_tree(tmp_path, draws=DRAWS), tmp_path / "out", programs=programs)
    report = (tmp_path / "out" / "RESULTS.md").read_text()

    def draw_half(_program: Program, arguments: Sequence[str], _root: Path) -> NoReturn:
        (Path(arguments[-1]) / picture.name).write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(suite, "run_program", draw_half)
    with pytest.raises(KeyboardInterrupt):
        _run(tmp_path, tmp_path / "out", programs=programs)
    assert (tmp_path / "out" / "RESULTS.md").read_text() == report
    assert "(plots/growth-one.png)" in report
    assert picture.read_bytes() == b""


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.name)
def test_every_program_of_the_suite_is_there_and_says_its_caveats(program: Program) -> None:
    root = Path(__file__).parents[2]
    first, caveats = docstring_of(root, program.module)
    assert first
    assert caveats or program.name in ("retrieval", "templates", "questions")
