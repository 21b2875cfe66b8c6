"""`--quick`: a test that starts a process fails, and tests that need servers, models or processes are left out."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PLUGIN = """import pytest

from tests.quick import Quick


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "process: starts a process")
    config.pluginmanager.register(Quick(), "quick")


@pytest.fixture
def kafka() -> str:
    return "a server"


@pytest.fixture
def prepared_model() -> str:
    return "a model"


@pytest.fixture
def topic(kafka: str) -> str:
    return f"on {kafka}"
"""
STARTS = {
    "subprocess": "import subprocess\n    subprocess.run(['true'], check=True)",
    "os_system": "import os\n    os.system('true')",
    "fork": "import multiprocessing as m\n    one = m.get_context('fork').Process(target=int)\n    one.start()\n    one.join()",
    "spawn": "import multiprocessing as m\n    one = m.get_context('spawn').Process(target=int)\n    one.start()\n    one.join()",
    "caught": "import contextlib, subprocess\n    with contextlib.suppress(Exception):\n        subprocess.run(['true'], check=True)",
}


def ran(folder: Path, tests: str) -> dict[str, str]:
    """Run tests under the plugin in their own process; return what became of each that was not left out."""
    (folder / "conftest.py").write_text(PLUGIN)
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_planted.py").write_text(tests)
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "-p", "no:xdist", "--rootdir", str(folder), str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode in {0, 1}, done.stdout + done.stderr
    return dict(re.findall(r"::(\w+) (PASSED|FAILED|ERROR)", done.stdout))


@pytest.mark.process
def test_a_quick_test_that_starts_a_process_fails_however_it_starts_it(tmp_path: Path) -> None:
    tests = "".join(f"def test_{name}():\n    {body}\n\n\n" for name, body in STARTS.items())
    outcomes = ran(tmp_path, f"{tests}def test_without():\n    assert True\n")
    assert outcomes == {f"test_{name}": "FAILED" for name in STARTS} | {"test_without": "PASSED"}


@pytest.mark.process
def test_a_fixture_of_a_quick_test_that_starts_a_process_is_an_error(tmp_path: Path) -> None:
    fixture = "import subprocess\nimport pytest\n\n\n@pytest.fixture\ndef server():\n    subprocess.run(['true'], check=True)\n\n\n"
    assert ran(tmp_path, f"{fixture}def test_it(server):\n    assert True\n") == {"test_it": "ERROR"}


@pytest.mark.process
def test_what_needs_a_server_a_model_or_a_process_is_left_out(tmp_path: Path) -> None:
    tests = [
        "def test_quick(tmp_path):\n    assert True\n",
        "def test_server(kafka):\n    assert True\n",
        "def test_through_another_fixture(topic):\n    assert True\n",
        "def test_model(prepared_model):\n    assert True\n",
        "@pytest.mark.process\ndef test_marked():\n    assert True\n",
    ]
    assert ran(tmp_path, "import pytest\n\n\n" + "\n\n".join(tests)) == {"test_quick": "PASSED"}
