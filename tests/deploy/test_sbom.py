"""deploy/supply/sbom.py lists what is shipped, with licences that somebody has read."""

import hashlib
import importlib.util
import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import Distribution, version
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import pytest

from worker.embedding.model.difference import LOGS
from worker.embedding.model.folder import InstalledName
from worker.embedding.model.released import RELEASED

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "deploy/supply/sbom.py"
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def named(requirements: list[str]) -> set[str]:
    return {re.split(r"[\[<>=~! ]", one, maxsplit=1)[0].lower() for one in requirements}


@pytest.fixture(scope="module")
def sbom() -> ModuleType:
    spec = importlib.util.spec_from_file_location("sbom", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def document(sbom: ModuleType) -> dict[str, Any]:
    made: dict[str, Any] = sbom.document(sbom.packages(LOCK))
    return made


def package(folder: Path, *metadata: str) -> Distribution:
    """Return a package of the test's own, with these lines in its metadata."""
    own = folder / "own-1.dist-info"
    own.mkdir()
    (own / "METADATA").write_text("\n".join(["Metadata-Version: 2.4", "Name: own", "Version: 1", *metadata, ""]), encoding="utf-8")
    return Distribution.at(own)


def test_every_package_that_is_shipped_is_there_in_its_version_with_its_hashes(document: dict[str, Any]) -> None:
    libraries = {one["name"]: one for one in document["components"] if one["type"] == "library"}
    assert named(PYPROJECT["project"]["dependencies"]) <= set(libraries)
    assert {"grpcio", "pydantic-core"} <= set(libraries), "what these need, too"
    for name, library in libraries.items():
        assert library["version"] == version(name)
        hashes = {one["value"] for one in library["properties"]}
        assert hashes
        assert all(f"--hash=sha256:{one}" in LOCK for one in hashes)


def test_what_only_tests_and_builds_need_is_not_there(document: dict[str, Any]) -> None:
    listed = {one["name"] for one in document["components"]}
    assert not {"pytest", "mypy", "ruff", "hypothesis", "docker", "sentence-transformers", "torch"} & listed


def test_the_files_of_both_models_are_there_with_their_hashes_and_a_licence_of_their_own(document: dict[str, Any]) -> None:
    plain, tuned = (one for one in document["components"] if one["type"] == "machine-learning-model")
    assert (plain["name"], tuned["name"]) == get_args(InstalledName)[::-1]
    assert {one["name"]: one["hashes"][0]["content"] for one in plain["components"]} == dict(RELEASED)
    assert {one["name"]: one["hashes"][0]["content"] for one in tuned["components"]} == {
        LOGS.name: hashlib.sha256(LOGS.read_bytes()).hexdigest()
    }
    assert plain["licenses"] == tuned["licenses"] == [{"license": {"id": "Apache-2.0"}}]
    assert {"ref": tuned["bom-ref"], "dependsOn": [plain["bom-ref"]]} in document["dependencies"]


def test_what_depends_on_what_is_named_by_references_that_exist(document: dict[str, Any]) -> None:
    refs = {one["bom-ref"] for one in [document["metadata"]["component"], *document["components"]]}
    for one in document["dependencies"]:
        assert {one["ref"], *one["dependsOn"]} <= refs
    direct = next(one["dependsOn"] for one in document["dependencies"] if one["ref"] == document["metadata"]["component"]["bom-ref"])
    assert any(one.startswith("pkg:pypi/orjson@") for one in direct)


@pytest.mark.parametrize(("metadata", "licence"), [
    (("License-Expression: MIT",), "MIT"),
    (("License-Expression: MPL-2.0 AND (Apache-2.0 OR MIT)",), "MPL-2.0 AND (Apache-2.0 OR MIT)"),
    (("License: Apache 2.0",), "Apache-2.0"),
    (("Classifier: License :: OSI Approved :: MIT License",), "MIT"),
    (("License: see LICENSE", "Classifier: License :: OSI Approved :: Apache Software License"), "Apache-2.0"),
    (("License-Expression: GPL-3.0-only",), ""),
    (("License-Expression: MIT AND GPL-3.0-only",), ""),
    (("Classifier: License :: OSI Approved :: MIT License", "Classifier: License :: Other/Proprietary License"), ""),
    (("License: ",), ""),
    ((), ""),
])  # fmt: skip
def test_a_licence_is_known_or_unknown(sbom: ModuleType, tmp_path: Path, metadata: tuple[str, ...], licence: str) -> None:
    assert sbom.licence_of(package(tmp_path, *metadata)) == licence


def test_an_unknown_licence_fails_and_nothing_is_written(
    sbom: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sbom, "LICENCES", sbom.LICENCES - {"ISC"})
    monkeypatch.setattr(sys, "argv", ["sbom", "--output", str(tmp_path / "sbom.json")])
    assert sbom.main() == 1
    out, err = capsys.readouterr()
    assert re.search(r"^shellingham +\S+ +UNKNOWN$", out, re.MULTILINE)
    assert "nobody has read the licences of shellingham" in err
    assert not list(tmp_path.iterdir())


def test_what_is_installed_and_not_locked_so_is_refused(sbom: ModuleType) -> None:
    with pytest.raises(SystemExit, match=r"orjson .* is not the locked version"):
        sbom.packages(LOCK.replace(f"orjson=={version('orjson')}", "orjson==0.1"))


@pytest.mark.process
def test_the_script_writes_the_document_and_prints_the_licences(tmp_path: Path, document: dict[str, Any]) -> None:
    file = tmp_path / "dist" / "sbom.json"
    ended = subprocess.run([sys.executable, str(SCRIPT), "--output", str(file)], capture_output=True, text=True, check=True)
    assert json.loads(file.read_text(encoding="utf-8")) == document
    assert re.search(r"^all-MiniLM-L6-v2 +\w+ +Apache-2.0\nall-MiniLM-L6-v2-logs +\S+ +Apache-2.0$", ended.stdout, re.MULTILINE)
