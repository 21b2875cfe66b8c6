"""A worker whose Redis fails in every way: it goes on, loses no row, stores no wrong vector, and uses Redis again when that is well.

What it stored is compared with what the engine, asked here, gives for the text of every template. What it took from Redis is read in
its own log and in the server's counters; what it noticed, in what it says.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
import pytest

from tests.faults.index import Index
from tests.faults.oracle import judge
from tests.faults.records import content, strange
from tests.faults.scene import Scene
from tests.faults.topics import Topics
from tests.faults.truth import Truth, truth_of
from tests.faults.worker_process import WAIT_S, WorkerProcess
from tests.services.kafka import KafkaServer
from tests.services.proxy import Proxy
from tests.services.redis import LocalRedis, local_redis
from worker.embedding.cache.breaker import FAILURES
from worker.embedding.cache.frame import FrameCodec
from worker.embedding.model.prepared import PreparedModel

RECORDS = 240
PIECE_RECORDS = 10
"""Sent at once, and stored before the next: a read of Redis, and a write, for each piece."""
PATIENT = {"redis__read_budget_s": "5"}
"""For figures that must be exact on a busy machine."""
SLOW_S = 0.5
QUICK = {"redis__read_budget_s": str(SLOW_S), "kafka__commit_interval_s": "0.05"}

Frames = dict[bytes, bytes]
"""What is in Redis: values by key."""


class Filled(NamedTuple):
    """A topic that one worker has read, with the Redis that it filled."""

    scene: Scene
    stored: Index
    frames: Frames
    folder: Path
    model: PreparedModel
    scenes: list[Scene]
    """All that have begun, to be closed."""

    def elsewhere(self, name: str) -> tuple[Scene, str]:
        """Return a scene of the same topic with an index of its own, yet empty, and a group that has read nothing."""
        (folder := self.folder / name).mkdir()
        self.scenes.append(scene := Scene(self.scene.topics, folder, self.model))
        return scene, f"{scene.topics.group}-{name}"


@pytest.fixture(scope="module")
def truth(model: PreparedModel) -> Truth:
    return truth_of(model)


@pytest.fixture(scope="module")
def filled(kafka: KafkaServer, tmp_path_factory: pytest.TempPathFactory, model: PreparedModel, truth: Truth) -> Iterator[Filled]:
    folder = tmp_path_factory.mktemp("filled")
    scene = Scene(Topics(kafka, lambda stem: f"{stem}-{uuid4().hex[:12]}"), folder, model)
    scenes = [scene]
    try:
        scene.topics.send(RECORDS)
        with local_redis() as redis:
            worker = scene.start(redis__url=redis.url, **PATIENT)
            finish(scene, worker, scene.topics.group)
            index = right_index(scene, truth)
            assert (saved(worker)["from_engine"], saved(worker)["from_redis"]) == (len(index.templates), 0)
            frames = all_of(redis)
        assert len(frames) == len(index.templates)
        yield Filled(scene, index, frames, folder, model, scenes)
    finally:
        for one in scenes:
            one.close()


def all_of(redis: LocalRedis) -> Frames:
    admin = redis.admin()
    keys: list[bytes] = admin.keys("vectail:*")
    return dict(zip(keys, admin.mget(keys), strict=True))


def put(redis: LocalRedis, frames: Frames) -> None:
    redis.admin().mset(frames)


def damage(redis: LocalRedis, frames: Frames) -> None:
    """Put something else under every key, in seven ways in turn."""
    admin, ordered = redis.admin(), sorted(frames)
    ways: tuple[Callable[[bytes, bytes], bytes | None], ...] = (
        lambda key, _: frames[ordered[ordered.index(key) - 1]],
        _turned,
        lambda _, frame: frame[:-1] + bytes([frame[-1] ^ 1]),
        lambda _, frame: frame[:-2],
        lambda _, frame: frame + b"\0\0",
        _longer,
        lambda _key, _frame: None,
    )
    for number, key in enumerate(ordered):
        value = ways[number % len(ways)](key, frames[key])
        admin.delete(key)
        if value is None:
            admin.lpush(key, frames[key])
        else:
            admin.set(key, value)


def _turned(_key: bytes, frame: bytes) -> bytes:
    """Flip the sign of every other component: a vector of the same length, in another direction."""
    return frame[:8] + bytes(byte ^ (0x80 if at % 4 == 1 else 0) for at, byte in enumerate(frame[8:-4])) + frame[-4:]


def _longer(key: bytes, frame: bytes) -> bytes:
    """Return a frame that is whole, of a vector with twice as many components."""
    dim = len(frame) // 2 - 8
    (longer,) = FrameCodec(2 * dim).encode([key], [np.full(2 * dim, (2 * dim) ** -0.5, np.float32)])
    assert longer is not None
    return longer


def hits(redis: LocalRedis) -> int:
    """Count the values that the server has found for anybody since its start."""
    found: int = redis.admin().info("stats")["keyspace_hits"]
    return found


def keys(redis: LocalRedis) -> int:
    size: int = redis.admin().dbsize()
    return size


def reads(redis: LocalRedis) -> int:
    """Count the reads since the server's start."""
    calls: int = redis.admin().info("commandstats").get("cmdstat_mget", {"calls": 0})["calls"]
    return calls


def used_again(redis: LocalRedis) -> Callable[[], bool]:
    """Return whether it is asked often, and not for a try, and holds more than at this call."""
    reads_before, keys_before = reads(redis), keys(redis)
    return lambda: reads(redis) > reads_before + FAILURES and keys(redis) > keys_before


