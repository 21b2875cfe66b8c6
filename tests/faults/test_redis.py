"""The cache against a real Redis that fails in every way: no wrong vector, no exception, no waiting beyond the budget, and it comes back.

That nobody waits is shown by order, not by a clock: when the cache has returned, the proxy still holds the answer.
"""

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.services.proxy import Proxy
from tests.services.redis import LocalRedis, local_redis
from tests.worker.embedding.cache.rig import DIM, Rig, digest_of, space_of, vector_of, vectors_of
from worker.embedding.cache.breaker import FAILURES
from worker.embedding.cache.frame import FrameCodec

pytestmark = pytest.mark.process

SHORT_S = 0.05
REACHED_S = 0.5
"""Long enough for a question to reach the server."""
KEY = f"vectail:{space_of().id}:{{}}"


def key_of(number: int) -> str:
    return KEY.format(digest_of(number))


@pytest.fixture(scope="module")
def running() -> Iterator[LocalRedis]:
    server = local_redis()
    yield server
    server.close()


@pytest.fixture
def server(running: LocalRedis) -> LocalRedis:
    """A server of ours, empty."""
    running.start()
    running.admin().flushall()
    return running


@pytest.fixture
def rig(server: LocalRedis) -> Iterator[Rig]:
    with Rig(server.url) as rig:
        yield rig


@contextmanager
def behind(proxy: Proxy, budget_s: float = SHORT_S) -> Iterator[Rig]:
    with Rig(f"redis://127.0.0.1:{proxy.port}", read_budget_s=budget_s) as rig:
        yield rig


def comes_back(rig: Rig, numbers: set[int]) -> None:
    """See that all is well again, once the time for another try has come."""
    for _ in range(30):  # a busy machine may miss a short budget
        rig.time_passes()
        if rig.found(numbers) == numbers:
            return
    raise AssertionError(f"only {rig.tally} came back: {rig.said}")


def test_killed_and_started_again_it_is_away_and_comes_back_by_itself(server: LocalRedis, rig: Rig) -> None:
    rig.put(range(10))
    assert rig.found(range(10)) == set(range(10))
    server.kill()
    for _ in range(20):
        assert rig.found(range(10)) == set()
    assert len(rig.said_like("is away", "ConnectionError")) == 1
    assert rig.tally.errors["ConnectionError"] == FAILURES
    assert rig.tally.skipped == 10 * (20 - FAILURES)
    rig.put(range(10))
    assert rig.tally.dropped + rig.tally.refused == 10
    server.start()
    rig.time_passes()
    assert rig.found(range(10)) == set()  # a new server is empty
    rig.put(range(10))
    comes_back(rig, set(range(10)))
    assert len(rig.said_like("is away")) == len(rig.said_like("answers again")) == 1


def test_who_asks_a_slow_server_has_left_before_the_answer_comes(server: LocalRedis) -> None:
    with Rig(server.url) as direct:
        direct.put(range(10))
    with Proxy(server.port) as proxy, behind(proxy, 2.0) as rig:
        assert rig.found(range(10)) == set(range(10))
    with Proxy(server.port) as proxy, behind(proxy) as rig:
        rig.found(range(10))
        proxy.hold()
        for _ in range(FAILURES + 3):
            assert rig.found(range(10)) == set()
            assert not proxy.passes  # nothing has been let through yet
        assert len(rig.said_like("is away", "within 50 ms")) == 1
        assert rig.tally.late == 10 * FAILURES
        proxy.release()
        comes_back(rig, set(range(10)))


def test_the_connection_on_which_an_answer_is_owed_is_cut(server: LocalRedis) -> None:
    """So that the late answer to one question cannot be read as that to the next."""
    with Rig(server.url) as direct:
        direct.put(range(20))
    with Proxy(server.port) as proxy, behind(proxy, REACHED_S) as rig:
        comes_back(rig, set(range(10)))
        proxy.hold()
        assert rig.found(range(10)) == set()
        assert proxy.held.wait(10)
        assert proxy.gone.wait(10)
        proxy.release()
        comes_back(rig, set(range(10, 20)))  # each seen to be its own vector
        assert rig.tally.corrupt == 0


def test_a_server_that_answers_a_part_in_time_is_not_given_up(server: LocalRedis) -> None:
    with Rig(server.url) as direct:
        direct.put(range(1_000))
    with Proxy(server.port) as proxy, behind(proxy, 2.0) as rig:
        proxy.hold_after(500_000)
        for _ in range(FAILURES + 1):
            came = rig.found(range(1_000))
            assert came
            assert came == set(range(len(came)))
            assert len(came) < 1_000
        assert rig.tally.skipped == 0
        assert rig.tally.late + rig.tally.hits == 1_000 * (FAILURES + 1)
        assert rig.said_like("is away") == []


def test_who_gives_a_slow_server_the_time_it_needs_has_its_answers(server: LocalRedis) -> None:
    with Rig(server.url) as direct:
        direct.put(range(10))
    with Proxy(server.port) as proxy, behind(proxy, 5.0) as rig:
        comes_back(rig, set(range(10)))
        proxy.delay(1.5, "answers")
        assert rig.found(range(10)) == set(range(10))
        assert rig.tally.late == 0


def test_a_server_that_sends_a_byte_at_a_time_is_left_and_cut(server: LocalRedis) -> None:
    with Rig(server.url) as direct:
        direct.put(range(300))
    with Proxy(server.port) as proxy, behind(proxy, REACHED_S) as rig:
        comes_back(rig, {1})
        proxy.trickle(0.005)  # 300 frames would take 20 minutes
        assert rig.found(range(300)) < set(range(300))
        assert proxy.gone.wait(10)
        proxy.release()
        comes_back(rig, {1, 2, 3})


