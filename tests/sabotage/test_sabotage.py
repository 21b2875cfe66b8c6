"""The mutations match the source, so that they cannot rot; the script tells caught, missed and broken ones apart."""

import ast
import subprocess
from functools import cache
from pathlib import Path

import pytest

from tests.sabotage.mutation import Mutation
from tests.sabotage.mutations import MUTATIONS
from tests.sabotage.planting import ROOT, Copy, planted

_LONG = "mark.long"
_SOURCE = "def double(number: int) -> int:\n    return number * 2\n"
_TEST = """from worker.double import double


def test_it() -> None:
    assert double(3) == 6


def test_zero() -> None:
    assert double(0) == 0
"""


@cache
def _functions(file: Path) -> frozenset[str]:
    """Return the functions of a file that run in every tier from `make test` on."""
    tree = ast.parse(file.read_text())
    marks = [ast.unparse(node.value) for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"]
    if any(_LONG in mark for mark in marks):
        return frozenset()
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    return frozenset(one.name for one in functions if not any(_LONG in ast.unparse(mark) for mark in one.decorator_list))


@pytest.mark.process
@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_mutation_has_its_place_and_is_valid_and_its_tests_exist(mutation: Mutation) -> None:
    whole = (ROOT / mutation.file).read_text()
    changed = planted(whole, mutation)
    if mutation.file.endswith(".c"):
        subprocess.run(["cc", "-std=c11", "-fsyntax-only", "-x", "c", "-"], input=changed, text=True, check=True)
    elif mutation.file.endswith(".py"):
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(whole))
    assert changed != whole
    assert mutation.tests
    for test in mutation.tests:
        path, _, name = test.partition("::")
        assert name in _functions(ROOT / path) if name else _functions(ROOT / path), test


def test_names_of_mutations_differ_and_there_are_enough() -> None:
    assert len({mutation.name for mutation in MUTATIONS}) == len(MUTATIONS) >= 15


def test_a_place_that_is_not_there_once_is_an_error() -> None:
    with pytest.raises(ValueError, match="occurs 0 times"):
        planted("a", Mutation("name", "file", "b", "c", ()))
    with pytest.raises(ValueError, match="occurs 2 times"):
        planted("bb", Mutation("name", "file", "b", "c", ()))


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    """A copy of a project with one function."""
    root = tmp_path / "root"
    for room in ("benchmarks", "consumers", "deploy", "docs", "producers", "sinks", "tests", "worker"):
        (root / room).mkdir(parents=True)
        (root / room / "__init__.py").touch()
    (root / "worker" / "double.py").write_text(_SOURCE)
    (root / "tests" / "test_double.py").write_text(_TEST)
    (root / "tests" / "conftest.py").write_text('import hypothesis\n\nhypothesis.settings.register_profile("unshrunk")\n')
    for name in ("docker-compose.yml", "Makefile", "README.md", "requirements.lock"):
        (root / name).touch()
    (root / "pyproject.toml").write_text('[tool.pytest]\npythonpath = ["."]\naddopts = ["--import-mode=importlib"]\n')
    return Copy(tmp_path / "copy", root)


@pytest.mark.process
def test_caught_missed_and_broken_are_told_apart_and_the_copy_is_whole_after_each(copy: Copy) -> None:
    it, zero = (f"tests/test_double.py::{name}" for name in ("test_it", "test_zero"))
    copy.check_whole([it, zero])
    wrong = Mutation("wrong", "worker/double.py", "* 2", "* 3", (zero, it))
    outcomes = [
        copy.try_one(wrong),
        copy.try_one(wrong._replace(tests=(zero,))),
        copy.try_one(wrong._replace(new="* (2")),
    ]
    assert [outcome.verdict for outcome in outcomes] == ["caught", "MISSED", "BROKEN"]
    assert outcomes[0].by == it
    copy.check_whole([it, zero])
    with pytest.raises(RuntimeError, match="prove nothing"):
        copy.check_whole(["tests/test_double.py::test_nowhere"])
