"""A real worker refuses three of a record's 2,000 entries: they become one dead letter, and a replay adds exactly three lines.

Letters that somebody else has written replace no line, and excuse no lost one.
"""

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

from consumers.record import Record
from tests.faults.records import Content, Entry
from tests.faults.scene import COLLECTION, Scene
from tests.worker.inspecting.audited_index import dead_letter
from worker.cli.app import run_app
from worker.cli.dlq_commands import dlq_app
from worker.cli.verify_commands import verify_app
from worker.embedding.model.prepared import PreparedModel
from worker.inspecting.kept_records import OTHER_BYTES

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


LARGE_ENTRIES = 400
LARGE_BYTES = 999_800
"""Without room for the headers of a dead letter."""


def large_record(_number: int) -> Content:
    entries = tuple(Entry(number, f"request {number} was served") for number in range(LARGE_ENTRIES))
    value = json.dumps([{"message": entry.text, "padding": "x" * 2_400} for entry in entries]).encode()
    return Content(value.ljust(LARGE_BYTES), "rows", entries)


def test_a_record_that_was_too_large_for_the_dead_letter_topic_is_read_again_once_it_is_allowed(
    scene: Scene, verb: Verb, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.topics.send(1, large_record)
    worker = scene.start(decode__max_record_bytes="500000")
    scene.wait_all_committed(worker)
    scene.drain(worker)
    ((letter),) = verb(dlq_app, "ls")[1]["newest"]
    assert (letter["not_replayable"], letter["setting"]) == ("", "decode.max_record_bytes")
    assert letter["way_back"].startswith("the letter holds only the beginning of its record")

    monkeypatch.setenv("VECTAIL_DECODE__MAX_RECORD_BYTES", "500000")
    exit_code, refused = verb(dlq_app, "replay", "--yes")
    assert (exit_code, refused["left"], refused["left_letters"][0]["reason"].partition(":")[0]) == (1, 1, "too_large")
    monkeypatch.setenv("VECTAIL_DECODE__MAX_RECORD_BYTES", "1000000")
    exit_code, done = verb(dlq_app, "replay", "--yes")
    assert (exit_code, done["replayed"], done["lines"], done["left"]) == (0, 1, LARGE_ENTRIES, 0)
    assert {line.text for line in scene.read().lines} == {entry.text for entry in large_record(0).entries}
    assert verb(verify_app)[0] == 0


LOST = 7
"""The offset of a record that is committed and of which nothing is stored."""


def line(number: int) -> Content:
    said = "lost" if number == LOST else f"request {number} was served"
    return Content(said.encode(), "rows", (Entry(0, said),))


def test_letters_that_somebody_else_wrote_replace_no_line_and_excuse_no_lost_one(scene: Scene, verb: Verb) -> None:
    topics = scene.topics
    topics.send(20, line, partition=0)
    worker = scene.start(drop='[{"name": "by-mistake", "pattern": "^lost$"}]')
    scene.wait_all_committed(worker, partitions=[0])
    scene.drain(worker)
    before = sorted(scene.read().lines)
    assert len(before) == 19

    def record_at(offset: int, value: bytes) -> Record:
        return Record(topics.logs, 0, offset, topics.epoch(), topics.sent[LOST].time_ms, None, value, ())

    other = [dead_letter(record_at(offset, b"all is well"), "undecodable: no") for offset in (5, LOST, 99)]
    for letter in other:
        topics.send_letter(letter)
    for name, content in (("errors_partition", b"-1"), ("errors_offset", b"-5"), ("errors_offset", b"9223372036854775807")):
        topics.send_letter(other[0], **{f"__connect_{name}": content})
    topics.send_letter(other[0], vectail_epoch=b"a/b")
    exit_code, done = verb(dlq_app, "replay", "--yes")
    assert (exit_code, done["letters"], done["replayed"], done["lines"], done["left"]) == (1, 3, 0, 0, 3)
    reasons = {one["record"]["offset"]: one["reason"] for one in done["left_letters"]}
    assert reasons == {5: OTHER_BYTES, LOST: OTHER_BYTES, 99: "Kafka has no such record: its partition ends at 20"}
    assert sorted(scene.read().lines) == before
    exit_code, found = verb(verify_app)
    assert (exit_code, found["left"]["gap"], sum(found["left"].values())) == (1, 1, 1)

    topics.send_letter(dead_letter(record_at(LOST, b"lost"), "undecodable: no"))
    topics.send_letter(dead_letter(record_at(5, topics.sent[5].content.value or b""), "undecodable: no"))
    assert verb(verify_app)[0] == 0
    exit_code, done = verb(dlq_app, "replay", "--reason", "undecodable", "--yes")
    assert (exit_code, done["replayed"], done["held_already"], done["lines"], done["left"]) == (1, 2, 1, 1, 3)
    (added,) = set(scene.read().lines) - set(before)
    assert (added.offset, added.text) == (LOST, "lost")
    assert verb(verify_app)[0] == 0