def pieces(most: int) -> Callable[[], bool]:
    """Return whether it has been asked so often."""
    left = iter([False] * most)
    return lambda: next(left, True)


def saved(worker: WorkerProcess) -> dict[str, Any]:
    """Return what a drained worker said last about what it saved."""
    return [event for event in worker.events("info") if event["event"] == "work saved"][-1]


def said(worker: WorkerProcess, *parts: str) -> bool:
    """Return whether there was a line with all of these parts; what is said again within a minute is not written again."""
    return any(all(part in line for part in parts) for line in list(worker.lines))


def finish(scene: Scene, worker: WorkerProcess, group: str) -> None:
    """Let it commit everything, then drain."""
    scene.wait_all_committed(worker, group=group)
    scene.drain(worker)
    assert worker.events("error") == []


def right_index(scene: Scene, truth: Truth) -> Index:
    """Read what is stored: nothing may be lost, invented or twice, and all vectors must be right."""
    index = scene.read()
    verdict = judge(scene.topics.sent, scene.topics.logs, index, scene.topics.letters())
    assert verdict.lost_below(scene.topics.ends()) == []
    truth.check(index)
    return index


def goes_on(scene: Scene, worker: WorkerProcess, until: Callable[[], bool]) -> None:
    """Send some lines that Redis cannot know, see them stored, and so on, until it has happened."""
    until_s = time.monotonic() + WAIT_S
    while not until():
        assert time.monotonic() < until_s, f"it did not happen: {worker.lines}"
        scene.topics.send(PIECE_RECORDS, strange)
        scene.wait_all_committed(worker)


def test_it_goes_on_while_redis_is_gone_slow_killed_full_and_read_only_and_uses_it_again_each_time(
    scene: Scene, filled: Filled, truth: Truth
) -> None:
    with local_redis() as redis, Proxy(redis.port) as proxy:
        redis.kill()
        worker = scene.start(redis__url=f"redis://127.0.0.1:{proxy.port}", **QUICK)
        goes_on(scene, worker, lambda: said(worker, "is away", "ConnectionError"))
        redis.start()
        goes_on(scene, worker, lambda: said(worker, "answers again") and keys(redis) > 0)

        proxy.hold()
        goes_on(scene, worker, lambda: said(worker, "is away", f"no answer within {SLOW_S * 1000:g} ms"))
        assert proxy.held.is_set(), "it had no answer because it asked nobody"
        assert not proxy.passes
        is_used = used_again(redis)
        proxy.release()
        goes_on(scene, worker, is_used)

        redis.kill()
        goes_on(scene, worker, pieces(FAILURES + 1))
        redis.start()
        put(redis, half := dict(sorted(filled.frames.items())[::2]))
        goes_on(scene, worker, used_again(redis))
        numbers = iter(range(RECORDS))
        scene.topics.send(RECORDS, lambda _: content(next(numbers)))
        scene.wait_all_committed(worker)
        assert hits(redis) > 0, "what others share is not fetched"

        redis.admin().config_set("maxmemory", "1")
        redis.admin().config_set("maxmemory-policy", "noeviction")
        goes_on(scene, worker, lambda: said(worker, "takes no vectors", "OutOfMemoryError"))
        redis.admin().config_set("maxmemory", "0")
        goes_on(scene, worker, used_again(redis))

        redis.admin().execute_command("REPLICAOF", "127.0.0.1", "1")
        goes_on(scene, worker, lambda: said(worker, "takes no vectors", "ReadOnlyError"))
        redis.admin().execute_command("REPLICAOF", "NO", "ONE")
        goes_on(scene, worker, used_again(redis))

        finish(scene, worker, scene.topics.group)
    right_index(scene, truth)
    assert 0 < saved(worker)["from_redis"] <= len(half)


def test_no_damaged_value_is_taken_and_all_are_put_right(filled: Filled, truth: Truth) -> None:
    templates = len(filled.frames)
    with local_redis() as redis:
        damage(redis, filled.frames)
        scene, group = filled.elsewhere("damaged")
        worker = scene.start(redis__url=redis.url, kafka__group=group, **PATIENT)
        finish(scene, worker, group)
        right_index(scene, truth)
        assert (saved(worker)["from_engine"], saved(worker)["from_redis"]) == (templates, 0)
        assert hits(redis) > templates // 2, "it was not given them"

        scene, group = filled.elsewhere("put-right")
        worker = scene.start(redis__url=redis.url, kafka__group=group, **PATIENT)
        finish(scene, worker, group)
        index = right_index(scene, truth)
        assert (saved(worker)["from_engine"], saved(worker)["from_redis"]) == (0, templates)
    assert set(filled.stored.lines) <= set(index.lines), "the next test may have sent the same lines again before"
    assert index.texts == filled.stored.texts


def test_restarted_with_redis_empty_or_without_redis_it_embeds_nothing_again(filled: Filled, truth: Truth) -> None:
    scene, templates = filled.scene, len(filled.frames)
    with local_redis() as empty:
        for url in (empty.url, ""):
            scene.topics.send(RECORDS, lambda number: content(number % RECORDS))
            worker = scene.start(redis__url=url, **PATIENT)
            finish(scene, worker, scene.topics.group)
            figures = saved(worker)
            assert (figures["from_engine"], figures["from_redis"], figures["from_index"]) == (0, 0, templates)
            assert figures["tokens_embedded"] == 0
        assert keys(empty) == templates, "what it found in the index is not shared"
    index = right_index(scene, truth)
    assert len(index.lines) == 3 * len(filled.stored.lines)
    assert index.texts == filled.stored.texts
