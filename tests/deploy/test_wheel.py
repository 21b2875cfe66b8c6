"""The wheel is all of the program and nothing else: it is built without make, and runs from any folder, in an environment of its own."""

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest

from consumers.native import library_fault
from tests.model_fixture import CACHE
from tests.source_rules import PRODUCT_PACKAGES
from tests.worker.cli.console import in_one_line, vectail

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.process


class Built(NamedTuple):
    """A wheel, and the files of the program that it was built from."""

    wheel: Path
    files: set[str]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Build it from a clone, as pip and uv do, where make cannot be used. The clone is gone."""
    folder = tmp_path_factory.mktemp("wheel")
    project, tools = folder / "project", folder / "tools"
    for name in (*PRODUCT_PACKAGES, "deploy"):
        shutil.copytree(ROOT / name, project / name, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    for name in (".gitignore", "LICENSE", "README.md", "pyproject.toml"):
        shutil.copy(ROOT / name, project)
    files = _files_below(project)
    (project / "tests").mkdir()
    (project / "tests/test_it.py").touch()
    tools.mkdir()
    (tools / "make").write_text("#!/bin/sh\nexit 1\n")
    (tools / "make").chmod(0o755)
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=project, env=os.environ | {"PATH": f"{tools}:{os.environ['PATH']}"}, check=True)
    shutil.rmtree(project)
    (wheel,) = folder.glob("*.whl")
    return Built(wheel, files)


@pytest.fixture
def unpacked(built: Built, tmp_path: Path) -> Path:
    with zipfile.ZipFile(built.wheel) as files:
        files.extractall(tmp_path)
    return tmp_path


def _files_below(root: Path) -> set[str]:
    every = (file for package in PRODUCT_PACKAGES for file in (root / package).rglob("*") if file.is_file())
    return {str(file.relative_to(root)) for file in every if "__pycache__" not in file.parts}


def test_it_holds_every_file_of_the_program_with_the_compiled_ones_and_no_other(built: Built, unpacked: Path) -> None:
    assert _files_below(unpacked) == built.files | {f"{name}.so" for name in built.files if name.endswith(".c")}
    assert {file.name.partition("-")[0] for file in unpacked.iterdir()} == {*PRODUCT_PACKAGES, "vectail"}


def test_it_has_every_c_file_with_its_library(unpacked: Path) -> None:
    sources = sorted(unpacked.rglob("*.c"))
    assert [fault for source in sources if (fault := library_fault(source))] == []
    assert vectail("masks", "list", cwd=unpacked).exit_code == 0
    library = next(source for source in sources if source.name == "flag_codes.c").with_suffix(".c.so")
    shutil.copy(library.with_name("write_forms.c.so"), library)
    ended = vectail("masks", "list", cwd=unpacked)
    assert (ended.exit_code, in_one_line(ended)) == (2, f"{library} was compiled from another flag_codes.c: run `make native`")


def test_installed_it_indexes_a_file_and_answers_from_another_folder_for_a_user_who_has_nothing(built: Built, tmp_path: Path) -> None:
    """Its libraries are those of this environment: what they are is the lock's."""
    environment, home = tmp_path / "environment", tmp_path / "home"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    install = [sys.executable, "-m", "pip", "--python", str(environment), "install", "--quiet", "--no-deps", "--no-index", str(built.wheel)]
    subprocess.run(install, check=True)
    (packages,) = (environment / "lib").glob("python*/site-packages")
    (packages / "libraries.pth").write_text(f"{sysconfig.get_path('purelib')}\n{sysconfig.get_path('platlib')}\n")
    home.mkdir()
    (home / "app.log").write_text("payment 17 was declined by the bank\npayment 18 was accepted\n")

    bare = {"PATH": os.defpath, "HOME": str(home), "VECTAIL_MODEL__CACHE": str(CACHE), "VECTAIL_ENGINE__NAME": "llama"}
    command = [str(environment / "bin/vectail"), "demo", "app.log", "--query", "declined"]
    ended = subprocess.run(command, cwd=home, env=bare, capture_output=True, text=True, check=False)

    assert ended.returncode == 0, ended.stderr
    assert "In the index: 2 lines of 2 templates; dead letters: 0" in ended.stdout
    assert "payment 17 was declined by the bank" in ended.stdout