def test_a_full_server_refuses_writes_and_still_answers(server: LocalRedis, rig: Rig) -> None:
    rig.put(range(10))
    admin = server.admin()
    admin.config_set("maxmemory", "1")
    admin.config_set("maxmemory-policy", "noeviction")
    for first in range(100, 900, 100):
        rig.put(range(first, first + 100))
    assert rig.tally.errors["OutOfMemoryError"] > 0
    assert len(rig.said_like("takes no vectors", "OutOfMemoryError")) == 1
    assert rig.found(range(20)) == set(range(10))
    assert rig.tally.dropped > 0
    admin.config_set("maxmemory", "0")
    rig.time_passes()
    rig.put(range(10, 20))
    assert rig.found(range(20)) == set(range(20))
    assert len(rig.said_like("takes vectors again")) == 1
    assert not rig.said_like("is away")


def test_something_else_under_a_key_is_a_miss_and_is_written_over(server: LocalRedis, rig: Rig) -> None:
    rig.put([1, 2])
    server.admin().delete(key_of(1))
    server.admin().lpush(key_of(1), "a list")
    assert rig.found([1, 2]) == {2}
    rig.put([1])
    assert rig.found([1, 2]) == {1, 2}
    assert rig.tally.errors.total() == 0


def test_values_that_are_no_frames_of_ours_are_misses_and_are_counted(server: LocalRedis, rig: Rig) -> None:
    rig.put(range(12))
    admin = server.admin()
    frames = [admin.get(key_of(number)) for number in range(12)]
    spoilt = {
        1: frames[1][:100] + bytes([frames[1][100] ^ 4]) + frames[1][101:],
        2: frames[2][:-1],
        3: frames[3] + b"\0",
        4: frames[5],
        5: frames[4],
        6: b"",
        7: b"\x80\x04cos\nsystem\n(Vtrue\ntR.",
        8: bytes(len(frames[8])),
        9: FrameCodec(2 * DIM).encode([key_of(9).encode()], [vector_of(9, 2 * DIM)])[0],
    }
    for number, value in spoilt.items():
        admin.set(key_of(number), value or b"")
    assert rig.found(range(12)) == {0, 10, 11}
    assert rig.tally.corrupt == len(spoilt)
    rig.put(range(12))
    assert rig.found(range(12)) == set(range(12))


def test_a_password_that_came_overnight_is_a_failure_and_no_more() -> None:
    with local_redis() as own, Rig(own.url) as rig:
        rig.put(range(5))
        own.admin().config_set("requirepass", "sesame")
        with own.admin(password="sesame") as admin:  # noqa: S106 - the test's own
            admin.client_kill_filter(_type="normal", skipme=True)
            for _ in range(FAILURES + 3):
                assert rig.found(range(5)) == set()
            assert len(rig.said_like("is away", "AuthenticationError")) == 1
            admin.config_set("requirepass", "")
        rig.time_passes()
        assert rig.found(range(5)) == set(range(5))


def test_rights_that_are_taken_away_are_failures_and_no_more() -> None:
    with local_redis("--maxmemory", "50mb", "--maxmemory-policy", "allkeys-lru") as own:
        acl = own.admin().execute_command
        acl("ACL", "SETUSER", "worker", "on", "nopass", "~vectail:*", "+@all")
        with Rig(own.url, user="worker") as rig:
            rig.put(range(5))
            acl("ACL", "SETUSER", "worker", "-set")
            for number in range(5, 5 + FAILURES):
                rig.put([number])
            assert rig.tally.errors["NoPermissionError"] == FAILURES
            assert rig.found(range(5)) == set(range(5))
            acl("ACL", "SETUSER", "worker", "-mget")
            for _ in range(FAILURES):
                assert rig.found(range(5)) == set()
            assert len(rig.said_like("NoPermissionError")) == 2
            acl("ACL", "SETUSER", "worker", "+mget", "+set")
            rig.time_passes()
            rig.put([7])
            assert rig.found([1, 7]) == {1, 7}


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"\x00\xff\xfe\r\n" * 50,
        b"*1\r\n" * 200,
        b"+OK\r\n" * 50,
        b"$-1\r\n" * 50,
        b"*2\r\n$1\r\na\r\n:7\r\n" * 50,
        b"-MOVED 1 127.0.0.1:1\r\n" * 50,
        b"-LOADING wait\r\n" * 50,
        b"*1\r\n-WRONGTYPE x\r\n" * 50,
        b"",
    ],
    ids=["http", "bytes", "deep", "ok", "nil", "wrong-count", "moved", "loading", "inner-error", "closed"],
)
def test_a_server_that_is_no_redis_is_a_failure_and_no_more(answer: bytes) -> None:
    class Speaker(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            while self.request.recv(4096) and answer:
                self.request.sendall(answer)

    class Listener(socketserver.ThreadingTCPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """A client that cuts the connection is what is tested."""

    with Listener(("127.0.0.1", 0), Speaker) as listener:
        thread = threading.Thread(target=listener.serve_forever, args=(0.01,))
        thread.start()
        with Rig(f"redis://127.0.0.1:{listener.server_address[1]}", read_budget_s=0.5) as rig:
            for _ in range(FAILURES + 2):
                assert rig.found(range(2)) == set()
            rig.put([1])
            assert rig.tally.hits == 0
        listener.shutdown()
        thread.join()


def test_writes_never_wait_for_a_slow_server(server: LocalRedis) -> None:
    with Proxy(server.port) as proxy, behind(proxy) as rig:
        proxy.hold()
        for first in range(0, 1000, 200):
            rig.hand_over(vectors_of(range(first, first + 200)))
        assert not proxy.passes
        proxy.release()
