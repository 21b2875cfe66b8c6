"""deploy/Dockerfile makes what docker-compose.yml asks for: what it copies is there, and what its commands do is done here."""

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.services.compose import COMPOSE_FILE, read_compose
from worker.cli.app import app
from worker.embedding.loaded import model_of
from worker.embedding.model.prepared import PreparedModel
from worker.settings.settings import PREFIX, load_settings

ROOT = COMPOSE_FILE.parent
SERVICES = read_compose()["services"]
DOCKERFILE = (ROOT / "deploy/Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
STAGES = dict(re.findall(r"^FROM \S+ AS (\S+)\n(.*?)(?=^FROM|\Z)", DOCKERFILE, re.MULTILINE | re.DOTALL))


def _copied(stage: str) -> list[tuple[str, str]]:
    """Return (stage or nothing, source) of everything that a stage copies."""
    lines = re.findall(r"^COPY (?:--from=(\S+) )?(.*)$", STAGES[stage], re.MULTILINE)
    return [(whence, source) for whence, names in lines for source in names.split()[:-1]]


def _environment() -> dict[str, str]:
    return dict(re.findall(r"(\w+)=(\S+)", " ".join(re.findall(r"^ENV (.*)$", STAGES["runtime"], re.MULTILINE))))


def test_what_the_image_copies_is_there_and_reaches_the_build() -> None:
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line.startswith("!")}
    copied = {source for stage in STAGES for whence, source in _copied(stage) if not whence}
    assert {"requirements.lock", "worker", "consumers", "producers", "sinks", "deploy/vllm"} <= copied
    for name in copied:
        assert (ROOT / name).exists(), name
        assert name in allowed, name
    assert allowed == copied, "nothing else is sent to the build"


@pytest.mark.parametrize(("target", "libraries"), [("cpu", "libraries"), ("gpu", "libraries-gpu")])
def test_both_targets_carry_the_source_the_model_and_their_libraries(target: str, libraries: str) -> None:
    carried = {"pyproject.toml", "consumers", "producers", "sinks", "worker", "model"}
    assert set(_copied(target)) == {(libraries, "/app/.venv"), *(("source", f"/app/{name}") for name in carried)}
    assert STAGES[target].rstrip().splitlines()[-1] == "USER vectail"


def test_every_stage_is_of_the_pinned_python_and_the_last_is_for_a_cpu() -> None:
    whence = re.findall(r"^FROM (\S+) AS", DOCKERFILE, re.MULTILINE)
    assert set(whence) <= {"${PYTHON}", *STAGES}
    assert whence.count("${PYTHON}") == 2
    assert list(STAGES)[-1] == "cpu"


def test_the_labels_of_the_image_are_what_the_project_says_of_itself() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    labels = dict(re.findall(r'org\.opencontainers\.image\.(\w+)="([^"]*)"', STAGES["runtime"]))
    said = {"title": project["name"], "licenses": project["license"], **{name: project[name] for name in ("version", "description")}}
    assert labels == said


def test_a_model_that_was_moved_into_the_image_needs_neither_its_source_nor_a_cache(
    prepared_model: PreparedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "mv models/*/ model" in STAGES["source"]
    moved = tmp_path / "model"
    shutil.copytree(prepared_model.folder, moved)
    variables = {name: value for name, value in _environment().items() if name.startswith(PREFIX)}
    assert variables.pop(f"{PREFIX}MODEL__FOLDER") == "/app/model"
    for name, value in {**variables, f"{PREFIX}MODEL__FOLDER": str(moved), f"{PREFIX}MODEL__CACHE": str(tmp_path / "none")}.items():
        monkeypatch.setenv(name, value)
    model = model_of(load_settings(None))
    assert (model.folder, model.weights_sha256) == (moved, prepared_model.weights_sha256)
    assert not (tmp_path / "none").exists(), "nothing is written"


def test_preparing_a_model_leaves_one_folder_to_be_moved(prepared_model: PreparedModel, tmp_path: Path) -> None:
    """The image's own commands, on a cache that holds what `vectail model prepare` leaves: a folder and a stamp."""
    cache = tmp_path / "models"
    shutil.copytree(prepared_model.folder, cache / prepared_model.folder.name)
    (cache / "0123456789abcdef.stamp").touch()
    move = re.search(r"&& (mv models/.*)$", STAGES["source"], re.MULTILINE)
    assert move is not None
    subprocess.run(["/bin/sh", "-euc", move[1]], cwd=tmp_path, check=True)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    files = [path for path in (tmp_path / "model").rglob("*") if path.is_file()]
    assert {"model.gguf", "prepared.json", "model.safetensors"} <= {path.name for path in files}
    assert all(path.stat().st_mode & 0o044 == 0o044 for path in files), "whoever the container runs as can read it"


class _Health(BaseHTTPRequestHandler):
    status = 200

    def do_GET(self) -> None:
        self.send_response(self.status if self.path == "/healthz" else 404)
        self.end_headers()

    def log_message(self, *_words: object) -> None:
        return


@pytest.fixture
def health() -> Iterator[ThreadingHTTPServer]:
    with ThreadingHTTPServer(("127.0.0.1", 0), type("Health", (_Health,), {})) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.process
def test_the_health_check_asks_the_worker_s_own_port_and_no_proxy(health: ThreadingHTTPServer) -> None:
    check = re.search(r"^HEALTHCHECK .*?CMD (\[.*\])$", STAGES["runtime"], re.MULTILINE)
    assert check is not None
    python, *words = json.loads(check[1])
    assert python == "python"
    port = load_settings(None).http.port
    assert f"EXPOSE {port}\n" in STAGES["runtime"]
    assert words[-1].count(f"127.0.0.1:{port}/healthz") == 1
    words[-1] = words[-1].replace(str(port), str(health.server_address[1]))
    environment = {**os.environ, "http_proxy": "http://127.0.0.1:9", "no_proxy": ""}
    ask = [sys.executable, *words]
    assert subprocess.run(ask, env=environment, capture_output=True, check=False).returncode == 0
    health.RequestHandlerClass.status = 503  # type: ignore[attr-defined]
    assert subprocess.run(ask, env=environment, capture_output=True, check=False).returncode != 0


def test_the_feed_of_the_compose_file_is_one_that_the_command_line_takes() -> None:
    verb, *words = SERVICES["feed"]["command"]
    assert verb == "feed"
    outcome = CliRunner().invoke(app, [verb, *words, "--help"])
    assert outcome.exit_code == 0, outcome.output
