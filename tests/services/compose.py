"""Reads docker-compose.yml, the only place that names image tags.

`read_compose` reads it as YAML, with the defaults of its variables. `load_project` reads it with Docker Compose's own library, through a
small Go program beside this file that is built once into `.cache/`; without Go it raises ServerMissing.
"""

import hashlib
import json
import os
import pwd
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.services.fetched import fetched
from tests.services.missing import ServerMissing

COMPOSE_FILE = Path(__file__).parents[2] / "docker-compose.yml"
VARIABLE = re.compile(r"\$\{(\w+):-([^}]*)\}")
"""A variable with its default: the only form that the file uses."""
_SOURCE = Path(__file__).with_name("compose_check")
_BUILD_S = 280.0
_CHECK_S = 60.0
_OURS = ("COMPOSE_", "STACK_", "DOCKER_")


class ProjectRefused(Exception):
    """Docker Compose would refuse the file; the message is its own."""


def read_compose(variables: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the compose file as plain dicts and lists, with these variables or their defaults."""
    given = variables or {}
    text = VARIABLE.sub(lambda found: given.get(found[1]) or found[2], COMPOSE_FILE.read_text(encoding="utf-8"))
    content: dict[str, Any] = yaml.safe_load(text.replace("$$", "$"))
    return content


def image_of(service: str) -> str:
    image: str = read_compose()["services"][service]["image"]
    return image


def load_project(checker: Path, folder: Path, profiles: Iterable[str] = (), variables: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Resolve the compose file in `folder` as `docker compose config` does. Raises ProjectRefused."""
    own = {name: text for name, text in os.environ.items() if not name.startswith(_OURS)} | dict(variables or {})
    if chosen := ",".join(profiles):
        own["COMPOSE_PROFILES"] = chosen
    done = subprocess.run([str(checker), str(folder)], env=own, capture_output=True, text=True, timeout=_CHECK_S, check=False)
    if done.returncode != 0:
        raise ProjectRefused(done.stderr.strip())
    project: dict[str, Any] = json.loads(done.stdout)
    return project


def build_checker() -> Path:
    """Return the program's path; the first call builds it, one test run at a time. Raises ServerMissing."""
    if shutil.which("go") is None:
        raise ServerMissing("go is not installed (it builds the checker of docker-compose.yml)")
    sources = [_SOURCE / name for name in ("go.mod", "go.sum", "main.go")]
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:16]
    return fetched(f"compose-check-{digest}", _build)


def _build(program: Path) -> None:
    command = ["go", "build", "-trimpath", "-buildvcs=false", "-o", str(program), "."]
    # The user's own Go settings say how modules are fetched, even where HOME is another folder.
    settings = Path(pwd.getpwuid(os.getuid()).pw_dir) / ".config" / "go" / "env"
    own = {"GOENV": str(settings)} if settings.is_file() else {}
    environment = {**own, **os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly"}
    built = subprocess.run(command, cwd=_SOURCE, env=environment, capture_output=True, text=True, timeout=_BUILD_S, check=False)
    if built.returncode != 0:
        raise ServerMissing(f"Go could not build the checker of docker-compose.yml: {built.stderr[-1000:]}")
