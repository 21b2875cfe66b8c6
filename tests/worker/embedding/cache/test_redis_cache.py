"""The cache in a real Redis: what workers share, how it is stored, what is said about the server."""

import threading
import uuid
from typing import Any

import pytest
import redis

from tests.services.proxy import Proxy
from tests.services.redis import local_redis
from tests.worker.embedding.cache.rig import DIM, Rig, digest_of, space_of, vector_of, vectors_of
from tests.worker.running import WAIT_S, wait_until
from worker.embedding.cache.breaker import FAILURES
from worker.embedding.model.space import EmbeddingSpace

pytestmark = pytest.mark.process


@pytest.fixture
def space() -> EmbeddingSpace:
    return space_of(weights=uuid.uuid4().hex)


def port_of(url: str) -> int:
    return int(url.rpartition(":")[2])


def test_what_one_worker_puts_another_finds(redis_url: str, space: EmbeddingSpace) -> None:
    with Rig(redis_url, space=space) as one, Rig(redis_url, space=space) as other:
        one.put(range(20))
        assert other.found(range(10, 30)) == set(range(10, 20))
        assert (other.tally.hits, other.tally.misses) == (10, 10)
        assert (one.tally.written, one.tally.errors.total()) == (20, 0)


def test_keys_hold_space_and_digest_and_live_as_long_as_the_setting_says(redis_url: str, space: EmbeddingSpace) -> None:
    with Rig(redis_url, space=space, ttl_s=5000.5) as rig:
        rig.put([1])
    server = redis.Redis.from_url(redis_url)
    key = f"vectail:{space.id}:{digest_of(1)}"
    assert [one.decode() for one in server.scan_iter(f"vectail:{space.id}:*")] == [key]
    assert 4_000_000 < server.pttl(key) <= 5_000_500
    assert server.strlen(key) == 16 + 2 * DIM


def test_workers_with_a_secret_take_only_what_was_written_with_it(redis_url: str, space: EmbeddingSpace) -> None:
    signing: dict[str, Any] = {"secret": "ours"}
    with Rig(redis_url, space=space, **signing) as ours, Rig(redis_url, space=space) as forger:
        forger.put(range(3))
        assert ours.found(range(3)) == set()
        assert ours.tally.corrupt == 3
        ours.put(range(2))
        assert ours.found(range(3)) == {0, 1}
    with Rig(redis_url, space=space, **signing) as another:
        assert another.found(range(3)) == {0, 1}


def test_another_space_sees_nothing_even_under_its_own_key(redis_url: str, space: EmbeddingSpace) -> None:
    other = space_of(weights=uuid.uuid4().hex)
    with Rig(redis_url, space=space) as ours, Rig(redis_url, space=other) as theirs:
        ours.put([1])
        assert theirs.found([1]) == set()
        server = redis.Redis.from_url(redis_url)
        server.copy(f"vectail:{space.id}:{digest_of(1)}", f"vectail:{other.id}:{digest_of(1)}")
        assert theirs.found([1]) == set()
        assert theirs.tally.corrupt == 1


def test_models_of_several_dimensions_share_one_connection_and_never_a_vector(redis_url: str, space: EmbeddingSpace) -> None:
    other = space_of(dim=8, weights=uuid.uuid4().hex)
    with Rig(redis_url, space=space) as rig:
        view = rig.cache.for_space(other)
        rig.put([1])
        assert view.get_many([digest_of(1)]) == {}
        view.put_many({digest_of(1): vector_of(1, 8), digest_of(2): vector_of(2, 8)})
        wait_until(lambda: rig.tally.written == 3, "writes")
        assert rig.found([1, 2]) == {1}
        with pytest.raises(ValueError, match="not 8"):
            view.put_many({digest_of(3): vector_of(3)})
        names = sorted(thread.name for thread in threading.enumerate() if thread.name.startswith("redis-"))
        assert names == ["redis-read", "redis-write"]
    with Rig(redis_url, space=other) as another:
        found = another.cache.get_many([digest_of(1), digest_of(2)])
        assert all(float(found[digest_of(number)] @ vector_of(number, 8)) >= 0.99999 for number in (1, 2))


