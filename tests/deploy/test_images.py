"""deploy/images.py pins what it looked up, and nothing else."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from tests.deploy.registry import TOKEN, StubRegistry, run_registry
from tests.services.compose import COMPOSE_FILE, read_compose

SCRIPT = COMPOSE_FILE.parent / "deploy/images.py"
SERVICES = read_compose()["services"]
PYTHON = SERVICES["worker"]["build"]["args"]["PYTHON"]
pytestmark = pytest.mark.process


def _asked_as(image: str) -> str:
    """Return the name by which a registry knows an image of the file."""
    first, slash, rest = image.partition("/")
    if not slash:
        return f"library/{image}"
    return rest if "." in first else image


REDIS = _asked_as(SERVICES["redis"]["image"])


class Ended(NamedTuple):
    exit_code: int
    err: str


@pytest.fixture
def registry() -> Iterator[StubRegistry]:
    with run_registry() as own:
        yield own


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "images.yml"


def images(registry: StubRegistry, output: Path, *words: str) -> Ended:
    """Run the script; all registries are this one."""
    hosts = {"docker.io", *(image.split("/")[0] for image in _references() if "." in image.split("/")[0])}
    asked = [word for host in hosts for word in ("--registry", f"{host}={registry.address}")]
    environment = {**os.environ, "no_proxy": "127.0.0.1"}
    command = [sys.executable, str(SCRIPT), "--output", str(output), *asked, *words]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    return Ended(ended.returncode, ended.stderr)


def _references() -> set[str]:
    return {service["image"] for service in SERVICES.values() if "build" not in service} | {PYTHON}


def test_every_image_and_the_one_that_vectail_is_built_on_is_pinned_by_its_digest(registry: StubRegistry, output: Path) -> None:
    assert images(registry, output) == Ended(0, "")
    pinned = yaml.safe_load(output.read_text())["services"]
    assert set(pinned) == set(SERVICES)
    for name, service in SERVICES.items():
        if "build" in service:
            wanted: object = {"build": {"args": {"PYTHON": f"{PYTHON}@{registry.digest(_asked_as(PYTHON))}"}}}
        else:
            wanted = {"image": f"{service['image']}@{registry.digest(_asked_as(service['image']))}"}
        assert pinned[name] == wanted, name
    first = [method for method, _, token in registry.asked if not token]
    assert set(first) == {"HEAD"}, "a token is asked for before anything is read"
    assert {token for method, _, token in registry.asked if method == "GET"} == {f"Bearer {TOKEN}"}


def test_a_file_is_written_only_if_every_image_was_found(registry: StubRegistry, output: Path) -> None:
    registry.absent = {_asked_as(SERVICES["kafka"]["image"]), _asked_as(PYTHON)}
    ended = images(registry, output)
    assert ended.exit_code == 1
    assert f"images: {SERVICES['kafka']['image']}: the registry answers 404" in ended.err
    assert f"images: {PYTHON}: the registry answers 404" in ended.err
    assert f"images: 2 of {len(_references())} images were not found" in ended.err
    assert not output.exists()


@pytest.mark.parametrize(("change", "reason"), [
    ({"digests": {REDIS: "sha256:" + "0" * 64}}, "and returns a manifest of sha256:"),
    ({"digests": {REDIS: "sha256:abc"}}, "names no SHA-256 digest, but 'sha256:abc'"),
    ({"digests": {REDIS: ""}}, "names no SHA-256 digest, but ''"),
    ({"digests": {REDIS: "sha512:" + "0" * 128}}, "names no SHA-256 digest"),
    ({"wants_account": True}, "the registry wants an account"),
    ({"address": "http://127.0.0.1:9"}, "the registry cannot be asked"),  # the port of the discard protocol: nobody listens
])  # fmt: skip
def test_what_a_registry_does_not_vouch_for_is_not_written(
    registry: StubRegistry, output: Path, change: dict[str, object], reason: str
) -> None:
    for name, value in change.items():
        setattr(registry, name, value)
    ended = images(registry, output)
    assert ended.exit_code == 1
    assert re.search(rf"^images: {re.escape(SERVICES['redis']['image'])}: .*{re.escape(reason)}", ended.err, re.MULTILINE), ended.err
    assert "Traceback" not in ended.err
    assert not output.exists()


def test_a_redirect_is_followed_with_the_same_method_and_without_the_token(registry: StubRegistry, output: Path) -> None:
    with run_registry(open_to_all=True) as other:
        registry.moved_to = other.address
        assert images(registry, output) == Ended(0, "")
        assert {method for method, _, _ in other.asked} == {"HEAD", "GET"}
        with_token = [path for _, path, token in other.asked if token]
        assert with_token == []


def test_check_compares_the_file_with_the_registry_and_writes_nothing(registry: StubRegistry, output: Path) -> None:
    ended = images(registry, output, "--check")
    assert (ended.exit_code, output.exists()) == (1, False)
    assert f"{SERVICES['kafka']['image']}: not pinned in the file" in ended.err
    images(registry, output)
    assert images(registry, output, "--check") == Ended(0, "")
    old = output.read_text().replace(registry.digest(_asked_as(PYTHON)), "sha256:" + "1" * 64)
    output.write_text(old)
    ended = images(registry, output, "--check")
    assert ended.exit_code == 1
    assert f"images: {PYTHON}: sha256:{'1' * 64} in the file, {registry.digest(_asked_as(PYTHON))} in the registry" in ended.err
    assert output.read_text() == old


def test_what_is_committed_pins_the_tags_of_the_compose_file() -> None:
    for file in SCRIPT.parent.glob("images.yml"):
        for name, pinned in yaml.safe_load(file.read_text(encoding="utf-8"))["services"].items():
            reference = pinned["image"] if "image" in pinned else pinned["build"]["args"]["PYTHON"]
            usual = SERVICES[name]["image"] if "image" in pinned else PYTHON
            assert reference.partition("@")[0] == usual, name
