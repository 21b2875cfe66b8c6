"""The rules of the source tree hold, and each rule finds a planted violation."""

import importlib.metadata
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest

from tests.room_rules import knows_serving, large_rooms, names_twice
from tests.rows import rows
from tests.source_rules import (
    MOST_FLOORS,
    MOST_LINES,
    MOST_ROOMS,
    SMELL_LINES,
    Source,
    catch_alls,
    environment_readers,
    filter_names,
    forbidden_names,
    full_inits,
    import_cycles,
    long_files,
    outsiders_to_serving,
    read_sources,
    room_cycles,
    rooms_by_floor,
    several_importers,
    sink_makers,
    smelly_files,
    star,
    too_many_floors,
    too_many_rooms,
    undeclared_libraries,
)

ROOT = Path(__file__).parents[1]
LONGER: Mapping[str, str] = {}
"""Files that may exceed MOST_LINES, each with its reason."""

Rule = Callable[[Sequence[Source]], list[str]]


@cache
def _declared() -> frozenset[str]:
    """Return the import names of the dependencies in pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    requirements = [*project["dependencies"], *(one for extra in project.get("optional-dependencies", {}).values() for one in extra)]
    wanted = {re.split(r"[\[<>=~! ]", requirement, maxsplit=1)[0].lower() for requirement in requirements}
    installed = {
        library
        for library, distributions in importlib.metadata.packages_distributions().items()
        if any(re.sub(r"[-_.]+", "-", name).lower() in wanted for name in distributions)
    }
    # An extra that is not installed here is imported under its own name.
    return frozenset(installed | {name.replace("-", "_") for name in wanted})


def _no_long_files(sources: Sequence[Source]) -> list[str]:
    return long_files(sources, LONGER)


def _no_undeclared_libraries(sources: Sequence[Source]) -> list[str]:
    return undeclared_libraries(sources, _declared())


RULES: dict[str, Rule] = {
    "star": star,
    "import_cycles": import_cycles,
    "too_many_rooms": too_many_rooms,
    "too_many_floors": too_many_floors,
    "room_cycles": room_cycles,
    "several_importers": several_importers,
    "undeclared_libraries": _no_undeclared_libraries,
    "environment_readers": environment_readers,
    "forbidden_names": forbidden_names,
    "long_files": _no_long_files,
    "outsiders_to_serving": outsiders_to_serving,
    "catch_alls": catch_alls,
    "sink_makers": sink_makers,
    "filter_names": filter_names,
    "full_inits": full_inits,
    "knows_serving": knows_serving,
    "names_twice": names_twice,
    "large_rooms": large_rooms,
}

CLEAN = {
    "consumers/__init__.py": '"""A room."""\n',
    "consumers/record.py": "import numpy\nimport confluent_kafka\nfrom consumers import ledger\n",
    "consumers/ledger.py": "import queue\n",
    "consumers/native.py": "import numpy\n",
    "sinks/words.py": "from consumers.native import c_function\n",
    "consumers/formats/kafka.py": "import confluent_kafka\n",
    "worker/settings/settings.py": "import os\nprint(os.environ['HOME'])\n",
    "worker/runtime/stage.py": "try:\n    pass\nexcept Exception:\n    pass\n",
    "worker/service/service.py": "import numpy\nfrom consumers.record import Record\ntry: pass\nexcept (OSError, ValueError): pass\n",
    "worker/connections.py": "MilvusSink(1)\n",
    "worker/asking/filters.py": "class Filters:\n    service: list = []\n    not_service: list = []\nnot_service = 1\n",
    "worker/undo.py": "try:\n    pass\nexcept BaseException:\n    print()\n    raise\n",
    "worker/long.py": "pass\n" * MOST_LINES,
    **dict.fromkeys(LONGER, "pass\n" * (MOST_LINES + 1)),
    "tests/test_all.py": "import os\nimport worker.service.service\nos.environ\n" + "pass\n" * (MOST_LINES - 3),
}

PLANTED: list[tuple[str, dict[str, str], list[str]]] = [
    *rows("planted/sources"),
    ("large_rooms", {"worker/new/a.py": "pass\n" * 300, "worker/new/b.py": "pass\n" * 201}, ["worker/new has 501 lines, …"]),
    ("too_many_rooms", {f"worker/room{number}.py": "" for number in range(MOST_ROOMS)}, ["… rooms, … are allowed"]),
    (
        "too_many_floors",
        {f"worker/floor{number}.py": f"import worker.floor{number - 1}\n" if number else "" for number in range(MOST_FLOORS + 1)},
        [f"{MOST_FLOORS + 1} floors, {MOST_FLOORS} are allowed"],
    ),
    ("long_files", {"sinks/a.py": "pass\n" * (MOST_LINES + 1)}, [f"sinks/a.py has {MOST_LINES + 1} lines, {MOST_LINES} are allowed"]),
    ("long_files", {"tests/a.py": "pass\n" * (MOST_LINES + 1)}, [f"tests/a.py has {MOST_LINES + 1} lines, {MOST_LINES} are allowed"]),
]


def _plant(root: Path, files: Mapping[str, str]) -> tuple[Source, ...]:
    for path, text in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return read_sources(root)


# The only rule that every edit can break and that parses nothing: `make quick` has it too.
@pytest.mark.parametrize("rule", [rule if rule == "long_files" else pytest.param(rule, marks=pytest.mark.slow) for rule in RULES])
def test_the_rule_holds_on_the_real_tree(rule: str) -> None:
    sources = read_sources(ROOT)
    assert {"consumers/ledger.py", "worker/__main__.py", "tests/test_architecture.py"} <= {source.path for source in sources}
    assert RULES[rule](sources) == []


@pytest.mark.parametrize(("rule", "files", "expected"), PLANTED, ids=[f"{number}-{planted[0]}" for number, planted in enumerate(PLANTED)])
def test_the_rule_finds_what_was_planted_and_nothing_else(rule: str, files: dict[str, str], expected: list[str], tmp_path: Path) -> None:
    found = RULES[rule](_plant(tmp_path, CLEAN | files))
    assert len(found) == len(expected)
    for line, wanted in zip(found, expected, strict=True):
        assert re.fullmatch(".*".join(re.escape(part) for part in wanted.split("…")), line)


def test_a_room_stands_above_all_that_it_imports(tmp_path: Path) -> None:
    files = {
        "consumers/a.py": "",
        "consumers/text/__init__.py": "import worker.service.service\n",
        "consumers/text/a.py": "import consumers.a\nimport consumers.text.b\n",
        "consumers/text/b.py": "",
        "worker/service/service.py": "def f():\n    from consumers.text import a\n",
        "worker/lane.py": "",
        "benchmarks/a.py": "import worker.service.service\n",
    }
    assert rooms_by_floor(_plant(tmp_path, files)) == [["consumers", "worker/lane"], ["consumers/text"], ["worker/service"]]


def test_a_source_file_above_250_lines_is_listed_and_a_test_is_not() -> None:
    lengths = {"sinks/a.py": SMELL_LINES, "sinks/b.py": SMELL_LINES + 1, "sinks/c.py": MOST_LINES + 1, "tests/d.py": MOST_LINES}
    sources = [Source(path, "pass\n" * lines) for path, lines in lengths.items()]
    assert smelly_files(sources) == [f"sinks/b.py has {SMELL_LINES + 1} lines, more than {SMELL_LINES}"]


def test_every_rule_has_a_planted_violation() -> None:
    assert {rule for rule, _, _ in PLANTED} == set(RULES)


def test_an_exception_for_a_long_file_needs_a_reason_and_a_long_file() -> None:
    long = Source("sinks/a.py", "pass\n" * (MOST_LINES + 1))
    short = Source("sinks/b.py", "pass\n")
    assert long_files([long], {"sinks/a.py": "a table that is read as one"}) == []
    assert long_files([long], {"sinks/a.py": ""}) == [f"sinks/a.py has {MOST_LINES + 1} lines, {MOST_LINES} are allowed"]
    assert long_files([short], {"sinks/b.py": "was long once"}) == ["sinks/b.py has 1 lines and needs no exception any more"]
    assert long_files([], {"sinks/c.py": "gone"}) == ["sinks/c.py is an exception and is not there"]
