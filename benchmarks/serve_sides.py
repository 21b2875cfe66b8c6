"""The sides of `benchmarks.serve`: `vectail serve`, Infinity, servers that others have started, and the bare engine; each is a process.

A server listens on loopback and ends with its side. The bare engine is vectail's, called in a loop with the token ids of the texts, in
batches that the service would form of them if all were there at once: an upper bound, with neither HTTP nor waiting.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import numpy as np

from benchmarks.own_stage import batches_of, encoded_templates
from benchmarks.race import Missing, Wrong
from benchmarks.rivals.own_process import Opened, Vectors
from benchmarks.serve_users import Target
from worker.embedding.loaded import load_model
from worker.embedding.model.folder import PLAIN, default_folder
from worker.settings.settings import load_settings

START_S = 120.0
_END_S = 20.0
_LOOK_S = 0.1
_HTTP_S = 10.0
_INFINITY = (
    "v2", "--model-id", "{folder}", "--served-model-name", PLAIN, "--engine", "torch", "--device", "cpu", "--dtype", "float32",
    "--host", "127.0.0.1", "--port", "{port}", "--url-prefix", "/v1",
)  # fmt: skip
_QUIET = {"DO_NOT_TRACK": "1", "INFINITY_ANONYMOUS_USAGE_STATS": "0", "HF_HUB_OFFLINE": "1", "INFINITY_BETTERTRANSFORMER": "false"}


class ServerSide(NamedTuple):
    """A server that answers as OpenAI does."""

    target: Target
    model: str
    """What it calls the model."""
    process_id: int | None = None
    """None: somebody else has started it."""


class BarePass(NamedTuple):
    """One pass of the bare engine over all texts."""

    seconds: float
    vectors: Vectors
    each_s: Sequence[float]
    """Time of each call."""


class BareWork(NamedTuple):
    """What the bare engine is asked for."""

    texts: list[str]
    alone: bool = False
    """Whether each text is a batch of its own."""


def open_bare(tables: Mapping[str, Any]) -> Opened:
    """Open vectail's engine in a process of its own."""
    model = load_model(load_settings(None, dict(tables)))
    engine = model.engine

    def answer(work: BareWork) -> BarePass:
        chunks = encoded_templates(model, work.texts)
        batches = [[chunk.ids] for chunk in chunks] if work.alone else batches_of(engine, chunks)
        rows, each_s = [], []
        for batch in batches:
            began_s = time.perf_counter()
            rows.append(engine.embed(batch))
            each_s.append(time.perf_counter() - began_s)
        return BarePass(sum(each_s), np.concatenate(rows), each_s)

    facts = {"engine": engine.name, "batch_tokens": engine.batch_tokens, "tokenizer": str(model.prepared.tokenizer_json)}
    return Opened(facts, answer)


@contextmanager
def vectail_served(folder: Path, tables: str, *, engine: str) -> Iterator[ServerSide]:
    """Start `vectail serve` with more settings than a port, and end it afterwards. Raises Wrong if it does not start."""
    port = _free_port()
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "serve.toml"
    file.write_text(f'{tables}\n[http]\nport = {port}\n[engine]\nname = "{engine}"\n', encoding="utf-8")
    command = [sys.executable, "-m", "worker", "serve", "--config", str(file)]
    with _running(command, folder / "serve.log", {}) as process:
        side = ServerSide(Target("127.0.0.1", port), PLAIN, process.pid)
        _await_answer(side, process, folder / "serve.log")
        yield side


@contextmanager
def infinity_served(python: Path, folder: Path) -> Iterator[ServerSide]:
    """Start Infinity with the plain model from an environment that has it. Raises Missing."""
    program = python.with_name("infinity_emb")
    if not program.exists():
        raise Missing(f"beside {python} there is no infinity_emb")
    port = _free_port()
    words = [word.format(folder=default_folder(), port=port) for word in _INFINITY]
    folder.mkdir(parents=True, exist_ok=True)
    with _running([str(program), *words], folder / "infinity.log", _QUIET) as process:
        side = ServerSide(Target("127.0.0.1", port), PLAIN, process.pid)
        _await_answer(side, process, folder / "infinity.log")
        yield side


def named_peer(words: str) -> tuple[str, ServerSide]:
    """Return a server by `NAME=URL`, where the URL is what comes before `/embeddings`. Raises Missing."""
    name, _, url = words.partition("=")
    parts = urlsplit(url)
    if not name or parts.scheme != "http" or not parts.hostname:
        raise Missing(f"--peer {words} is not NAME=http://HOST:PORT/v1")
    target = Target(parts.hostname, parts.port or 80, f"{parts.path.rstrip('/')}/embeddings")
    models = read_json(target, target.path.replace("/embeddings", "/models"))
    found = [str(one["id"]) for one in (models or {}).get("data", [])]
    return name, ServerSide(target, found[0] if len(found) == 1 else PLAIN)


def read_json(target: Target, path: str) -> dict[str, Any] | None:
    """Return what a GET gives; None: no answer."""
    try:
        with urllib.request.urlopen(f"http://{target.host}:{target.port}{path}", timeout=_HTTP_S) as response:
            found: dict[str, Any] = json.load(response)
            return found
    except (OSError, urllib.error.URLError, ValueError):
        return None


def read_metric(target: Target, name: str) -> float:
    """Return the sum of all samples of a metric of vectail. Raises Wrong without one."""
    with urllib.request.urlopen(f"http://{target.host}:{target.port}/metrics", timeout=_HTTP_S) as response:
        lines: list[str] = response.read().decode().splitlines()
    found = [float(line.rpartition(" ")[2]) for line in lines if line.startswith((f"{name} ", f"{name}{{"))]
    if not found:
        raise Wrong(f"the server has no metric {name}")
    return sum(found)


def private_bytes(process_id: int) -> int:
    """Return the resident memory that a process shares with no other one; mapped files count if nobody else has them mapped."""
    lines = Path(f"/proc/{process_id}/smaps_rollup").read_text(encoding="ascii").splitlines()
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(("Private_Clean:", "Private_Dirty:")))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def _running(command: Sequence[str], log: Path, environment: Mapping[str, str]) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a program as the leader of its own group; end the whole group afterwards."""
    with log.open("wb") as written:
        process = subprocess.Popen(  # noqa: S603 - ours, or named by the user
            ["/usr/bin/env", *(f"{name}={value}" for name, value in environment.items()), *command],
            stdout=written,
            stderr=written,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        _end(process)


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_END_S)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _await_answer(side: ServerSide, process: "subprocess.Popen[bytes]", log: Path) -> None:
    until_s = time.monotonic() + START_S
    while read_json(side.target, "/v1/models") is None:
        if process.poll() is not None or time.monotonic() > until_s:
            said = log.read_text(encoding="utf-8", errors="replace").splitlines()
            raise Wrong(f"{log.stem} does not answer: {said[-1] if said else 'it ended without a word'}")
        time.sleep(_LOOK_S)