def test_a_server_that_is_away_is_away_for_all_spaces_at_once(redis_url: str, space: EmbeddingSpace) -> None:
    with Proxy(port_of(redis_url)) as proxy, Rig(f"redis://127.0.0.1:{proxy.port}", space=space, read_budget_s=0.05) as rig:
        view = rig.cache.for_space(space_of(dim=8, weights=uuid.uuid4().hex))
        proxy.hold()
        for _ in range(FAILURES):
            assert rig.found([1]) == set()
        assert view.get_many([digest_of(1)]) == {}
        assert (rig.tally.skipped, len(rig.said_like("is away"))) == (1, 1)
        proxy.release()

        def answers() -> bool:
            rig.time_passes()
            view.get_many([digest_of(1)])
            return bool(rig.said_like("answers again"))

        wait_until(answers, "a view asks again for all")


def test_the_array_may_be_written_over_as_soon_as_it_was_handed_over(redis_url: str, space: EmbeddingSpace) -> None:
    with Proxy(port_of(redis_url)) as proxy, Rig(f"redis://127.0.0.1:{proxy.port}", space=space) as rig:
        proxy.hold()
        vectors = vectors_of([1])
        rig.hand_over(vectors)
        vectors[digest_of(1)][:] = 0
        proxy.release()
        rig.put([2])
        assert rig.found([1]) == {1}


def test_what_is_beyond_the_queue_is_dropped_and_counted_and_nobody_waits(redis_url: str, space: EmbeddingSpace) -> None:
    room = 10 * (16 + 2 * DIM + 57)
    with Proxy(port_of(redis_url)) as proxy, Rig(f"redis://127.0.0.1:{proxy.port}", space=space, queue_bytes=room) as rig:
        proxy.hold()
        rig.hand_over(vectors_of([0]))
        assert proxy.held.wait(WAIT_S)  # the writer waits with the first
        rig.hand_over(vectors_of(range(1, 26)))
        assert rig.tally.dropped == 15
        assert proxy.held.is_set()
        proxy.release()
        wait_until(lambda: rig.tally.written == 11, "the queue")
        rig.put([30])
        assert rig.found(range(40)) == {*range(11), 30}


def test_closing_writes_what_waits_and_ends_every_thread(redis_url: str, space: EmbeddingSpace) -> None:
    before = set(threading.enumerate())
    with Rig(redis_url, space=space) as rig:
        rig.found([1])
        rig.hand_over(vectors_of(range(3000)))
        rig.close()
        assert rig.tally.written == 3000
        assert set(threading.enumerate()) <= before
        rig.hand_over(vectors_of([5000]))
        assert rig.found([1]) == set()
        assert rig.tally.dropped == 1


def test_closing_does_not_wait_for_a_silent_server(redis_url: str, space: EmbeddingSpace) -> None:
    with Proxy(port_of(redis_url)) as proxy, Rig(f"redis://127.0.0.1:{proxy.port}", space=space) as rig:
        proxy.hold()
        rig.hand_over(vectors_of(range(1000)))
        assert proxy.held.wait(WAIT_S)
        rig.cache.close(0.01)
        assert proxy.gone.wait(WAIT_S)  # the connection was cut while the answer was still held
        assert rig.tally.dropped > 0
        assert rig.tally.written == 0


def test_a_user_with_few_rights_is_enough() -> None:
    rights = "~vectail:*", "-@all", "+get", "+set", "+mget"
    with local_redis() as server:
        server.admin().execute_command("ACL", "SETUSER", "worker", "on", ">sesame", *rights)
        server.admin().execute_command("ACL", "SETUSER", "default", "nocommands")
        with Rig(server.url, user="worker", password="sesame") as rig:  # noqa: S106 - the test's own
            rig.put(range(5))
            assert rig.found(range(6)) == set(range(5))
            assert rig.said == []


def test_a_unix_socket_will_do(tmp_path: object) -> None:
    with local_redis("--unixsocket", f"{tmp_path}/redis.sock") as server, Rig(f"unix://{tmp_path}/redis.sock") as rig:
        rig.put([1])
        assert rig.found([1]) == {1}
        assert server.admin().dbsize() == 1
