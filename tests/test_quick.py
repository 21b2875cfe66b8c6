"""A test that starts a process unannounced fails; with `--quick`, those that need servers, models or processes are left out."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PLUGIN = """import pytest

from tests.quick import NoProcesses, Quick


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "process: starts a process")
    config.addinivalue_line("markers", "long: takes minutes")
    config.addinivalue_line("markers", "slow: takes a second")
    config.pluginmanager.register(NoProcesses())
    if config.getoption("--quick"):
        config.pluginmanager.register(Quick())


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


def ran(folder: Path, tests: str, *options: str) -> dict[str, str]:
    """Run tests under the plugins in their own process; return what became of each that was not left out."""
    (folder / "conftest.py").write_text(PLUGIN)
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_planted.py").write_text(tests)
    arguments = ["-v", "-p", "no:cacheprovider", "-p", "no:xdist", "--rootdir", str(folder), *options, str(folder)]
    command = [sys.executable, "-m", "pytest", *arguments]
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
def test_what_needs_a_server_a_model_a_process_or_time_is_left_out(tmp_path: Path) -> None:
    tests = [
        "def test_quick(tmp_path):\n    assert True\n",
        "def test_server(kafka):\n    assert True\n",
        "def test_through_another_fixture(topic):\n    assert True\n",
        "def test_model(prepared_model):\n    assert True\n",
        "@pytest.mark.process\ndef test_marked():\n    assert True\n",
        "@pytest.mark.long\ndef test_that_takes_minutes():\n    assert True\n",
        "@pytest.mark.slow\ndef test_that_takes_a_second():\n    assert True\n",
    ]
    (tmp_path / "properties").mkdir()
    (tmp_path / "properties" / "test_property.py").write_text("def test_property():\n    assert True\n")
    assert ran(tmp_path, "import pytest\n\n\n" + "\n\n".join(tests), "--quick") == {"test_quick": "PASSED"}


@pytest.mark.process
def test_what_announces_its_processes_may_start_them(tmp_path: Path) -> None:
    start = "    subprocess.run(['true'], check=True)\n"
    tests = f"@pytest.mark.process\ndef test_marked():\n{start}\n\ndef test_server(topic):\n{start}\n\ndef test_without():\n{start}"
    outcomes = ran(tmp_path, f"import subprocess\nimport pytest\n\n\n{tests}")
    assert outcomes == {"test_marked": "PASSED", "test_server": "PASSED", "test_without": "FAILED"}
