"""A real worker refuses three of a record's 2,000 entries: they become one dead letter, and a replay adds exactly three lines."""

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

from tests.faults.records import Content, Entry
from tests.faults.scene import COLLECTION, Scene
from worker.cli.app import run_app
from worker.cli.dlq_commands import dlq_app
from worker.cli.verify_commands import verify_app
from worker.embedding.model.prepared import PreparedModel

ENTRIES = 2_000
BAD = (7, 500, 1_999)
NARROW = {"model.max_tokens": "24", "decode.max_chunks": "1"}
"""Settings under which the three make too many chunks; under the usual ones each makes one."""
Verb = Callable[..., tuple[int, Any]]


def text(number: int) -> str:
    short = f"request {number} was served"
    return (
        f"{short}, which took far longer than all of those before it and after it, on every one of the machines" if number in BAD else short
    )


def record(_number: int) -> Content:
    entries = tuple(Entry(number, text(number)) for number in range(ENTRIES))
    return Content(json.dumps([{"message": entry.text} for entry in entries]).encode(), "rows", entries)


@pytest.fixture
def verb(scene: Scene, model: PreparedModel, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Verb:
    """Run a verb with the scene's settings and more; return its exit code and what `--json` printed."""

    def run(application: Callable[..., object], *words: str) -> tuple[int, Any]:
        topics = scene.topics
        settings = {
            "kafka.bootstrap_servers": topics.bootstrap,
            "topic": topics.logs,
            "kafka.group": topics.group,
            "kafka.dead_letter_topic": topics.dead_letters,
            "milvus.uri": str(scene.milvus),
            "milvus.collection": COLLECTION,
            "model.folder": str(model.folder),
            "engine.name": "llama",
        }
        with monkeypatch.context() as patched:
            for name, value in settings.items():
                patched.setenv(f"VECTAIL_{name.replace('.', '__').upper()}", value)
            patched.setattr(sys, "argv", ["vectail", *words, "--json"])
            exit_code = run_app(application)
        return exit_code, json.loads(capsys.readouterr().out or "null")

    return run


def test_a_replay_after_the_fault_is_mended_adds_exactly_the_three_lines(scene: Scene, verb: Verb) -> None:
    scene.topics.send(1, record)
    worker = scene.start(**{name.replace(".", "__"): value for name, value in NARROW.items()})
    scene.wait_all_committed(worker)
    assert verb(dlq_app, "replay", "--yes") == (2, None)  # the worker holds the folder
    scene.drain(worker)
    before = scene.read()
    assert len(before.lines) == ENTRIES - len(BAD)
    assert len(scene.topics.letters()) == 1
    exit_code, listed = verb(dlq_app, "ls")
    ((letter),) = listed["newest"]
    assert (exit_code, letter["reason"], letter["stage"], letter["pieces"]) == (0, "too_many_chunks", "chunk", len(BAD))

    exit_code, done = verb(dlq_app, "replay", "--yes")
    assert (exit_code, done["replayed"], done["lines"], done["left"]) == (0, 1, len(BAD), 0)
    after = scene.read()
    added = {line.id: line for line in after.lines if line.id not in {line.id for line in before.lines}}
    assert (len(after.lines), after.copies) == (ENTRIES, ())
    assert sorted((line.sub, line.text) for line in added.values()) == [(number, text(number)) for number in BAD]
    assert {line.template for line in after.lines} == set(after.templates)
    assert verb(verify_app)[0] == 0

    exit_code, again = verb(dlq_app, "replay", "--yes")
    assert (exit_code, again["letters"], again["already_replayed"]) == (0, 0, 1)
    assert sorted(scene.read().lines) == sorted(after.lines)
